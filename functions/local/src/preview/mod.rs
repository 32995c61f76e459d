//! `minutehand preview`: shows when a job would fire, without a server.
//!
//! The module does no I/O. Its input is the text of a job, the instant of its assumed creation, and a
//! number of occurrences; its output is a table for people or JSON for programs.

mod table;

use chrono::{DateTime, Utc};
use minutehand_domain::duration::Span;
use minutehand_domain::preview::{NoTiming, WrittenTiming};
use minutehand_domain::schedule::Schedule;
use minutehand_recurrence::{Refused, format_instant};

/// Size limit of a job's text, in bytes.
pub const JOB_BYTES_MAX: usize = 1 << 20;

/// Limit of occurrences in one preview.
pub const COUNT_MAX: u32 = 100_000;

/// The occurrences of a job.
#[derive(Debug, Clone)]
pub struct Preview {
    schedule: Schedule,
    starts_within: Option<Span>,
    from: DateTime<Utc>,
    occurrences: Vec<DateTime<Utc>>,
    ends: bool,
    disabled: bool,
}

/// Why a text cannot be previewed.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The text is neither JSON nor YAML.
    #[error("The job is {0}.")]
    Unreadable(String),
    /// It is JSON or YAML, but not a job.
    #[error("{0}")]
    NotAJob(String),
    /// The API would reject its timing.
    #[error("{0}")]
    Refused(#[from] Refused),
}

/// The forms of input, for error messages.
const WHAT_TO_GIVE: &str =
    "Give a whole job, its 'properties', or a recurrence such as {\"frequency\":\"day\"}";

impl PreviewError {
    /// What to change, if the message itself does not say it.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Unreadable(_) => Some(format!(
                "{WHAT_TO_GIVE}. For a cron expression: `minutehand job create x --cron '…' \
                     --url http://localhost/ --dry-run`."
            )),
            Self::NotAJob(_) => None,
            Self::Refused(refused) => refused.detail(),
        }
    }
}

impl Preview {
    /// Previews a job as if it were created, or its timing changed, at `from`.
    ///
    /// The text is a whole job, its `properties`, or a recurrence with or without a `startTime`.
    ///
    /// # Errors
    ///
    /// If the text is not a job, or its timing is invalid.
    pub fn of(text: &str, from: DateTime<Utc>, count: u32) -> Result<Self, PreviewError> {
        let job = read(text)?;
        let schedule = job.schedule(from).map_err(|error| match error {
            NoTiming::Refused(refused) => refused.into(),
            error => PreviewError::NotAJob(error.to_string()),
        })?;
        let mut coming = schedule.iter();
        let count = count.min(COUNT_MAX);
        let occurrences: Vec<_> = coming.by_ref().take(count as usize).collect();
        let ends = coming.next().is_none();
        drop(coming);
        let (starts_within, disabled) = (job.starts_within(), job.is_disabled);
        Ok(Self { schedule, starts_within, from, occurrences, ends, disabled })
    }

    /// `{"occurrences":[…],"ends":…}`; `ends` is true if nothing follows the last occurrence.
    #[must_use]
    pub fn json(&self) -> String {
        let occurrences: Vec<_> =
            self.occurrences.iter().map(|at| format!("\"{}\"", format_instant(*at))).collect();
        format!(r#"{{"occurrences":[{}],"ends":{}}}"#, occurrences.join(","), self.ends)
    }

    /// A sentence and a table, for people.
    #[must_use]
    pub fn text(&self) -> String {
        table::text(self)
    }
}

/// Reads a whole job, its `properties`, or a recurrence with or without a `startTime`.
fn read(text: &str) -> Result<WrittenTiming, PreviewError> {
    // Files written by PowerShell begin with a byte-order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(not_a_job("the input is empty"));
    }
    let json = minutehand_cli::document(text).map_err(PreviewError::Unreadable)?;
    if let Some(text) = json.as_str() {
        // A text without names is a text of YAML, too.
        return Err(PreviewError::Unreadable(format!("only a text: '{text}'")));
    }
    WrittenTiming::read(&json).map_err(|error| match error {
        NoTiming::NotAJob(why) => not_a_job(why),
        NoTiming::Refused(refused) => refused.into(),
        NoTiming::Extension(refusal) => PreviewError::NotAJob(refusal.message),
    })
}

fn not_a_job(why: &str) -> PreviewError {
    PreviewError::NotAJob(format!("This is not a job: {why}. {WHAT_TO_GIVE}."))
}
