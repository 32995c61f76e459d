//! Attempts of a collection that limits its starts: each starts in a slot.
//!
//! The last check before the action finds the limit in the job's snapshot, so an attempt without a limit
//! does nothing more. One that may start takes a slot, and waits for it: for a moment under its claim,
//! and else with its message, which is sent again with the slot in it. A message that has a slot does not
//! ask for another one, so an attempt writes a few times however long it waits.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | take a slot | an unused slot, and a lease | the message, which comes again and takes another slot |
//! | postpone the claim | an attempt that waits, and no message with its slot | the same, when the slot has passed |
//! | send the message | two messages | the first one finds the attempt held, and then ended |
//! | start | a slot that was used | the message comes again, finds its slot too old, and takes another |

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::{Either, select};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::limits::EARLY;
use minutehand_domain::firing::{
    NO_SLOT_PAUSE, Outage, SLOT_LOOK, SLOTS_AHEAD, SkipReason, Slot, SlotBook, SlotStep,
    StartCheck, Waited, may_start, next_slot, place_pause, seat_pause,
};
use minutehand_domain::limits::PerSecond;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::QueueMessage;
use minutehand_ports::store::{Claim, SlotRequest};

use super::dispatch::attempt_message;
use super::execute::{Executor, Performed};
use super::loaded_job::LoadedJob;
use super::{Stop, Wait};
use crate::error::Result;

/// How often an attempt asks again at once, because others took the slot that it saw.
const ROUNDS_MAX: usize = 12;

/// What an attempt that may start has to wait for.
pub(super) enum LimitWait {
    /// For its slot.
    Slot(Slot),
    /// Until there are slots again.
    Full,
    /// For a seat.
    Seat,
    /// For a call to its origin, which hangs.
    Place,
}

/// What the limits say of an attempt that may start: what it waits for, if for anything, or why it may not
/// start as late as that.
pub(super) type Limited = Result<Option<LimitWait>, SkipReason>;

impl Executor {
    /// What an attempt that may start now has to wait for, if its slot has not come.
    pub(super) async fn slot(
        &self,
        claim: &Claim,
        per_second: PerSecond,
        loaded: &LoadedJob,
        outages: &[Outage],
    ) -> Result<Limited> {
        let own = claim.attempt.slot();
        let now = self.ports.clock.work_now();
        let (slots, collection_uid) = (&self.ports.store.slots, claim.job.collection_uid.as_str());
        for _ in 0..ROUNDS_MAX {
            let book = slots.read_slots(collection_uid).await?;
            let holds = |slot| book.is_some_and(|book| book.holds(slot, Some(per_second)));
            if own.is_some_and(|slot| slot.is_now(now) && holds(slot)) {
                return Ok(Ok(None));
            }
            let step = next_slot(book, per_second, now);
            let at = match step {
                SlotStep::Full => now + SLOTS_AHEAD,
                SlotStep::Opens(slot) | SlotStep::Takes(slot) => slot.at,
            };
            if let Err(reason) = self.may_start_at(at, claim, loaded, outages) {
                return Ok(Err(reason));
            }
            let taken = match step {
                SlotStep::Full => return Ok(Ok(Some(LimitWait::Full))),
                SlotStep::Opens(slot) => slots
                    .open_slots(collection_uid, book, SlotBook::after(slot, per_second))
                    .await?
                    .then_some(slot),
                SlotStep::Takes(_) => {
                    let (not_before, not_after) = (now, now + SLOTS_AHEAD);
                    let request = SlotRequest { collection_uid, per_second, not_before, not_after };
                    slots.take_slot(request).await?
                }
            };
            match taken {
                Some(slot) if slot.is_now(self.ports.clock.work_now()) => return Ok(Ok(None)),
                Some(slot) => return Ok(Ok(Some(LimitWait::Slot(slot)))),
                None => {}
            }
        }
        Ok(Ok(Some(LimitWait::Full)))
    }

    /// Whether the attempt may still start at an instant on the clock of work.
    fn may_start_at(
        &self,
        at: DateTime<Utc>,
        claim: &Claim,
        loaded: &LoadedJob,
        outages: &[Outage],
    ) -> Result<(), SkipReason> {
        let clock = &self.ports.clock;
        let now = clock.now() + clock.scheduled_during(at - clock.work_now());
        let start = StartCheck { now, ready_at: claim.attempt.ready_at(), outages };
        match may_start(&claim.attempt, Some(loaded.standing()), start) {
            Err(SkipReason::TooLate) => Err(SkipReason::TooLate),
            // What else speaks against it may have changed by then.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether a slot comes so soon that its attempt waits for it under its claim.
    pub(super) fn is_soon(&self, slot: Slot) -> bool {
        slot.at - self.ports.clock.work_now() <= EARLY
    }

    /// Lets a slot come.
    pub(super) async fn wait_for(&self, slot: Slot) {
        let left = slot.at - self.ports.clock.work_now();
        if let Ok(left) = left.to_std() {
            self.ports.clock.wait(left).await;
        }
    }

    /// Gives back the claim of an attempt that waits. It comes again with its message: in time for its slot, or to
    /// look again.
    pub(super) async fn postpone(&self, claim: &Claim, wait: LimitWait) -> Result<Performed> {
        match wait {
            LimitWait::Slot(slot) => {
                let hold = slot.at - self.ports.clock.work_now();
                self.postpone_for(claim, hold, Waited::Slot(slot), hold.min(SLOT_LOOK)).await
            }
            LimitWait::Seat => {
                let pause = seat_pause(&claim.job.uid, &claim.attempt, self.ports.clock.now());
                self.postpone_for(claim, TimeDelta::zero(), Waited::Seat, pause).await
            }
            LimitWait::Place => {
                let pause = place_pause(&claim.job.uid, &claim.attempt, self.ports.clock.now());
                self.postpone_for(claim, TimeDelta::zero(), Waited::Place, pause).await
            }
            LimitWait::Full => {
                // It may have waited for something else before.
                let attempt = Attempt { waited: None, ..claim.attempt.clone() };
                self.hold(&Claim { attempt, ..claim.clone() }, TimeDelta::zero()).await?;
                Ok(Performed::Waits(Wait::For(NO_SLOT_PAUSE.to_std().unwrap_or_default())))
            }
        }
    }

    /// Gives a claim back, and sends its message again, which says what it waits for.
    async fn postpone_for(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        waited: Waited,
        wait: TimeDelta,
    ) -> Result<Performed> {
        let attempt = Attempt { waited: Some(waited), ..claim.attempt.clone() };
        let claim = Claim { attempt, ..claim.clone() };
        self.hold(&claim, hold).await?;
        let clock = &self.ports.clock;
        let due_at = clock.now() + clock.scheduled_during(wait);
        let QueueMessage { work_item, .. } = attempt_message(&claim.job, claim.attempt);
        self.send(&[QueueMessage { work_item, due_at }]).await?;
        Ok(Performed::Done)
    }

    /// Gives a claim back, and holds the attempt for who has waited.
    async fn hold(&self, claim: &Claim, hold: TimeDelta) -> Result<()> {
        let now = self.ports.clock.work_now();
        let attempts = &self.ports.store.attempts;
        self.until_answered(|| attempts.postpone(claim, hold, now)).await?;
        self.give_back_turn(self.ask_again_until(), claim).await;
        Ok(())
    }

    /// Waits for the slot that a message has; what becomes of the message if it comes later. The limit may
    /// have changed meanwhile: then the attempt goes on at once.
    pub(super) async fn before_slot(
        &self,
        job: &JobRef,
        slot: Slot,
        stop: &Stop,
    ) -> Result<Option<Performed>> {
        let left = slot.at - self.ports.clock.work_now();
        if left > EARLY {
            let wait = Wait::For(left.min(SLOT_LOOK).to_std().unwrap_or_default());
            return Ok(self.holds(job, slot).await?.then_some(Performed::Waits(wait)));
        }
        let waits = std::pin::pin!(self.wait_for(slot));
        let stopped = std::pin::pin!(stop.requested());
        Ok(match select(waits, stopped).await {
            Either::Left(_) => None,
            Either::Right(_) => Some(Performed::Again(std::time::Duration::ZERO)),
        })
    }

    /// Whether the limit of a slot still holds.
    async fn holds(&self, job: &JobRef, slot: Slot) -> Result<bool> {
        let Some(loaded) = self.load(job).await? else { return Ok(false) };
        let book = self.ports.store.slots.read_slots(&job.collection_uid).await?;
        Ok(book.is_some_and(|book| book.holds(slot, loaded.snapshot.limits.per_second)))
    }
}
