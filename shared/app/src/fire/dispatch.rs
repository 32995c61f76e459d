//! Dispatching: what timers are due for goes to the queue. A sweep dispatches, and so does the API
//! for a job that it has just changed.
//!
//! Before that, the definitions of jobs with excluded or extra dates are read, and nothing is written. A
//! timer whose definition cannot be read now stays due, and so does one that has changed meanwhile.
//!
//! 1. The attempts that are due within the horizon are sent. A crash here leaves messages that will
//!    be sent again. Every sender computes the same attempts, and each is claimed once.
//! 2. When the queue has taken all of them, the timers move, each if it is where it was seen. A crash
//!    before that leaves them due, and the next sweep begins again. If that is after an outage, what has run
//!    tells what was sent: the outage did not cost it. A timer that is elsewhere was
//!    moved by another dispatcher, or its job has changed: then the attempts of the old timing do
//!    not start.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{StreamExt, iter};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::firing::limits::OCCURRENCES_MAX;
use minutehand_domain::firing::{LeftOut, Outage, SkipReason, Window, plan_dispatch};
use minutehand_domain::incident::Incident;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::{JobRef, WorkItem, planned_until};
use minutehand_ports::store::{Advance, Due, DueTimer, JobTimer, TimerKey};
use minutehand_ports::{
    Clock, DispatchQueue, DispatchStep, ErrorType, Event, EventSink, History, QueueMessage,
    Snapshots, Timers,
};
use minutehand_recurrence::UnreadableTimetable;

use super::loaded_job::{if_readable, path_without_names};
use super::schedules::{FoundSchedule, schedule_of};
use super::sighting::{Noticed, Sighting};
use super::spans;
use super::two_steps::SendThenMove;
use crate::error::{AppError, Result};

/// How far a timer moves whose timetable cannot be read, so that it does not block those behind it.
const UNREADABLE_WAITS: TimeDelta = TimeDelta::hours(1);

/// The definitions that are read at a time.
const DEFINITIONS_AT_ONCE: usize = 16;

/// Sends to the queue what timers are due for.
#[derive(Clone)]
pub struct Dispatcher {
    timers: Arc<dyn Timers>,
    snapshots: Arc<dyn Snapshots>,
    step: Arc<dyn DispatchStep>,
    /// Whether attempts of one second share messages, so that their timers are better planned together.
    packs: bool,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    /// Tells what has run of what an outage seems to have cost.
    history: Option<Arc<dyn History>>,
    noticed: Arc<Noticed>,
}

/// What a timer is planned with.
struct PlanFacts {
    /// The schedule of a timer that waits for an occurrence; `None` if it waits for something else.
    schedule: Option<FoundSchedule>,
    /// The last of its occurrences that are known to have been sent.
    sent_until: Option<DateTime<Utc>>,
}

/// The result of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DispatchReport {
    /// Timers that were due.
    pub timers: usize,
    /// Messages that the queue took.
    pub messages: usize,
    /// Timers that were moved.
    pub advanced: usize,
    /// Timers that another dispatcher had moved.
    pub overtaken_by_others: usize,
    /// Timers whose timetable cannot be read; they raise an alarm.
    pub unreadable: usize,
    /// Overtaken occurrences, which are not sent.
    pub overtaken: u64,
}

impl DispatchReport {
    pub(super) fn add(&mut self, other: Self) {
        self.timers += other.timers;
        self.messages += other.messages;
        self.advanced += other.advanced;
        self.overtaken_by_others += other.overtaken_by_others;
        self.unreadable += other.unreadable;
        self.overtaken += other.overtaken;
    }
}

/// What outages cost a job.
struct Overtaken {
    job: JobRef,
    occurrences: u64,
    /// The first of them.
    first: DateTime<Utc>,
    /// When the last of the outages was over.
    until: DateTime<Utc>,
}

/// The messages to send and the timers to move.
#[derive(Default)]
struct Batch {
    messages: Vec<QueueMessage>,
    advances: Vec<Advance>,
    /// Whose advances they are, by the places of the timers.
    places: Vec<usize>,
    /// The timers that could not be planned, and why.
    unplanned: Vec<(usize, AppError)>,
    report: DispatchReport,
    /// Jobs with overtaken occurrences.
    overtaken: Vec<Overtaken>,
    /// Jobs whose timetables cannot be read, and why.
    unreadable: Vec<(JobRef, UnreadableTimetable)>,
}

impl Dispatcher {
    /// A dispatcher over these ports, which sends to the queue and then moves the timers.
    #[must_use]
    pub fn new(
        timers: Arc<dyn Timers>,
        snapshots: Arc<dyn Snapshots>,
        queue: Arc<dyn DispatchQueue>,
        events: Arc<dyn EventSink>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let step = Arc::new(SendThenMove { queue, timers: timers.clone() });
        let noticed = Arc::default();
        Self { timers, snapshots, step, packs: true, events, clock, history: None, noticed }
    }

    /// Sets how it sends and moves, where queue and store are one. Such a queue has a message for each
    /// attempt.
    #[must_use]
    pub fn with_step(self, step: Arc<dyn DispatchStep>) -> Self {
        Self { step, packs: false, ..self }
    }

    /// Sets what tells which occurrences were sent, though their timers did not move. A dispatcher that sends
    /// and moves in one step needs none.
    #[must_use]
    pub fn with_history(self, history: Arc<dyn History>) -> Self {
        Self { history: Some(history), ..self }
    }

    /// The API dispatches a timer at once if it is due until this time.
    pub(crate) fn near_until(&self) -> DateTime<Utc> {
        self.clock.now() + spans(self.clock.as_ref()).horizon
    }

    /// Sends what these timers are due for, and moves them. `outages` are those of sweepers; the API
    /// dispatches what has just become due, and needs to know of none.
    ///
    /// # Errors
    ///
    /// If the queue or the store fails. The timers stay due.
    pub async fn dispatch(&self, due: &[Due], outages: &[Outage]) -> Result<DispatchReport> {
        let (report, unmoved) = self.dispatch_each(due, outages).await?;
        unmoved.into_iter().next().map_or(Ok(report), |(_, error)| Err(error))
    }

    /// As [`dispatch`](Self::dispatch), and goes on if a timer cannot be moved. Returns these timers, by
    /// their places in `due`.
    pub(super) async fn dispatch_each(
        &self,
        due: &[Due],
        outages: &[Outage],
    ) -> Result<(DispatchReport, Vec<(usize, AppError)>)> {
        let mut batch = Batch::default();
        let horizon = self.near_until();
        // Where each attempt has a message of its own, no end is common.
        let of_second = if self.packs { timers_of_seconds(due) } else { HashMap::new() };
        // Collected first, because a stream of futures that borrow is not `Send`.
        let facts: Vec<_> = due.iter().map(|due| self.plan_facts(due, outages)).collect();
        let mut facts = iter(facts).buffered(DEFINITIONS_AT_ONCE).enumerate();
        while let Some((place, facts)) = facts.next().await {
            let Some(due) = due.get(place) else { break };
            match facts {
                Ok(facts) => {
                    let together = of_second.get(&due.due_at.timestamp());
                    let until = together
                        .map_or(horizon, |timers| planned_until(due.due_at, *timers, horizon));
                    self.plan_timer(due, facts, (outages, until), &mut batch);
                }
                Err(error) => batch.unplanned.push((place, error)),
            }
            batch.places.resize(batch.advances.len(), place);
        }
        let Batch { mut messages, advances, places, unplanned, mut report, overtaken, unreadable } =
            batch;
        let missed = self.missed(&overtaken).await?;
        let now = self.clock.now();
        messages.extend(missed.iter().map(|it| it.message(&it.job.key, now)));
        let moved = self.step.dispatch(&messages, &advances, now).await?;
        for Sighting { job, at, incident, .. } in missed {
            self.noticed.remember(&job.collection_uid, incident.kind(), at);
        }
        report.messages = messages.len();
        let mut unmoved = unplanned;
        // Each timer is moved once.
        for (place, advanced) in places.into_iter().zip(moved) {
            match advanced {
                Ok(true) => report.advanced += 1,
                Ok(false) => report.overtaken_by_others += 1,
                Err(error) => unmoved.push((place, error.into())),
            }
        }
        // The lines name jobs by their paths, which are read for these lines only: nothing waits.
        self.log(&overtaken, &unreadable).await;
        Ok((report, unmoved))
    }

    /// What outages cost the collections that tell of it. A collection that cannot be read tells nothing, and
    /// its jobs fire.
    async fn missed<'a>(&self, overtaken: &'a [Overtaken]) -> Result<Vec<Sighting<'a>>> {
        let mut of_collections: BTreeMap<&str, Vec<&Overtaken>> = BTreeMap::new();
        for it in overtaken {
            of_collections.entry(&it.job.collection_uid).or_default().push(it);
        }
        let mut missed = Vec::new();
        for (uid, jobs) in of_collections {
            let until = jobs.iter().map(|it| it.until).max();
            let (Some(at), Some(Overtaken { job, first, .. })) = (until, jobs.first()) else {
                continue;
            };
            let incident = Incident::Missed {
                occurrences: jobs.iter().map(|it| it.occurrences).sum(),
                jobs: u64::try_from(jobs.len()).unwrap_or(u64::MAX),
            };
            if self.noticed.has(uid, incident.kind(), at) {
                continue;
            }
            let record = self.snapshots.read_collection(uid).await.map_err(AppError::from);
            let record = if_readable(record)?.flatten();
            let on_failure = record.as_ref().and_then(|it| it.collection.definition.on_failure());
            if on_failure.is_some_and(|action| action.rules().tell(&incident)) {
                missed.push(Sighting { job, occurrence: *first, at, incident });
            }
        }
        Ok(missed)
    }

    /// Logs what the timers cost.
    async fn log(&self, overtaken: &[Overtaken], unreadable: &[(JobRef, UnreadableTimetable)]) {
        let mut paths = HashMap::new();
        for Overtaken { job, occurrences, .. } in overtaken {
            let job_path = self.job_path(job, &mut paths).await;
            let reason = SkipReason::Overtaken;
            tracing::warn!(
                job.path = job_path, job.uid, occurrences, %reason, "occurrences are skipped"
            );
        }
        for (job, error) in unreadable {
            let (error_type, job_path) =
                (ErrorType::TimerUnreadable, self.job_path(job, &mut paths).await);
            tracing::error!(
                %error_type, job.path = job_path, job.uid, %error, "a timer cannot be planned"
            );
        }
    }

    /// The path of a job, with one read for each collection of a page.
    async fn job_path(
        &self,
        job: &JobRef,
        known: &mut HashMap<String, Option<CollectionPlace>>,
    ) -> String {
        let uid = &job.collection_uid;
        if !known.contains_key(uid) {
            let found = self.timers.collection_path(uid).await;
            // A line without names is better than none.
            known.insert(uid.clone(), found.unwrap_or_default());
        }
        match known.get(uid) {
            Some(Some(path)) => format!("{path}/{}", job.key),
            Some(None) | None => path_without_names(job),
        }
    }

    async fn plan_facts(&self, due: &Due, outages: &[Outage]) -> Result<PlanFacts> {
        let timer = match &due.what {
            DueTimer::Job(timer) if !timer.state.is_final() && !timer.is_spent => timer,
            DueTimer::Job(_) | DueTimer::Retry { .. } | DueTimer::Purge { .. } => {
                return Ok(PlanFacts { schedule: None, sent_until: None });
            }
        };
        let found = schedule_of(self.snapshots.as_ref(), timer).await?;
        let sent_until = match &found {
            FoundSchedule::Known(schedule) => {
                self.sent_until(timer, schedule, due.due_at, outages).await?
            }
            FoundSchedule::Unreadable(_) | FoundSchedule::Changed => None,
        };
        Ok(PlanFacts { schedule: Some(found), sent_until })
    }

    /// Of the occurrences that outages seem to have cost, the last one that was claimed or has run. A sweeper
    /// sent it and all before it, and died or failed before it moved the timer.
    async fn sent_until(
        &self,
        timer: &JobTimer,
        schedule: &Schedule,
        from: DateTime<Utc>,
        outages: &[Outage],
    ) -> Result<Option<DateTime<Utc>>> {
        let Some(history) = self.history.as_ref().filter(|_| !outages.is_empty()) else {
            return Ok(None);
        };
        let window = self.window(outages, None, self.near_until());
        let plan = plan_dispatch(schedule, timer.generation, from, &window);
        let (Some(first), Some(last)) = (plan.left_out.first(), plan.left_out.last()) else {
            return Ok(None);
        };
        let seen = history.attempts_between(&timer.job.uid, first.first, last.last).await?;
        let nominal_at = |attempt: Attempt| match attempt.occurrence {
            Occurrence::Scheduled { nominal_at } if attempt.generation == timer.generation => {
                Some(nominal_at)
            }
            Occurrence::Scheduled { .. } | Occurrence::Run { .. } => None,
        };
        Ok(seen.into_iter().filter_map(nominal_at).max())
    }

    fn window<'a>(
        &self,
        outages: &'a [Outage],
        sent_until: Option<DateTime<Utc>>,
        until: DateTime<Utc>,
    ) -> Window<'a> {
        Window {
            now: self.clock.now(),
            until,
            outages,
            sent_until,
            occurrences_max: OCCURRENCES_MAX,
            look_again: spans(self.clock.as_ref()).look_again,
        }
    }

    fn plan_timer(
        &self,
        due: &Due,
        PlanFacts { schedule, sent_until }: PlanFacts,
        (outages, until): (&[Outage], DateTime<Utc>),
        batch: &mut Batch,
    ) {
        let now = self.clock.now();
        let look_again = now + spans(self.clock.as_ref()).look_again;
        batch.report.timers += 1;
        let (work_item, timer) = match &due.what {
            DueTimer::Job(timer) if timer.state.is_final() || timer.is_spent => {
                let (job, generation) = (timer.job.clone(), timer.generation);
                let work_item = if timer.state.is_final() {
                    WorkItem::DeleteJob { job, generation }
                } else {
                    WorkItem::CheckFinished { job, generation }
                };
                (work_item, job_timer_key(timer, timer.is_spent, Vec::new()))
            }
            DueTimer::Job(timer) => {
                match schedule {
                    Some(FoundSchedule::Known(schedule)) => {
                        let window = self.window(outages, sent_until, until);
                        self.plan_occurrences((timer, &schedule), due.due_at, &window, batch);
                    }
                    Some(FoundSchedule::Unreadable(error)) => {
                        batch.unreadable.push((timer.job.clone(), error));
                        batch.report.unreadable += 1;
                        let timer = job_timer_key(timer, false, Vec::new());
                        let to = now + UNREADABLE_WAITS;
                        batch.advances.push(Advance { timer, from: due.due_at, to, at: now });
                    }
                    Some(FoundSchedule::Changed) | None => batch.report.overtaken_by_others += 1,
                }
                return;
            }
            DueTimer::Retry { job, attempt } => {
                let timer = TimerKey::Retry { job_uid: job.uid.clone(), attempt: attempt.clone() };
                // The timer stays until its attempt has ended, and is due again until then.
                batch.messages.push(attempt_message(job, attempt.clone()));
                let to = look_again.max(attempt.due_at);
                batch.advances.push(Advance { timer, from: due.due_at, to, at: now });
                return;
            }
            DueTimer::Purge { collection_uid } => {
                let collection_uid = collection_uid.clone();
                let timer = TimerKey::Purge { collection_uid: collection_uid.clone() };
                (WorkItem::PurgeCollection { collection_uid }, timer)
            }
        };
        // A sweep also finds timers that are due soon, and nothing is deleted before its time.
        batch.messages.push(QueueMessage { work_item, due_at: due.due_at.max(now) });
        batch.advances.push(Advance { timer, from: due.due_at, to: look_again, at: now });
    }

    fn plan_occurrences(
        &self,
        (timer, schedule): (&JobTimer, &Schedule),
        from: DateTime<Utc>,
        window: &Window<'_>,
        batch: &mut Batch,
    ) {
        let plan = plan_dispatch(schedule, timer.generation, from, window);
        let overtaken = plan.left_out.iter().map(|left_out| left_out.occurrences).sum();
        if let (Some(first), Some(last), 1..) =
            (plan.left_out.first(), plan.left_out.last(), overtaken)
        {
            batch.overtaken.push(Overtaken {
                job: timer.job.clone(),
                occurrences: overtaken,
                first: first.first,
                until: last.reason.outage().map_or(window.now, |outage| outage.until),
            });
            self.events.note(Event::Overtaken { job: &timer.job, occurrences: overtaken });
            batch.report.overtaken += overtaken;
        }
        for nominal_at in plan.again {
            let attempt = schedule.attempt(timer.generation, nominal_at);
            batch.messages.push(attempt_message(&timer.job, attempt));
        }
        for nominal_at in plan.send {
            let attempt = schedule.attempt(timer.generation, nominal_at).sent_at(window.now);
            batch.messages.push(attempt_message(&timer.job, attempt));
        }
        let key = job_timer_key(timer, plan.next.is_spent(), plan.left_out);
        batch.advances.push(Advance { timer: key, from, to: plan.next.at(), at: window.now });
    }
}

/// How many of these timers are due in each second.
fn timers_of_seconds(due: &[Due]) -> HashMap<i64, usize> {
    let mut timers = HashMap::new();
    for due in due {
        *timers.entry(due.due_at.timestamp()).or_default() += 1;
    }
    timers
}

fn job_timer_key(timer: &JobTimer, is_spent: bool, left_out: Vec<LeftOut>) -> TimerKey {
    TimerKey::Job {
        job_uid: timer.job.uid.clone(),
        generation: timer.generation,
        state: timer.state,
        is_spent,
        left_out,
    }
}

/// The message that asks for one attempt.
pub(crate) fn attempt_message(job: &JobRef, attempt: Attempt) -> QueueMessage {
    let due_at = attempt.due_at;
    QueueMessage { work_item: WorkItem::Attempt { job: job.clone(), attempt }, due_at }
}
