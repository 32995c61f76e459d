//! Attempts of a collection that limits how many run at the same time: each runs in a seat.
//!
//! The seat is taken last, when nothing but the action is left to do, and given back when the attempt is
//! recorded. An attempt that gets none waits with its message, which is sent again and says so. Until
//! a seat seems to be free, such a message is only looked at: it is not claimed.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | take a seat | a seat and a claim | their lease: both end at the same time |
//! | postpone the claim | an attempt that waits, and no message that says so | the message, which comes again |
//! | send the message | two messages | one of them finds the attempt held, and then ended |
//! | record | a seat of an attempt that has ended | its lease |

use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{Outage, Waited, seat_pause};
use minutehand_domain::limits::{CollectionLimits, Concurrent};
use minutehand_domain::work_item::JobRef;

use super::Wait;
use super::execute::{Executor, Performed};
use super::held::Held;
use super::loaded_job::LoadedJob;
use super::slot::{LimitWait, Limited};
use crate::error::Result;

impl Executor {
    /// What an attempt that may start has to wait for. If for nothing, it has a seat where one is needed.
    pub(super) async fn limits(
        &self,
        held: &mut Held<'_>,
        loaded: &LoadedJob,
        outages: &[Outage],
    ) -> Result<Limited> {
        let claim = held.claim;
        let CollectionLimits { per_second, concurrent } = loaded.snapshot.limits;
        if let Some(per_second) = per_second {
            // Who has just looked for a seat need not do so again.
            if let Some(limit) = concurrent
                && claim.attempt.waited != Some(Waited::Seat)
                && !self.sees_seat(&claim.job, limit).await?
            {
                // Its slot would be wasted.
                return Ok(Ok(Some(LimitWait::Seat)));
            }
            match self.slot(claim, per_second, loaded, outages).await? {
                Ok(None) => {}
                limited => return Ok(limited),
            }
        }
        let Some(limit) = concurrent else { return Ok(Ok(None)) };
        let now = self.ports.clock.work_now();
        held.may_have_seat = true;
        if self.ports.store.seats.take_seat(claim, limit, now).await? {
            return Ok(Ok(None));
        }
        held.may_have_seat = false;
        Ok(Ok(Some(LimitWait::Seat)))
    }

    /// Whether a seat seems to be free.
    async fn sees_seat(&self, job: &JobRef, limit: Concurrent) -> Result<bool> {
        let now = self.ports.clock.work_now();
        Ok(self.ports.store.seats.taken_seats(&job.collection_uid, now).await? < limit.get())
    }

    /// What becomes of the message of an attempt that waits for a seat. Without an answer the attempt
    /// goes on: a seat seems to be free, or the attempt needs none any more.
    pub(super) async fn before_seat(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<Option<Performed>> {
        let loaded = self.load_if_may_start(job, attempt).await?;
        let limited = loaded.and_then(|it| it.snapshot.limits.concurrent.map(|limit| (it, limit)));
        let Some((loaded, limit)) = limited else { return Ok(None) };
        if self.sees_seat(job, limit).await? {
            return Ok(None);
        }
        self.notice_limit(job, attempt, &loaded).await?;
        let wait = seat_pause(&job.uid, attempt, self.ports.clock.now());
        Ok(Some(Performed::Waits(Wait::For(wait.to_std().unwrap_or_default()))))
    }
}
