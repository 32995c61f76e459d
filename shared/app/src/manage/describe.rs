//! Describes a job beyond its document: when it fires next, since when, and why it does not.

use chrono::{DateTime, Utc};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::{JobStanding, NotFiring, next_occurrence, not_firing};
use minutehand_domain::history_days::JOBS_KEPT_FOR;
use minutehand_domain::job::JobCounters;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{CollectionRecord, JobRecord, TimerRecord};
use minutehand_recurrence::Start;

use super::{JobPlace, JobView, Manage, Present};
use crate::definition::shown_definition;
use crate::error::Result;

/// A job with everything that is known of it without its history.
#[derive(Debug, Clone, PartialEq)]
pub struct JobDescription {
    /// The job as it is answered.
    pub view: JobView,
    /// Its identifier, which targets see and which is never reused.
    pub uid: String,
    /// The start of a job without a `startTime`; `None` if it has one or was never enabled.
    pub anchor: Option<DateTime<Utc>>,
    /// When it fires, in words; `None` if this version cannot read it.
    pub sentence: Option<String>,
    /// Since when it has its state, start and recurrence.
    pub since: DateTime<Utc>,
    /// What it has done.
    pub counters: JobCounters,
    /// When it fires; `None` if nothing of it is stored that this version can read.
    pub schedule: Option<Schedule>,
    /// Its next occurrence, never a retry.
    pub next_at: Option<DateTime<Utc>>,
    /// When that starts, if the job's jitter delays it.
    pub next_starts_at: Option<DateTime<Utc>>,
    /// Why it has none.
    pub not_firing: Vec<NotFiring>,
    /// The state of its collection.
    pub collection_state: CollectionState,
    /// Since when the collection has it; `None` if an earlier version stored it.
    pub collection_since: Option<DateTime<Utc>>,
    /// Its attempts that run or wait: first the one that is due for longest.
    pub present: Vec<Present>,
}

/// What decides whether and when a job fires.
pub(super) struct Facts<'a> {
    timer: &'a TimerRecord,
    timetable: Option<Schedule>,
    collection_on_since: Option<DateTime<Utc>>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(collection: &CollectionRecord, job: &'a JobRecord) -> Self {
        let is_on = collection.collection.definition.state.is_on();
        Self {
            timer: &job.timer,
            timetable: stored_schedule(job),
            collection_on_since: is_on.then_some(collection.on_since),
        }
    }

    fn standing(&self) -> JobStanding<'_> {
        JobStanding {
            state: self.timer.state,
            generation: self.timer.timing.generation,
            since: self.timer.timing.since,
            timetable: self.timetable.as_ref(),
            collection_on_since: self.collection_on_since,
            is_paused: false,
        }
    }

    pub(super) fn next_occurrence(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        next_occurrence(&self.standing(), self.timer.counters.last_execution_at, now)
    }

    pub(super) fn not_firing(&self, now: DateTime<Utc>) -> Vec<NotFiring> {
        not_firing(&self.standing(), self.timer.counters.last_execution_at, now)
    }
}

/// The schedule in the timer of a job, if it has one that this version can read.
pub(super) fn stored_schedule(job: &JobRecord) -> Option<Schedule> {
    Schedule::read(job.timer.timetable.as_deref()?, &job.document).ok()
}

pub(super) fn job_ref(collection: &CollectionRecord, job: &JobRecord) -> JobRef {
    JobRef {
        uid: job.uid.clone(),
        collection_uid: collection.collection.uid.clone(),
        key: job.name.key(),
    }
}

impl Manage {
    /// Describes a job: its document, its identifier, when it fires, and why it does not.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn describe_job(&self, of: JobPlace<'_>) -> Result<JobDescription> {
        let (collection, job) = self.browsed_job(of).await?;
        self.description(&collection, job).await
    }

    pub(super) async fn description(
        &self,
        collection: &CollectionRecord,
        job: JobRecord,
    ) -> Result<JobDescription> {
        let now = self.ports.clock.now();
        let (anchor, sentence) = timing_in_words(&job, now).unzip();
        let facts = Facts::of(collection, &job);
        let not_firing = match sentence {
            None => vec![NotFiring::JobUnreadable],
            Some(_) => facts.not_firing(now),
        };
        let next_at = facts.next_occurrence(now).filter(|_| not_firing.is_empty());
        Ok(JobDescription {
            uid: job.uid.clone(),
            anchor: anchor.flatten(),
            sentence,
            since: since(&job),
            counters: job.timer.counters,
            next_at,
            next_starts_at: next_at.and_then(|at| facts.timetable.as_ref()?.delayed(at)),
            schedule: facts.timetable,
            not_firing,
            collection_state: collection.collection.definition.state,
            collection_since: collection_since(collection),
            present: self.present_of(&job_ref(collection, &job)).await?,
            view: self.stored_view(collection, job)?,
        })
    }
}

/// The anchor and the sentence of a job; `None` if this version cannot read it. One that was never enabled has
/// no anchor yet, and the sentence of a job that is enabled now.
fn timing_in_words(job: &JobRecord, now: DateTime<Utc>) -> Option<(Option<DateTime<Utc>>, String)> {
    let timing = &job.timer.timing;
    let definition = shown_definition(&job.uid, &job.document).ok()?;
    let schedule = timing.schedule(&definition, &job.uid, now).ok()?;
    let anchor = timing.anchor.filter(|_| definition.start_time.is_none());
    let anchor = anchor.map(|anchor| match schedule.timetable.start() {
        // Cut to whole seconds if the recurrence has a schedule.
        Start::Anchor(cut) => cut,
        Start::Given(_) => anchor,
    });
    Some((anchor, schedule.sentence()))
}

/// Since when a job has its state and its timing.
pub(super) fn since(job: &JobRecord) -> DateTime<Utc> {
    finished_at(job).unwrap_or(job.timer.timing.since)
}

/// When a job finished, if it did.
pub(super) fn finished_at(job: &JobRecord) -> Option<DateTime<Utc>> {
    // An earlier version kept a finished job in the index of timers, to delete it.
    let gone_at = job.expires_at.or(job.timer.due_at).filter(|_| job.timer.state.is_final());
    gone_at.and_then(|gone_at| gone_at.checked_sub_signed(JOBS_KEPT_FOR))
}

/// Since when a collection has its state, as far as that is known.
fn collection_since(collection: &CollectionRecord) -> Option<DateTime<Utc>> {
    let is_on = collection.collection.definition.state.is_on();
    let was_switched = collection.on_since != CollectionRecord::NEVER_SWITCHED;
    collection.state_since.or((is_on && was_switched).then_some(collection.on_since))
}
