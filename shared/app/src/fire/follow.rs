//! What follows a record: the next attempt, the counters, the end of the job. Every worker that
//! finds the record does the same, however often it does it.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role, Then};
use minutehand_domain::failed_occurrence::{FailedJob, FailedOccurrence, FailureKey};
use minutehand_domain::firing::limits::LONG_RETRIES_MAX;
use minutehand_domain::firing::{
    FollowPolicy, NO_RETRY_FOLLOWS, NextStep, decide_then, is_final_failure, next_step,
};
use minutehand_domain::recent::Mark;
use minutehand_domain::recently_counted::IsCounted;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, Counted, CounterUpdate, CountersAdd, Finish, LongRetry};
use minutehand_ports::{Event, QueueMessage, ReceiptHandle, Settled, Settlement};

use super::DeliveryPlace;
use super::dispatch::attempt_message;
use super::execute::{Executor, Performed};
use super::finish::may_be_last;
use super::loaded_job::LoadedJob;
use crate::error::{AppError, Result};

/// How often counters are read and written again when others were counted first.
const COUNT_ROUNDS_MAX: usize = 50;

/// An attempt that ended.
#[derive(Clone, Copy)]
pub(super) struct EndedAttempt<'a> {
    pub(super) job: &'a JobRef,
    pub(super) attempt: &'a Attempt,
    pub(super) record: &'a Record,
}

/// What is to be settled after an attempt.
#[derive(Default)]
struct Following {
    /// The next attempt.
    next: Option<QueueMessage>,
    /// What to count.
    counted: Option<Counted>,
    /// Whether the attempt ended its occurrence.
    is_closed: bool,
    /// How the job finishes with it.
    finish: Option<Finish>,
    /// The message of the attempt.
    receipt: Option<ReceiptHandle>,
}

/// What is settled.
#[derive(Default)]
struct Followed {
    /// The job as it was last read; `None` if it is gone, or finished with the attempt.
    loaded: Option<LoadedJob>,
    /// Whether the message is deleted.
    is_finished: bool,
}

impl Executor {
    /// Does what follows a record.
    pub(super) async fn follow(
        &self,
        ended: EndedAttempt<'_>,
        loaded: Option<LoadedJob>,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let EndedAttempt { job, attempt, .. } = ended;
        let loaded = match loaded {
            Some(loaded) => Some(loaded),
            None => self.load(job).await?,
        };
        let (mut closed, mut is_finished) = (None, false);
        if let Some(loaded) = loaded {
            let policy = self.policy(job, attempt.role, &loaded).await?;
            let loaded = Box::pin(self.pause_if_failing(ended, loaded, policy)).await?;
            if let Some(loaded) = loaded {
                self.notice_late_start(ended, &loaded).await?;
                let mut following = self.following(ended, &loaded, policy).await?;
                following.receipt = place.receipt();
                let is_closed = following.is_closed;
                if is_closed {
                    let ended = (attempt, ended.record);
                    let finish = Box::pin(self.finish_with(job, ended, &loaded)).await?;
                    following.finish = finish;
                }
                let followed = Box::pin(self.settle(job, attempt, following, loaded)).await?;
                closed = followed.loaded.filter(|_| is_closed);
                is_finished = followed.is_finished;
            }
        }
        self.remove_timer(job, attempt).await?;
        if let Some(loaded) = closed.filter(|loaded| may_be_last(attempt, loaded)) {
            // After the attempt's own timer is gone, which would be taken for a retry that waits.
            Box::pin(self.check_finished(job, &loaded, true)).await?;
        }
        Ok(if is_finished { Performed::Finished } else { Performed::Done })
    }

    /// The next attempt as a message. One that is too far in the future is stored as a timer.
    async fn next(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &LoadedJob,
        policy: FollowPolicy,
    ) -> Result<Option<QueueMessage>> {
        let EndedAttempt { job, attempt, record } = ended;
        let next = next_step(attempt, record, policy);
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        if !is_run && !loaded.standing().has(attempt) {
            // Another start, recurrence or state cancels the retries of the old timing.
            let (NextStep::ErrorAction(next) | NextStep::Notice(next) | NextStep::Retry(next)) =
                &next
            else {
                return Ok(None);
            };
            if !loaded.standing().follows_pause(next) {
                return Ok(None);
            }
        }
        match self.under_alert_rules(ended, loaded, next).await? {
            NextStep::Nothing => Ok(None),
            NextStep::Retry(next) => {
                self.ports.events.note(Event::Retried { job, attempt: &next });
                if next.is_long {
                    let retry = LongRetry { job: job.clone(), attempt: next };
                    self.ports.store.retries.keep(&retry).await?;
                    return Ok(None);
                }
                Ok(Some(attempt_message(job, next)))
            }
            NextStep::ErrorAction(next) | NextStep::Notice(next) => {
                Ok(Some(attempt_message(job, next)))
            }
        }
    }

    /// What follows an attempt. Only attempts of the main action are counted.
    async fn following(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &LoadedJob,
        policy: FollowPolicy,
    ) -> Result<Following> {
        let EndedAttempt { attempt, record, .. } = ended;
        let next = self.next(ended, loaded, policy).await?;
        if attempt.role != Role::Main {
            Box::pin(self.note_alert(ended, loaded, policy)).await;
            return Ok(Following { next, ..Following::default() });
        }
        let is_fault = is_final_failure(attempt, record, policy);
        match attempt.occurrence.redriven() {
            // What it repeats is in the list, and stays there until it is mended.
            Some(_) if is_fault => {}
            Some((of, Some(failed_at))) if record.outcome == Outcome::Succeeded => {
                self.mend(ended, loaded, [of, failed_at]).await;
            }
            None if is_fault => self.list_failure(ended, loaded).await,
            Some(_) | None => {}
        }
        let add = CountersAdd {
            executions: 1,
            failures: u64::from(record.outcome == Outcome::Failed),
            faulted: u64::from(is_fault),
            skipped: 0,
            last_execution_at: Some(record.started_at),
            took: Some(record.ended_at - record.started_at),
            started_after: attempt.is_first().then(|| record.started_at - attempt.due_at),
            mark: Mark::of(attempt, record, is_fault),
            skip: None,
        };
        let ended_at = Some(record.ended_at);
        let counted = Some(Counted { attempt: attempt.clone(), ended_at, add });
        let is_closed = record.outcome == Outcome::Succeeded || is_fault;
        Ok(Following { next, counted, is_closed, ..Following::default() })
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

    /// Takes an occurrence off the list of failures that a redrive has mended.
    async fn mend(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &LoadedJob,
        [nominal_at, ended_at]: [DateTime<Utc>; 2],
    ) {
        let (job_uid, collection_path) = (&ended.job.uid, &loaded.snapshot.collection_path);
        let failure = FailureKey { job_uid, collection_path, nominal_at, ended_at };
        if let Err(error) = self.ports.store.attempts.remove_failure(failure).await {
            tracing::warn!(
                job.path = loaded.path(),
                job.uid = job_uid,
                error = minutehand_ports::chain(&error),
                "an occurrence that a redrive has mended is still in the list of failures"
            );
        }
    }

    /// Decides what follows an attempt, whose target may have asked to wait, and writes it into the record. The
    /// job's policy may not be known, but the action was done: then the attempt is recorded without the decision.
    pub(super) async fn decide_then(
        &self,
        Claim { job, attempt, .. }: &Claim,
        retry_after: Option<TimeDelta>,
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

    /// Counts an attempt of which nothing else follows, once.
    pub(super) async fn count(
        &self,
        job: &JobRef,
        counted: Counted,
        loaded: LoadedJob,
    ) -> Result<()> {
        let attempt = counted.attempt.clone();
        let following = Following { counted: Some(counted), ..Following::default() };
        self.settle(job, &attempt, following, loaded).await.map(drop)
    }

    /// Sends the next attempt, and counts the one that ended, once.
    async fn settle(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        following: Following,
        mut loaded: LoadedJob,
    ) -> Result<Followed> {
        let Following { mut next, mut counted, is_closed, mut finish, receipt } = following;
        let mut turn = None;
        for _ in 0..COUNT_ROUNDS_MAX {
            let count = self.count_once(job, &mut counted, &loaded).await?;
            if next.is_none() && count.is_none() {
                return Ok(Followed { loaded: Some(loaded), is_finished: false });
            }
            // A crash before the last step has to leave the message.
            let may_finish = finish.is_none() && is_closed && may_be_last(attempt, &loaded);
            let more_follows = attempt.is_long || may_finish;
            let settlement = Settlement {
                next: next.as_slice(),
                count: count.as_ref(),
                finish: finish.as_ref(),
                receipt: receipt.filter(|_| !more_follows),
                now: self.ports.clock.now(),
            };
            match self.ports.settle.settle(settlement).await? {
                Settled::Done { is_finished, is_job_finished } => {
                    let finished = finish.filter(|_| is_job_finished);
                    if let Some(finish) = &finished {
                        self.note_finished(finish, &loaded);
                    }
                    let loaded = if finished.is_some() { None } else { Some(loaded) };
                    return Ok(Followed { loaded, is_finished });
                }
                Settled::Stale { is_sent: true } => next = None,
                Settled::Stale { is_sent: false } => {}
            }
            // Others were counted, so the job may have changed, too.
            finish = None;
            if turn.is_none() {
                turn = self.counting.take(&job.uid).await;
            }
            match self.load(job).await? {
                Some(now) => loaded = now,
                None => return Ok(Followed::default()),
            }
        }
        Err(AppError::Busy { what: format!("the counters of job '{}'", job.key) })
    }

    /// The update that counts an attempt; `None` if it is counted already, or there is none to count.
    async fn count_once(
        &self,
        job: &JobRef,
        counted: &mut Option<Counted>,
        loaded: &LoadedJob,
    ) -> Result<Option<CounterUpdate>> {
        let Some(counted) = counted else { return Ok(None) };
        let snapshot = &loaded.snapshot;
        let Counted { attempt, ended_at, .. } = counted;
        let is_counted = match snapshot.recently_counted.has(attempt, *ended_at) {
            IsCounted::Yes => true,
            IsCounted::No => false,
            IsCounted::IfEvicted => {
                self.ports.store.counters.is_evicted(&job.uid, attempt, *ended_at).await?
            }
        };
        if is_counted {
            return Ok(None);
        }
        let last_at = &mut counted.add.last_execution_at;
        *last_at = snapshot.counters.last_execution_at.max(*last_at);
        Ok(Some(CounterUpdate {
            job_uid: job.uid.clone(),
            as_read: snapshot.recently_counted.clone(),
            counters: snapshot.counters,
            counted: vec![counted.clone()],
        }))
    }

    /// Removes the timer of an attempt that waited in one.
    pub(super) async fn remove_timer(&self, job: &JobRef, attempt: &Attempt) -> Result<()> {
        if !attempt.is_long {
            return Ok(());
        }
        let retry = LongRetry { job: job.clone(), attempt: attempt.clone() };
        Ok(self.ports.store.retries.remove(&retry).await?)
    }
}
