//! `minutehand preview`: what a job would do, without a scheduler.
//!
//! Pure: the text of a job, an instant that stands for its creation, and a number of occurrences
//! in; the occurrences out, as a table for people or as JSON for programs.

mod job;
mod table;

use chrono::{DateTime, Utc};
use recurrence::{Refused, Timetable, format_instant};

/// The most bytes that the text of a job may have.
pub const JOB_BYTES_MAX: usize = 1 << 20;

/// The most occurrences that one preview computes.
pub const COUNT_MAX: u32 = 100_000;

/// What a job would do.
#[derive(Debug, Clone)]
pub struct Preview {
    timetable: Timetable,
    from: DateTime<Utc>,
    occurrences: Vec<DateTime<Utc>>,
    ends: bool,
    disabled: bool,
}

/// Why there is nothing to preview.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The text is not JSON.
    #[error("The job is not valid JSON: {0}.")]
    NotJson(serde_json::Error),
    /// It is JSON, but no job.
    #[error("{0}")]
    NotAJob(String),
    /// The API would refuse its timing.
    #[error("{0}")]
    Refused(#[from] Refused),
}

impl PreviewError {
    /// What to change, where the message itself does not say it.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::NotJson(_) | Self::NotAJob(_) => None,
            Self::Refused(refused) => refused.detail(),
        }
    }
}

impl Preview {
    /// Previews a job as if it were created at `from`, or its timing changed then.
    ///
    /// The text is a whole job, its `properties`, or a recurrence with or without a `startTime`.
    ///
    /// # Errors
    ///
    /// If the text is no job, or its timing is refused.
    pub fn of(text: &str, from: DateTime<Utc>, count: u32) -> Result<Self, PreviewError> {
        let job = job::read(text)?;
        let timetable = match &job.rule {
            Some(rule) => Timetable::new(rule, job.start_time, from)?,
            None => Timetable::once(job.start_time, from),
        };
        let mut coming = timetable.iter();
        let count = count.min(COUNT_MAX);
        let occurrences: Vec<_> = coming.by_ref().take(count as usize).collect();
        let ends = coming.next().is_none();
        Ok(Self { timetable, from, occurrences, ends, disabled: job.disabled })
    }

    /// `{"occurrences":[…],"ends":…}`; `ends` says that nothing follows the last one listed.
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
