//! What follows a record: the next attempt, the counters, the end of the job. Every worker that
//! finds the record does the same, however often it does it.

use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role, Then};
use minutehand_domain::failed_occurrence::{FailedJob, FailedOccurrence};
use minutehand_domain::firing::limits::LONG_RETRIES_MAX;
use minutehand_domain::firing::{
    FollowPolicy, NO_RETRY_FOLLOWS, NextStep, decide_then, is_final_failure, next_step,
};
use minutehand_domain::recent::Mark;
use minutehand_domain::recently_counted::IsCounted;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Event;
use minutehand_ports::store::{Counted, CounterUpdate, CountersAdd, LongRetry};

use super::dispatch::attempt_message;
use super::execute::{Executor, Performed};
use super::loaded_job::LoadedJob;
use crate::error::AppError;

/// How often counters are read and written again when others were counted first.
const COUNT_ROUNDS_MAX: usize = 50;

/// An attempt that ended.
#[derive(Clone, Copy)]
pub(super) struct EndedAttempt<'a> {
    pub(super) job: &'a JobRef,
    pub(super) attempt: &'a Attempt,
    pub(super) record: &'a Record,
}

/// An attempt that ended, before it is recorded.
#[derive(Clone, Copy)]
pub(super) struct Undecided<'a> {
    pub(super) job: &'a JobRef,
    pub(super) attempt: &'a Attempt,
    /// How long the target asked to wait.
    pub(super) retry_after: Option<TimeDelta>,
}

impl Executor {
    /// Does what follows a record.
    pub(super) async fn follow(
        &self,
        ended: EndedAttempt<'_>,
        loaded: Option<LoadedJob>,
    ) -> Result<Performed, AppError> {
        let EndedAttempt { job, attempt, .. } = ended;
        let loaded = match loaded {
            Some(loaded) => Some(loaded),
            None => self.load(job).await?,
        };
        let mut closed = None;
        if let Some(loaded) = loaded {
            let policy = self.policy(job, attempt.role, &loaded).await?;
            let loaded = Box::pin(self.pause_if_failing(ended, loaded, policy)).await?;
            if let Some(loaded) = loaded {
                self.send_next(ended, &loaded, policy).await?;
                if attempt.role == Role::Main {
                    closed = self.count_ended(ended, loaded, policy).await?;
                }
            }
        }
        self.remove_timer(job, attempt).await?;
        if let Some(loaded) = closed {
            // After the attempt's own timer is gone, which would be taken for a retry that waits.
            Box::pin(self.check_finished_after(job, attempt, &loaded)).await?;
        }
        Ok(Performed::Done)
    }

    /// Sends the next attempt, or stores a timer for it.
    async fn send_next(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &LoadedJob,
        policy: FollowPolicy,
    ) -> Result<(), AppError> {
        let EndedAttempt { job, attempt, record } = ended;
        let next = next_step(attempt, record, policy);
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        if !is_run && !loaded.standing().has(attempt) {
            // Another start, recurrence or state cancels the retries of the old timing.
            let (NextStep::ErrorAction(next) | NextStep::Notice(next) | NextStep::Retry(next)) =
                &next
            else {
                return Ok(());
            };
            if !loaded.standing().follows_pause(next) {
                return Ok(());
            }
        }
        match next {
            NextStep::Nothing => Ok(()),
            NextStep::Retry(next) => {
                self.ports.events.note(Event::Retried { job, attempt: &next });
                if next.is_long {
                    let retry = LongRetry { job: job.clone(), attempt: next };
                    return Ok(self.ports.store.retries.keep(&retry).await?);
                }
                self.send(job, next).await
            }
            NextStep::ErrorAction(next) | NextStep::Notice(next) => self.send(job, next).await,
        }
    }

    /// Counts an attempt of the main action. Returns the job if the attempt ended its occurrence,
    /// which may have been the last.
    async fn count_ended(
        &self,
        ended: EndedAttempt<'_>,
        loaded: LoadedJob,
        policy: FollowPolicy,
    ) -> Result<Option<LoadedJob>, AppError> {
        let EndedAttempt { job, attempt, record } = ended;
        let is_fault = is_final_failure(attempt, record, policy);
        if is_fault {
            self.list_failure(ended, &loaded).await;
        }
        let add = CountersAdd {
            executions: 1,
            failures: u64::from(record.outcome == Outcome::Failed),
            faulted: u64::from(is_fault),
            skipped: 0,
            last_execution_at: Some(record.started_at),
            mark: Mark::of(attempt, record, is_fault),
            skip: None,
        };
        let ended_at = Some(record.ended_at);
        let counted = Counted { attempt: attempt.clone(), ended_at, add };
        let loaded = self.count(job, counted, loaded).await?;
        let is_closed = record.outcome == Outcome::Succeeded || is_fault;
        Ok(loaded.filter(|_| is_closed))
    }

    /// Adds an occurrence that failed for good to the list of failures. The list is for people: if it
    /// misses one, the history has it, and nothing else depends on it.
    async fn list_failure(&self, ended: EndedAttempt<'_>, loaded: &LoadedJob) {
        let EndedAttempt { job, attempt, record } = ended;
        let target = self.definition(job, loaded).await;
        let target = target.ok().map(|it| it.action.action.target.summary());
        let failed_job = FailedJob {
            uid: &job.uid,
            collection_path: &loaded.snapshot.collection_path,
            name: loaded.snapshot.name.as_str(),
            target: target.as_deref(),
        };
        let failed = FailedOccurrence::new(failed_job, attempt, record);
        if let Err(error) = self.ports.store.attempts.add_failure(&failed).await {
            let path = loaded.path();
            tracing::warn!(
                job.path = path,
                job.uid = job.uid,
                error = minutehand_ports::chain(&error),
                "an occurrence that failed for good is missing in the list of failures"
            );
        }
    }

    async fn send(&self, job: &JobRef, attempt: Attempt) -> Result<(), AppError> {
        let message = attempt_message(job, attempt);
        Ok(self.ports.queue.send(&[message], self.ports.clock.now()).await?)
    }

    /// Decides what follows an attempt, and writes it into the record. The job's policy may not be
    /// known, but the action was done: then the attempt is recorded without the decision.
    pub(super) async fn decide_then(
        &self,
        Undecided { job, attempt, retry_after }: Undecided<'_>,
        record: &mut Record,
        loaded: Option<&LoadedJob>,
    ) {
        let Some(loaded) = loaded else { return };
        let Ok(policy) = self.policy(job, attempt.role, loaded).await else { return };
        let retries = policy.retries.asked_to_wait(retry_after);
        let policy = FollowPolicy { retries, ..policy };
        let mut then = decide_then(attempt, record, policy);
        if matches!(then, Then::Retry { is_long: true, .. }) && self.has_too_many_retries(job).await
        {
            record.message.push_str(NO_RETRY_FOLLOWS);
            then = decide_then(attempt, record, policy);
        }
        record.then = Some(then);
    }

    /// Whether as many retries of a job wait in timers as may.
    async fn has_too_many_retries(&self, job: &JobRef) -> bool {
        let waiting = self.ports.store.retries.list(&job.uid, LONG_RETRIES_MAX).await;
        waiting.is_ok_and(|waiting| waiting.len() >= LONG_RETRIES_MAX as usize)
    }

    /// Counts an attempt, once. Returns the job as it was last read; `None` if it is gone.
    pub(super) async fn count(
        &self,
        job: &JobRef,
        mut counted: Counted,
        mut loaded: LoadedJob,
    ) -> Result<Option<LoadedJob>, AppError> {
        for _ in 0..COUNT_ROUNDS_MAX {
            let snapshot = &loaded.snapshot;
            let Counted { attempt, ended_at, .. } = &counted;
            let is_counted = match snapshot.recently_counted.has(attempt, *ended_at) {
                IsCounted::Yes => true,
                IsCounted::No => false,
                IsCounted::IfEvicted => {
                    self.ports.store.counters.is_evicted(&job.uid, attempt, *ended_at).await?
                }
            };
            if is_counted {
                return Ok(Some(loaded));
            }
            let last_at = &mut counted.add.last_execution_at;
            *last_at = snapshot.counters.last_execution_at.max(*last_at);
            let update = CounterUpdate {
                job_uid: job.uid.clone(),
                as_read: snapshot.recently_counted.clone(),
                counters: snapshot.counters,
                counted: vec![counted.clone()],
            };
            if self.ports.store.counters.add(&update).await? {
                return Ok(Some(loaded));
            }
            match self.load(job).await? {
                Some(now) => loaded = now,
                None => return Ok(None),
            }
        }
        Err(AppError::Busy { what: format!("the counters of job '{}'", job.key) })
    }

    /// Removes the timer of an attempt that waited in one.
    pub(super) async fn remove_timer(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<(), AppError> {
        if !attempt.is_long {
            return Ok(());
        }
        let retry = LongRetry { job: job.clone(), attempt: attempt.clone() };
        Ok(self.ports.store.retries.remove(&retry).await?)
    }
}
