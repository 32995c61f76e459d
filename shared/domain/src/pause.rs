//! Jobs that pause: after so many occurrences in a row that failed for good, the scheduler disables a
//! job that asks for it.
//!
//! Nothing is counted for this: the history tells how many failed in a row, and only an occurrence that
//! fails for good asks it. So a job that succeeds pays nothing.

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;

use crate::json::Shape::{Free, Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Reading, Shape};
use crate::refusal::Refusal;

/// The most occurrences after which a job pauses.
const AFTER_MAX: u32 = 100;

/// The names in the extension.
pub(crate) const PAUSE_ON_FAILURE: Shape = Object(&[("after", Leaf)]);
/// What only the scheduler sets: a request may repeat it.
pub(crate) const PAUSED: Shape = Free;

/// The extension `pauseOnFailure` of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseOnFailure {
    /// After how many occurrences in a row that failed for good the job pauses.
    pub after: u32,
}

/// That the scheduler has disabled a job, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// The instant from which on it is disabled.
    pub at: DateTime<Utc>,
    /// Why, in a sentence.
    pub reason: String,
}

impl PauseOnFailure {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let after = fields.whole("after", 1, AFTER_MAX)?.ok_or_else(|| {
            fields.missing("after", &format!("use a whole number from 1 to {AFTER_MAX}"))
        })?;
        Ok(Self { after })
    }

    pub(crate) fn write(self) -> ObjectBuilder {
        ObjectBuilder::default().set("after", self.after)
    }
}

impl Paused {
    /// A pause after so many occurrences in a row, the latest of which was that at `last`.
    #[must_use]
    pub fn after(occurrences: u32, last: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let last = format_instant(last);
        let reason = match occurrences {
            1 => format!("The occurrence at {last} failed for good."),
            n => format!("{n} occurrences in a row failed for good, up to that at {last}."),
        };
        Self { at: now, reason }
    }

    /// Reads what is stored. A request may repeat an answer, and what that says is ignored.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Option<Self>, Refusal> {
        if let Reading::Request(_) = fields.reading() {
            return Ok(None);
        }
        Ok(match (fields.date("at")?, fields.owned("reason")?) {
            (Some(at), Some(reason)) => Some(Self { at, reason }),
            _ => None,
        })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        ObjectBuilder::default()
            .found("at", format_instant(self.at))
            .found("reason", self.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::{accept, load_shown};
    use crate::job::{JobDefinition, Switch, keep_paused, paused};
    use crate::plan::Plan;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    fn job(
        minutehand: &serde_json::Value,
        recurrence: &serde_json::Value,
    ) -> Result<JobDefinition, Refusal> {
        let action = json!({"type": "Http", "request": {"uri": "http://a.test/", "method": "GET"}});
        let properties =
            json!({"action": action, "recurrence": recurrence, "minutehand": minutehand});
        accept(&json!({"properties": properties}), Plan::default())
    }

    #[test]
    fn wrong_values_are_refused() {
        let daily = json!({"frequency": "day"});
        for (pause, recurrence, expected) in [
            (
                json!({}),
                &daily,
                "'minutehand.pauseOnFailure.after' is missing; use a whole number from 1 to 100.",
            ),
            (json!({"after": 0}), &daily, "'minutehand.pauseOnFailure.after' is 0"),
            (json!({"after": 101}), &daily, "'minutehand.pauseOnFailure.after' is 101"),
            (json!({"after": 1.5}), &daily, "'minutehand.pauseOnFailure.after' is 1.5"),
            (
                json!(5),
                &daily,
                "'minutehand.pauseOnFailure' must be a JSON object, such as {\"after\": 5}.",
            ),
            (
                json!({"after": 5}),
                &json!(null),
                "'minutehand.pauseOnFailure' has no effect, because the job runs once",
            ),
        ] {
            let message = job(&json!({"pauseOnFailure": pause}), recurrence).unwrap_err().message;
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_job_stays_paused_until_it_is_enabled() {
        let daily = json!({"frequency": "day"});
        let on = job(&json!({"pauseOnFailure": {"after": 3}}), &daily).unwrap();
        let why = Paused::after(3, at(5), at(6));
        let off = paused(&on, why.clone());
        assert_eq!(off.switch, Switch::Disabled);
        let shown = off.write().split().unwrap().shown;
        let stored = load_shown(&serde_json::from_str(&shown).unwrap()).unwrap();
        assert_eq!(stored, off);
        assert_eq!(stored.paused(), Some(&why));
        // A client cannot say that a job is paused; without an extension of its own it stays paused.
        let sent = json!({"paused": {"at": "2020-01-01T00:00:00Z", "reason": "mine"}});
        let sent = job(&sent, &daily).unwrap();
        assert_eq!(sent.paused(), None);
        let mut still_off =
            JobDefinition { switch: Switch::Disabled, extensions: None, ..on.clone() };
        keep_paused(&off, &mut still_off);
        assert_eq!(still_off.paused(), Some(&why));
        let mut enabled = on.clone();
        keep_paused(&off, &mut enabled);
        assert_eq!(enabled, on);
    }
}
