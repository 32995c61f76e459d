//! What follows an attempt. It depends on the record alone, so that every worker that reads the record
//! comes to the same result.

use chrono::TimeDelta;

use crate::attempt::{Attempt, Outcome, Record, Role};
use crate::retry::Retries;

/// The end of the message of an attempt whose retry cannot be stored, because too many retries of the
/// job are waiting. It is in the record, so that every worker that reads the record knows it.
pub const NO_RETRY_FOLLOWS: &str =
    " (No retry follows: as many as may be are pending for this job.)";

/// What follows an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The occurrence is complete.
    Nothing,
    /// Another attempt at the same action.
    Retry(Attempt),
    /// The error action.
    ErrorAction(Attempt),
    /// The failure action of the collection.
    Notice(Attempt),
}

/// What a job and its collection have for an occurrence that fails for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnFailure {
    /// The job has an error action.
    pub has_error_action: bool,
    /// The collection has a failure action. It follows the error action, if there is one.
    pub has_notice: bool,
}

/// Whether an attempt with this record has failed and is the last one of its action.
#[must_use]
pub fn is_final_failure(attempt: &Attempt, record: &Record, retries: Retries) -> bool {
    record.outcome == Outcome::Failed && !has_retry(attempt, record, retries)
}

/// What follows an attempt with this record. `retries` are the retries of its action.
///
/// `horizon` is how long a message may be delayed. A retry that is further away waits in a timer.
#[must_use]
pub fn next_step(
    attempt: &Attempt,
    record: &Record,
    retries: Retries,
    on_failure: OnFailure,
    horizon: TimeDelta,
) -> NextStep {
    let is_failure = record.outcome == Outcome::Failed;
    if is_failure && has_retry(attempt, record, retries) {
        let interval = TimeDelta::try_milliseconds(
            i64::try_from(retries.interval.millis()).unwrap_or(i64::MAX),
        )
        .unwrap_or(TimeDelta::MAX);
        let Some(due_at) = record.ended_at.checked_add_signed(interval) else {
            // It would be due after the end of the calendar.
            return NextStep::Nothing;
        };
        let number = attempt.number + 1;
        let is_long = interval > horizon;
        let sent_late_at = None;
        return NextStep::Retry(Attempt {
            number,
            due_at,
            is_long,
            sent_late_at,
            ..attempt.clone()
        });
    }
    let first_of = |role| Attempt {
        role,
        number: 0,
        due_at: record.ended_at,
        is_long: false,
        sent_late_at: None,
        ..attempt.clone()
    };
    match attempt.role {
        Role::Main if is_failure && on_failure.has_error_action => {
            NextStep::ErrorAction(first_of(Role::Error))
        }
        Role::Main if is_failure && on_failure.has_notice => {
            NextStep::Notice(first_of(Role::Notice))
        }
        // However the error action ended, the occurrence has failed.
        Role::Error if on_failure.has_notice => NextStep::Notice(first_of(Role::Notice)),
        Role::Main | Role::Error | Role::Notice => NextStep::Nothing,
    }
}

fn has_retry(attempt: &Attempt, record: &Record, retries: Retries) -> bool {
    attempt.number < retries.count && !record.message.ends_with(NO_RETRY_FOLLOWS)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::attempt::Occurrence;
    use crate::duration::Span;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn record(outcome: Outcome) -> Record {
        Record {
            started_at: at(60),
            ended_at: at(61),
            outcome,
            message: String::new(),
            repeat_count: 1,
        }
    }

    #[test]
    fn the_table() {
        let retries = |count, seconds| Retries { count, interval: Span::seconds(seconds) };
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let nth = |number| Attempt { number, ..first.clone() };
        let error = |number| Attempt { role: Role::Error, number, ..first.clone() };
        let notice = |number| Attempt { role: Role::Notice, number, ..first.clone() };
        let next_of = |attempt: &Attempt, outcome, retries, on_failure| {
            let horizon = TimeDelta::minutes(14);
            match next_step(attempt, &record(outcome), retries, on_failure, horizon) {
                NextStep::Nothing => "nothing".to_owned(),
                NextStep::Retry(next) | NextStep::ErrorAction(next) | NextStep::Notice(next) => {
                    format!(
                        "{:?} {} at {}{}",
                        next.role,
                        next.number,
                        next.due_at.timestamp(),
                        if next.is_long { " long" } else { "" },
                    )
                }
            }
        };
        let next = |attempt: &Attempt, outcome, retries, has_error_action| {
            let on_failure = OnFailure { has_error_action, has_notice: false };
            next_of(attempt, outcome, retries, on_failure)
        };
        let (ok, failed) = (Outcome::Succeeded, Outcome::Failed);
        // A notice follows the error action however that ended, or the action if there is none.
        let with = |has_error_action| OnFailure { has_error_action, has_notice: true };
        for (attempt, outcome, count, on_failure, expected) in [
            (&first, ok, 0, with(true), "nothing"),
            (&first, failed, 1, with(true), "Main 1 at 91"),
            (&first, failed, 0, with(true), "Error 0 at 61"),
            (&first, failed, 0, with(false), "Notice 0 at 61"),
            (&error(0), ok, 1, with(true), "Notice 0 at 61"),
            (&error(0), failed, 1, with(true), "Error 1 at 91"),
            (&error(1), failed, 1, with(true), "Notice 0 at 61"),
            (&notice(0), ok, 1, with(true), "nothing"),
            (&notice(0), failed, 1, with(true), "Notice 1 at 91"),
            (&notice(1), failed, 1, with(true), "nothing"),
        ] {
            let found = next_of(attempt, outcome, retries(count, 30), on_failure);
            assert_eq!(found, expected, "{attempt:?} {outcome:?} {on_failure:?}");
        }
        assert_eq!(next(&first, ok, retries(4, 30), true), "nothing");
        assert_eq!(next(&first, failed, retries(4, 30), true), "Main 1 at 91");
        assert_eq!(next(&nth(3), failed, retries(4, 30), true), "Main 4 at 91");
        assert_eq!(next(&nth(4), failed, retries(4, 30), true), "Error 0 at 61");
        assert_eq!(next(&nth(4), failed, retries(4, 30), false), "nothing");
        assert_eq!(next(&first, failed, retries(0, 30), true), "Error 0 at 61");
        assert_eq!(next(&first, failed, retries(1, 840), false), "Main 1 at 901");
        assert_eq!(next(&first, failed, retries(1, 841), false), "Main 1 at 902 long");
        assert_eq!(next(&error(0), failed, retries(1, 30), true), "Error 1 at 91");
        assert_eq!(next(&error(1), failed, retries(1, 30), true), "nothing");
        // A policy that was made shorter meanwhile ends the chain.
        assert_eq!(next(&nth(3), failed, retries(1, 30), false), "nothing");
        let gave_up = Record { message: format!("x{NO_RETRY_FOLLOWS}"), ..record(failed) };
        assert!(is_final_failure(&first, &gave_up, retries(4, 30)));
        assert!(is_final_failure(&nth(4), &record(failed), retries(4, 30)));
        assert!(!is_final_failure(&nth(3), &record(failed), retries(4, 30)));
        assert!(!is_final_failure(&nth(4), &record(ok), retries(4, 30)));
    }
}
