//! The action of an attempt: which target, what it is told, and how it ended.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use minutehand_domain::action::{Action, Target};
use minutehand_domain::attempt::{Occurrence, Outcome, Role};
use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::message::request_failed;
use minutehand_domain::sign::webhook_id;
use minutehand_ports::store::Claim;
use minutehand_ports::{ActionOutcome, AttemptContext, ErrorType, Event, SignedAs};

use super::DeliveryPlace;
use super::execute::Executor;
use super::hanging::is_answered;
use super::loaded_job::{LoadedJob, action, job_path};
use super::rendered::execution_id;
use crate::error::Result;

/// How an action ended.
pub(super) struct ActionResult {
    pub(super) started_at: DateTime<Utc>,
    /// When it ended, if that was not just now.
    pub(super) ended_at: Option<DateTime<Utc>>,
    pub(super) ended: ActionOutcome,
    /// The bytes of a body that is kept already.
    pub(super) kept_bytes: u32,
}

impl Executor {
    /// Performs the action of an attempt; `None` if its origin hangs and gets no call now. An error means that
    /// nothing was done and a retry may help.
    pub(super) async fn act(
        &self,
        claim: &Claim,
        loaded: &LoadedJob,
        place: &dyn DeliveryPlace,
    ) -> Result<Option<ActionResult>> {
        let target = match self.target(claim, loaded).await {
            Ok(Ok(target)) => target,
            Ok(Err(message)) => {
                return Ok(Some(self.failed_at_once(CauseKind::ActionGone, message)));
            }
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => {
                let (job, error_type) = (&claim.job, ErrorType::JobUnreadable);
                let job_path = job_path(job, Some(loaded));
                tracing::error!(
                    %error_type, job.path = job_path, job.uid, %error, "the definition of a job cannot be read, so the attempt fails"
                );
                let what = match claim.attempt.role {
                    Role::Main | Role::Error => "job",
                    Role::Notice => "failure action of the job collection",
                };
                let why = format!("The {what} cannot be read; the log says why");
                let message = request_failed("", "InternalError", &why);
                return Ok(Some(self.failed_at_once(CauseKind::JobUnreadable, message)));
            }
        };
        let origin = target.origin();
        place.set_origin(&origin);
        let completion_url = self.completion_url(claim, loaded).await?;
        let context = AttemptContext { completion_url, ..self.context(claim, loaded) };
        self.ports.store.attempts.may_act(claim).await?;
        if let Some(brakes) = &self.brakes
            && !brakes.take_call(&origin).await?
        {
            return Ok(None);
        }
        let started_at = self.ports.clock.now();
        let Claim { job, attempt, .. } = claim;
        let late = started_at - attempt.due_at;
        self.ports.events.note(Event::Started { job, attempt, late });
        let ended = self.call(&origin, &target, &context).await?;
        place.ended(is_answered(&ended));
        Ok(Some(ActionResult { started_at, ended_at: None, ended, kept_bytes: 0 }))
    }

    /// The target of an attempt, or the message of an attempt whose action is gone.
    async fn target<'a>(
        &self,
        claim: &Claim,
        loaded: &'a LoadedJob,
    ) -> Result<Result<Cow<'a, Target>, String>> {
        let Claim { job, attempt, .. } = claim;
        if attempt.role == Role::Notice {
            let why = "The job collection has no failure action any more";
            let notice = Box::pin(self.notice(job, attempt, loaded)).await?;
            return Ok(notice.map(Cow::Owned).ok_or_else(|| request_failed("", "NotFound", why)));
        }
        let definition = self.definition(job, loaded).await?;
        let Some(Action { target, .. }) = action(definition, attempt.role) else {
            let target = &definition.action.action.target;
            return Ok(Err(target.failure("NotFound", "The job has no error action any more")));
        };
        if let Target::Expect(_) = target {
            let why = "The job expects a ping, and has nothing to send";
            return Ok(Err(target.failure("NotSupported", why)));
        }
        if definition.has_templates() {
            let rendered = Box::pin(self.rendered(claim, loaded, definition, target)).await?;
            return Ok(rendered.map(Cow::Owned));
        }
        Ok(Ok(Cow::Borrowed(target)))
    }

    fn context(&self, claim: &Claim, loaded: &LoadedJob) -> AttemptContext {
        let Claim { job, attempt, .. } = claim;
        let expected_at = match attempt.occurrence {
            Occurrence::Scheduled { nominal_at } => nominal_at,
            // It starts at once, also where the clock was set back since its collection was switched on.
            Occurrence::Run { asked_at, .. } => asked_at.min(self.ports.clock.now()),
        };
        AttemptContext {
            execution_id: execution_id(claim),
            job: loaded.snapshot.name.to_string(),
            job_path: loaded.path(),
            job_uid: job.uid.clone(),
            collection_uid: job.collection_uid.clone(),
            expected_at,
            sent_at: self.ports.clock.outside_now(),
            region: self.settings.region.clone(),
            signed: loaded.signing(attempt.role).map(|signing| SignedAs {
                message_id: webhook_id(&job.uid, attempt),
                signing: signing.clone(),
            }),
            time_max: loaded.time_max(attempt.role),
            missed: loaded.snapshot.counters.missed(),
            depth: attempt.occurrence.depth().max(loaded.depth()).next(),
            completion_url: None,
        }
    }

    /// The result of an action that is not even begun.
    pub(super) fn failed_at_once(&self, cause: impl Into<Cause>, message: String) -> ActionResult {
        let started_at = self.ports.clock.now();
        let ended = without_body(Outcome::Failed, Some(cause.into()), message);
        ActionResult { started_at, ended_at: None, ended, kept_bytes: 0 }
    }
}

/// The end of an action after which nothing more is to come.
pub(super) const fn without_body(
    outcome: Outcome,
    cause: Option<Cause>,
    message: String,
) -> ActionOutcome {
    ActionOutcome { outcome, is_accepted: false, cause, message, retry_after: None, body: None }
}
