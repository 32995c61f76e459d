//! What a worker holds for an attempt: its claim, its turn if it takes one, and a seat if its collection limits
//! how many run at the same time. All of it ends with the lease of the claim, so a crash leaves nothing that
//! stays, and what cannot be given back is no error.

use chrono::TimeDelta;
use minutehand_ports::store::{Claim, StoreError};

use super::execute::Executor;
use super::loaded_job::job_path;

/// How long after the end of another worker's lease the attempt is tried again.
pub(super) const LEASE_MARGIN: TimeDelta = TimeDelta::seconds(1);

/// What is held for an attempt.
pub(super) struct Held<'a> {
    /// Its claim, with which it has its turn.
    pub(super) claim: &'a Claim,
    /// Whether a seat was asked for and not refused. The answer may be lost.
    may_have_seat: bool,
}

impl<'a> Held<'a> {
    /// A claim that was won.
    pub(super) const fn of(claim: &'a Claim) -> Self {
        Self { claim, may_have_seat: false }
    }

    /// Notes that a seat is asked for.
    pub(super) const fn asks_for_seat(&mut self) {
        self.may_have_seat = true;
    }

    /// Notes that there was none.
    pub(super) const fn has_no_seat(&mut self) {
        self.may_have_seat = false;
    }
}

impl Executor {
    /// Gives back all that is held for an attempt of which nothing was done.
    pub(super) async fn give_back(&self, held: &Held<'_>) {
        self.give_back_seat(held).await;
        self.release(held.claim).await;
        self.give_back_turn(held.claim).await;
    }

    /// Gives back a claim under which nothing was done.
    async fn release(&self, claim: &Claim) {
        let released = self.ports.store.attempts.release(claim).await;
        note_kept(claim, released, "a claim could not be released; it ends with its lease");
    }

    /// Gives back the turn of a claim under which nothing was done.
    pub(super) async fn give_back_turn(&self, claim: &Claim) {
        if !claim.attempt.takes_turn {
            return;
        }
        let given_back = self.ports.store.turns.give_back_turn(claim).await;
        note_kept(claim, given_back, "a turn could not be given back; it ends with its lease");
    }

    /// Gives back the seat of an attempt that runs no longer.
    pub(super) async fn give_back_seat(&self, held: &Held<'_>) {
        if !held.may_have_seat {
            return;
        }
        let given_back = self.ports.store.seats.give_back_seat(held.claim).await;
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
