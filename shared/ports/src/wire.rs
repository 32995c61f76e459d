//! The form in which a work item travels.
//!
//! A message is one line of JSON with a version. A worker that is older than the sender finds a
//! version it does not know, and leaves the message to a newer one.

use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, Occurrence, Role};
use domain::tick::{from_ticks, ticks};
use domain::work_item::{JobRef, WorkItem};
use serde::{Deserialize, Serialize};

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableMessage {
    /// It is not one of ours, or was damaged.
    #[error("the message is not a work item: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A newer version wrote it.
    #[error("the message has version {found}, and this worker reads up to {VERSION}")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// It names an instant that no date can have, or nothing to do.
    #[error("the message is not a work item: {0}")]
    Nonsense(&'static str),
}

/// A work item as a message.
#[must_use]
pub fn encode(work_item: &WorkItem) -> String {
    let what = match work_item {
        WorkItem::Execute { job, attempts } => {
            Wire::Execute { job: job.into(), attempts: attempts.iter().map(wire).collect() }
        }
        WorkItem::Conclude { job, generation } => {
            Wire::Conclude { job: job.into(), generation: *generation }
        }
        WorkItem::Delete { job, generation } => {
            Wire::Delete { job: job.into(), generation: *generation }
        }
        WorkItem::Purge { collection_uid } => {
            Wire::Purge { collection_uid: collection_uid.clone() }
        }
    };
    // Texts and numbers are all there is in it, and those have a form in JSON.
    serde_json::to_string(&Versioned { version: VERSION, what }).unwrap_or_default()
}

/// Reads a message.
///
/// # Errors
///
/// If it is not a work item, or one of a newer version.
pub fn decode(message: &str) -> Result<WorkItem, UnreadableMessage> {
    let VersionOnly { version } = serde_json::from_str(message)?;
    if version > VERSION {
        return Err(UnreadableMessage::Newer { found: version });
    }
    let Versioned { what, .. } = serde_json::from_str(message)?;
    Ok(match what {
        Wire::Execute { job, attempts } => {
            if attempts.is_empty() {
                return Err(UnreadableMessage::Nonsense("no attempt"));
            }
            let attempts: Result<_, _> = attempts.into_iter().map(attempt).collect();
            WorkItem::Execute { job: job.into(), attempts: attempts? }
        }
        Wire::Conclude { job, generation } => WorkItem::Conclude { job: job.into(), generation },
        Wire::Delete { job, generation } => WorkItem::Delete { job: job.into(), generation },
        Wire::Purge { collection_uid } => WorkItem::Purge { collection_uid },
    })
}

#[derive(Deserialize)]
struct VersionOnly {
    #[serde(rename = "v")]
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Versioned {
    #[serde(rename = "v")]
    version: u32,
    #[serde(flatten)]
    what: Wire,
}

/// A work item as it is written. Its names are short: it is sent for every occurrence.
#[derive(Serialize, Deserialize)]
#[serde(tag = "do")]
enum Wire {
    #[serde(rename = "x")]
    Execute {
        #[serde(rename = "j")]
        job: WireJob,
        #[serde(rename = "a")]
        attempts: Vec<WireAttempt>,
    },
    #[serde(rename = "conclude")]
    Conclude {
        #[serde(rename = "j")]
        job: WireJob,
        #[serde(rename = "g")]
        generation: u64,
    },
    #[serde(rename = "delete")]
    Delete {
        #[serde(rename = "j")]
        job: WireJob,
        #[serde(rename = "g")]
        generation: u64,
    },
    #[serde(rename = "purge")]
    Purge {
        #[serde(rename = "c")]
        collection_uid: String,
    },
}

#[derive(Serialize, Deserialize)]
struct WireJob {
    #[serde(rename = "u")]
    uid: String,
    #[serde(rename = "c")]
    collection_uid: String,
    #[serde(rename = "k")]
    key: String,
}

impl From<&JobRef> for WireJob {
    fn from(JobRef { uid, collection_uid, key }: &JobRef) -> Self {
        Self { uid: uid.clone(), collection_uid: collection_uid.clone(), key: key.clone() }
    }
}

impl From<WireJob> for JobRef {
    fn from(WireJob { uid, collection_uid, key }: WireJob) -> Self {
        Self { uid, collection_uid, key }
    }
}

#[derive(Serialize, Deserialize)]
struct WireAttempt {
    #[serde(rename = "g")]
    generation: u64,
    /// The occurrence's instant.
    #[serde(rename = "n")]
    nominal: i64,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    #[serde(rename = "e", default, skip_serializing_if = "is_default")]
    error: bool,
    #[serde(rename = "t", default, skip_serializing_if = "is_default")]
    number: u32,
    /// When it is due, if that is another instant.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    due: Option<i64>,
    /// Whether it waits in a timer of its own.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    is_long: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn wire(attempt: &Attempt) -> WireAttempt {
    let nominal_at = attempt.occurrence.nominal_at();
    WireAttempt {
        generation: attempt.generation,
        nominal: ticks(nominal_at),
        run_id: match &attempt.occurrence {
            Occurrence::Scheduled { .. } => None,
            Occurrence::Run { run_id, .. } => Some(run_id.clone()),
        },
        error: attempt.role == Role::Error,
        number: attempt.number,
        due: (attempt.due_at != nominal_at).then(|| ticks(attempt.due_at)),
        is_long: attempt.is_long,
    }
}

fn attempt(wire: WireAttempt) -> Result<Attempt, UnreadableMessage> {
    let nominal_at = instant(wire.nominal)?;
    Ok(Attempt {
        generation: wire.generation,
        occurrence: match wire.run_id {
            None => Occurrence::Scheduled { nominal_at },
            Some(run_id) => Occurrence::Run { asked_at: nominal_at, run_id },
        },
        role: if wire.error { Role::Error } else { Role::Main },
        number: wire.number,
        due_at: wire.due.map_or(Ok(nominal_at), instant)?,
        is_long: wire.is_long,
    })
}

fn instant(ticks: i64) -> Result<DateTime<Utc>, UnreadableMessage> {
    from_ticks(ticks).ok_or(UnreadableMessage::Nonsense("an instant that no date can have"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobRef {
        JobRef { uid: "u1".to_owned(), collection_uid: "c1".to_owned(), key: "nightly".to_owned() }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn an_errand_reads_back_as_it_was() {
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let retry = Attempt { number: 2, due_at: at(95), is_long: true, ..first.clone() };
        let failed = Attempt { role: Role::Error, due_at: at(99), ..first.clone() };
        let run = Occurrence::Run { asked_at: at(7), run_id: "ab".to_owned() };
        for work_item in [
            WorkItem::Execute {
                job: job(),
                attempts: vec![first, retry, failed, Attempt::first(4, run)],
            },
            WorkItem::Conclude { job: job(), generation: 7 },
            WorkItem::Delete { job: job(), generation: u64::MAX },
            WorkItem::Purge { collection_uid: "c1".to_owned() },
        ] {
            assert_eq!(decode(&encode(&work_item)).unwrap(), work_item);
        }
    }

    /// Messages outlive the worker that wrote them, so this line must be read for ever.
    #[test]
    fn the_usual_message_is_short_and_stays_as_it_is() {
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let work_item = WorkItem::Execute { job: job(), attempts: vec![attempt] };
        let line =
            r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000}]}"#;
        assert_eq!(encode(&work_item), line);
        assert_eq!(decode(line).unwrap(), work_item);
    }

    #[test]
    fn what_is_no_errand_is_refused() {
        for (message, expected) in [
            ("", "the message is not a work item: EOF while parsing a value at line 1 column 0"),
            (r#"{"v":2,"do":"dance"}"#, "the message has version 2, and this worker reads up to 1"),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[]}"#,
                "the message is not a work item: no attempt",
            ),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[{"g":1,"n":9223372036854775807}]}"#,
                "the message is not a work item: an instant that no date can have",
            ),
        ] {
            assert_eq!(decode(message).unwrap_err().to_string(), expected);
        }
    }
}
