//! What follows a record: the next attempt, the counters, the end of the job. It is the same whoever
//! comes upon the record, and however often.

use domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use domain::firing::limits::LONG_RETRIES_MAX;
use domain::firing::{NextStep, is_final_failure, next_step};
use domain::work_item::JobRef;
use ports::Event;
use ports::firing::{Counted, CounterUpdate, CountersAdd, LongRetry};

use super::dispatch::execute;
use super::execute::{Executor, Performed};
use super::loaded_job::{Policy, Seen};
use super::{one, spans};
use crate::error::AppError;

/// How often counters are read and written again when others were first.
const SETTLE_ROUNDS_MAX: usize = 50;

/// An attempt that ended.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    pub(super) job: &'a JobRef,
    pub(super) attempt: &'a Attempt,
    pub(super) record: &'a Record,
}

impl Executor {
    /// Does what follows a record.
    pub(super) async fn after(
        &self,
        past: Past<'_>,
        seen: Option<Seen>,
    ) -> Result<Performed, AppError> {
        let Past { job, attempt, .. } = past;
        let seen = match seen {
            Some(seen) => Some(seen),
            None => self.look(job).await?,
        };
        let mut ended = None;
        if let Some(seen) = seen {
            let policy = self.policy(job, attempt.role, &seen).await?;
            self.send_next(past, &seen, &policy).await?;
            if attempt.role == Role::Main {
                ended = self.count(past, seen, &policy).await?;
            }
        }
        self.drop_timer(job, attempt).await?;
        if let Some(seen) = ended {
            // After its own timer is gone, which would be taken for a retry that is pending.
            self.conclude_after(job, attempt, &seen).await?;
        }
        Ok(Performed::Done)
    }

    /// Sends the next attempt, or leaves it to a timer.
    async fn send_next(
        &self,
        past: Past<'_>,
        seen: &Seen,
        policy: &Policy,
    ) -> Result<(), AppError> {
        let Past { job, attempt, record } = past;
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        if !is_run && seen.sight.timing.generation != attempt.generation {
            // Another start, recurrence or state ends what the old one had pending.
            return Ok(());
        }
        let horizon = spans(self.ports.clock.as_ref()).horizon;
        match next_step(attempt, record, policy.retries, policy.has_error_action, horizon) {
            NextStep::Nothing => Ok(()),
            NextStep::Retry(next) => {
                self.ports.events.note(Event::Retried { job, attempt: &next });
                if next.is_long {
                    let retry = LongRetry { job: job.clone(), attempt: next };
                    return one(self.ports.store.keep_retries(&[retry]).await);
                }
                self.send(job, next).await
            }
            NextStep::ErrorAction(next) => self.send(job, next).await,
        }
    }

    /// Counts an attempt of the main action. Returns the job if that ended its occurrence, which may
    /// have been the last.
    async fn count(
        &self,
        past: Past<'_>,
        seen: Seen,
        policy: &Policy,
    ) -> Result<Option<Seen>, AppError> {
        let Past { job, attempt, record } = past;
        let is_fault = is_final_failure(attempt, record, policy.retries);
        let add = CountersAdd {
            executions: 1,
            failures: u64::from(record.outcome == Outcome::Failed),
            faulted: u64::from(is_fault),
            skipped: 0,
            last_execution_at: Some(record.started_at),
        };
        let ended_at = Some(record.ended_at);
        let counted = Counted { attempt: attempt.clone(), ended_at, add };
        let counted = self.settle(job, counted, seen).await?;
        let is_closed = record.outcome == Outcome::Succeeded || is_fault;
        Ok(counted.filter(|_| is_closed))
    }

    async fn send(&self, job: &JobRef, attempt: Attempt) -> Result<(), AppError> {
        let message = execute(job, attempt);
        Ok(self.ports.queue.send(&[message], self.ports.clock.now()).await?)
    }

    /// Whether the retry that would follow is one too many of those that wait in timers.
    ///
    /// It is written into the record, so that whoever follows it comes to the same.
    pub(super) async fn has_too_many_retries(&self, past: Past<'_>, seen: Option<&Seen>) -> bool {
        let Past { job, attempt, record } = past;
        let Some(seen) = seen else { return false };
        let Ok(policy) = self.policy(job, attempt.role, seen).await else { return false };
        let horizon = spans(self.ports.clock.as_ref()).horizon;
        let next = next_step(attempt, record, policy.retries, false, horizon);
        if !matches!(next, NextStep::Retry(next) if next.is_long) {
            return false;
        }
        let pending = self.ports.store.retries(&job.uid, LONG_RETRIES_MAX).await;
        // The action was done: what is not known must not keep it from being recorded.
        pending.is_ok_and(|pending| pending.len() >= LONG_RETRIES_MAX as usize)
    }

    /// Counts an attempt, once. Returns the job as it was last seen; `None` if it is gone.
    pub(super) async fn settle(
        &self,
        job: &JobRef,
        mut counted: Counted,
        mut seen: Seen,
    ) -> Result<Option<Seen>, AppError> {
        for _ in 0..SETTLE_ROUNDS_MAX {
            if seen.sight.settled.has(&counted.attempt, counted.ended_at) {
                return Ok(Some(seen));
            }
            let last_at = &mut counted.add.last_execution_at;
            *last_at = seen.sight.counters.last_execution_at.max(*last_at);
            let (job_uid, as_read) = (job.uid.clone(), seen.sight.settled.clone());
            let settlement = CounterUpdate { job_uid, as_read, counted: vec![counted.clone()] };
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
    pub(super) async fn drop_timer(&self, job: &JobRef, attempt: &Attempt) -> Result<(), AppError> {
        if !attempt.is_long {
            return Ok(());
        }
        let retry = LongRetry { job: job.clone(), attempt: attempt.clone() };
        one(self.ports.store.drop_retries(&[retry]).await)
    }
}
