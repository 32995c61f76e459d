//! The end of a job: looked for after an attempt that may have been its last, and every twenty
//! minutes as long as a job has nothing left to dispatch.
//!
//! Two workers that end the last two attempts together both look after their own record, so at least
//! one of them sees both. A crash before the end leaves the timer, which looks again.

use chrono::{DateTime, TimeDelta, Utc};
use domain::attempt::{Attempt, KEPT_FOR, Occurrence, Record, Role};
use domain::firing::limits::LONG_RETRIES_MAX;
use domain::firing::{JobProgress, check_finished, last_until_now, longest_gap, seen_from};
use domain::job::JobState;
use domain::work_item::JobRef;
use ports::Event;
use ports::firing::Finish;
use ports::store::PageRequest;

use super::dispatch::execute;
use super::execute::Executor;
use super::loaded_job::Seen;
use super::{floor, spans};
use crate::error::AppError;

/// Executions of a page.
const PAGE_ITEMS: u32 = 100;
/// The most pages that are read to see whether a job is over.
const PAGES_MAX: usize = 100;

impl Executor {
    /// Looks whether a job whose timer came back is over, and sends again what stopped on its way.
    pub(super) async fn conclude_stuck(
        &self,
        job: &JobRef,
        generation: u64,
    ) -> Result<(), AppError> {
        let Some(seen) = self.look(job).await? else {
            return Ok(());
        };
        if seen.sight.timing.generation != generation {
            return Ok(());
        }
        let resend = self.check_finished(job, &seen).await?;
        if resend.is_empty() {
            return Ok(());
        }
        tracing::warn!(job.uid, job.key, attempts = resend.len(), "sent again what had stopped");
        let messages: Vec<_> = resend.into_iter().map(|attempt| execute(job, attempt)).collect();
        Ok(self.ports.queue.send(&messages, self.ports.clock.now()).await?)
    }

    /// Looks whether a job is over after an attempt that may have been its last.
    pub(super) async fn conclude_after(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        seen: &Seen,
    ) -> Result<(), AppError> {
        let Occurrence::Scheduled { nominal_at } = attempt.occurrence else {
            // A run never decides.
            return Ok(());
        };
        let is_last = seen.timetable.is_some_and(|it| it.after(nominal_at).is_none());
        if attempt.generation == seen.sight.timing.generation && (is_last || seen.sight.is_spent) {
            self.check_finished(job, seen).await?;
        }
        Ok(())
    }

    /// Ends a job if it is over; returns what stopped on its way.
    async fn check_finished(&self, job: &JobRef, seen: &Seen) -> Result<Vec<Attempt>, AppError> {
        let (sight, Some(timetable)) = (&seen.sight, &seen.timetable) else {
            return Ok(Vec::new());
        };
        if sight.state != JobState::Enabled {
            return Ok(Vec::new());
        }
        let clock = self.ports.clock.as_ref();
        let (now, spans) = (clock.now(), spans(clock));
        let retries = self.policy(job, Role::Main, seen).await?.retries;
        let last = last_until_now(timetable, sight.timing.since, now, &spans);
        let from = |held_up| last.map_or(now, |last| seen_from(last, retries, held_up, &spans));
        let mut seen_from = from(TimeDelta::zero());
        let mut executions = self.executions_since(job, seen_from).await?;
        let gap = executions.as_deref().map_or(TimeDelta::zero(), longest_gap);
        if gap > spans.look_again
            && let Some(more) = self.executions_since(job, from(gap)).await?
        {
            seen_from = from(gap);
            executions = Some(more);
        }
        let Some(executions) = executions else {
            tracing::warn!(job.uid, job.key, "too many executions to see whether a job is over");
            return Ok(Vec::new());
        };
        let pending = self.ports.store.retries(&job.uid, LONG_RETRIES_MAX).await?;
        let chain = JobProgress {
            timetable,
            generation: sight.timing.generation,
            since: sight.timing.since,
            retries,
            collection_on_since: sight.collection_on_since,
            seen_from,
            executions: &executions,
            pending: &pending,
        };
        let floor = floor(self.settings.only_process.as_ref(), clock);
        let conclusion = check_finished(&chain, now, floor, &spans);
        if let Some(state) = conclusion.over {
            let finish = Finish {
                job_uid: job.uid.clone(),
                generation: sight.timing.generation,
                state,
                delete_at: now + KEPT_FOR,
            };
            if self.ports.store.finish(&finish).await? {
                tracing::info!(job.uid, job.key, state = state.name(), "a job is over");
                self.ports.events.note(Event::Finished { job, state });
            }
        }
        Ok(conclusion.resend)
    }

    /// The executions of a job's occurrences from an instant on, and the last one before; `None` if
    /// they are too many.
    async fn executions_since(
        &self,
        job: &JobRef,
        from: DateTime<Utc>,
    ) -> Result<Option<Vec<(Attempt, Option<Record>)>>, AppError> {
        let mut executions = Vec::new();
        let mut page_from = None;
        for _ in 0..PAGES_MAX {
            let request = PageRequest { from: page_from, items_max: PAGE_ITEMS };
            let page = self.ports.store.executions(&job.uid, request).await?;
            for execution in page.items {
                let is_before = execution.attempt.occurrence.nominal_at() < from;
                executions.push((execution.attempt, execution.record));
                if is_before {
                    return Ok(Some(executions));
                }
            }
            match page.next {
                Some(next) => page_from = Some(next),
                None => return Ok(Some(executions)),
            }
        }
        Ok(None)
    }
}
