//! The trouble of a collection whose alerts do not arrive.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::attempt::{Attempt, Record};
use crate::attempt_key::attempt_key;
use crate::cause::Cause;
use crate::tick::{from_ticks, ticks};

/// The version of the stored form.
const VERSION: u64 = 1;

/// The alerts of a collection that have failed for good since the last one that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertTrouble {
    /// How many.
    pub alerts: u32,
    /// When the first of them failed.
    pub since: DateTime<Utc>,
    /// When the last one did.
    pub last_at: DateTime<Utc>,
    /// The job that it was to tell of.
    pub job: String,
    /// Why it failed.
    pub cause: Option<Cause>,
    /// Tells it from the others: an attempt that is followed again is not counted again.
    last: String,
}

/// An alert that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAlert {
    /// Tells it from the others of its collection.
    pub id: String,
    /// The job that it was to tell of.
    pub job: String,
    /// When its last try ended.
    pub ended_at: DateTime<Utc>,
    /// Why that one failed.
    pub cause: Option<Cause>,
}

impl LostAlert {
    /// The alert that is an attempt of a job.
    #[must_use]
    pub fn of_attempt(job: &str, attempt: &Attempt, record: &Record) -> Self {
        Self {
            id: format!("{job} {}", attempt_key(attempt)),
            job: job.to_owned(),
            ended_at: record.ended_at,
            cause: record.cause.clone(),
        }
    }
}

impl AlertTrouble {
    /// The trouble after one more alert has failed; `None` if that one is counted.
    #[must_use]
    pub fn after(before: Option<&Self>, lost: &LostAlert) -> Option<Self> {
        let LostAlert { id, job, ended_at, cause } = lost;
        if before.is_some_and(|before| before.last == *id) {
            return None;
        }
        Some(Self {
            alerts: before.map_or(0, |before| before.alerts).saturating_add(1),
            since: before.map_or(*ended_at, |before| before.since),
            last_at: *ended_at,
            job: job.clone(),
            cause: cause.clone(),
            last: id.clone(),
        })
    }

    /// As it is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        json!({
            "v": VERSION,
            "n": self.alerts,
            "s": ticks(self.since),
            "t": ticks(self.last_at),
            "j": self.job,
            "c": self.cause.as_ref().map(Cause::to_stored),
            "l": self.last,
        })
        .to_string()
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote; `None` for no trouble, and for what another version
    /// wrote.
    #[must_use]
    pub fn read_stored(stored: &str) -> Option<Self> {
        let stored = super::read_version(stored, VERSION)?;
        let text = |name: &str| Some(stored.get(name)?.as_str()?.to_owned());
        let instant = |name: &str| from_ticks(stored.get(name)?.as_i64()?);
        Some(Self {
            alerts: stored.get("n")?.as_u64()?.try_into().ok()?,
            since: instant("s")?,
            last_at: instant("t")?,
            job: text("j")?,
            cause: text("c").and_then(|cause| Cause::read_stored(&cause)),
            last: text("l")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{Occurrence, Outcome, Role};

    #[test]
    fn failed_alerts_are_counted_once_each() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let failed = |second| {
            let first = Attempt::first(0, Occurrence::Scheduled { nominal_at: at(second) });
            let record = Record {
                started_at: at(second),
                ended_at: at(second),
                outcome: Outcome::Failed,
                message: String::new(),
                repeat_count: 1,
                cause: Some(Cause::http(400)),
                body_bytes: 0,
                then: None,
            };
            (Attempt { role: Role::Notice, ..first }, record)
        };
        let after = |before: Option<&AlertTrouble>, job, second| {
            let (attempt, record) = failed(second);
            AlertTrouble::after(before, &LostAlert::of_attempt(job, &attempt, &record))
        };
        let first = after(None, "a", 60).unwrap();
        assert_eq!(after(Some(&first), "a", 60), None);
        let second = after(Some(&first), "b", 60).unwrap();
        let third = after(Some(&second), "b", 120).unwrap();
        assert_eq!((third.alerts, third.since, third.last_at), (3, at(60), at(120)));
        assert_eq!(AlertTrouble::read_stored(&third.to_stored()), Some(third));
        assert_eq!(AlertTrouble::read_stored(""), None);
    }
}
