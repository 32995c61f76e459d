//! The command line: arguments in, exit code out.

use std::env::VarError;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use clap::{Parser, Subcommand};
use minutehand::backup::backup;
use minutehand::preview::{COUNT_MAX, JOB_BYTES_MAX, Preview};
use minutehand::serve::{BUILD, DATA_DIR, ServeArgs, ServeSettings, serve};
use recurrence::WrittenDate;

/// The work could not be done: a file cannot be read, the output cannot be written.
const FAILED: u8 = 1;
/// What was given is refused: an argument, or a job.
const REFUSED: u8 = 2;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the work could not be done: a file cannot be read or written, the data directory is in use
  2  what was given is refused: an argument, or a job (with the message the API would answer)";

const SERVE_EXAMPLES: &str = "\
Examples:
  minutehand serve
  minutehand serve --memory --no-auth --listen 127.0.0.1:0
  minutehand serve --data /var/lib/minutehand --listen 10.0.0.5:7070 --tls-self-signed
  minutehand serve --memory --clock-start 2027-03-28T00:00:00Z --clock-rate 3600

Environment:
  MINUTEHAND_TOKEN  the token, as --token; an argument comes first

What a user has to know is printed on standard output; its last line says where the server listens.
The log goes to standard error. SIGTERM and SIGINT end it within 10 s, a second one at once.
Every occurrence that is owed runs at least once, and never early; after an outage a recurring job
makes up for one. GET /metrics tells a monitor what fires.
The data directory holds everything, the key that seals secrets included: whoever has a copy has all
of it. One process has it at a time.

Exit codes:
  0  ended by a signal
  1  it could not start or go on: a port or the data directory is in use, a file cannot be read
  2  an argument is refused";

const PREVIEW_EXAMPLES: &str = "\
Examples:
  minutehand preview job.json
  minutehand preview job.json --from 2027-03-01T00:00:00Z --count 40
  echo '{\"frequency\":\"day\",\"schedule\":{\"hours\":[8,17]}}' | minutehand preview - --json

A job without a startTime begins at --from, and its first occurrence is that instant.
A startTime in the past only fixes the phase: what lies before --from is neither shown nor counted.
--json prints {\"occurrences\":[…],\"ends\":…}; \"ends\" says that nothing follows the last one.";

/// Job scheduling that you can trust with your own account.
#[derive(Parser)]
#[command(name = "minutehand", version = version(), after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the scheduler on this machine
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Show when a job would fire, without a scheduler
    #[command(after_help = PREVIEW_EXAMPLES)]
    Preview(PreviewArgs),
    /// Copy a data directory that no server uses; to restore, serve from the copy
    #[command(after_help = EXIT_CODES)]
    Backup(BackupArgs),
}

#[derive(clap::Args)]
struct BackupArgs {
    /// Where the copy will be; nothing may be there
    target: PathBuf,
    /// The data directory
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    data: PathBuf,
}

#[derive(clap::Args)]
struct PreviewArgs {
    /// A whole job, its properties, or only a recurrence, as JSON; - reads standard input
    file: PathBuf,
    /// The instant at which the job is taken to be created [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    from: Option<DateTime<Utc>>,
    /// How many occurrences to show
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(COUNT_MAX)))]
    count: u32,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Reads the arguments and does what they say.
pub(crate) fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(args) => run_server(&args),
        Command::Preview(args) => preview(&args),
        Command::Backup(args) => match backup(&args.data, &args.target) {
            Ok(bytes) => print(&format!("{bytes} bytes are in {}\n", args.target.display())),
            Err(error) => fail(FAILED, format!("{error:#}"), None),
        },
    }
}

fn run_server(args: &ServeArgs) -> ExitCode {
    let settings = match ServeSettings::read(args, environment) {
        Ok(settings) => settings,
        Err(problems) => {
            for problem in problems {
                fail(REFUSED, problem, None);
            }
            return ExitCode::from(REFUSED);
        }
    };
    match serve(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("{error:#}"), None),
    }
}

#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
fn environment(name: &str) -> Option<String> {
    match std::env::var(name) {
        Ok(value) => Some(value),
        Err(VarError::NotPresent) => None,
        // Refused by whoever reads it, where ignoring it would surprise.
        Err(VarError::NotUnicode(value)) => Some(value.to_string_lossy().into_owned()),
    }
}

fn preview(args: &PreviewArgs) -> ExitCode {
    let text = match read(&args.file) {
        Ok(text) => text,
        Err(why) => {
            return fail(FAILED, format!("cannot read {}: {why}", args.file.display()), None);
        }
    };
    let from = args.from.unwrap_or_else(now);
    match Preview::of(&text, from, args.count) {
        Ok(preview) if args.json => print(&format!("{}\n", preview.json())),
        Ok(preview) => print(&preview.text()),
        Err(error) => fail(REFUSED, &error, error.detail()),
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
        return Err(io::Error::other(format!("a job may have {JOB_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

#[expect(clippy::disallowed_methods, reason = "the binary is where the clock is read")]
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    WrittenDate::parse(text).and_then(|date| date.instant(None)).map_err(|error| error.to_string())
}

fn version() -> String {
    format!(
        "{} (commit {}, store {}, time zones {})",
        BUILD.version,
        BUILD.commit,
        BUILD.store,
        recurrence::zone::database_version()
    )
}

fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write the output: {error}"), None),
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn fail(code: u8, message: impl Display, detail: Option<String>) -> ExitCode {
    // There is nobody left to tell if even this cannot be written.
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "error: {message}");
    if let Some(detail) = detail {
        let _ = writeln!(out, "  {detail}");
    }
    ExitCode::from(code)
}
