//! Turns: the attempts of a job that lets none overlap start one after the other.
//!
//! Such a job has one more item, its [`TurnOrder`]: the attempt that has the turn, and those that wait.
//! The order has a number that grows with every change of it. A worker reads the order, then whether the
//! attempt with the turn has ended, decides, and stores the order that follows under the condition
//! that the number is the one that it read.
//!
//! | the attempt | while another one runs, or waits before it |
//! |---|---|
//! | the first at an occurrence, which no worker has claimed | is left out |
//! | a retry, a run, or one whose worker has died | waits: it was owed, or has begun |
//!
//! An attempt that ends does not change the order. Its record says that the turn is free. A worker that
//! dies keeps the turn until its lease is over. An attempt that is left open gets a lease that is longer than it may
//! be open.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::limits::{LEASE, VISIBILITY};
use crate::attempt::{Attempt, Occurrence, Role};

/// The most attempts of a job that wait with a place in the order. Others wait, too, and get a place when
/// there is one.
pub const WAITING_MAX: usize = 16;
/// How long an attempt waits before it looks again whether it is its turn.
pub const TURN_PAUSE: Duration = Duration::from_secs(5);
/// How long a place holds of which nothing is heard, because its message is lost. That is longer than a
/// message is away whose worker dies.
const PLACE: TimeDelta = TimeDelta::seconds(LEASE.num_seconds() + VISIBILITY.num_seconds());

/// The attempt that has the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnHolder {
    /// The attempt.
    pub attempt: Attempt,
    /// Tells its worker from all others.
    pub claim_id: String,
    /// When the lease of its worker ends.
    pub lease_until: DateTime<Utc>,
}

/// An attempt that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// The attempt.
    pub attempt: Attempt,
    /// Until when it keeps its place without looking again.
    pub until: DateTime<Utc>,
}

/// Which attempt of a job has the turn, and which ones wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnOrder {
    /// The attempt that has the turn; `None` if the turn is free.
    pub holder: Option<TurnHolder>,
    /// Those that wait, the one that is next first.
    pub waiting: Vec<Waiter>,
}

/// A worker asks whether it is the turn of its attempt.
#[derive(Debug)]
pub struct TurnCheck<'a> {
    /// The attempt, with the claim that it would get.
    pub wanted: &'a TurnHolder,
    /// Whether a worker has claimed the attempt before.
    pub has_begun: bool,
    /// The order, whose holder has not ended.
    pub order: &'a TurnOrder,
    /// The time now, on the clock of work.
    pub now: DateTime<Utc>,
}

/// What becomes of an attempt that asks for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStep {
    /// It has the turn already: the answer to an earlier request was lost.
    Has,
    /// It gets the turn, once this order is stored.
    Takes(TurnOrder),
    /// Another worker has the turn with the same attempt.
    Held {
        /// When the lease of that worker ends.
        lease_until: DateTime<Utc>,
    },
    /// It waits. The order is to be stored, if there is one.
    Waits(Option<TurnOrder>),
    /// It is left out, once the order is stored again.
    LeftOut,
}

/// Whether an attempt takes turns with the others of its job, if the job lets none overlap. Error actions
/// and notices do not.
#[must_use]
pub fn takes_turns(attempt: &Attempt) -> bool {
    attempt.role == Role::Main
}

/// Decides whether it is the turn of an attempt that is due.
#[must_use]
pub fn next_turn(check: &TurnCheck<'_>) -> TurnStep {
    let TurnCheck { wanted, has_begun, order, now } = *check;
    let holder = order.holder.as_ref().filter(|holder| holder.lease_until >= now);
    if let Some(holder) = holder.filter(|it| it.attempt.is_same(&wanted.attempt)) {
        return if holder.claim_id == wanted.claim_id {
            TurnStep::Has
        } else {
            TurnStep::Held { lease_until: holder.lease_until }
        };
    }
    let mut waiting: Vec<Waiter> =
        order.waiting.iter().filter(|waiter| waiter.until >= now).cloned().collect();
    let place = waiting.iter().position(|waiter| waiter.attempt.is_same(&wanted.attempt));
    if holder.is_none() && (waiting.is_empty() || place == Some(0)) {
        waiting.retain(|waiter| !waiter.attempt.is_same(&wanted.attempt));
        return TurnStep::Takes(TurnOrder { holder: Some(wanted.clone()), waiting });
    }
    let until = now + PLACE;
    match place.map(|place| waiting.get_mut(place)) {
        Some(Some(waiter)) if until - waiter.until < PLACE / 2 => return TurnStep::Waits(None),
        Some(Some(waiter)) => waiter.until = until,
        Some(None) | None => {
            let is_owed = has_begun
                || wanted.attempt.number > 0
                || matches!(wanted.attempt.occurrence, Occurrence::Run { .. });
            if !is_owed {
                return TurnStep::LeftOut;
            }
            if waiting.len() >= WAITING_MAX {
                return TurnStep::Waits(None);
            }
            waiting.push(Waiter { attempt: wanted.attempt.clone(), until });
        }
    }
    TurnStep::Waits(Some(TurnOrder { holder: order.holder.clone(), waiting }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn first(minute: i64) -> Attempt {
        Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60 * minute) })
    }

    fn retry(minute: i64) -> Attempt {
        Attempt { number: 1, due_at: at(60 * minute + 30), ..first(minute) }
    }

    fn run(minute: i64) -> Attempt {
        let run = Occurrence::Run { asked_at: at(60 * minute), run_id: "r".to_owned() };
        Attempt::first(1, run)
    }

    fn holds(attempt: Attempt, claim_id: &str, lease_until: i64) -> TurnHolder {
        TurnHolder { attempt, claim_id: claim_id.to_owned(), lease_until: at(lease_until) }
    }

    fn waits(attempt: Attempt, until: i64) -> Waiter {
        Waiter { attempt, until: at(until) }
    }

    /// What becomes of an attempt at the second 60, under the claim "me".
    fn step(attempt: Attempt, has_begun: bool, order: &TurnOrder) -> TurnStep {
        let wanted = holds(attempt, "me", 160);
        next_turn(&TurnCheck { wanted: &wanted, has_begun, order, now: at(60) })
    }

    fn order(holder: Option<TurnHolder>, waiting: &[Waiter]) -> TurnOrder {
        TurnOrder { holder, waiting: waiting.to_vec() }
    }

    fn takes(attempt: Attempt, waiting: &[Waiter]) -> TurnStep {
        TurnStep::Takes(order(Some(holds(attempt, "me", 160)), waiting))
    }

    #[test]
    fn a_free_turn_is_taken() {
        let over = holds(first(0), "other", 59);
        for free in [order(None, &[]), order(Some(over), &[])] {
            for attempt in [first(1), retry(0), run(1)] {
                for has_begun in [false, true] {
                    let expected = takes(attempt.clone(), &[]);
                    assert_eq!(step(attempt.clone(), has_begun, &free), expected);
                }
            }
        }
    }

    #[test]
    fn while_another_runs_a_first_attempt_is_left_out_and_what_is_owed_waits() {
        // To its last instant.
        let other = holds(first(0), "other", 60);
        let busy = order(Some(other.clone()), &[]);
        assert_eq!(step(first(1), false, &busy), TurnStep::LeftOut);
        for (attempt, has_begun) in [(first(1), true), (retry(0), false), (run(1), false)] {
            let waiting = [waits(attempt.clone(), 280)];
            let expected = TurnStep::Waits(Some(order(Some(other.clone()), &waiting)));
            assert_eq!(step(attempt, has_begun, &busy), expected);
        }
    }

    #[test]
    fn who_waits_goes_first_and_the_oldest_before_the_others() {
        let (one, two) = (waits(retry(0), 280), waits(run(0), 280));
        let free = order(None, &[one.clone(), two.clone()]);
        assert_eq!(step(first(1), false, &free), TurnStep::LeftOut);
        assert_eq!(step(run(0), false, &free), TurnStep::Waits(None));
        assert_eq!(step(retry(0), false, &free), takes(retry(0), &[two]));
        // A lost message delays the other attempts for a few minutes at most.
        let lost = order(None, &[waits(retry(0), 59)]);
        assert_eq!(step(first(1), false, &lost), takes(first(1), &[]));
    }

    #[test]
    fn a_place_is_kept_by_looking_again() {
        let other = holds(first(0), "other", 160);
        for (until, is_stored) in [(280, false), (171, false), (170, true), (60, true)] {
            let order = order(Some(other.clone()), &[waits(retry(0), until)]);
            let TurnStep::Waits(stored) = step(retry(0), false, &order) else { panic!() };
            assert_eq!(stored.is_some(), is_stored, "{until}");
            if let Some(stored) = stored {
                assert_eq!(stored.waiting, [waits(retry(0), 280)]);
            }
        }
    }

    #[test]
    fn an_order_holds_a_bounded_number_of_places() {
        let others: Vec<_> = (0..).map(|n| waits(run(n), 280)).take(WAITING_MAX).collect();
        let busy = order(Some(holds(first(0), "other", 160)), &others);
        assert_eq!(step(retry(0), false, &busy), TurnStep::Waits(None));
        assert_eq!(step(first(1), false, &busy), TurnStep::LeftOut);
    }

    #[test]
    fn an_attempt_has_its_turn_once() {
        let mine = order(Some(holds(first(1), "me", 160)), &[]);
        assert_eq!(step(first(1), false, &mine), TurnStep::Has);
        let of_another = order(Some(holds(first(1), "other", 99)), &[]);
        let held = TurnStep::Held { lease_until: at(99) };
        assert_eq!(step(first(1), false, &of_another), held);
        // Its worker died.
        let over = order(Some(holds(first(1), "other", 59)), &[]);
        assert_eq!(step(first(1), true, &over), takes(first(1), &[]));
    }
}
