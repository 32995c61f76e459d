//! The record of an attempt: how it ended, in the store and in the log. What follows is done by every worker
//! that finds the record.

use std::time::Duration;

use minutehand_domain::attempt::{Outcome, Record};
use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::job::JobDefinition;
use minutehand_domain::message::{headline, request_failed};
use minutehand_ports::store::{Claim, Recorded};
use minutehand_ports::{ActionOutcome, Event};

use super::DeliveryPlace;
use super::act::ActionResult;
use super::execute::{Executor, Performed};
use super::follow::EndedAttempt;
use super::held::{Held, LEASE_MARGIN};
use super::loaded_job::{LoadedJob, action, job_path};
use crate::error::Result;

/// How long to wait before recording is tried again.
const RECORD_AGAIN: Duration = Duration::from_millis(200);

impl Executor {
    /// Records an attempt as failed whose workers have died again and again.
    pub(super) async fn record_lost_workers(
        &self,
        claim: &Claim,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let loaded = self.load(&claim.job).await?;
        let definition: Option<&JobDefinition> = match &loaded {
            Some(loaded) => self.definition(&claim.job, loaded).await.ok(),
            None => None,
        };
        let why = "Its workers were lost, again and again";
        let message = definition.and_then(|it| action(it, claim.attempt.role)).map_or_else(
            || request_failed("", "InternalError", why),
            |action| action.target.failure("InternalError", why),
        );
        let result = self.failed_at_once(CauseKind::WorkersLost, message);
        Box::pin(self.record_and_follow(Held::of(claim), result, loaded, place)).await
    }

    /// Records how an attempt ended, and does what follows the record.
    pub(super) async fn record_and_follow(
        &self,
        held: Held<'_>,
        result: ActionResult,
        loaded: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let kept = Box::pin(self.record_result(&held, result, loaded.as_ref())).await?;
        let Some(record) = kept else {
            // Another worker has taken the attempt over. If that one dies, this message is needed.
            let wait = LEASE + LEASE_MARGIN;
            return Ok(Performed::Again(wait.to_std().unwrap_or_default()));
        };
        let Claim { job, attempt, .. } = held.claim;
        let ended = EndedAttempt { job, attempt, record: &record };
        Box::pin(self.follow(ended, loaded, place)).await
    }

    /// Records how an attempt ended. Returns the record that the attempt has; `None` if another worker
    /// has taken it over.
    async fn record_result(
        &self,
        held: &Held<'_>,
        result: ActionResult,
        loaded: Option<&LoadedJob>,
    ) -> Result<Option<Record>> {
        let claim = held.claim;
        let Claim { job, attempt, .. } = claim;
        let ActionResult { started_at, ended_at, ended, kept_bytes } = result;
        let ActionOutcome { outcome, cause, message, retry_after, body, .. } = ended;
        let ended_at = ended_at.unwrap_or_else(|| self.ports.clock.now()).max(started_at);
        let body_bytes = match body {
            None => kept_bytes,
            Some(body) => Box::pin(self.keep_body(claim, started_at, body, loaded)).await,
        };
        let repeat_count = loaded.map_or(1, |loaded| loaded.repeat_count(attempt, ended_at));
        let then = None;
        let mut record = Record {
            started_at,
            ended_at,
            outcome,
            cause,
            message,
            repeat_count,
            body_bytes,
            then,
        };
        Box::pin(self.decide_then(claim, retry_after, &mut record, loaded)).await;
        let recorded = self.record(held, &record, loaded).await?;
        self.give_back_seat(self.ask_again_until(), held).await;
        Ok(match recorded {
            Recorded::Kept => {
                self.log_outcome(EndedAttempt { job, attempt, record: &record }, loaded);
                Some(record)
            }
            Recorded::Already(other) => Some(other),
            Recorded::Lost => None,
        })
    }

    /// Records, and tries that until the lease is over: an action that was done is not repeated only
    /// because the store was busy.
    async fn record(
        &self,
        held: &Held<'_>,
        record: &Record,
        loaded: Option<&LoadedJob>,
    ) -> Result<Recorded> {
        let (claim, store) = (held.claim, &self.ports.store);
        // Bounded by the lease.
        loop {
            let recorded = if held.is_open {
                store.open.record_ending(claim, record).await
            } else {
                store.attempts.record(claim, record).await
            };
            match recorded {
                Err(error)
                    if error.is_retryable() && self.ports.clock.work_now() < claim.lease_until =>
                {
                    let Claim { job, attempt, .. } = claim;
                    let (job_path, id) = (job_path(job, loaded), attempt.id());
                    tracing::warn!(
                        job.path = job_path, job.uid, attempt = %id, %error,
                        "an attempt is not recorded yet"
                    );
                    self.ports.clock.wait(RECORD_AGAIN).await;
                }
                ended => return Ok(ended?),
            }
        }
    }

    fn log_outcome(&self, ended: EndedAttempt<'_>, loaded: Option<&LoadedJob>) {
        let EndedAttempt { job, attempt, record } = ended;
        let late = record.started_at - attempt.due_at;
        let took = record.ended_at - record.started_at;
        let (late_ms, took_ms) = (late.num_milliseconds(), took.num_milliseconds());
        let (id, job_path) = (attempt.id(), || job_path(job, loaded));
        // A macro evaluates its fields only if the line is logged.
        match record.outcome {
            Outcome::Succeeded if self.settings.is_quiet => tracing::debug!(
                job.path = job_path(), job.uid, attempt = %id, late_ms, took_ms, "succeeded"
            ),
            Outcome::Succeeded => tracing::info!(
                job.path = job_path(), job.uid, attempt = %id, late_ms, took_ms, "succeeded"
            ),
            Outcome::Failed => tracing::warn!(
                job.path = job_path(),
                job.uid,
                attempt = %id,
                late_ms,
                took_ms,
                cause = record.cause.as_ref().map(Cause::text),
                reason = headline(&record.message),
                "failed"
            ),
        }
        let collection_path = loaded.map(|loaded| loaded.snapshot.collection_path.as_str());
        self.ports.events.note(Event::Executed { job, collection_path, attempt, record, late });
    }
}
