//! One attempt: claim, wait, fence, act, record, follow, settle.
//!
//! What a crash after each step leaves, and who repairs it:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | claim | a lease; nothing was done | the message comes back, and claims when the lease is over |
//! | fence | the same | the same |
//! | act | an action that may have been done, and no record | the message comes back: the action is done again |
//! | record | what ended, and nothing that follows | the message comes back, finds the record, and goes on from it |
//! | follow | the next attempt in the queue or in a timer | the message comes back: the same attempt is sent again, and claimed once |
//! | settle | everything but the end of the message | the message comes back, and finds that it is counted |
//!
//! So the same happens whoever looks at the record, and however often.
//!
//! A claim may be taken up to two seconds ahead of its instant. A process that is asked to end gives
//! those back whose instant has not come, and does not wait for it: whoever gets the message next
//! claims them, and is on time. A crash in between leaves a lease, as after any claim.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::action::Action;
use domain::attempt::{Attempt, Outcome, Record, Role};
use domain::firing::limits::LEASE;
use domain::firing::{NO_RETRY_FOLLOWS, SkipReason, may_start};
use domain::job::JobDefinition;
use domain::message::{failed, request_failed};
use domain::work_item::JobRef;
use futures_util::future::{Either, select};
use ports::firing::{Claim, Claimed, Counted, CountersAdd, Held, Recorded, Recording};
use ports::{AttemptContext, ErrorType, Event, TURN_MAX, Turn};

use super::dispatch::execute;
use super::execute::{Executor, Performed};
use super::follow::Past;
use super::loaded_job::{Ahead, Seen, action, may_pass};
use super::{floor, one, spans};
use crate::error::AppError;

/// How long to wait between two tries to record.
const RECORD_AGAIN: Duration = Duration::from_millis(200);
/// No attempt has this number: a skip is remembered by it as counted.
const SKIPPED: u32 = u32::MAX;
/// A lease is looked at again so much after its end.
const LEASE_MARGIN: TimeDelta = TimeDelta::seconds(1);

/// An attempt that is ours.
struct Mine {
    held: Held,
    lease_until: DateTime<Utc>,
}

/// How an action ended.
struct Ended {
    started_at: DateTime<Utc>,
    outcome: Outcome,
    message: String,
}

impl Executor {
    /// Makes an attempt, or finds that it is made, or that it is not to be.
    pub(super) async fn attempt(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<Performed, AppError> {
        let clock = &self.ports.clock;
        if attempt.due_at - clock.now() > spans(clock.as_ref()).early {
            // To wait for it would use up the lease.
            let message = execute(job, attempt.clone());
            self.ports.queue.send(&[message], clock.now()).await?;
            return Ok(Performed::Done);
        }
        let mine = self.mine(job, attempt);
        match self.claim(&mine).await? {
            Claimed::Held { lease_until, .. } => {
                let wait = (lease_until - clock.work_now()).max(TimeDelta::zero()) + LEASE_MARGIN;
                Ok(Performed::Again(wait.to_std().unwrap_or_default()))
            }
            Claimed::Ended(record) => {
                Box::pin(self.after(Past { job, attempt, record: &record }, None)).await
            }
            Claimed::Exhausted => Box::pin(self.give_up(job, mine)).await,
            Claimed::Won => {
                let ahead = self.look_ahead(job, attempt).await;
                if !self.until_due(attempt).await {
                    self.release(mine).await;
                    return Ok(Performed::Again(Duration::ZERO));
                }
                let turn = self.ports.gate.turn().await;
                // Apart from what waits: that is small, and there may be thousands of it.
                Box::pin(self.start(job, mine, ahead, turn)).await
            }
        }
    }

    /// Waits for the instant of an attempt; false if the process ends before it.
    async fn until_due(&self, attempt: &Attempt) -> bool {
        let due = self.ports.clock.wait_until(attempt.due_at);
        matches!(select(due, self.ports.gate.closed()).await, Either::Left(_))
    }

    fn mine(&self, job: &JobRef, attempt: &Attempt) -> Mine {
        let id = self.ports.ids.new_id();
        let claim_id = match &self.settings.only_process {
            Some(process) => format!("{}-{id}", process.id),
            None => id,
        };
        Mine {
            held: Held { job_uid: job.uid.clone(), attempt: attempt.clone(), claim_id },
            lease_until: self.ports.clock.work_now() + LEASE,
        }
    }

    async fn claim(&self, mine: &Mine) -> Result<Claimed, AppError> {
        let claimed = self.claim_over(mine, None).await?;
        match (&self.settings.only_process, claimed) {
            (Some(process), Claimed::Held { claim_id, .. })
                if !claim_id.starts_with(&process.id) =>
            {
                // A process that has ended: it will not come back to it.
                self.claim_over(mine, Some(claim_id)).await
            }
            (_, claimed) => Ok(claimed),
        }
    }

    async fn claim_over(&self, mine: &Mine, over: Option<String>) -> Result<Claimed, AppError> {
        let claim = Claim {
            job_uid: mine.held.job_uid.clone(),
            attempt: mine.held.attempt.clone(),
            claim_id: mine.held.claim_id.clone(),
            now: self.ports.clock.work_now(),
            lease_until: mine.lease_until,
            over,
        };
        one(self.ports.store.claim(&[claim]).await)
    }

    /// Gives a claim back that led to nothing. Should it fail, the lease ends by itself.
    async fn release(&self, mine: Mine) {
        for released in self.ports.store.release(&[mine.held]).await {
            if let Err(error) = released {
                tracing::warn!(%error, "a claim is not given back before its lease is over");
            }
        }
    }

    /// Looks for the last time, and acts.
    async fn start(
        &self,
        job: &JobRef,
        mine: Mine,
        ahead: Option<Box<Ahead>>,
        turn: Turn,
    ) -> Result<Performed, AppError> {
        let seen = match self.look_last(job, ahead).await {
            Ok(seen) => seen,
            Err(error) => {
                // Nothing was done: whoever gets the message next need not wait for the lease.
                drop(turn);
                self.release(mine).await;
                return Err(error);
            }
        };
        let floor = floor(self.settings.only_process.as_ref(), self.ports.clock.as_ref());
        let standing = seen.as_ref().map(Seen::standing);
        let seen = match (may_start(&mine.held.attempt, standing, floor), seen) {
            (Ok(()), Some(seen)) => seen,
            (refused, seen) => {
                // What does not start holds up nobody who does; the store has time for it then.
                drop(turn);
                let why = refused.err().unwrap_or(SkipReason::Gone);
                return self.drop(job, mine, why, seen).await;
            }
        };
        let ended = match self.define(job, &seen).await {
            Ok(definition) => {
                let attempt = &mine.held.attempt;
                let occasion = self.occasion(job, attempt, &seen);
                self.act(definition, attempt.role, occasion, turn).await
            }
            Err(error) if may_pass(&error) => {
                drop(turn);
                self.release(mine).await;
                return Err(error);
            }
            Err(error) => {
                drop(turn);
                let error_type = ErrorType::JobUnreadable;
                tracing::error!(
                    %error_type, job.uid, job.key, %error, "a job cannot be read, and fails"
                );
                let why = "The job cannot be read; the log says why";
                self.failed_at_once(request_failed("", "InternalError", why))
            }
        };
        Box::pin(self.end(job, mine, ended, Some(seen))).await
    }

    fn occasion(&self, job: &JobRef, attempt: &Attempt, seen: &Seen) -> AttemptContext {
        AttemptContext {
            execution_id: format!("{}.{}", job.uid, attempt.id()),
            job: seen.sight.name.to_string(),
            job_uid: job.uid.clone(),
            collection_uid: job.collection_uid.clone(),
            expected_at: attempt.occurrence.nominal_at(),
            sent_at: self.ports.clock.work_now(),
            region: self.settings.region.clone(),
        }
    }

    async fn act(
        &self,
        definition: &JobDefinition,
        role: Role,
        occasion: AttemptContext,
        turn: Turn,
    ) -> Ended {
        let Some(Action { target, .. }) = action(definition, role) else {
            let target = &definition.action.action.target;
            let why = "The job has no error action any more";
            return self.failed_at_once(failed(target, "NotFound", why));
        };
        let started_at = self.ports.clock.now();
        let sending = self.ports.sender.send(target, &occasion);
        let sent = match select(sending, self.ports.clock.wait(TURN_MAX)).await {
            Either::Left((sent, _)) => sent,
            Either::Right(((), sending)) => {
                drop(turn);
                sending.await
            }
        };
        Ended { started_at, outcome: sent.outcome, message: sent.message }
    }

    fn failed_at_once(&self, message: String) -> Ended {
        Ended { started_at: self.ports.clock.now(), outcome: Outcome::Failed, message }
    }

    /// Records as failed what its workers did not survive.
    async fn give_up(&self, job: &JobRef, mine: Mine) -> Result<Performed, AppError> {
        let seen = self.look(job).await?;
        let definition = match &seen {
            Some(seen) => self.define(job, seen).await.ok(),
            None => None,
        };
        let why = "Its workers were lost, again and again";
        let message =
            definition.as_ref().and_then(|it| action(it, mine.held.attempt.role)).map_or_else(
                || request_failed("", "InternalError", why),
                |action| failed(&action.target, "InternalError", why),
            );
        Box::pin(self.end(job, mine, self.failed_at_once(message), seen)).await
    }

    /// Leaves an attempt out.
    async fn drop(
        &self,
        job: &JobRef,
        mine: Mine,
        why: SkipReason,
        seen: Option<Seen>,
    ) -> Result<Performed, AppError> {
        let attempt = mine.held.attempt.clone();
        self.release(mine).await;
        tracing::info!(job.uid, job.key, attempt = %attempt.id(), %why, "an attempt does not start");
        self.ports.events.note(Event::Dropped { job, attempt: &attempt, why });
        let is_first = attempt.role == Role::Main && attempt.number == 0;
        if let (true, true, Some(seen)) = (why.is_skip(), is_first, seen) {
            let add = CountersAdd { skipped: 1, ..CountersAdd::default() };
            // Under a number of its own: a copy of the message may find the attempt owed after all,
            // by a clock that is behind, and then its execution is counted, too.
            let skip = Attempt { number: SKIPPED, ..attempt.clone() };
            self.settle(job, Counted { attempt: skip, ended_at: None, add }, seen).await?;
        }
        self.drop_timer(job, &attempt).await?;
        Ok(Performed::Done)
    }

    /// Records how an attempt ended, and goes on from the record.
    async fn end(
        &self,
        job: &JobRef,
        mine: Mine,
        ended: Ended,
        seen: Option<Seen>,
    ) -> Result<Performed, AppError> {
        let attempt = mine.held.attempt.clone();
        let Ended { started_at, outcome, message } = ended;
        let ended_at = self.ports.clock.now().max(started_at);
        let repeat_count = seen.as_ref().map_or(1, |seen| seen.repeat_count(&attempt, ended_at));
        let mut record = Record { started_at, ended_at, outcome, message, repeat_count };
        let past = Past { job, attempt: &attempt, record: &record };
        if self.has_too_many_retries(past, seen.as_ref()).await {
            record.message.push_str(NO_RETRY_FOLLOWS);
        }
        match self.record(mine, record.clone()).await? {
            Recorded::Kept => self.tell(job, &attempt, &record),
            Recorded::Already(other) => record = other,
            // Another took it over, and is at it; should that one die, this message is needed still.
            Recorded::Lost => {
                let wait = LEASE + LEASE_MARGIN;
                return Ok(Performed::Again(wait.to_std().unwrap_or_default()));
            }
        }
        Box::pin(self.after(Past { job, attempt: &attempt, record: &record }, seen)).await
    }

    /// Records, and does not give up before the lease is over: what was done is not done again for
    /// a store that was busy.
    async fn record(&self, mine: Mine, record: Record) -> Result<Recorded, AppError> {
        let Mine { held, lease_until } = mine;
        let recording = [Recording { held, record }];
        // Bounded by the lease.
        loop {
            match one(self.ports.store.record(&recording).await) {
                Err(AppError::Store(error))
                    if error.is_retryable() && self.ports.clock.work_now() < lease_until =>
                {
                    tracing::warn!(%error, "an execution is not recorded yet");
                    self.ports.clock.wait(RECORD_AGAIN).await;
                }
                ended => return ended,
            }
        }
    }

    fn tell(&self, job: &JobRef, attempt: &Attempt, record: &Record) {
        let late = record.started_at - attempt.due_at;
        let took = record.ended_at - record.started_at;
        let (late_ms, took_ms) = (late.num_milliseconds(), took.num_milliseconds());
        let id = attempt.id();
        match record.outcome {
            Outcome::Succeeded if self.settings.is_quiet => {
                tracing::debug!(job.uid, job.key, attempt = %id, late_ms, took_ms, "succeeded");
            }
            Outcome::Succeeded => {
                tracing::info!(job.uid, job.key, attempt = %id, late_ms, took_ms, "succeeded");
            }
            Outcome::Failed => {
                tracing::warn!(job.uid, job.key, attempt = %id, late_ms, took_ms, "failed");
            }
        }
        self.ports.events.note(Event::Executed { job, attempt, record, late });
    }
}
