//! How many occurrences of a job failed for good in a row: as many as it allows make it
//! [pause](crate::pause).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::next_step::{FollowPolicy, is_final_failure};
use crate::attempt::{Attempt, Occurrence, Outcome, Record, Role};

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

    use super::*;
    use crate::attempt::Then;
    use crate::firing::OnFailure;
    use crate::plan::Plan;
    use crate::retry::Retries;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
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
                    cause: None,
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
