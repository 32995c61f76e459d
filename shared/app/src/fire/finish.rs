//! Finishing a job. A worker checks whether a job has finished after an attempt that may have been
//! its last, and every twenty minutes while the job has nothing left to dispatch.
//!
//! Two workers may end the last two attempts at the same time. Each checks after its own record is
//! stored, so at least one of them sees both records. A crash before the check leaves the timer, which
//! is due again.
//!
//! A job that [goes on](minutehand_domain::goes_on) with its last occurrence is checked as soon as it is
//! enabled, and what may have been dropped is sent again. What follows the last failure is sent before the
//! job finishes: a crash in between leaves a job that is checked again, and an attempt that is made once.
//!
//! A job that has finished costs nothing more. It expires sixty days later:
//!
//! | step | condition | a crash after it leaves | repaired by |
//! |---|---|---|---|
//! | the definition says when it expires | it is the one that was read | an enabled job, whose timer is in the index | the timer is due again within twenty minutes, and finishes the job; any change of the job takes the expiry away |
//! | the timer gets the final state, says when it expires, and leaves the index | the job is enabled, with the timing and the definition that were read | nothing | |
//!
//! In this order, no definition stays for ever: one whose timer was final could not be found again. Where
//! queue and store are one database, both steps are one script with the count of the last attempt and the
//! deletion of its message.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::firing::limits::{LONG_RETRIES_MAX, Spans};
use minutehand_domain::firing::{
    FinishCheck, FollowPolicy, JobProgress, LeftOut, check_finished, held_up, last_occurrence,
    seen_before_outages, seen_from,
};
use minutehand_domain::history_days::JOBS_KEPT_FOR;
use minutehand_domain::job::JobState;
use minutehand_domain::retry::Retries;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Event;
use minutehand_ports::store::{Claimed, Finish, JobSnapshot, PageRequest, PulseRecord};

use super::dispatch::attempt_message;
use super::execute::Executor;
use super::held::Held;
use super::loaded_job::{LoadedJob, job_path};
use super::spans;
use crate::error::Result;

/// Entries of a page of history.
const PAGE_ITEMS: u32 = 100;
/// The most pages of history that a check reads.
const PAGES_MAX: usize = 100;
/// How often a check reads more of it. Each time it goes back about twice as far.
const ROUNDS_MAX: usize = 8;

impl Executor {
    /// Checks whether a job whose timer is due has finished, and sends stalled attempts again.
    pub(super) async fn check_finished_due(&self, job: &JobRef, generation: u64) -> Result<()> {
        let Some(loaded) = self.load(job).await? else {
            return Ok(());
        };
        if loaded.snapshot.timing.generation != generation {
            return Ok(());
        }
        let resend = self.check_finished(job, &loaded, false).await?;
        if resend.is_empty() {
            return Ok(());
        }
        let job_path = job_path(job, Some(&loaded));
        let attempts = resend.len();
        tracing::warn!(job.path = job_path, job.uid, attempts, "re-sent stalled attempts");
        let messages: Vec<_> =
            resend.into_iter().map(|attempt| attempt_message(job, attempt)).collect();
        self.send(&messages).await
    }

    /// How a job finishes with an attempt that is recorded and not counted; `None` if it does not, or if more is
    /// to be done for that than to write it.
    pub(super) async fn finish_with(
        &self,
        job: &JobRef,
        (attempt, record): (&Attempt, &Record),
        loaded: &LoadedJob,
    ) -> Result<Option<Finish>> {
        // The timer of a long retry would be taken for one that waits.
        if !self.ports.settle.finishes_jobs() || attempt.is_long || !may_be_last(attempt, loaded) {
            return Ok(None);
        }
        if record.outcome == Outcome::Succeeded && finishes_with_success(loaded) {
            return Ok(Some(self.to_finish(job, JobState::Completed, loaded)));
        }
        let FinishCheck { over, release, resend, .. } = self.check(job, loaded).await?;
        let is_all = release.is_empty() && resend.is_empty();
        Ok(over.filter(|_| is_all).map(|state| self.to_finish(job, state, loaded)))
    }

    /// Finishes a job if all its attempts have ended; returns the attempts that have stalled. `has_followed`
    /// says that what follows a failure was sent a moment ago, under the timing that was read.
    pub(super) async fn check_finished(
        &self,
        job: &JobRef,
        loaded: &LoadedJob,
        has_followed: bool,
    ) -> Result<Vec<Attempt>> {
        let mut check = self.check(job, loaded).await?;
        if !check.release.is_empty() {
            for attempt in &check.release {
                self.release_left_out(job, attempt).await?;
            }
            check = self.check(job, loaded).await?;
        }
        let Some(state) = check.over else { return Ok(check.resend) };
        if !has_followed {
            self.send_what_follows(job, loaded, &check).await?;
        }
        if self.finish(job, state, loaded).await? {
            return Ok(check.resend);
        }
        // The job has changed since it was read, perhaps while its last action was under way.
        let Some(loaded) = self.load(job).await? else { return Ok(Vec::new()) };
        let check = self.check(job, &loaded).await?;
        if let Some(state) = check.over {
            self.send_what_follows(job, &loaded, &check).await?;
            // If it has changed again, its timer is due again.
            self.finish(job, state, &loaded).await?;
        }
        Ok(check.resend)
    }

    /// Releases the claim of an attempt that was left out, unless a worker holds it.
    async fn release_left_out(&self, job: &JobRef, attempt: &Attempt) -> Result<()> {
        let request = self.claim_request(job, attempt);
        match self.ports.store.attempts.claim(&request).await? {
            Claimed::Won => self.give_back(&Held::of(&request.claim)).await,
            // Its worker records that.
            Claimed::Exhausted => self.send(&[attempt_message(job, attempt.clone())]).await?,
            Claimed::Held { .. } | Claimed::Ended(_) | Claimed::Open(_) => {}
        }
        Ok(())
    }

    /// Sends the error action or the notice of the failure with which a job finishes. It may have been dropped
    /// while the job or its collection was disabled; if it was done, its worker finds the record.
    async fn send_what_follows(
        &self,
        job: &JobRef,
        loaded: &LoadedJob,
        check: &FinishCheck,
    ) -> Result<()> {
        let Some(next) = check.follows.clone() else { return Ok(()) };
        if !self.is_told(job, &next, loaded).await? {
            return Ok(());
        }
        self.send(&[attempt_message(job, next)]).await
    }

    /// Lets a job expire at once that an earlier version finished, and whose timer is still in the index.
    pub(super) async fn expire_finished(&self, job: &JobRef, generation: u64) -> Result<()> {
        let Some(loaded) = self.load(job).await? else { return Ok(()) };
        let JobSnapshot { version, state, timing, .. } = *loaded.snapshot.as_ref();
        if timing.generation != generation || !state.is_final() {
            return Ok(());
        }
        let expires_at = self.ports.clock.now();
        let finish = Finish { job: job.clone(), version, generation, state, expires_at };
        let timers = &self.ports.store.timers;
        // Should either fail, the timer is due again.
        if timers.expire_definition(&finish).await? {
            timers.finish(&finish).await?;
        }
        Ok(())
    }

    /// Finishes a job in this state; `false` if it has changed since it was read.
    async fn finish(&self, job: &JobRef, state: JobState, loaded: &LoadedJob) -> Result<bool> {
        let finish = self.to_finish(job, state, loaded);
        let timers = &self.ports.store.timers;
        if !timers.expire_definition(&finish).await? || !timers.finish(&finish).await? {
            return Ok(false);
        }
        self.note_finished(&finish, loaded);
        Ok(true)
    }

    fn to_finish(&self, job: &JobRef, state: JobState, loaded: &LoadedJob) -> Finish {
        Finish {
            job: job.clone(),
            version: loaded.snapshot.version,
            generation: loaded.snapshot.timing.generation,
            state,
            expires_at: self.ports.clock.now() + JOBS_KEPT_FOR,
        }
    }

    /// Says that a job has finished.
    pub(super) fn note_finished(&self, Finish { job, state, .. }: &Finish, loaded: &LoadedJob) {
        let (path, state) = (job_path(job, Some(loaded)), *state);
        tracing::info!(job.path = path, job.uid, state = state.name(), "a job has finished");
        self.ports.events.note(Event::Finished { job, state });
    }

    /// Checks whether all attempts of a job have ended, and which have stalled.
    async fn check(&self, job: &JobRef, loaded: &LoadedJob) -> Result<FinishCheck> {
        let (snapshot, Some(timetable)) = (&loaded.snapshot, &loaded.schedule) else {
            return Ok(FinishCheck::default());
        };
        if snapshot.state != JobState::Enabled {
            return Ok(FinishCheck::default());
        }
        let clock = self.ports.clock.as_ref();
        let (now, spans) = (clock.now(), spans(clock));
        let FollowPolicy { retries, on_failure, .. } = self.policy(job, Role::Main, loaded).await?;
        let last = last_occurrence(timetable);
        let outages = self.heartbeat.known_outages();
        let from = |held_up| last.map_or(now, |last| since(loaded, last, retries, held_up, &spans));
        let from = |held_up| seen_before_outages(from(held_up), &outages, &spans);
        let mut seen_from = from(TimeDelta::zero());
        let mut attempts = self.attempts_since(job, seen_from).await?;
        for _ in 0..ROUNDS_MAX {
            let held_up = match (last, attempts.as_deref()) {
                // An end that is far away has held nothing up.
                (Some(last), Some(attempts)) => held_up(last.min(now), attempts),
                _ => TimeDelta::zero(),
            };
            if held_up <= spans.look_again || from(held_up) >= seen_from {
                break;
            }
            let Some(more) = self.attempts_since(job, from(held_up)).await? else { break };
            seen_from = from(held_up);
            attempts = Some(more);
        }
        let Some(attempts) = attempts else {
            let job_path = job_path(job, Some(loaded));
            tracing::warn!(
                job.path = job_path,
                job.uid,
                "too many attempts to check whether a job has finished"
            );
            return Ok(FinishCheck::default());
        };
        let pending = self.ports.store.retries.list(&job.uid, LONG_RETRIES_MAX).await?;
        let progress = JobProgress {
            timetable,
            generation: snapshot.timing.generation,
            since: snapshot.timing.since,
            retries,
            on_failure,
            collection_on_since: snapshot.collection_on_since,
            seen_from,
            executions: &attempts,
            pending: &pending,
            known_since: self.settings.history.known_since(now),
            left_out: &[],
            outages_of_sweepers: &[],
            outages_of_workers: &[],
        };
        let check = check_finished(&progress, now, &spans);
        if check.over.is_some() && !check.is_history_gone {
            return Ok(check);
        }
        // Only an outage, or what history was, can say more.
        let left_out = self.left_out_since(job, seen_from).await?;
        let PulseRecord { sweepers, workers } = self.ports.store.pulses.read_pulses().await?;
        let known_since = workers.history.known_since(self.settings.history, now);
        let progress = JobProgress {
            known_since,
            left_out: &left_out,
            outages_of_sweepers: &sweepers.outages,
            outages_of_workers: &workers.outages,
            ..progress
        };
        Ok(check_finished(&progress, now, &spans))
    }

    /// What was left out of a job's occurrences from an instant on. The rows come by their first occurrences.
    /// After a clock was set back, one that begins earlier may reach further than those that begin later. So
    /// the last page is the one of which nothing reaches the instant.
    async fn left_out_since(&self, job: &JobRef, from: DateTime<Utc>) -> Result<Vec<LeftOut>> {
        let mut left_out = Vec::new();
        let mut page_from = None;
        for _ in 0..PAGES_MAX {
            let request = PageRequest { from: page_from, items_max: PAGE_ITEMS };
            let page = self.ports.store.history.list_left_out(&job.uid, request).await?;
            let known = left_out.len();
            left_out.extend(page.items.into_iter().filter(|item| item.last >= from));
            match page.next {
                Some(next) if left_out.len() > known => page_from = Some(next),
                _ => break,
            }
        }
        Ok(left_out)
    }

    /// The attempts of a job's occurrences from an instant on, and the last one before it; `None` if
    /// there are too many.
    pub(super) async fn attempts_since(
        &self,
        job: &JobRef,
        from: DateTime<Utc>,
    ) -> Result<Option<Vec<(Attempt, Option<Record>)>>> {
        let mut attempts = Vec::new();
        let mut page_from = None;
        for _ in 0..PAGES_MAX {
            let request = PageRequest { from: page_from, items_max: PAGE_ITEMS };
            let page = self.ports.store.history.list(&job.uid, request).await?;
            for entry in page.items {
                let is_before = entry.attempt.occurrence.nominal_at() < from;
                attempts.push((entry.attempt, entry.record));
                if is_before {
                    return Ok(Some(attempts));
                }
            }
            let Some(next) = page.next else { return Ok(Some(attempts)) };
            page_from = Some(next);
        }
        Ok(None)
    }
}

/// From which time on the attempts must be known: each of a series may also have been open for as long as its
/// job lets it.
fn since(
    loaded: &LoadedJob,
    last: DateTime<Utc>,
    retries: Retries,
    held_up: TimeDelta,
    spans: &Spans,
) -> DateTime<Utc> {
    let within = loaded.completion().map(|it| it.within.delta()).unwrap_or_default();
    let attempts = i32::try_from(retries.count).unwrap_or(i32::MAX).saturating_add(1);
    let open = within.checked_mul(attempts).unwrap_or(TimeDelta::MAX);
    let held_up = held_up.checked_add(&open).unwrap_or(TimeDelta::MAX);
    seen_from(last, retries, held_up, spans)
}

/// Whether a job finishes with the success of what may be its last attempt, whatever else its history has: it has
/// one occurrence, and nothing is off.
fn finishes_with_success(loaded: &LoadedJob) -> bool {
    let LoadedJob { snapshot, schedule, .. } = loaded;
    snapshot.state == JobState::Enabled
        && snapshot.collection_on_since.is_some()
        && schedule.as_ref().is_some_and(|it| it.runs_once())
}

/// Whether an attempt may have been the last of its job.
pub(super) fn may_be_last(attempt: &Attempt, loaded: &LoadedJob) -> bool {
    let Occurrence::Scheduled { nominal_at } = attempt.occurrence else {
        // A run does not decide whether its job has finished.
        return false;
    };
    let is_last = loaded.schedule.as_ref().is_some_and(|it| it.after(nominal_at).is_none());
    loaded.standing().has(attempt) && (is_last || loaded.snapshot.is_spent)
}
