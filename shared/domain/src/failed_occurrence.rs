//! Occurrences that failed for good, as the list of failures of their subscription has them.

use chrono::{DateTime, Utc};

use crate::attempt::{Attempt, Occurrence, Record};
use crate::cause::Cause;
use crate::collection_place::CollectionPlace;
use crate::said::said;

/// The most characters of a message in the list. The history has all of it.
pub const MESSAGE_CHARS_MAX: usize = 200;

/// An occurrence, or a run, whose last attempt at the main action has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedOccurrence {
    /// The job.
    pub job_uid: String,
    /// The path of its collection.
    pub collection_path: CollectionPlace,
    /// The name of the job.
    pub job: String,
    /// The instant of the occurrence.
    pub nominal_at: DateTime<Utc>,
    /// Whether a user asked for it.
    pub is_run: bool,
    /// How many attempts were made.
    pub attempts: u32,
    /// When the last one ended.
    pub ended_at: DateTime<Utc>,
    /// Why the last one failed.
    pub cause: Option<Cause>,
    /// What the target said of it in its own words.
    pub said: Option<String>,
    /// The beginning of what its target or the connection said.
    pub message: String,
    /// What the action calls, without secrets; `None` if the job cannot be read.
    pub target: Option<String>,
}

/// Tells an occurrence that failed for good from the others in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureKey<'a> {
    /// The job.
    pub job_uid: &'a str,
    /// The path of its collection.
    pub collection_path: &'a CollectionPlace,
    /// The instant of the occurrence.
    pub nominal_at: DateTime<Utc>,
    /// When its last attempt ended.
    pub ended_at: DateTime<Utc>,
}

/// What a list of failures says of the job of an occurrence.
#[derive(Debug, Clone, Copy)]
pub struct FailedJob<'a> {
    /// The id of the job.
    pub uid: &'a str,
    /// The path of its collection.
    pub collection_path: &'a CollectionPlace,
    /// Its name.
    pub name: &'a str,
    /// What its action calls.
    pub target: Option<&'a str>,
}

impl FailedOccurrence {
    /// The occurrence whose last attempt has this record.
    #[must_use]
    pub fn new(job: FailedJob<'_>, attempt: &Attempt, record: &Record) -> Self {
        Self {
            job_uid: job.uid.to_owned(),
            collection_path: job.collection_path.clone(),
            job: job.name.to_owned(),
            nominal_at: attempt.occurrence.nominal_at(),
            is_run: matches!(attempt.occurrence, Occurrence::Run { .. }),
            attempts: attempt.number.saturating_add(1),
            ended_at: record.ended_at,
            cause: record.cause.clone(),
            said: said(&record.message),
            message: record.message.chars().take(MESSAGE_CHARS_MAX).collect(),
            target: job.target.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Outcome;

    #[test]
    fn a_failure_has_the_last_attempt_and_the_beginning_of_its_message() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let attempt = Attempt {
            number: 3,
            ..Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) })
        };
        let record = Record {
            started_at: at(90),
            ended_at: at(91),
            outcome: Outcome::Failed,
            message: "ü".repeat(300),
            repeat_count: 1,
            cause: None,
            body_bytes: 0,
            then: None,
        };
        let job = FailedJob {
            uid: "u",
            collection_path: &CollectionPlace::read("s/my group/ops").unwrap(),
            name: "Report",
            target: Some("POST example.org"),
        };
        let failed = FailedOccurrence::new(job, &attempt, &record);
        assert_eq!((failed.attempts, failed.is_run), (4, false));
        assert_eq!(failed.message, "ü".repeat(200));
        assert_eq!(failed.collection_path.group(), "my group");
        assert_eq!(failed.ended_at, at(91));
    }
}
