//! Work that is longer than an action: an HTTP action is answered 202, and the target reports the end later.
//!
//! Until then the attempt is open. One [`Ending`] ends it: a report of the target, the deadline, or a cancel.
//! It is stored before the attempt is recorded, and the first one counts.

use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_recurrence::named;

use crate::attempt::Outcome;
use crate::cause::{Cause, CauseKind};
use crate::duration::{Span, in_words};
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::tick::{from_ticks, ticks};

const WITHIN: [Span; 2] = [Span::seconds(60), Span::days(1)];

/// The most bytes of the text of a report that are kept.
pub const REPORT_BYTES_MAX: usize = 10 * 1_024;
/// The most characters of a line of progress that are kept.
pub const PROGRESS_CHARS_MAX: usize = 200;

/// The header that tells a target where it reports the end.
pub const COMPLETION_HEADER: &str = "x-minutehand-completion";

/// The names in the extension `completion`.
pub(crate) const COMPLETION: Shape = Object(&[("within", Leaf)]);

/// The extension `completion` of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// How long after the start of an attempt its target may report the end.
    pub within: Span,
}

impl Completion {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let within = fields.bounded_span("within", WITHIN)?;
        let within =
            within.ok_or_else(|| fields.missing("within", "use a duration such as PT2H"))?;
        Ok(Self { within })
    }

    pub(crate) fn write(self) -> ObjectBuilder {
        ObjectBuilder::default().duration("within", Some(self.within))
    }
}

named! {
    /// What ended an open attempt. The names are stored.
    pub enum EndedBy {
        /// The target reported that its work is done.
        Success = "success",
        /// The target reported that its work failed.
        Failure = "failure",
        /// Nothing was reported in time.
        Deadline = "deadline",
        /// A user cancelled it.
        Cancel = "cancel",
    }
}

impl EndedBy {
    /// Whether the target says so. It may come before its answer, and not after the deadline.
    #[must_use]
    pub const fn is_report(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }
}

/// How an open attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// When.
    pub at: DateTime<Utc>,
    /// What ended it.
    pub by: EndedBy,
    /// What was said with it: the text of a report, or who cancelled it.
    pub text: String,
    /// How many bytes of what was said are kept in the archive, beside the text; 0 if none are.
    pub body_bytes: u32,
}

impl Ending {
    /// An ending with the beginning of a text.
    #[must_use]
    pub fn new(at: DateTime<Utc>, by: EndedBy, text: &str) -> Self {
        let (kept, _) = text.split_at(text.floor_char_boundary(REPORT_BYTES_MAX));
        // Stores differ in what they make of it.
        Self { at, by, text: kept.replace('\0', "\u{fffd}"), body_bytes: 0 }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let kept =
            if self.body_bytes == 0 { String::new() } else { format!("+{}", self.body_bytes) };
        format!("{}{kept} {} {}", self.by.name(), ticks(self.at), self.text)
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote.
    #[must_use]
    pub fn read_stored(stored: &str) -> Option<Self> {
        let mut parts = stored.splitn(3, ' ');
        let by = parts.next()?;
        let (by, body_bytes) = by.split_once('+').unwrap_or((by, "0"));
        let (by, body_bytes) = (EndedBy::read_name(by)?, body_bytes.parse().ok()?);
        let at = from_ticks(parts.next()?.parse().ok()?)?;
        Some(Self { at, by, text: parts.next()?.to_owned(), body_bytes })
    }

    /// How the attempt ended with it.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.by {
            EndedBy::Success => Outcome::Succeeded,
            EndedBy::Failure | EndedBy::Deadline | EndedBy::Cancel => Outcome::Failed,
        }
    }

    /// Why the attempt failed, which is `missing` if nothing ended it in time; `None` if it did not.
    #[must_use]
    pub fn cause(&self, missing: Cause) -> Option<Cause> {
        match self.by {
            EndedBy::Success => None,
            EndedBy::Failure => Some(Cause::reported(&self.text)),
            EndedBy::Deadline => Some(missing),
            EndedBy::Cancel => Some(CauseKind::Cancelled.into()),
        }
    }

    /// What history says of it, behind the words for the host that was called.
    #[must_use]
    pub fn message(&self, within: Duration) -> String {
        let text = self.text.trim();
        let body = if text.is_empty() { String::new() } else { format!(" Body: {text}") };
        match self.by {
            EndedBy::Success => format!("'Accepted' Success was reported.{body}"),
            EndedBy::Failure => format!("'Accepted' Failure was reported.{body}"),
            EndedBy::Deadline => {
                format!("'Accepted' Nothing was reported within {}.", in_words(within))
            }
            EndedBy::Cancel if text.is_empty() => "'Accepted' It was cancelled.".to_owned(),
            EndedBy::Cancel => format!("'Accepted' It was cancelled by {text}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn an_ending_reads_back_as_it_was_stored() {
        for by in EndedBy::ALL {
            for text in ["", "two words", " and\nlines "] {
                let ending = Ending::new(at(60), by, text);
                let kept = Ending { body_bytes: 99_000, ..ending.clone() };
                for ending in [ending, kept] {
                    assert_eq!(Ending::read_stored(&ending.to_stored()), Some(ending));
                }
            }
        }
        for other in ["", "success", "success x ", "another 1 "] {
            assert_eq!(Ending::read_stored(other), None, "{other}");
        }
        let long = "ü".repeat(REPORT_BYTES_MAX);
        assert_eq!(Ending::new(at(0), EndedBy::Failure, &long).text.len(), REPORT_BYTES_MAX);
    }

    #[test]
    fn an_ending_says_why_in_a_few_words() {
        let within = Duration::from_hours(2);
        let cause = |by, text| {
            let cause = Ending::new(at(0), by, text).cause(Cause::no_completion(within));
            cause.map_or_else(String::new, |cause| cause.to_string())
        };
        assert_eq!(cause(EndedBy::Success, "done"), "");
        assert_eq!(cause(EndedBy::Failure, " disk full\nat /var"), "disk full");
        assert_eq!(cause(EndedBy::Failure, " \n"), "failure reported");
        assert_eq!(cause(EndedBy::Deadline, ""), "no completion within 2 h");
        assert_eq!(cause(EndedBy::Cancel, "ann"), "cancelled");
    }
}
