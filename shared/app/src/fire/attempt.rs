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
//! | read and check | the same | the same |
//! | act | an action that may have been done, and no record | the message is delivered again: the action is done again |
//! | keep the body | the same, and the body of a failure that has no record | the same; the body is deleted when its time is over |
//! | record | how the attempt ended, and nothing that follows | the message is delivered again, finds the record, and goes on from it |
//! | leave out | which occurrences an outage cost, and a lease | the message is delivered again, and leaves the attempt out again |
//! | follow | the next attempt in the queue or in a timer | the message is delivered again: the same next attempt is sent again, and claimed once |
//! | count | everything but the deletion of the message | the message is delivered again, and finds the attempt counted |
//!
//! So every worker that finds the record does the same, however often it does it.
//!
//! Where the collection has limits, an attempt that may start waits for its [slot](super::slot), or for a
//! [seat](super::seat).
//!
//! An attempt may be claimed up to two seconds before it is due. A worker that is told to stop
//! releases the claims of attempts that are not due yet. The next worker that gets such a message
//! claims the attempt, and is on time. A crash in between leaves a lease, as after any claim.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::{Either, select};
use minutehand_domain::action::{Action, Target};
use minutehand_domain::attempt::{Attempt, Outcome, Record, Role};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::firing::{
    Around, LeftOut, LeftOutReason, Outage, SkipReason, Slot, StartCheck, Waited, may_start,
    overtaken_in, takes_turns,
};
use minutehand_domain::job::JobDefinition;
use minutehand_domain::message::{failed, headline, request_failed};
use minutehand_domain::recent::LastSkip;
use minutehand_domain::sign::webhook_id;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Counted, CountersAdd, Recorded};
use minutehand_ports::{ActionOutcome, AttemptContext, ErrorType, Event, FailureBody, SignedAs};

use super::Stop;
use super::dispatch::attempt_message;
use super::execute::{Executor, Performed};
use super::follow::{EndedAttempt, Undecided};
use super::loaded_job::{LoadedJob, action, job_path};
use super::slot::LimitWait;
use super::{DeliveryPlace, Wait, spans};
use crate::error::AppError;

/// How long to wait before recording is tried again.
const RECORD_AGAIN: Duration = Duration::from_millis(200);
/// How long an attempt waits that could not begin. Open files and memory are free again when other
/// attempts have ended, and an action takes at most a minute.
const NOT_MADE_PAUSE: Duration = Duration::from_secs(5);
/// No attempt has this number. A skipped occurrence is counted under it.
const SKIPPED: u32 = u32::MAX;
/// How long after the end of another worker's lease the attempt is tried again.
const LEASE_MARGIN: TimeDelta = TimeDelta::seconds(1);

/// How far an attempt came that was claimed.
pub(super) enum Started {
    /// To its end, for this time.
    Ended(Performed),
    /// Not to its action: the job lets none overlap, and the attempt has not taken its turn. It is
    /// released.
    OutOfTurn,
}

/// How far an attempt came that was to act.
enum Begun {
    /// It has acted.
    Acted(ActionResult, LoadedJob),
    /// The collection limits its starts, and this slot is near.
    WaitsFor(Slot),
    /// It has not acted.
    Not(Started),
}

/// Whether an attempt has to take its turn first.
fn is_out_of_turn(attempt: &Attempt, loaded: &LoadedJob) -> bool {
    !attempt.takes_turn && takes_turns(attempt) && loaded.takes_turns()
}

/// How an action ended.
struct ActionResult {
    started_at: DateTime<Utc>,
    outcome: Outcome,
    message: String,
    /// How long the target asked to wait before another attempt.
    retry_after: Option<TimeDelta>,
    /// The body with which the target answered a failure, if it is to be kept.
    body: Option<FailureBody>,
}

/// Tries an attempt again when what is left of another worker's lease is over.
pub(super) fn again_after(left: TimeDelta) -> Performed {
    let wait = left.max(TimeDelta::zero()) + LEASE_MARGIN;
    Performed::Again(wait.to_std().unwrap_or_default())
}

impl Executor {
    /// Makes an attempt, unless it has ended already or may not start.
    pub(super) async fn attempt(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> Result<Performed, AppError> {
        if self.is_too_early(attempt) {
            return self.send_again(job, attempt).await;
        }
        if self.is_forgotten(job, attempt).await? {
            return Ok(Performed::Done);
        }
        let waits = match attempt.waited {
            None => None,
            Some(Waited::Slot(slot)) => Box::pin(self.before_slot(job, slot, stop)).await?,
            Some(Waited::Seat) => Box::pin(self.before_seat(job, attempt)).await?,
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
        if let Some(performed) = self.claim(&request, place).await? {
            return Ok(performed);
        }
        let claim = request.claim;
        let prefetched = self.prefetch(&claim).await;
        if !self.wait_until_due(attempt, place, stop).await {
            self.release(&claim).await;
            return Ok(Performed::Again(Duration::ZERO));
        }
        // Boxed, because the future of an attempt that waits is then small: thousands may wait.
        match Box::pin(self.start(&claim, prefetched, place)).await? {
            Started::Ended(performed) => Ok(performed),
            // It was sent before the job let none overlap.
            Started::OutOfTurn => Box::pin(self.take_turn(job, attempt, place)).await,
        }
    }

    /// Claims an attempt. Returns `None` if the caller has the claim. Otherwise does what can be done
    /// without it, and returns how that ended.
    pub(super) async fn claim(
        &self,
        request: &ClaimRequest,
        place: &dyn DeliveryPlace,
    ) -> Result<Option<Performed>, AppError> {
        let Claim { job, attempt, .. } = &request.claim;
        Ok(match self.ports.store.attempts.claim(request).await? {
            Claimed::Won => None,
            Claimed::Held { left } => Some(again_after(left)),
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

    /// Reads the job, checks whether the attempt may start, acts, records, and follows the record.
    pub(super) async fn start(
        &self,
        claim: &Claim,
        prefetched: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Started, AppError> {
        // Boxed, as all steps here are: one that is over then takes no memory, while thousands wait in
        // the next one.
        match Box::pin(self.begin(claim, prefetched, place)).await? {
            Begun::Acted(result, loaded) => {
                let ended = self.record_and_follow(claim, result, Some(loaded), place);
                Box::pin(ended).await.map(Started::Ended)
            }
            Begun::WaitsFor(slot) => {
                self.wait_for(slot).await;
                let mut claim = Box::new(claim.clone());
                claim.attempt.waited = Some(Waited::Slot(slot));
                // The job may have changed, so everything is read and checked again.
                Box::pin(self.start(&claim, None, place)).await
            }
            Begun::Not(started) => Ok(started),
        }
    }

    /// Reads the job, checks whether the attempt may start, and acts.
    async fn begin(
        &self,
        claim: &Claim,
        prefetched: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Begun, AppError> {
        let ended = |performed: Result<_, AppError>| performed.map(Started::Ended).map(Begun::Not);
        let loaded = self.load_for_start(claim, prefetched).await;
        let loaded = self.or_release(claim, loaded).await?;
        let readable = loaded.as_ref().map_or(Ok(()), |loaded| loaded.check_schedule(claim));
        self.or_release(claim, readable).await?;
        let ready_at = claim.attempt.ready_at();
        let outages = self.heartbeat.outages(ready_at).await;
        let outages = self.or_release(claim, outages).await?;
        let standing = loaded.as_ref().map(LoadedJob::standing);
        let start = StartCheck { now: self.ports.clock.now(), ready_at, outages: &outages };
        let mut checked = may_start(&claim.attempt, standing, start);
        if let (Ok(()), Some(loaded)) = (checked, &loaded) {
            if is_out_of_turn(&claim.attempt, loaded) {
                self.release(claim).await;
                return Ok(Begun::Not(Started::OutOfTurn));
            }
            let wait = self.limits(claim, loaded, &outages).await;
            match self.or_release(claim, wait).await? {
                LimitWait::No => {}
                LimitWait::For(slot) if self.is_soon(slot) => return Ok(Begun::WaitsFor(slot)),
                LimitWait::For(slot) => return ended(Box::pin(self.postpone(claim, slot)).await),
                LimitWait::Full => return ended(Box::pin(self.postpone_without_slot(claim)).await),
                LimitWait::Seat => return ended(Box::pin(self.postpone_without_seat(claim)).await),
                LimitWait::TooLong(reason) => checked = Err(reason),
            }
        }
        let loaded = match (checked, loaded) {
            (Ok(()), Some(loaded)) => loaded,
            (refused, loaded) => {
                let reason = refused.err().unwrap_or(SkipReason::Gone);
                let nominal_at = claim.attempt.occurrence.nominal_at();
                let mut skip = LastSkip::one(nominal_at, reason);
                if let Some(loaded) = &loaded {
                    let noted = self.note_left_out(claim, reason, loaded, &outages);
                    let noted = Box::pin(noted).await;
                    let left_out = self.or_release(claim, noted).await?;
                    skip = left_out.as_ref().map_or(skip, LastSkip::from);
                }
                self.release(claim).await;
                let Claim { job, attempt, .. } = claim;
                return ended(Box::pin(self.drop_attempt(job, attempt, skip, loaded)).await);
            }
        };
        let result = self.act(claim, &loaded, place).await;
        if result.is_err() {
            self.give_back_seat(claim, Some(&loaded)).await;
        }
        let result = match self.or_release(claim, result).await {
            Err(AppError::NotMade(not_made)) => {
                let Claim { job, attempt, .. } = claim;
                tracing::warn!(job.uid, job.key, attempt = %attempt.id(), %not_made, "an attempt waits");
                return ended(Ok(Performed::Waits(Wait::For(NOT_MADE_PAUSE))));
            }
            result => result?,
        };
        Ok(Begun::Acted(result, loaded))
    }

    /// The origin that an attempt calls. `None` if it does not get that far.
    async fn origin(&self, job: &JobRef, attempt: &Attempt) -> Result<Option<String>, AppError> {
        let Some(loaded) = self.load(job).await? else { return Ok(None) };
        if attempt.role == Role::Notice {
            return match self.failure_action(job).await {
                Ok(found) => Ok(found.map(|(_, action)| action.target().origin())),
                Err(error) if error.is_retryable() => Err(error),
                Err(_) => Ok(None),
            };
        }
        let definition = match self.definition(job, &loaded).await {
            Ok(definition) => definition,
            Err(error) if error.is_retryable() => return Err(error),
            Err(_) => return Ok(None),
        };
        Ok(action(definition, attempt.role).map(|action| action.target.origin()))
    }

    /// Whether to wait for the attempt here would use up the lease.
    fn is_too_early(&self, attempt: &Attempt) -> bool {
        let clock = &self.ports.clock;
        attempt.due_at - clock.now() > spans(clock.as_ref()).early
    }

    async fn send_again(&self, job: &JobRef, attempt: &Attempt) -> Result<Performed, AppError> {
        let message = attempt_message(job, attempt.clone());
        self.ports.queue.send(&[message], self.ports.clock.now()).await?;
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

    /// Gives back a claim under which nothing was done. If that fails, the lease ends by itself.
    async fn release(&self, claim: &Claim) {
        if let Err(error) = self.ports.store.attempts.release(claim).await {
            let Claim { job, attempt, .. } = claim;
            let (job_path, id) = (job_path(job, None), attempt.id());
            tracing::warn!(
                job.path = job_path, job.uid, attempt = %id, %error,
                "a claim could not be released; it ends with its lease"
            );
        }
        self.give_back_turn(claim).await;
    }

    /// Gives the claim back after an error before the action: the next worker need not wait for the
    /// lease.
    async fn or_release<T>(&self, claim: &Claim, step: Result<T, AppError>) -> Result<T, AppError> {
        if step.is_err() {
            self.release(claim).await;
        }
        step
    }

    /// Performs the action of an attempt. An error means that nothing was done and a retry may help.
    async fn act(
        &self,
        claim: &Claim,
        loaded: &LoadedJob,
        place: &dyn DeliveryPlace,
    ) -> Result<ActionResult, AppError> {
        let target = match self.target(claim, loaded).await {
            Ok(Ok(target)) => target,
            Ok(Err(message)) => return Ok(self.failed_at_once(message)),
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => {
                let (job, error_type) = (&claim.job, ErrorType::JobUnreadable);
                let job_path = job_path(job, Some(loaded));
                tracing::error!(
                    %error_type, job.path = job_path, job.uid, %error, "a job cannot be read, and fails"
                );
                let what = match claim.attempt.role {
                    Role::Main | Role::Error => "job",
                    Role::Notice => "failure action of the job collection",
                };
                let why = format!("The {what} cannot be read; the log says why");
                return Ok(self.failed_at_once(request_failed("", "InternalError", &why)));
            }
        };
        place.set_origin(&target.origin());
        let context = self.context(claim, loaded);
        let started_at = self.ports.clock.now();
        let Claim { job, attempt, .. } = claim;
        let late = started_at - attempt.due_at;
        self.ports.events.note(Event::Started { job, attempt, late });
        let ended = self.ports.sender.send(&target, &context).await?;
        let ActionOutcome { outcome, message, retry_after, body } = ended;
        Ok(ActionResult { started_at, outcome, message, retry_after, body })
    }

    /// The target of an attempt, or the message of an attempt whose action is gone.
    async fn target<'a>(
        &self,
        claim: &Claim,
        loaded: &'a LoadedJob,
    ) -> Result<Result<Cow<'a, Target>, String>, AppError> {
        let Claim { job, attempt, .. } = claim;
        if attempt.role == Role::Notice {
            let why = "The job collection has no failure action any more";
            let notice = Box::pin(self.notice(job, attempt, loaded)).await?;
            return Ok(notice.map(Cow::Owned).ok_or_else(|| request_failed("", "NotFound", why)));
        }
        let definition = self.definition(job, loaded).await?;
        let found = action(definition, attempt.role).map(|Action { target, .. }| target);
        Ok(found.map(Cow::Borrowed).ok_or_else(|| {
            let target = &definition.action.action.target;
            failed(target, "NotFound", "The job has no error action any more")
        }))
    }

    fn context(&self, claim: &Claim, loaded: &LoadedJob) -> AttemptContext {
        let Claim { job, attempt, .. } = claim;
        AttemptContext {
            execution_id: format!("{}.{}", job.uid, attempt.id()),
            job: loaded.snapshot.name.to_string(),
            job_path: loaded.path(),
            job_uid: job.uid.clone(),
            collection_uid: job.collection_uid.clone(),
            expected_at: attempt.occurrence.nominal_at(),
            sent_at: self.ports.clock.outside_now(),
            region: self.settings.region.clone(),
            signed: loaded.signing(attempt.role).map(|signing| SignedAs {
                message_id: webhook_id(&job.uid, attempt),
                signing: signing.clone(),
            }),
        }
    }

    /// The result of an action that is not even begun.
    fn failed_at_once(&self, message: String) -> ActionResult {
        let started_at = self.ports.clock.now();
        let outcome = Outcome::Failed;
        ActionResult { started_at, outcome, message, retry_after: None, body: None }
    }

    /// Records an attempt as failed whose workers have died again and again.
    async fn record_lost_workers(
        &self,
        claim: &Claim,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed, AppError> {
        let loaded = self.load(&claim.job).await?;
        let definition: Option<&JobDefinition> = match &loaded {
            Some(loaded) => self.definition(&claim.job, loaded).await.ok(),
            None => None,
        };
        let why = "Its workers were lost, again and again";
        let message = definition.and_then(|it| action(it, claim.attempt.role)).map_or_else(
            || request_failed("", "InternalError", why),
            |action| failed(&action.target, "InternalError", why),
        );
        let result = self.failed_at_once(message);
        Box::pin(self.record_and_follow(claim, result, loaded, place)).await
    }

    /// Records what is left out, before its claim is released: this occurrence, or all that an outage
    /// cost up to it. Of several workers, the one with the latest occurrence records the most. Returns
    /// what is recorded.
    async fn note_left_out(
        &self,
        claim: &Claim,
        reason: SkipReason,
        loaded: &LoadedJob,
        outages: &[Outage],
    ) -> Result<Option<LeftOut>, AppError> {
        let Claim { job, attempt, .. } = claim;
        let (generation, nominal_at) = (attempt.generation, attempt.occurrence.nominal_at());
        let at = self.ports.clock.now();
        let left_out = match (reason, &loaded.schedule) {
            (SkipReason::Overtaken, Some(schedule)) => {
                let outage = overtaken_in(schedule, nominal_at, attempt.ready_at(), outages);
                let since = loaded.snapshot.timing.since;
                outage.and_then(|outage| {
                    let costs_all_until = self.heartbeat.costs_all_until(outage);
                    let around = Around { outage, since, costs_all_until, at };
                    LeftOut::around(schedule, generation, nominal_at, &around)
                })
            }
            (SkipReason::TooLate, _) => {
                Some(LeftOut::one(generation, nominal_at, LeftOutReason::TooLate, at))
            }
            (SkipReason::Overtaken, None)
            | (
                SkipReason::Gone
                | SkipReason::CollectionOff
                | SkipReason::TimingChanged
                | SkipReason::NotEnabled
                | SkipReason::Overlap,
                _,
            ) => None,
        };
        if let Some(left_out) = &left_out {
            self.ports.store.attempts.leave_out(&job.uid, left_out).await?;
        }
        Ok(left_out)
    }

    /// Gives up an attempt that may not start, and is not claimed.
    pub(super) async fn drop_attempt(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        skip: LastSkip,
        loaded: Option<LoadedJob>,
    ) -> Result<Performed, AppError> {
        let reason = skip.reason;
        let (job_path, id) = (job_path(job, loaded.as_ref()), attempt.id());
        let due = if reason == SkipReason::CollectionOff {
            self.skip_log.count(&job.collection_uid, self.ports.clock.now())
        } else {
            Some(1)
        };
        if let (true, Some(occurrences)) = (reason.is_skip(), due) {
            tracing::warn!(
                job.path = job_path, job.uid, attempt = %id, occurrences, %reason,
                "an occurrence is skipped"
            );
        } else if reason.is_skip() {
            tracing::debug!(
                job.path = job_path, job.uid, attempt = %id, %reason, "an occurrence is skipped"
            );
        } else {
            tracing::info!(
                job.path = job_path, job.uid, attempt = %id, %reason, "an attempt does not start"
            );
        }
        self.ports.events.note(Event::Dropped { job, attempt, why: reason });
        if let (true, true, Some(loaded)) = (reason.is_skip(), attempt.is_first(), loaded) {
            let add = CountersAdd::skipped(skip);
            // Under a number of its own. The clock of the worker that gets a copy of the message may
            // be behind, so that the attempt starts there after all and is counted, too.
            let attempt = Attempt { number: SKIPPED, ..attempt.clone() };
            self.count(job, Counted { attempt, ended_at: None, add }, loaded).await?;
        }
        self.remove_timer(job, attempt).await?;
        Ok(Performed::Done)
    }

    /// Records how an attempt ended, and does what follows the record.
    async fn record_and_follow(
        &self,
        claim: &Claim,
        result: ActionResult,
        loaded: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed, AppError> {
        let kept = Box::pin(self.record_result(claim, result, loaded.as_ref())).await?;
        let Some(record) = kept else {
            // Another worker has taken the attempt over. If that one dies, this message is needed.
            let wait = LEASE + LEASE_MARGIN;
            return Ok(Performed::Again(wait.to_std().unwrap_or_default()));
        };
        let Claim { job, attempt, .. } = claim;
        let ended = EndedAttempt { job, attempt, record: &record };
        Box::pin(self.follow(ended, loaded, place)).await
    }

    /// Records how an attempt ended. Returns the record that the attempt has; `None` if another worker
    /// has taken it over.
    async fn record_result(
        &self,
        claim: &Claim,
        result: ActionResult,
        loaded: Option<&LoadedJob>,
    ) -> Result<Option<Record>, AppError> {
        let Claim { job, attempt, .. } = claim;
        let ActionResult { started_at, outcome, message, retry_after, body } = result;
        let ended_at = self.ports.clock.now().max(started_at);
        let body_bytes = match body {
            None => 0,
            Some(body) => Box::pin(self.keep_body(claim, started_at, body, loaded)).await,
        };
        let repeat_count = loaded.map_or(1, |loaded| loaded.repeat_count(attempt, ended_at));
        let then = None;
        let mut record =
            Record { started_at, ended_at, outcome, message, repeat_count, body_bytes, then };
        let ended = Undecided { job, attempt, retry_after };
        Box::pin(self.decide_then(ended, &mut record, loaded)).await;
        let recorded = self.record(claim, &record, loaded).await?;
        self.give_back_seat(claim, loaded).await;
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
        claim: &Claim,
        record: &Record,
        loaded: Option<&LoadedJob>,
    ) -> Result<Recorded, AppError> {
        // Bounded by the lease.
        loop {
            match self.ports.store.attempts.record(claim, record).await {
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
                reason = headline(&record.message),
                "failed"
            ),
        }
        let collection_path = loaded.map(|loaded| loaded.snapshot.collection_path.as_str());
        self.ports.events.note(Event::Executed { job, collection_path, attempt, record, late });
    }
}
