//! Attempts of a job that lets none overlap: each takes its turn, and then its claim.
//!
//! The attempt waits until it is due and asks then, because what runs before that is no reason to leave
//! it out. The claim that follows is the same as without turns, and so is everything behind it.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | take the turn | a turn, without a claim or with one | its lease: until then the attempt counts as running |
//! | get a place | a place in the order | the message, which comes again; if it is lost, the place is given up |
//! | leave out | the order, and the row | the message is delivered again, finds the row, and counts it |
//!
//! An attempt that ends gives nothing back: the next worker that reads the order finds its record.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{
    LeftOut, LeftOutReason, SkipReason, StartCheck, TURN_PAUSE, TurnCheck, TurnHolder, TurnOrder,
    TurnStep, may_start, next_turn,
};
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    AttemptSeen, Claim, ClaimRequest, OwnAttempt, StoreError, TurnsRead, TurnsWrite,
};

use super::attempt::again_after;
use super::execute::{Executor, Performed};
use super::follow::EndedAttempt;
use super::loaded_job::LoadedJob;
use super::{DeliveryPlace, Stop, Wait};
use crate::error::Result;

/// How often an attempt asks again at once, because others changed the order.
const ROUNDS_MAX: usize = 12;
/// What becomes of the message of an attempt that is not to go on now.
const WAITS: Performed = Performed::Waits(Wait::For(TURN_PAUSE));

impl Executor {
    /// Makes an attempt that takes its turn, when it is due.
    pub(super) async fn attempt_in_turn(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> Result<Performed> {
        if !self.wait_until_due(attempt, place, stop).await {
            return Ok(Performed::Again(std::time::Duration::ZERO));
        }
        self.take_turn(job, attempt, place).await
    }

    /// Makes an attempt that is due, if it is its turn; otherwise it waits, or is left out.
    pub(super) async fn take_turn(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let attempt = &Attempt { takes_turn: true, ..attempt.clone() };
        let request = self.claim_request(job, attempt);
        for _ in 0..ROUNDS_MAX {
            let read = self.ports.store.turns.read_turns(&job.uid, attempt).await?;
            match &read.own {
                OwnAttempt::Ended(record) => {
                    let ended = EndedAttempt { job, attempt, record };
                    return Box::pin(self.follow(ended, None, place)).await;
                }
                OwnAttempt::LeftOut => {
                    let loaded = self.load(job).await?;
                    return self.drop_attempt(job, attempt, overlapped(attempt), loaded).await;
                }
                OwnAttempt::New | OwnAttempt::Begun => {}
            }
            match self.step(&request.claim, &read) {
                TurnStep::Held { lease_until } => {
                    // The lease of one that is open says nothing.
                    let seen = self.ports.store.open.see(&job.uid, attempt).await?;
                    if let AttemptSeen::Open(open) = seen {
                        return Box::pin(self.end_if_over(job, *open, place)).await;
                    }
                    let left = lease_until - self.ports.clock.work_now();
                    return Ok(again_after(left, place));
                }
                TurnStep::Waits(None) => return Ok(WAITS),
                TurnStep::Has => return self.start_in_turn(request, place).await,
                TurnStep::Takes(order) => {
                    if self.store_order(&read, order, &request.claim, None).await? {
                        return self.start_in_turn(request, place).await;
                    }
                }
                TurnStep::Waits(Some(order)) => {
                    if self.load_of_turn(&request.claim).await?.is_none() {
                        return self.start_without_turn(request, place).await;
                    }
                    if self.store_order(&read, order, &request.claim, None).await? {
                        return Ok(WAITS);
                    }
                }
                TurnStep::LeftOut => {
                    let Some(loaded) = self.load_of_turn(&request.claim).await? else {
                        return self.start_without_turn(request, place).await;
                    };
                    let left_out = Some(self.left_out(attempt));
                    let order = read.order.clone();
                    if self.store_order(&read, order, &request.claim, left_out).await? {
                        let (skip, loaded) = (overlapped(attempt), Some(loaded));
                        return self.drop_attempt(job, attempt, skip, loaded).await;
                    }
                }
            }
        }
        Ok(WAITS)
    }

    fn step(&self, claim: &Claim, read: &TurnsRead) -> TurnStep {
        let Claim { attempt, claim_id, lease_until, .. } = claim.clone();
        next_turn(&TurnCheck {
            wanted: &TurnHolder { attempt, claim_id, lease_until },
            has_begun: read.own == OwnAttempt::Begun,
            order: &read.order,
            now: self.ports.clock.work_now(),
        })
    }

    /// Stores the order that follows the one that was read; `false` if that has changed.
    async fn store_order(
        &self,
        read: &TurnsRead,
        order: TurnOrder,
        claim: &Claim,
        left_out: Option<LeftOut>,
    ) -> Result<bool> {
        let (job_uid, as_read) = (claim.job.uid.clone(), read.number);
        let write = TurnsWrite { job_uid, as_read, order, left_out };
        let turns = &self.ports.store.turns;
        let written = self.until_answered(|| turns.write_turns(&write)).await;
        if let Err(StoreError::Unavailable(_)) = written {
            self.give_back_turn(self.ask_again_until(), claim).await;
        }
        Ok(written?)
    }

    /// Loads the job of an attempt for which it is not the turn; `None` if that does not matter, because
    /// the attempt may not start, or the job has let attempts overlap since.
    async fn load_of_turn(&self, claim: &Claim) -> Result<Option<LoadedJob>> {
        let loaded = self.load_if_may_start(&claim.job, &claim.attempt).await?;
        Ok(loaded.filter(LoadedJob::takes_turns))
    }

    /// Loads the job of an attempt that is not claimed; `None` if the attempt may not start.
    pub(super) async fn load_if_may_start(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<Option<LoadedJob>> {
        let loaded = self.load(job).await?;
        let ready_at = attempt.ready_at();
        let outages = self.heartbeat.outages(ready_at).await?;
        let start = StartCheck { now: self.ports.clock.now(), ready_at, outages: &outages };
        let may_start = may_start(attempt, loaded.as_ref().map(LoadedJob::standing), start);
        Ok(loaded.filter(|_| may_start.is_ok()))
    }

    /// Makes an attempt that has its turn.
    async fn start_in_turn(
        &self,
        request: ClaimRequest,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let without_claim = match self.claim(&request, place).await {
            Ok(None) => return self.start_or_wait(&request.claim, place).await,
            // The attempt has ended meanwhile, or another worker holds it.
            Ok(Some(performed)) => Ok(performed),
            Err(error) => Err(error),
        };
        self.give_back_turn(self.ask_again_until(), &request.claim).await;
        without_claim
    }

    /// Makes an attempt that needs no turn: the check before its start says why.
    async fn start_without_turn(
        &self,
        mut request: ClaimRequest,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        request.claim.attempt.takes_turn = false;
        match self.claim(&request, place).await? {
            None => self.start_or_wait(&request.claim, place).await,
            Some(performed) => Ok(performed),
        }
    }

    async fn start_or_wait(&self, claim: &Claim, place: &dyn DeliveryPlace) -> Result<Performed> {
        // Without an answer, the job has changed twice within this moment.
        Ok(Box::pin(self.start(claim, None, place)).await?.unwrap_or(WAITS))
    }

    /// The row of an occurrence that is left out because it is not its turn.
    fn left_out(&self, attempt: &Attempt) -> LeftOut {
        let at: DateTime<Utc> = self.ports.clock.now();
        let nominal_at = attempt.occurrence.nominal_at();
        LeftOut::one(attempt.generation, nominal_at, LeftOutReason::Overlap, at)
    }
}

const fn overlapped(attempt: &Attempt) -> LastSkip {
    LastSkip::one(attempt.occurrence.nominal_at(), SkipReason::Overlap)
}
