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

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::action::{Action, Target};
use domain::errand::JobRef;
use domain::execution::{Attempt, Occurrence, Outcome, Record, Role};
use domain::firing::limits::{LEASE, LONG_RETRIES_MAX};
use domain::firing::{Follow, Standing, Why, fence, follow, is_final_failure};
use domain::job::JobDefinition;
use domain::message::failed;
use domain::retry::Retries;
use ports::firing::{
    Claim, Claimed, CountersAdd, Held, LongRetry, Recorded, Recording, Settlement, Sight,
};
use ports::{Event, Occasion, SealError, StoreError};
use recurrence::Timetable;

use super::dispatch::execute;
use super::execute::{Executor, Performed};
use super::{floor, spans};
use crate::definition::definition;
use crate::error::AppError;

/// How often counters are read and written again when others were first.
const SETTLE_ROUNDS_MAX: usize = 50;
/// How long to wait between two tries to record.
const RECORD_AGAIN: Duration = Duration::from_millis(200);
/// A lease is looked at again so much after its end.
const LEASE_MARGIN: TimeDelta = TimeDelta::seconds(1);

/// A job as it was seen, with its timetable read.
pub(super) struct Seen {
    pub(super) sight: Sight,
    pub(super) timetable: Option<Timetable>,
}

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

/// What decides what follows an attempt.
struct Policy {
    retries: Retries,
    has_error_action: bool,
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
            Claimed::Ended(record) => self.after(job, attempt, &record, None).await,
            Claimed::Exhausted => self.give_up(job, mine).await,
            Claimed::Won => {
                clock.wait_until(attempt.due_at).await;
                self.start(job, mine).await
            }
        }
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
    async fn start(&self, job: &JobRef, mine: Mine) -> Result<Performed, AppError> {
        let seen = match self.look(job).await {
            Ok(seen) => seen,
            Err(error) => {
                // Nothing was done: whoever gets the message next need not wait for the lease.
                self.release(mine).await;
                return Err(error);
            }
        };
        let floor = floor(self.settings.only_process.as_ref(), self.ports.clock.as_ref());
        let standing = seen.as_ref().map(Seen::standing);
        let seen = match (fence(&mine.held.attempt, standing, floor), seen) {
            (Ok(()), Some(seen)) => seen,
            (Ok(()), None) => return self.drop(job, mine, Why::Gone, None).await,
            (Err(why), seen) => return self.drop(job, mine, why, seen).await,
        };
        let ended = match self.define(job, &seen) {
            Ok(definition) => self.act(job, &mine.held.attempt, &seen, &definition).await,
            Err(error) if may_pass(&error) => {
                self.release(mine).await;
                return Err(error);
            }
            Err(error) => {
                tracing::error!(job.uid, job.key, %error, "a job cannot be read, and fails");
                self.failed_at_once("Http Action - Request to host '' failed: InternalError The job cannot be read; the log says why".to_owned())
            }
        };
        self.end(job, mine, ended, Some(seen)).await
    }

    async fn act(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        seen: &Seen,
        definition: &JobDefinition,
    ) -> Ended {
        let Some(Action { target, .. }) = action(definition, attempt.role) else {
            let target = &definition.action.action.target;
            let why = "The job has no error action any more";
            return self.failed_at_once(failed(target, "NotFound", why));
        };
        let occasion = Occasion {
            execution_id: format!("{}.{}", job.uid, attempt.id()),
            job: seen.sight.name.to_string(),
            job_uid: job.uid.clone(),
            collection_uid: job.collection_uid.clone(),
            expected_at: attempt.occurrence.nominal_at(),
            region: self.settings.region.clone(),
        };
        let started_at = self.ports.clock.now();
        let sent = self.ports.sender.send(target, &occasion).await;
        Ended { started_at, outcome: sent.outcome, message: sent.message }
    }

    fn failed_at_once(&self, message: String) -> Ended {
        Ended { started_at: self.ports.clock.now(), outcome: Outcome::Failed, message }
    }

    /// Records as failed what its workers did not survive.
    async fn give_up(&self, job: &JobRef, mine: Mine) -> Result<Performed, AppError> {
        let seen = self.look(job).await?;
        let definition = seen.as_ref().map(|seen| self.define(job, seen)).transpose()?;
        let why = "Its workers were lost, again and again";
        let message =
            definition.as_ref().and_then(|it| action(it, mine.held.attempt.role)).map_or_else(
                || format!("Http Action - Request to host '' failed: InternalError {why}"),
                |action| failed(&action.target, "InternalError", why),
            );
        self.end(job, mine, self.failed_at_once(message), seen).await
    }

    /// Leaves an attempt out.
    async fn drop(
        &self,
        job: &JobRef,
        mine: Mine,
        why: Why,
        seen: Option<Seen>,
    ) -> Result<Performed, AppError> {
        let attempt = mine.held.attempt.clone();
        self.release(mine).await;
        tracing::info!(job.uid, job.key, attempt = %attempt.id(), %why, "an attempt does not start");
        self.ports.events.note(Event::Dropped { job, attempt: &attempt, why });
        let is_first = attempt.role == Role::Main && attempt.number == 0;
        if let (true, true, Some(seen)) = (why.is_skip(), is_first, seen) {
            let add = CountersAdd { skipped: 1, ..CountersAdd::default() };
            self.settle(job, &attempt, self.ports.clock.now(), add, seen).await?;
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
        if self.has_too_many_retries(job, &attempt, &record, seen.as_ref()).await {
            record.message.push_str(TOO_MANY_RETRIES);
        }
        match self.record(mine, record.clone()).await? {
            Recorded::Kept => self.tell(job, &attempt, &record),
            Recorded::Already(other) => record = other,
            // Another took it over, and is at it.
            Recorded::Lost => return Ok(Performed::Done),
        }
        self.after(job, &attempt, &record, seen).await
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

    /// What follows a record, whoever made it: the next attempt, the counters, the end of the job.
    async fn after(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        record: &Record,
        seen: Option<Seen>,
    ) -> Result<Performed, AppError> {
        let seen = match seen {
            Some(seen) => Some(seen),
            None => self.look(job).await?,
        };
        if let Some(seen) = seen {
            let policy = self.policy(job, attempt, &seen)?;
            let is_final_failure = self.follow(job, attempt, record, &seen, &policy).await?;
            let seen = match attempt.role {
                Role::Error => Some(seen),
                Role::Main => {
                    let is_failure = record.outcome == Outcome::Failed;
                    let add = CountersAdd {
                        executions: 1,
                        failures: u64::from(is_failure),
                        faulted: u64::from(is_final_failure),
                        skipped: 0,
                        last_execution_at: Some(record.started_at),
                    };
                    self.settle(job, attempt, record.ended_at, add, seen).await?
                }
            };
            let is_closed = record.outcome == Outcome::Succeeded || is_final_failure;
            if let (Some(seen), true, Role::Main) = (seen, is_closed, attempt.role) {
                self.conclude_after(job, attempt, &seen).await?;
            }
        }
        self.drop_timer(job, attempt).await?;
        Ok(Performed::Done)
    }

    /// Sends the next attempt. Returns whether this one was the last of its action, and failed.
    async fn follow(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        record: &Record,
        seen: &Seen,
        policy: &Policy,
    ) -> Result<bool, AppError> {
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        if !is_run && seen.sight.timing.generation != attempt.generation {
            // Another start, recurrence or state ends what the old one had pending.
            return Ok(is_final_failure(attempt, record, policy.retries));
        }
        let horizon = spans(self.ports.clock.as_ref()).horizon;
        let mut next = follow(attempt, record, policy.retries, policy.has_error_action, horizon);
        let mut is_final = is_final_failure(attempt, record, policy.retries);
        if matches!(&next, Follow::Retry(retry) if retry.is_long)
            && record.message.ends_with(TOO_MANY_RETRIES)
        {
            let no_more = Retries { count: attempt.number, ..policy.retries };
            next = follow(attempt, record, no_more, policy.has_error_action, horizon);
            is_final = true;
        }
        match next {
            Follow::Nothing => {}
            Follow::Retry(attempt) if attempt.is_long => {
                self.ports.events.note(Event::Retried { job, attempt: &attempt });
                let retry = LongRetry { job: job.clone(), attempt };
                one(self.ports.store.keep_retries(&[retry]).await)?;
            }
            Follow::Retry(next) => {
                self.ports.events.note(Event::Retried { job, attempt: &next });
                self.send(job, next).await?;
            }
            Follow::ErrorAction(next) => self.send(job, next).await?,
        }
        Ok(is_final)
    }

    async fn send(&self, job: &JobRef, attempt: Attempt) -> Result<(), AppError> {
        let message = execute(job, attempt);
        Ok(self.ports.queue.send(&[message], self.ports.clock.now()).await?)
    }

    /// Whether the retry that would follow is one too many of those that wait in timers.
    ///
    /// It is written into the record, so that whoever follows it comes to the same.
    async fn has_too_many_retries(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        record: &Record,
        seen: Option<&Seen>,
    ) -> bool {
        let Some(Ok(policy)) = seen.map(|seen| self.policy(job, attempt, seen)) else {
            return false;
        };
        let horizon = spans(self.ports.clock.as_ref()).horizon;
        let next = follow(attempt, record, policy.retries, false, horizon);
        if !matches!(next, Follow::Retry(next) if next.is_long) {
            return false;
        }
        let count = self.ports.store.count_retries(&job.uid, LONG_RETRIES_MAX).await;
        // The action was done: what is not known must not keep it from being recorded.
        count.is_ok_and(|count| count >= LONG_RETRIES_MAX)
    }

    /// Counts an attempt, once. Returns the job as it was last seen; `None` if it is gone.
    async fn settle(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        ended_at: DateTime<Utc>,
        add: CountersAdd,
        seen: Seen,
    ) -> Result<Option<Seen>, AppError> {
        let mut seen = seen;
        for _ in 0..SETTLE_ROUNDS_MAX {
            if seen.sight.settled.has(attempt, ended_at) {
                return Ok(Some(seen));
            }
            let as_read = seen.sight.settled.clone();
            let mut settled = as_read.clone();
            settled.add(attempt, ended_at);
            let last_execution_at =
                add.last_execution_at.max(seen.sight.counters.last_execution_at);
            let add = CountersAdd { last_execution_at, ..add };
            let settlement = Settlement { job_uid: job.uid.clone(), as_read, settled, add };
            if one(self.ports.store.settle(&[settlement]).await)? {
                return Ok(Some(seen));
            }
            match self.look(job).await? {
                Some(now) => seen = now,
                None => return Ok(None),
            }
        }
        Err(AppError::Busy { what: format!("the counters of job '{}'", job.key) })
    }

    /// Drops the timer of an attempt that waited in one.
    async fn drop_timer(&self, job: &JobRef, attempt: &Attempt) -> Result<(), AppError> {
        if !attempt.is_long {
            return Ok(());
        }
        let retry = LongRetry { job: job.clone(), attempt: attempt.clone() };
        one(self.ports.store.drop_retries(&[retry]).await)
    }

    pub(super) async fn look(&self, job: &JobRef) -> Result<Option<Seen>, AppError> {
        let sights = self.ports.store.look(std::slice::from_ref(job)).await?;
        Ok(sights.into_iter().next().flatten().map(Seen::of))
    }

    fn define(&self, job: &JobRef, seen: &Seen) -> Result<JobDefinition, AppError> {
        let Sight { document, sealed, plan, .. } = &seen.sight;
        definition(self.ports.sealer.as_ref(), &job.uid, document, sealed.as_deref(), *plan)
    }

    /// What decides what follows; for a job that cannot be read nothing does.
    fn policy(&self, job: &JobRef, attempt: &Attempt, seen: &Seen) -> Result<Policy, AppError> {
        let definition = match self.define(job, seen) {
            Ok(definition) => definition,
            Err(error) if may_pass(&error) => return Err(error),
            Err(_) => {
                let retries = Retries { count: 0, ..Retries::of(None, seen.sight.plan) };
                return Ok(Policy { retries, has_error_action: false });
            }
        };
        Ok(Policy {
            retries: retries(&definition, attempt.role, &seen.sight),
            has_error_action: definition.action.error_action.is_some(),
        })
    }

    /// The retries of a job's main action.
    pub(super) fn main_retries(&self, job: &JobRef, seen: &Seen) -> Result<Retries, AppError> {
        let any = Attempt::first(0, Occurrence::Scheduled { nominal_at: DateTime::UNIX_EPOCH });
        Ok(self.policy(job, &any, seen)?.retries)
    }
}

/// What ends the message of an attempt after which no retry can be kept.
const TOO_MANY_RETRIES: &str = " (No retry follows: as many as may be are pending for this job.)";

impl Seen {
    fn of(sight: Sight) -> Self {
        let timetable = sight.rule.as_deref().and_then(|rule| rule.parse().ok());
        Self { sight, timetable }
    }

    fn standing(&self) -> Standing<'_> {
        Standing {
            state: self.sight.state,
            generation: self.sight.timing.generation,
            timetable: self.timetable.as_ref(),
            collection_on_since: self.sight.collection_on_since,
        }
    }

    /// The number of the occurrence, from 1; of a run, of the one before it.
    fn repeat_count(&self, attempt: &Attempt, now: DateTime<Utc>) -> u64 {
        let timing = &self.sight.timing;
        let count = |until| {
            self.timetable.map_or(0, |timetable| timetable.count_between(timing.since, until))
        };
        let before = u64::from(timing.used);
        match attempt.occurrence {
            Occurrence::Scheduled { nominal_at } => before + count(nominal_at) + 1,
            Occurrence::Run { .. } => (before + count(now)).max(1),
        }
    }
}

fn action(definition: &JobDefinition, role: Role) -> Option<&Action> {
    match role {
        Role::Main => Some(&definition.action.action),
        Role::Error => definition.action.error_action.as_ref(),
    }
}

/// The retries of an action; an error action without a policy of its own has the job's.
fn retries(definition: &JobDefinition, role: Role, sight: &Sight) -> Retries {
    let main = definition.action.action.retry_policy.as_ref();
    let error = definition.action.error_action.as_ref();
    let policy = match role {
        Role::Main => main,
        Role::Error => error.and_then(|action| action.retry_policy.as_ref()).or(main),
    };
    Retries::of(policy, sight.plan)
}

/// Whether it may help to try again later, as nothing is wrong with the job.
fn may_pass(error: &AppError) -> bool {
    error.may_pass() || matches!(error, AppError::Seal(SealError::NoKey(_)))
}

/// The answer to a group of one.
fn one<T>(answers: Vec<Result<T, StoreError>>) -> Result<T, AppError> {
    let missing = || StoreError::Unavailable("a group was answered with nothing".into());
    Ok(answers.into_iter().next().ok_or_else(missing)??)
}
