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
    has_error_action: bool,
    horizon: TimeDelta,
) -> NextStep {
    if record.outcome == Outcome::Succeeded {
        return NextStep::Nothing;
    }
    if has_retry(attempt, record, retries) {
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
    if attempt.role == Role::Main && has_error_action {
        return NextStep::ErrorAction(Attempt {
            role: Role::Error,
            number: 0,
            due_at: record.ended_at,
            is_long: false,
            sent_late_at: None,
            ..attempt.clone()
        });
    }
    NextStep::Nothing
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
        let next = |attempt: &Attempt, outcome, retries, has_error_action| {
            let horizon = TimeDelta::minutes(14);
            match next_step(attempt, &record(outcome), retries, has_error_action, horizon) {
                NextStep::Nothing => "nothing".to_owned(),
                NextStep::Retry(next) | NextStep::ErrorAction(next) => format!(
                    "{:?} {} at {}{}",
                    next.role,
                    next.number,
                    next.due_at.timestamp(),
                    if next.is_long { " long" } else { "" },
                ),
            }
        };
        let (ok, failed) = (Outcome::Succeeded, Outcome::Failed);
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
