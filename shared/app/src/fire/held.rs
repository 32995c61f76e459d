//! What a worker holds for an attempt: its claim, its turn if it takes one, and a seat if its collection limits
//! how many run at the same time. All of it ends with the lease of the claim, so a crash leaves nothing that
//! stays, and what cannot be given back is not an error.
//!
//! A store that cannot be reached may have done what it was asked, and its answer is lost. The worker would
//! then hold the attempt without knowing it, until the lease ends. So it asks again for some seconds, under
//! the same claim id. If the store does not answer by then, the worker gives the attempt back.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use minutehand_domain::firing::limits::{ACTION, EARLY, FUNCTION};
use minutehand_ports::store::{Claim, StoreError};

use super::execute::Executor;
use super::loaded_job::job_path;

/// How long after the end of another worker's lease the attempt is tried again.
pub(super) const LEASE_MARGIN: TimeDelta = TimeDelta::seconds(1);

/// For how long a worker asks the store again that cannot be reached.
const ASK_AGAIN_MAX: TimeDelta = TimeDelta::seconds(20);
/// The pause before it asks again.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// An attempt that was asked for again until the end still has time for its action.
const _: () = assert!(
    ASK_AGAIN_MAX.num_seconds() + EARLY.num_seconds() + ACTION.num_seconds()
        < FUNCTION.num_seconds()
);

/// What is held for an attempt.
pub(super) struct Held<'a> {
    /// Its claim, with which it has its turn.
    pub(super) claim: &'a Claim,
    /// Whether a seat was asked for and not refused. The answer may be lost; once the attempt acts, it has one.
    pub(super) may_have_seat: bool,
    /// Whether it is an open attempt that has ended, and the claim under which it was made.
    pub(super) is_open: bool,
}

impl<'a> Held<'a> {
    /// A claim that was won.
    pub(super) const fn of(claim: &'a Claim) -> Self {
        Self { claim, may_have_seat: false, is_open: false }
    }

    /// The claim of an open attempt that has ended, whose seat is given back.
    pub(super) const fn of_open(claim: &'a Claim) -> Self {
        Self { claim, may_have_seat: false, is_open: true }
    }
}

impl Executor {
    /// Asks the store, and asks again while it cannot be reached, for some seconds.
    pub(super) async fn until_answered<'a, T>(
        &self,
        ask: impl Fn() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.answered_before(self.ask_again_until(), ask).await
    }

    async fn answered_before<'a, T>(
        &self,
        until: DateTime<Utc>,
        ask: impl Fn() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let clock = &self.ports.clock;
        loop {
            match ask().await {
                Err(StoreError::Unavailable(_)) if clock.work_now() < until => {
                    clock.wait(ASK_AGAIN_AFTER).await;
                }
                answered => return answered,
            }
        }
    }

    /// Until when a worker asks the store again that cannot be reached.
    pub(super) fn ask_again_until(&self) -> DateTime<Utc> {
        self.ports.clock.work_now() + ASK_AGAIN_MAX
    }

    /// Gives back all that is held for an attempt of which nothing was done.
    pub(super) async fn give_back(&self, held: &Held<'_>) {
        // One limit for all of it: the store is away for each of them.
        let until = self.ask_again_until();
        self.give_back_seat(until, held).await;
        self.release_before(until, held.claim).await;
        self.give_back_turn(until, held.claim).await;
    }

    /// Gives back a claim under which nothing was done.
    async fn release_before(&self, until: DateTime<Utc>, claim: &Claim) {
        let attempts = &self.ports.store.attempts;
        let released = self.answered_before(until, || attempts.release(claim)).await;
        note_kept(claim, released, "a claim could not be released; it ends with its lease");
    }

    /// Gives back the turn of a claim under which nothing was done.
    pub(super) async fn give_back_turn(&self, until: DateTime<Utc>, claim: &Claim) {
        if !claim.attempt.takes_turn {
            return;
        }
        let turns = &self.ports.store.turns;
        let given_back = self.answered_before(until, || turns.give_back_turn(claim)).await;
        note_kept(claim, given_back, "a turn could not be given back; it ends with its lease");
    }

    /// Gives back the seat of an attempt that runs no longer.
    pub(super) async fn give_back_seat(&self, until: DateTime<Utc>, held: &Held<'_>) {
        if !held.may_have_seat {
            return;
        }
        let seats = &self.ports.store.seats;
        let given_back = self.answered_before(until, || seats.give_back_seat(held.claim)).await;
        let what =
            "a place among the running attempts could not be given back; it ends with its lease";
        note_kept(held.claim, given_back, what);
    }
}

/// Logs that something could not be given back. It ends with its lease.
fn note_kept(claim: &Claim, given_back: Result<(), StoreError>, what: &str) {
    if let Err(error) = given_back {
        let Claim { job, attempt, .. } = claim;
        let (job_path, id) = (job_path(job, None), attempt.id());
        tracing::warn!(job.path = job_path, job.uid, attempt = %id, %error, "{what}");
    }
}
