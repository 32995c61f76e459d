//! What follows an attempt. It is decided once, and is in the record, so that every worker that reads
//! the record comes to the same result, whatever has become of the job's policy.

use chrono::TimeDelta;

use crate::attempt::{Attempt, Outcome, Record, Role, Then};
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
pub fn is_final_failure(attempt: &Attempt, record: &Record, policy: FollowPolicy) -> bool {
    let then = || decide_then(attempt, record, policy);
    let then = record.then.unwrap_or_else(then);
    record.outcome == Outcome::Failed && !matches!(then, Then::Retry { .. })
}

/// The policy that decides what follows an attempt.
#[derive(Debug, Clone, Copy)]
pub struct FollowPolicy {
    /// The retries of the attempt's action.
    pub retries: Retries,
    /// What the job and its collection have for a failure.
    pub on_failure: OnFailure,
    /// How long a message may be delayed. A retry that is further away waits in a timer.
    pub horizon: TimeDelta,
}

/// Decides what follows an attempt with this record, which does not say so itself.
#[must_use]
pub fn decide_then(
    attempt: &Attempt,
    record: &Record,
    FollowPolicy { retries, on_failure, horizon }: FollowPolicy,
) -> Then {
    let is_failure = record.outcome == Outcome::Failed;
    let gave_up = record.message.ends_with(NO_RETRY_FOLLOWS);
    if is_failure
        && !gave_up
        && let Some(due_at) = retries.due_at(attempt, record.ended_at)
    {
        return Then::Retry { due_at, is_long: due_at - record.ended_at > horizon };
    }
    match attempt.role {
        Role::Main if is_failure && on_failure.has_error_action => Then::ErrorAction,
        Role::Main if is_failure && on_failure.has_notice => Then::Notice,
        // However the error action ended, the occurrence has failed.
        Role::Error if on_failure.has_notice => Then::Notice,
        Role::Main | Role::Error | Role::Notice => Then::Nothing,
    }
}

/// The alert that tells of the ending of an occurrence, given its last attempt.
#[must_use]
pub fn alert_of(attempt: &Attempt, record: &Record) -> Attempt {
    Attempt { is_alert: true, ..first_of(Role::Notice, attempt, record) }
}

/// The first attempt at another action of the occurrence.
fn first_of(role: Role, attempt: &Attempt, record: &Record) -> Attempt {
    Attempt {
        role,
        number: 0,
        due_at: record.ended_at,
        is_long: false,
        sent_late_at: None,
        takes_turn: false,
        waited: None,
        ..attempt.clone()
    }
}

/// What follows an attempt with this record: what the record says, or else what the policy says now.
#[must_use]
pub fn next_step(attempt: &Attempt, record: &Record, policy: FollowPolicy) -> NextStep {
    let then = || decide_then(attempt, record, policy);
    let first_of = |role| first_of(role, attempt, record);
    match record.then.unwrap_or_else(then) {
        Then::Nothing => NextStep::Nothing,
        Then::Retry { due_at, is_long } => NextStep::Retry(Attempt {
            number: attempt.number + 1,
            due_at,
            is_long,
            sent_late_at: None,
            waited: None,
            ..attempt.clone()
        }),
        Then::ErrorAction => NextStep::ErrorAction(first_of(Role::Error)),
        Then::Notice => NextStep::Notice(first_of(Role::Notice)),
    }
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
            cause: None,
            body_bytes: 0,
            then: None,
        }
    }

    fn policy(retries: Retries, on_failure: OnFailure) -> FollowPolicy {
        FollowPolicy { retries, on_failure, horizon: TimeDelta::minutes(14) }
    }

    const SECOND: Span = Span::seconds(1);

    #[test]
    fn the_table() {
        let retries = |count, seconds| Retries::new(count, Span::seconds(seconds));
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let nth = |number| Attempt { number, ..first.clone() };
        let error = |number| Attempt { role: Role::Error, number, ..first.clone() };
        let notice = |number| Attempt { role: Role::Notice, number, ..first.clone() };
        let next_of = |attempt: &Attempt, outcome, retries, on_failure| {
            let policy = policy(retries, on_failure);
            let undecided = record(outcome);
            let then = Some(decide_then(attempt, &undecided, policy));
            let decided = Record { then, ..undecided.clone() };
            let next = next_step(attempt, &undecided, policy);
            // Once it is decided, no other policy changes it.
            for count in [0, 9] {
                let other = FollowPolicy { retries: Retries::new(count, SECOND), ..policy };
                assert_eq!(next_step(attempt, &decided, other), next);
                assert_eq!(
                    is_final_failure(attempt, &decided, other),
                    is_final_failure(attempt, &undecided, policy)
                );
            }
            match next {
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
        // A policy that was made shorter meanwhile ends the chain, if nothing was decided before.
        assert_eq!(next(&nth(3), failed, retries(1, 30), false), "nothing");
        let gave_up = Record { message: format!("x{NO_RETRY_FOLLOWS}"), ..record(failed) };
        let four = policy(retries(4, 30), OnFailure::default());
        assert!(is_final_failure(&first, &gave_up, four));
        assert!(is_final_failure(&nth(4), &record(failed), four));
        assert!(!is_final_failure(&nth(3), &record(failed), four));
        assert!(!is_final_failure(&nth(4), &record(ok), four));
    }
}
