//! One attempt: claim, wait, read, check, act, record, follow, count.
//!
//! Where places are scarce, the job is read before the claim, too, because only the job tells at which
//! origin the attempt needs a place. Without a place the message waits, and the attempt holds no lease.
//!
//! What a crash after each step leaves, and how it is repaired:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | claim | a lease; nothing was done | the message is delivered again, and claims when the lease is over |
//! | claim, whose answer is lost | the same, and a worker that does not know | the worker, which asks again under the same id, or gives it back: see [`held`](super::held) |
//! | read and check | the same | the same |
//! | act | an action that may have been done, and no record | the message is delivered again: the action is done again |
//! | act, and the target answers that it goes on | the same; what its target reported meanwhile | the same, unless the end was reported: see [`open`](super::open) |
//! | leave open | an attempt without a worker, and the timer of its deadline | a report, or the timer |
//! | keep the body | the same, and the body of a failure that has no record | the same; the body is deleted when its time is over |
//! | record | how the attempt ended, and nothing that follows | the message is delivered again, finds the record, and goes on from it |
//! | leave out | which occurrences an outage cost, and a lease | the message is delivered again, and leaves the attempt out again |
//! | follow | the next attempt in the queue or in a timer | the message is delivered again: the same next attempt is sent again, and claimed once |
//! | count | everything but the deletion of the message | the message is delivered again, and finds the attempt counted |
//!
//! So every worker that finds the record does the same, however often it does it.
//!
//! Where the collection has limits, an attempt that may start waits for its [slot](super::slot), or for a
//! [seat](super::seat). Where processes share brakes, it waits while its origin [hangs](super::hanging).
//!
//! An attempt may be claimed up to two seconds before it is due. A worker that is told to stop
//! releases the claims of attempts that are not due yet. The next worker that gets such a message
//! claims the attempt, and is on time. A crash in between leaves a lease, as after any claim.

use std::time::Duration;

use chrono::TimeDelta;
use futures_util::future::{Either, select};
use minutehand_domain::attempt::{Attempt, Role};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::firing::{Outage, SkipReason, StartCheck, Waited, may_start, takes_turns};
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, StoreError};

use super::Stop;
use super::act::ActionResult;
use super::dispatch::attempt_message;
use super::execute::{Executor, Performed};
use super::follow::EndedAttempt;
use super::held::{Held, LEASE_MARGIN};
use super::loaded_job::{LoadedJob, action, if_readable};
use super::slot::LimitWait;
use super::{DeliveryPlace, Wait, spans};
use crate::error::{AppError, Result};

/// How long an attempt waits that could not begin. Open files and memory are free again when other
/// attempts have ended, and an action takes at most a minute.
const NOT_MADE_PAUSE: Duration = Duration::from_secs(5);

/// How often an attempt is looked at that another worker holds.
const HELD_LOOK: Duration = Duration::from_secs(2);

/// Why an attempt that is claimed does not act now.
pub(super) enum NotNow {
    /// Something failed before its action.
    Failed(AppError),
    /// It may not start, and what that leaves out is recorded.
    Skipped(LastSkip, Option<Box<LoadedJob>>),
    /// The job lets none overlap, and the attempt has not taken its turn.
    OutOfTurn,
    /// The limits of its collection let it wait, or its origin hangs.
    Waits(LimitWait),
}

impl From<AppError> for NotNow {
    fn from(error: AppError) -> Self {
        Self::Failed(error)
    }
}

/// Whether an attempt has to take its turn first.
fn is_out_of_turn(attempt: &Attempt, loaded: &LoadedJob) -> bool {
    !attempt.takes_turn && takes_turns(attempt) && loaded.takes_turns()
}

/// Tries an attempt again when what is left of another worker's lease is over. Where a wait uses up no
/// delivery, it looks more often: the other worker may have died, and its process with it.
pub(super) fn again_after(left: TimeDelta, place: &dyn DeliveryPlace) -> Performed {
    let wait = (left.max(TimeDelta::zero()) + LEASE_MARGIN).to_std().unwrap_or_default();
    match place.receipt() {
        Some(_) => Performed::Waits(Wait::For(wait.min(HELD_LOOK))),
        None => Performed::Again(wait),
    }
}

impl Executor {
    /// Makes an attempt, unless it has ended already or may not start.
    pub(super) async fn attempt(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> Result<Performed> {
        if self.is_too_early(attempt) {
            return Box::pin(self.send_again(job, attempt)).await;
        }
        if Box::pin(self.is_forgotten(job, attempt)).await? {
            return Ok(Performed::Done);
        }
        let waits = match attempt.waited {
            None => None,
            Some(Waited::Slot(slot)) => Box::pin(self.before_slot(job, slot, stop)).await?,
            Some(Waited::Seat) => Box::pin(self.before_seat(job, attempt)).await?,
            Some(Waited::Place) => Box::pin(self.before_place(job, attempt)).await?,
            Some(Waited::Completion) => return Box::pin(self.end(job, attempt, place, stop)).await,
        };
        if let Some(performed) = waits {
            return Ok(performed);
        }
        if place.is_scarce()
            && let Some(origin) = Box::pin(self.origin(job, attempt)).await?
            && !place.try_origin(&origin)
        {
            return Ok(Performed::Waits(Wait::ForOrigin(origin)));
        }
        if attempt.takes_turn {
            return Box::pin(self.attempt_in_turn(job, attempt, place, stop)).await;
        }
        let request = self.claim_request(job, attempt);
        // Each step is boxed, because the future of an attempt that waits is then small: thousands may wait.
        if let Some(performed) = Box::pin(self.claim(&request, place)).await? {
            return Ok(performed);
        }
        let claim = &request.claim;
        let prefetched = Box::pin(self.prefetch(claim)).await;
        if !self.wait_until_due(attempt, place, stop).await {
            Box::pin(self.give_back(&Held::of(claim))).await;
            return Ok(Performed::Again(Duration::ZERO));
        }
        match Box::pin(self.start(claim, prefetched, place)).await? {
            Some(performed) => Ok(performed),
            // It was sent before the job let none overlap.
            None => Box::pin(self.take_turn(job, attempt, place)).await,
        }
    }

    /// Claims an attempt. Returns `None` if the caller has the claim. Otherwise does what can be done
    /// without it, and returns how that ended.
    pub(super) async fn claim(
        &self,
        request: &ClaimRequest,
        place: &dyn DeliveryPlace,
    ) -> Result<Option<Performed>> {
        let Claim { job, attempt, .. } = &request.claim;
        let claimed = self.until_answered(|| self.ports.store.attempts.claim(request)).await;
        if let Err(StoreError::Unavailable(_)) = claimed {
            self.give_back(&Held::of(&request.claim)).await;
        }
        Ok(match claimed? {
            Claimed::Won => None,
            Claimed::Held { left } => Some(again_after(left, place)),
            Claimed::Open(open) => Some(Box::pin(self.end_if_over(job, *open, place)).await?),
            Claimed::Ended(record) => {
                // The block owns the record, which is large: so it is in the box, and not in the future of
                // every attempt.
                let follow = async move {
                    let ended = EndedAttempt { job, attempt, record: &record };
                    self.follow(ended, None, place).await
                };
                Some(Box::pin(follow).await?)
            }
            Claimed::Exhausted => {
                Some(Box::pin(self.record_lost_workers(&request.claim, place)).await?)
            }
        })
    }

    /// Reads the job, checks whether the attempt may start, acts, records, and follows the record. Returns
    /// `None` if the attempt has to take its turn first; then it is not claimed any more.
    pub(super) async fn start(
        &self,
        claim: &Claim,
        prefetched: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Option<Performed>> {
        let mut held = Held::of(claim);
        // Waits are outside of the steps: thousands wait, and the future of a step is large.
        place.may_start().await;
        // Boxed, as all steps here are: one that is over then takes no memory, while thousands wait in
        // the next one.
        match Box::pin(self.begin(&mut held, prefetched, place)).await {
            Ok((result, loaded)) if result.ended.is_accepted => {
                Box::pin(self.accepted(held, result, loaded, place)).await.map(Some)
            }
            Ok((result, loaded)) => {
                place.may_record().await;
                let ended = self.record_and_follow(held, result, Some(loaded), place);
                Box::pin(ended).await.map(Some)
            }
            Err(NotNow::Waits(LimitWait::Slot(slot))) if self.is_soon(slot) => {
                self.wait_for(slot).await;
                let mut claim = Box::new(claim.clone());
                claim.attempt.waited = Some(Waited::Slot(slot));
                // The job may have changed, so everything is read and checked again.
                Box::pin(self.start(&claim, None, place)).await
            }
            Err(not_now) => Box::pin(self.leave(&held, not_now)).await,
        }
    }

    /// Reads the job, checks whether the attempt may start, and acts. After an error of any kind nothing
    /// was done.
    async fn begin(
        &self,
        held: &mut Held<'_>,
        prefetched: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<(ActionResult, LoadedJob), NotNow> {
        let claim = held.claim;
        let loaded = self.load_for_start(claim, prefetched).await?;
        let outages = self.heartbeat.outages(claim.attempt.ready_at()).await?;
        let loaded = self.job_to_start(claim, loaded, &outages).await?;
        if is_out_of_turn(&claim.attempt, &loaded) {
            return Err(NotNow::OutOfTurn);
        }
        match self.limits(held, &loaded, &outages).await? {
            Ok(None) => {}
            Ok(Some(wait)) => {
                self.notice_limit(&claim.job, &claim.attempt, &loaded).await?;
                return Err(NotNow::Waits(wait));
            }
            Err(why) => return Err(self.skipped(claim, why, Some(loaded), &outages).await),
        }
        match self.act(claim, &loaded, place).await? {
            Some(result) => Ok((result, loaded)),
            None => Err(NotNow::Waits(LimitWait::Place)),
        }
    }

    /// The job of an attempt that may start now, as far as that does not depend on limits.
    pub(super) async fn job_to_start(
        &self,
        claim: &Claim,
        loaded: Option<LoadedJob>,
        outages: &[Outage],
    ) -> Result<LoadedJob, NotNow> {
        let (now, ready_at) = (self.ports.clock.now(), claim.attempt.ready_at());
        let standing = loaded.as_ref().map(LoadedJob::standing);
        let may_start = may_start(&claim.attempt, standing, StartCheck { now, ready_at, outages });
        match (may_start, loaded) {
            (Ok(()), Some(loaded)) => Ok(loaded),
            (Ok(()), None) => Err(self.skipped(claim, SkipReason::Gone, None, outages).await),
            (Err(why), loaded) => Err(self.skipped(claim, why, loaded, outages).await),
        }
    }

    /// Records what an attempt leaves out that may not start.
    pub(super) async fn skipped(
        &self,
        claim: &Claim,
        why: SkipReason,
        loaded: Option<LoadedJob>,
        outages: &[Outage],
    ) -> NotNow {
        let one = LastSkip::one(claim.attempt.occurrence.nominal_at(), why);
        let Some(loaded) = loaded else { return NotNow::Skipped(one, None) };
        match Box::pin(self.note_left_out(claim, why, &loaded, outages)).await {
            Ok(left_out) => {
                let skip = left_out.as_ref().map_or(one, LastSkip::from);
                NotNow::Skipped(skip, Some(Box::new(loaded)))
            }
            Err(error) => NotNow::Failed(error),
        }
    }

    /// Leaves an attempt that does not act now: what it holds is given back, and its message goes its way.
    pub(super) async fn leave(
        &self,
        held: &Held<'_>,
        not_now: NotNow,
    ) -> Result<Option<Performed>> {
        let Claim { job, attempt, .. } = held.claim;
        match not_now {
            NotNow::Failed(AppError::NotMade(not_made)) => {
                self.give_back(held).await;
                tracing::warn!(job.uid, job.key, attempt = %attempt.id(), %not_made, "an attempt waits");
                Ok(Some(Performed::Waits(Wait::For(NOT_MADE_PAUSE))))
            }
            NotNow::Failed(error) => {
                // The next worker need not wait for the lease.
                self.give_back(held).await;
                Err(error)
            }
            NotNow::Skipped(skip, loaded) => {
                self.give_back(held).await;
                let loaded = loaded.map(|loaded| *loaded);
                self.drop_attempt(job, attempt, skip, loaded).await.map(Some)
            }
            NotNow::OutOfTurn => {
                self.give_back(held).await;
                Ok(None)
            }
            NotNow::Waits(wait) => {
                self.give_back_seat(self.ask_again_until(), held).await;
                self.postpone(held.claim, wait).await.map(Some)
            }
        }
    }

    /// The origin that an attempt calls. `None` if it does not get that far.
    async fn origin(&self, job: &JobRef, attempt: &Attempt) -> Result<Option<String>> {
        let Some(loaded) = self.load(job).await? else { return Ok(None) };
        self.origin_of(job, attempt, &loaded).await
    }

    /// The same of a job that is loaded.
    pub(super) async fn origin_of(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
    ) -> Result<Option<String>> {
        if attempt.role == Role::Notice {
            let found = if_readable(self.failure_action(&job.collection_uid).await)?.flatten();
            return Ok(found.map(|(_, action)| action.target().origin()));
        }
        let definition = if_readable(self.definition(job, loaded).await)?;
        let action = definition.and_then(|definition| action(definition, attempt.role));
        Ok(action.map(|action| action.target.origin()))
    }

    /// Whether to wait for the attempt here would use up the lease.
    fn is_too_early(&self, attempt: &Attempt) -> bool {
        let clock = &self.ports.clock;
        attempt.due_at - clock.now() > spans(clock.as_ref()).early
    }

    async fn send_again(&self, job: &JobRef, attempt: &Attempt) -> Result<Performed> {
        let message = attempt_message(job, attempt.clone());
        self.send(&[message]).await?;
        Ok(Performed::Done)
    }

    pub(super) fn claim_request(&self, job: &JobRef, attempt: &Attempt) -> ClaimRequest {
        let now = self.ports.clock.work_now();
        let claim = Claim {
            job: job.clone(),
            attempt: attempt.clone(),
            claim_id: self.ports.ids.new_id(),
            lease_until: now + LEASE,
        };
        ClaimRequest { claim, now }
    }

    /// Waits until an attempt is due; false if the process is to stop before that.
    pub(super) async fn wait_until_due(
        &self,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> bool {
        let due = place.wait_until(self.ports.clock.as_ref(), attempt.due_at);
        let stopped = std::pin::pin!(stop.requested());
        matches!(select(due, stopped).await, Either::Left(_))
    }
}

#[cfg(test)]
mod tests {
    use minutehand_ports::ReceiptHandle;

    use super::super::Unbounded;
    use super::*;

    /// A place of a host with a queue of its own.
    struct OwnQueue;

    impl DeliveryPlace for OwnQueue {
        fn is_scarce(&self) -> bool {
            false
        }

        fn try_origin(&self, _origin: &str) -> bool {
            true
        }

        fn set_origin(&self, _origin: &str) {}

        fn receipt(&self) -> Option<ReceiptHandle> {
            Some(ReceiptHandle { id: 1, delivery: 1 })
        }
    }

    #[test]
    fn a_held_attempt_is_set_aside_until_its_lease_ends_and_for_two_seconds_at_most() {
        let seconds = Duration::from_secs;
        for (left, own, elsewhere) in [(100, 2, 101), (1, 2, 2), (0, 1, 1), (-5, 1, 1)] {
            let left = TimeDelta::seconds(left);
            let waits = Performed::Waits(Wait::For(seconds(own)));
            assert_eq!(again_after(left, &OwnQueue), waits, "it uses up no delivery");
            assert_eq!(again_after(left, &Unbounded), Performed::Again(seconds(elsewhere)));
        }
    }
}
