//! Healing: occurrences whose messages the queue has lost are sent again.
//!
//! Before a timer is planned again, one query finds which of the occurrences that were sent the last
//! time have left a claim or a record. The others are sent again as they were sent then: what was late when
//! the timer moved was sent late. So an outage explains their lateness as it did before. What fell into an
//! outage of workers is sent again, too, unless it is recorded as left out: workers that had nothing to do
//! give no signs of life either, perhaps because the message was lost. The worker that gets it decides. An
//! occurrence that was only late is claimed once, whatever the number of its messages.
//!
//! Healing writes nothing. A crash in it leaves some of them sent, and the timer is due again. Where it
//! fails, the timer waits for the next pass; one that is overdue is planned all the same, after some
//! tries, because the next look may not reach back to what was lost.
//!
//! A queue on the same machine loses nothing, so only sweepers on AWS heal.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::stream::{StreamExt, iter};
use minutehand_domain::firing::{overtaken_in, sent_before};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::job::JobState;
use minutehand_domain::schedule::Schedule;
use minutehand_ports::store::{Due, DueTimer, JobTimer, PageRequest, PulseRecord};
use minutehand_ports::{Clock, DispatchQueue, History, Pulses, QueueMessage, Snapshots};

use super::dispatch::attempt_message;
use super::loaded_job::path_without_names;
use super::schedules::{FoundSchedule, schedule_of};
use super::spans;
use crate::error::Result;

/// Jobs that are looked up at a time.
const JOBS_IN_FLIGHT_MAX: usize = 16;
/// How often the occurrences of a timer that is overdue are looked for before it is planned without.
const OVERDUE_TRIES: usize = 3;
/// How many of the last rows of what was left out are read. There is about one for each outage.
const LEFT_OUT_MAX: u32 = 100;

/// Sends lost occurrences again.
#[derive(Clone)]
pub struct Healer {
    /// Reads which attempts there are.
    pub history: Arc<dyn History>,
    /// Reads jobs of which an attempt is missing.
    pub snapshots: Arc<dyn Snapshots>,
    /// Knows of outages, which explain why attempts are missing.
    pub pulses: Arc<dyn Pulses>,
    /// Takes what is sent again.
    pub queue: Arc<dyn DispatchQueue>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// For how long history is kept. What is older is not taken for lost.
    pub kept: HistoryDays,
}

impl Healer {
    /// Heals the jobs whose timers are about to be planned, and returns the timers to plan. One whose
    /// healing failed is left to the next pass, if there is time until it is due.
    pub(super) async fn heal(&self, due: Vec<Due>) -> Vec<Due> {
        let now = self.clock.now();
        let healed: Vec<_> = due.into_iter().map(|due| self.healed(due, now)).collect();
        let planned = iter(healed).buffered(JOBS_IN_FLIGHT_MAX);
        planned.filter_map(std::future::ready).collect().await
    }

    /// The timer, if it can be planned.
    async fn healed(&self, due: Due, now: DateTime<Utc>) -> Option<Due> {
        let timer = match &due.what {
            DueTimer::Job(timer) if timer.state == JobState::Enabled && !timer.is_spent => timer,
            DueTimer::Job(_) | DueTimer::Retry { .. } | DueTimer::Purge { .. } => return Some(due),
        };
        let is_overdue = due.due_at <= now;
        for _ in 0..if is_overdue { OVERDUE_TRIES } else { 1 } {
            let Err(error) = self.heal_job(timer, due.due_at).await else { return Some(due) };
            let (uid, job_path) = (&timer.job.uid, path_without_names(&timer.job));
            tracing::warn!(
                job.path = job_path,
                job.uid = uid,
                %error,
                "could not look for lost occurrences"
            );
        }
        is_overdue.then_some(due)
    }

    async fn heal_job(&self, timer: &JobTimer, from: DateTime<Utc>) -> Result<()> {
        let schedule = match schedule_of(self.snapshots.as_ref(), timer).await? {
            FoundSchedule::Known(schedule) => schedule,
            // The dispatcher reports a timetable that cannot be read.
            FoundSchedule::Changed | FoundSchedule::Unreadable(_) => return Ok(()),
        };
        let (now, spans) = (self.clock.now(), spans(self.clock.as_ref()));
        let sent = sent_before(&schedule, from, (self.kept.known_since(now), now), &spans);
        let (Some(first), Some(last)) = (sent.first(), sent.last()) else { return Ok(()) };
        let uid = &timer.job.uid;
        let seen = self.history.attempts_between(uid, *first, *last).await?;
        let of_timing = seen.iter().filter(|attempt| attempt.generation == timer.generation);
        let seen: HashSet<_> = of_timing.map(|attempt| attempt.occurrence.nominal_at()).collect();
        let missing: Vec<_> = sent.into_iter().filter(|at| !seen.contains(at)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let messages = self.lost(timer, &schedule, missing).await?;
        if messages.is_empty() {
            return Ok(());
        }
        let (occurrences, job_path) = (messages.len(), path_without_names(&timer.job));
        tracing::warn!(
            job.path = job_path,
            job.uid = uid,
            occurrences,
            "occurrences left no trace, and are sent again"
        );
        Ok(self.queue.send(&messages, now).await?)
    }

    /// The messages of those missing occurrences that were owed and sent, and are not left out.
    async fn lost(
        &self,
        timer: &JobTimer,
        schedule: &Schedule,
        mut missing: Vec<DateTime<Utc>>,
    ) -> Result<Vec<QueueMessage>> {
        let Some(job) = self.snapshots.read(&timer.job).await? else { return Ok(Vec::new()) };
        let Some(on_since) = job.collection_on_since else { return Ok(Vec::new()) };
        if job.timing.generation != timer.generation {
            return Ok(Vec::new());
        }
        let owed_since = on_since.max(job.timing.since);
        let PulseRecord { sweepers, workers } = self.pulses.read_pulses().await?;
        let is_in = |at: &DateTime<Utc>, outages| {
            overtaken_in(schedule, *at, schedule.start(*at), outages).is_some()
        };
        // Records of that time may be gone, if history was kept for a shorter time.
        let known_since = workers.history.known_since(self.kept, self.clock.now());
        let owed_since = owed_since.max(known_since);
        // What fell into an outage of sweepers was not sent.
        missing.retain(|at| *at >= owed_since && !is_in(at, &sweepers.outages));
        if schedule.policies.leave_out() || missing.iter().any(|at| is_in(at, &workers.outages)) {
            let page = PageRequest { from: None, items_max: LEFT_OUT_MAX };
            let left_out = self.history.list_left_out(&timer.job.uid, page).await?.items;
            missing.retain(|at| !left_out.iter().any(|it| it.contains(timer.generation, *at)));
        }
        let lost = missing.into_iter().map(|nominal_at| {
            let attempt = schedule.attempt(timer.generation, nominal_at);
            let attempt = match job.moved_at {
                Some(moved_at) => attempt.sent_at(moved_at),
                None => attempt,
            };
            attempt_message(&timer.job, attempt)
        });
        Ok(lost.collect())
    }
}
