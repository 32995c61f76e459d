//! Calls of processes that share brakes: an origin that hangs gets a call now and then, so that its calls do not
//! take what others need.
//!
//! The call is taken last, when nothing but the action is left to do. An attempt that gets none waits with its
//! message, as one that waits for a [seat](super::seat) does. Until a call seems to be due, such a message is only
//! looked at: it is not claimed.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | take a call | a call that is not made | the next one, half a minute later |
//! | postpone the claim | an attempt that waits, and no message that says so | the message, which comes again |
//! | count a call without an answer | a count; it is counted again when the attempt is repeated | the next answer |
//! | the call is answered | a brake | the next call, which is answered, too |

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{Either, select};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::Attempt;
use minutehand_domain::cause::CauseKind;
use minutehand_domain::firing::{ANSWERS_WITHIN, place_pause};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::{ActionOutcome, AttemptContext, NotMade};

use super::Wait;
use super::execute::{Executor, Performed};
use crate::error::Result;

impl Executor {
    /// What becomes of the message of an attempt that waits for an origin that hangs. Without an answer the attempt
    /// goes on: a call seems to be due, or the attempt needs none any more.
    pub(super) async fn before_place(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<Option<Performed>> {
        let Some(brakes) = &self.brakes else { return Ok(None) };
        let Some(loaded) = self.load_if_may_start(job, attempt).await? else { return Ok(None) };
        let Some(origin) = self.origin_of(job, attempt, &loaded).await? else { return Ok(None) };
        if brakes.sees_call(&origin).await {
            return Ok(None);
        }
        let wait = place_pause(&job.uid, attempt, self.ports.clock.now());
        Ok(Some(Performed::Waits(Wait::For(wait.to_std().unwrap_or_default()))))
    }

    /// Performs an action, and tells other processes if its origin hangs, or does not hang any more.
    pub(super) async fn call(
        &self,
        origin: &str,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let sending = self.ports.sender.send(target, context);
        let Some(brakes) = &self.brakes else { return sending.await };
        let is_counted = AtomicBool::new(false);
        let counting = std::pin::pin!(async {
            self.ports.clock.wait(ANSWERS_WITHIN.to_std().unwrap_or_default()).await;
            is_counted.store(true, Ordering::Relaxed);
            brakes.unanswered(origin).await;
        });
        let ended = match select(sending, counting).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), sending)) => sending.await,
        };
        let is_counted = is_counted.load(Ordering::Relaxed);
        if let Ok(ended) = &ended {
            if is_answered(ended) {
                brakes.answered(origin, is_counted).await;
            } else if !is_counted {
                brakes.unanswered(origin).await;
            }
        }
        ended
    }
}

/// Whether a call was answered in its time, even with an error.
pub(super) fn is_answered(ended: &ActionOutcome) -> bool {
    ended.cause.as_ref().is_none_or(|cause| cause.kind != CauseKind::Timeout)
}
