//! Occurrences that owe pings: what becomes of them when the time for that is over.
//!
//! A ping opens the attempt of its occurrence, and ends it as the target of any open attempt does: see
//! [`open`](super::open). The message of the occurrence itself is due when its grace is over. Its worker claims the
//! attempt not before that: it finds what a ping has opened, or there was none, and from then on none counts. So
//! a ping or the deadline ends the occurrence, and exactly one of them.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | a ping is stored, with what it opens or ends | an open attempt, and the timer of its deadline | the timer; the message of the occurrence, too |
//! | claim | a lease | the message, when the lease ends |
//! | leave out, because nothing could take pings | the row, with which no ping counts, and a lease | the message leaves it out again |
//! | record | as of any attempt | as of any attempt |

use std::time::Duration;

use minutehand_domain::attempt::{Attempt, Role};
use minutehand_domain::cause::Cause;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::ping::{missing_message, time_of_day};
use minutehand_domain::presence::Watched;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{AttemptSeen, Claim};

use super::act::ActionResult;
use super::attempt::NotNow;
use super::execute::{Executor, Performed};
use super::held::Held;
use super::loaded_job::LoadedJob;
use super::{DeliveryPlace, Wait};
use crate::error::Result;

/// How often it is looked whether the API was there.
const LOOK: Duration = Duration::from_secs(2);

impl Executor {
    /// Ends an occurrence that owed a ping, whose time is over.
    pub(super) async fn end_expected(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let attempt = Attempt { waited: None, ..attempt.clone() };
        let request = self.claim_request(job, &attempt);
        if let Some(performed) = self.claim(&request, place).await? {
            return Ok(performed);
        }
        let claim = request.claim;
        let held = Held::of(&claim);
        match Box::pin(self.missing(&claim)).await {
            Ok(Some((result, loaded))) => {
                Box::pin(self.record_and_follow(held, result, Some(loaded), place)).await
            }
            Ok(None) => {
                self.give_back(&held).await;
                Ok(match place.receipt() {
                    Some(_) => Performed::Waits(Wait::For(LOOK)),
                    None => Performed::Again(LOOK),
                })
            }
            Err(not_now) => {
                let left = Box::pin(self.leave(&held, not_now)).await?;
                Ok(left.unwrap_or(Performed::Done))
            }
        }
    }

    /// How an occurrence without a ping failed; `None` if it is not known yet whether something could take one.
    async fn missing(&self, claim: &Claim) -> Result<Option<(ActionResult, LoadedJob)>, NotNow> {
        let loaded = self.load_for_start(claim, None).await?;
        // Whether pings could be taken does not depend on workers.
        let loaded = self.job_to_start(claim, loaded, &[]).await?;
        let nominal_at = claim.attempt.occurrence.nominal_at();
        let owed = loaded.schedule.as_ref().and_then(|schedule| schedule.owed_ping(nominal_at));
        let Some(owed) = owed else {
            return Err(self.skipped(claim, SkipReason::TimingChanged, Some(loaded), &[]).await);
        };
        if self.was_paid_before(claim).await? {
            return Err(self.skipped(claim, SkipReason::TimingChanged, Some(loaded), &[]).await);
        }
        let timing = loaded.snapshot.timing;
        // An occurrence with which a job goes on was owed under its own timing already.
        let is_of_timing = claim.attempt.generation == timing.generation;
        let from = if is_of_timing { owed.from.max(timing.since) } else { owed.from };
        let watched = match &self.presence {
            Some(presence) => presence.watched([from, owed.until]).await?,
            None => Watched::Yes,
        };
        match watched {
            Watched::Yes => {}
            Watched::Unknown => return Ok(None),
            Watched::No => {
                return Err(self.skipped(claim, SkipReason::NotWatched, Some(loaded), &[]).await);
            }
        }
        let until = time_of_day(loaded.schedule.as_deref(), owed.until);
        let result = self.failed_at_once(Cause::no_ping(&until), missing_message(&until));
        Ok(Some((result, loaded)))
    }

    /// Whether the occurrence has ended under another timing, or a ping has opened it there. A worker that has
    /// claimed it for a timing which is over looks at it only, and gives it back.
    async fn was_paid_before(&self, claim: &Claim) -> Result<bool> {
        let Claim { job, attempt, .. } = claim;
        let at = attempt.occurrence.nominal_at();
        let seen = self.ports.store.history.attempts_between(&job.uid, at, at).await?;
        let others = seen.iter().filter(|it| {
            it.role == Role::Main
                && it.occurrence == attempt.occurrence
                && it.generation != attempt.generation
        });
        for other in others {
            match self.ports.store.open.see(&job.uid, other).await? {
                AttemptSeen::Open(_) | AttemptSeen::Recorded(_) => return Ok(true),
                AttemptSeen::Claimed | AttemptSeen::Nothing => {}
            }
        }
        Ok(false)
    }
}
