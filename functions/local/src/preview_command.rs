//! The command `preview`: what its arguments mean, and what it prints.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use minutehand::preview::{COUNT_MAX, JOB_BYTES_MAX, Preview};
use minutehand::zones::TakenZones;
use minutehand_cli::TimingOptions;
use minutehand_recurrence::WrittenDate;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  minutehand preview --at 09:00 --on mon-fri --zone Europe/Berlin
  minutehand preview --cron '0 9 * * 1-5' --exclude-date 2027-12-24
  minutehand preview job.json
  minutehand preview job.json --from 2027-03-01T00:00:00Z --limit 40
  echo '{\"frequency\":\"day\",\"startTime\":\"2027-01-01T08:00\"}' \\
      | minutehand preview - --json

The options are those of `job create`; times are in UTC without --zone. Without a startTime, the job \
of a file runs once at the instant of --from and then follows its schedule. If startTime is in the past, \
intervals are counted from it; occurrences before --from are neither shown nor counted.

--json prints {\"occurrences\":[…],\"ends\":…}; \"ends\" is true if nothing follows the last \
occurrence.";

/// The arguments of `preview`.
#[derive(clap::Args)]
pub(crate) struct PreviewArgs {
    /// File with a job, its properties, or only a recurrence, as JSON or YAML; - reads standard input
    #[arg(required_unless_present_any = ["at", "on", "daily", "once", "every", "cron", "months"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingOptions,
    /// Pretend that the job is created at this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    from: Option<DateTime<Utc>>,
    /// Most occurrences to show, 1 to 100000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = count)]
    limit: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Directory with the time zones of the system, like /usr/share/zoneinfo [default: built in]
    #[arg(long, value_name = "DIR")]
    zones: Option<PathBuf>,
}

/// Why nothing is shown.
pub(crate) struct Unshown {
    /// Whether an argument or the job is invalid; else a file could not be read.
    pub(crate) is_refused: bool,
    pub(crate) message: String,
    /// What to change, if the message does not say it.
    pub(crate) detail: Option<String>,
}

fn failed(message: String) -> Unshown {
    Unshown { is_refused: false, message, detail: None }
}

fn refused(message: String, detail: Option<String>) -> Unshown {
    Unshown { is_refused: true, message, detail }
}

impl PreviewArgs {
    /// The text to print; `now` is the instant of creation if the arguments name none.
    pub(crate) fn run(&self, now: DateTime<Utc>) -> Result<String, Unshown> {
        if let Some(Err(error)) = self.zones.as_deref().map(TakenZones::take) {
            return Err(failed(format!("{error:#}")));
        }
        let from = self.from.unwrap_or(now);
        let mut texts = Vec::new();
        for job in self.jobs(from)? {
            let preview = Preview::of(&job, from, self.limit)
                .map_err(|error| refused(error.to_string(), error.detail()))?;
            texts.push(if self.json { format!("{}\n", preview.json()) } else { preview.text() });
        }
        // Two jobs stand for a cron expression that no single one can follow.
        Ok(texts.join(if self.json { "" } else { "\n" }))
    }

    /// The texts of the jobs.
    fn jobs(&self, from: DateTime<Utc>) -> Result<Vec<String>, Unshown> {
        match &self.file {
            Some(_) if self.timing.is_given() => {
                let why = "a file and options both say when the job fires: give one of them";
                Err(refused(why.to_owned(), None))
            }
            Some(file) => {
                let text = read(file);
                let text =
                    text.map_err(|why| failed(format!("cannot read {}: {why}", file.display())));
                Ok(vec![text?])
            }
            None => {
                let jobs = self.timing.jobs(from);
                let jobs = jobs.map_err(|(message, hint)| refused(message, hint))?;
                Ok(jobs.iter().map(ToString::to_string).collect())
            }
        }
    }
}

/// Reads a file, or standard input for `-`.
fn read(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let limit = JOB_BYTES_MAX as u64 + 1;
    if file == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    if bytes.len() > JOB_BYTES_MAX {
        return Err(io::Error::other(format!("a job has at most {JOB_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))
}

fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    WrittenDate::parse(text).and_then(|date| date.instant(None)).map_err(|error| error.to_string())
}

fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=COUNT_MAX).contains(count));
    count.ok_or_else(|| format!("give a number from 1 to {COUNT_MAX}"))
}
