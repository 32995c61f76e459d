//! Jobs that pause: after so many occurrences in a row that failed for good, the scheduler disables a
//! job that asks for it.
//!
//! Nothing is counted for this: the history tells how many failed in a row, and only an occurrence that
//! fails for good asks it. So a job that succeeds pays nothing.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;

use crate::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use crate::firing::{FollowPolicy, is_final_failure};
use crate::job::{JobDefinition, Switch};
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
        let mut document = ObjectBuilder::default();
        document.set("after", self.after);
        document
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
        let mut document = ObjectBuilder::default();
        document.found("at", format_instant(self.at)).found("reason", self.reason.as_str());
        document
    }
}

/// Refuses a pause that never comes.
pub(crate) fn check_pause(job: &JobDefinition) -> Result<(), Refusal> {
    if job.pause_on_failure().is_none() || job.recurrence.is_some() {
        return Ok(());
    }
    Err(Refusal::about(
        "minutehand.pauseOnFailure",
        "has no effect, because the job runs once; give it a 'recurrence', or leave this out.",
    ))
}

/// A job as the scheduler disables it.
#[must_use]
pub fn paused(job: &JobDefinition, paused: Paused) -> JobDefinition {
    let mut job = JobDefinition { switch: Switch::Disabled, ..job.clone() };
    job.extensions.get_or_insert_default().paused = Some(paused);
    job
}

/// The job that a user's change makes of one that may be paused: it stays so until it is enabled.
pub fn keep_paused(before: &JobDefinition, wanted: &mut JobDefinition) {
    let paused = before.paused().filter(|_| wanted.switch == Switch::Disabled).cloned();
    match (&mut wanted.extensions, paused) {
        (None, None) => {}
        (extensions, paused) => extensions.get_or_insert_default().paused = paused,
    }
}

/// How many occurrences in a row failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedInRow {
    /// How many.
    pub occurrences: u32,
    /// The instant of the last one.
    pub last: DateTime<Utc>,
    /// Whether earlier attempts, which were not given, could be of further ones.
    pub may_be_more: bool,
}

/// How many occurrences around one failed for good without another one in between: one that succeeded,
/// and one that has not ended. What was left out is not in the history, and ends no row.
///
/// `attempts` are the latest of the job. Those of runs, of other actions and of another generation are
/// ignored, as a job that is enabled begins anew. `None` if the occurrence itself has not failed for
/// good.
#[must_use]
pub fn failed_in_row(
    attempts: &[(Attempt, Option<Record>)],
    of: &Attempt,
    policy: FollowPolicy,
) -> Option<FailedInRow> {
    let Occurrence::Scheduled { nominal_at: at } = of.occurrence else { return None };
    let mut ended = BTreeMap::new();
    for (attempt, record) in attempts {
        let Occurrence::Scheduled { nominal_at } = attempt.occurrence else { continue };
        if attempt.role != Role::Main || attempt.generation != of.generation {
            continue;
        }
        let has_failed = record.as_ref().is_some_and(|record| {
            record.outcome == Outcome::Failed && is_final_failure(attempt, record, policy)
        });
        *ended.entry(nominal_at).or_insert(false) |= has_failed;
    }
    let before = ended.range(..at).rev().take_while(|(_, has_failed)| **has_failed).count();
    let since: Vec<_> = ended.range(at..).take_while(|(_, has_failed)| **has_failed).collect();
    let (last, _) = since.last()?;
    Some(FailedInRow {
        occurrences: u32::try_from(before + since.len()).unwrap_or(u32::MAX),
        last: **last,
        // The oldest one may have further attempts that are older.
        may_be_more: before + 1 >= ended.range(..at).count(),
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::attempt::Then;
    use crate::document::{accept, load_shown};
    use crate::firing::OnFailure;
    use crate::plan::Plan;
    use crate::retry::Retries;

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
            (json!(5), &daily, "'minutehand.pauseOnFailure' must be a JSON object."),
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

    #[test]
    fn a_row_is_ended_by_a_success_and_by_what_is_open() {
        // For each occurrence from minute 1 on: f failed for good, s succeeded, r waits for a retry,
        // c is claimed, and a space is one without an attempt.
        for (of, occurrences, expected) in [
            (1, "f", Some((1, 1, true))),
            (3, "fff", Some((3, 3, true))),
            (3, "sff", Some((2, 3, true))),
            (4, "fsff", Some((2, 4, false))),
            (4, "frff", Some((2, 4, false))),
            (2, "ffcf", Some((2, 2, true))),
            (2, "fff", Some((3, 3, true))),
            (4, "f  f", Some((2, 4, true))),
            (1, "r", None),
            (1, "s", None),
        ] {
            let mut attempts = Vec::new();
            for (minute, kind) in (1..).zip(occurrences.chars()) {
                let occurrence = Occurrence::Scheduled { nominal_at: at(minute) };
                let first = Attempt::first(7, occurrence);
                let record = |outcome, then| Record {
                    started_at: at(minute),
                    ended_at: at(minute),
                    outcome,
                    message: String::new(),
                    repeat_count: 1,
                    body_bytes: 0,
                    then: Some(then),
                };
                let retry = Then::Retry { due_at: at(minute), is_long: false };
                let failed = |then| Some(record(Outcome::Failed, then));
                match kind {
                    'f' => {
                        attempts.push((first.clone(), failed(retry)));
                        attempts.push((Attempt { number: 1, ..first }, failed(Then::ErrorAction)));
                    }
                    's' => attempts.push((first, Some(record(Outcome::Succeeded, Then::Nothing)))),
                    'r' => attempts.push((first, failed(retry))),
                    'c' => attempts.push((first, None)),
                    _ => {}
                }
            }
            let other = Attempt::first(6, Occurrence::Scheduled { nominal_at: at(0) });
            attempts.push((other.clone(), None));
            attempts.push((Attempt { role: Role::Error, generation: 7, ..other }, None));
            let policy = FollowPolicy {
                retries: Retries::from_policy(None, Plan::default()),
                on_failure: OnFailure::default(),
                horizon: TimeDelta::minutes(14),
            };
            let of = Attempt::first(7, Occurrence::Scheduled { nominal_at: at(of) });
            let found = failed_in_row(&attempts, &of, policy);
            let found = found.map(|row| (row.occurrences, row.last, row.may_be_more));
            assert_eq!(
                found,
                expected.map(|(n, last, more)| (n, at(last), more)),
                "{occurrences:?}"
            );
        }
    }
}
