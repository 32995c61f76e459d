//! What is ahead of a subscription: its next occurrences, and how it is doing as a whole. Both come
//! from the index of timers, and what waits from the attempts that have not ended. Only the definitions of jobs
//! with excluded or extra dates are read.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _};
use minutehand_domain::alert::AlertTrouble;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::job::JobState;
use minutehand_domain::limits::CollectionLimits;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::plan::{JobLimits, PlanLimits};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::snooze::snoozed_at;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, Due, DueTimer, JobTimer, Page, PageRequest, PulseRecord, ResourceGroup,
    WaitsFor,
};

use super::describe::stored_schedule;
use super::present::BEHIND_AFTER;
use super::{Manage, PresentCounts, PresentState};
use crate::error::Result;

/// The most collections of a subscription that are looked at.
const COLLECTIONS_MAX: usize = 10_000;
/// The collections of a page.
const COLLECTIONS_PAGE: u32 = 500;
/// The most timers that are looked at for one answer, in all shards.
const TIMERS_MAX: u32 = 6_400;
/// The shards that are read at once.
const SHARDS_AT_ONCE: usize = 16;
/// The definitions that are read at once.
const DEFINITIONS_AT_ONCE: usize = 16;
/// A timer is moved on within a minute. One that is due for longer is late.
const LATE_AFTER: TimeDelta = TimeDelta::minutes(2);

/// Which of the jobs of a subscription are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahead {
    /// The subscription.
    pub subscription: PathSegment,
    /// Only jobs of this collection.
    pub collection: Option<(PathSegment, Name)>,
}

/// The next occurrences of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upcoming {
    /// The occurrences, the soonest first.
    pub items: Vec<UpcomingOccurrence>,
    /// All occurrences before this instant are there.
    pub until: DateTime<Utc>,
    /// Whether every timer was looked at. If not, occurrences of the next minutes may be missing, if
    /// they are with the queue already.
    pub is_complete: bool,
    /// The timers that were looked at.
    pub looked_at: usize,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpcomingOccurrence {
    /// When it is due.
    pub at: DateTime<Utc>,
    /// The collection of its job.
    pub collection: (ResourceGroup, Name),
    /// The name of its job in lower case.
    pub job_key: String,
    /// When the job fires, in words.
    pub sentence: String,
}

/// How a subscription is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// Its collections: those that are off first, and of these the one that has been off for longest.
    pub collections: Vec<CollectionOverview>,
    /// The number of timers that nothing has moved on although they are due.
    pub late_timers: usize,
    /// How many of these timers are of collections that are snoozed.
    pub late_snoozed: usize,
    /// The number of attempts that are due for over a minute, and wait.
    pub behind: usize,
    /// The jobs of both, each once: first the one that is due for longest.
    pub late_jobs: Vec<LateJob>,
    /// Whether more may be late than was looked at.
    pub late_is_least: bool,
    /// What runs and waits in all collections; `None` if that is not known.
    pub present: Option<PresentCounts>,
    /// The signs of life of sweepers and of workers.
    pub pulses: PulseRecord,
    /// About how many dead letters the installation has; `None` if that is not known, or the caller is
    /// limited to some collections.
    pub dead_letters: Option<u64>,
    /// The targets that hang, so that attempts wait for them; `None` as above.
    pub hanging: Option<BTreeSet<String>>,
    /// The collections whose alerts do not arrive.
    pub alerts: Vec<(ResourceGroup, Name, AlertTrouble)>,
}

/// A collection, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionOverview {
    /// Its resource group.
    pub place: ResourceGroup,
    /// Its name.
    pub name: Name,
    /// Whether its jobs fire.
    pub state: CollectionState,
    /// Since when it has this state, if that is known.
    pub since: Option<DateTime<Utc>>,
    /// The number of its jobs. It may be too high, as jobs that expire are taken off later.
    pub jobs: u32,
    /// How many jobs it may have, if there is a limit.
    pub jobs_max: Option<u32>,
    /// The limits of its attempts.
    pub limits: CollectionLimits,
    /// How many attempts run and wait; `None` if that is not known.
    pub present: Option<PresentCounts>,
    /// Until when it is snoozed, if it is.
    pub snoozed_until: Option<DateTime<Utc>>,
}

/// A job that is late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateJob {
    /// Since when it is due.
    pub due_at: DateTime<Utc>,
    /// Its collection.
    pub collection: (ResourceGroup, Name),
    /// Its name in lower case.
    pub key: String,
    /// What its attempt waits for; `None` if its timer was not moved on.
    pub waits_for: Option<WaitsFor>,
}

/// A job that fires, by its timer.
pub(super) struct FiringJob {
    pub(super) uid: String,
    pub(super) collection_uid: String,
    pub(super) key: String,
    pub(super) timetable: Schedule,
}

impl FiringJob {
    /// Its occurrence at an instant, if its collection is one of these.
    pub(super) fn occurrence(
        &self,
        at: DateTime<Utc>,
        collections: &Collections,
    ) -> Option<UpcomingOccurrence> {
        let record = collections.get(&self.collection_uid)?;
        Some(UpcomingOccurrence {
            at,
            collection: (record.place.clone(), record.collection.name.clone()),
            job_key: self.key.clone(),
            sentence: self.timetable.sentence(),
        })
    }
}

/// The collections of a subscription by their ids.
pub(super) type Collections = HashMap<String, CollectionRecord>;

impl Manage {
    /// The next occurrences of the jobs of a subscription, from one instant to another.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn upcoming(
        &self,
        ahead: &Ahead,
        [from, to]: [DateTime<Utc>; 2],
        max: usize,
    ) -> Result<Upcoming> {
        let collections = self.collections_ahead(ahead).await?;
        let timers = self.first_timers(DateTime::<Utc>::MAX_UTC, TIMERS_MAX).await?;
        let looked_at = timers.iter().map(|page| page.items.len()).sum();
        let cut = timers.iter().filter(|page| page.next.is_some());
        let cut_at = cut.filter_map(|page| page.items.last()).map(|last| last.due_at).min();
        let until = cut_at.map_or(to, |cut_at| cut_at.min(to));
        let timers = timers.into_iter().flat_map(|page| page.items);
        let jobs = self.firing(timers, &collections).await?;
        let next = |at: Option<DateTime<Utc>>, n| Some(Reverse((at.filter(|at| *at < until)?, n)));
        let firsts = jobs.iter().enumerate();
        let mut heap: BinaryHeap<_> =
            firsts.filter_map(|(n, job)| next(job.timetable.at_or_after(from), n)).collect();
        let mut items = Vec::new();
        while items.len() < max {
            let Some(Reverse((at, n))) = heap.pop() else { break };
            let Some(job) = jobs.get(n) else { break };
            heap.extend(next(job.timetable.after(at), n));
            items.extend(job.occurrence(at, &collections));
        }
        // The first one that is left out bounds what is known.
        let until = heap.peek().map_or(until, |Reverse((at, _))| *at);
        Ok(Upcoming { items, until, is_complete: cut_at.is_none(), looked_at })
    }

    /// How a subscription is doing.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn overview(&self, subscription: PathSegment) -> Result<Overview> {
        let collections = self.collections_ahead(&Ahead { subscription, collection: None }).await?;
        let pulses = self.ports.browse.pulses().await?;
        let dead_letters = if self.is_limited() { None } else { self.count_dead_letters().await };
        let hanging = if self.is_limited() { None } else { self.hanging_targets().await };
        let clock = &self.ports.clock;
        let before = |span| clock.now().checked_sub_signed(clock.scheduled_during(span));
        let late_before = before(LATE_AFTER).unwrap_or(DateTime::UNIX_EPOCH);
        let behind_before = before(BEHIND_AFTER).unwrap_or(DateTime::UNIX_EPOCH);
        let timers = self.first_timers(late_before, TIMERS_MAX).await?;
        let present = self.all_present().await?;
        let late_is_least = timers.iter().any(|page| page.next.is_some())
            || present.as_ref().is_some_and(|it| it.is_least);
        let mut late: Vec<_> = timers
            .into_iter()
            .flat_map(|page| page.items)
            .filter_map(|due| late_job(due, &collections))
            .collect();
        let late_timers = late.len();
        let is_snoozed = |record: &CollectionRecord| {
            snoozed_at(record.collection.definition.snoozed_until(), clock.now()).is_some()
        };
        let late_snoozed = late.iter().filter(|(_, _, record, _)| is_snoozed(record)).count();
        let mut counts = Counts::new();
        for (job, present) in present.iter().flat_map(|it| &it.items) {
            let Some(record) = on(&job.collection_uid, &collections) else { continue };
            counts.entry(job.collection_uid.clone()).or_default().add(present);
            let due_at = present.attempt.due_at;
            if let PresentState::Waiting(what) = &present.state
                && due_at <= behind_before
            {
                late.push((due_at, job.clone(), record, Some(*what)));
            }
        }
        let behind = late.len() - late_timers;
        late.sort_by_key(|(due_at, ..)| *due_at);
        let mut seen = HashSet::new();
        let once = late.iter().filter(|(_, job, ..)| seen.insert(&job.uid));
        let late_jobs = once.map(|(due_at, job, record, waits_for)| LateJob {
            due_at: *due_at,
            collection: (record.place.clone(), record.collection.name.clone()),
            key: job.key.clone(),
            waits_for: *waits_for,
        });
        let late_jobs = late_jobs.collect();
        let alerts = self.troubled_alerts(collections.values()).await?;
        let (plan_limits, now) = (self.settings.plan_limits, clock.now());
        let counts = present.is_some().then_some(counts);
        let present = counts.as_ref().map(|it| it.values().sum());
        let short = |record| in_short(record, plan_limits, counts.as_ref(), now);
        let mut collections: Vec<_> = collections.into_values().map(short).collect();
        collections.sort_by(|one, other| order(one).cmp(&order(other)));
        Ok(Overview {
            collections,
            late_timers,
            late_snoozed,
            behind,
            late_jobs,
            late_is_least,
            present,
            pulses,
            dead_letters,
            hanging,
            alerts,
        })
    }

    /// About how many dead letters there are. The rest of an overview is worth an answer without them.
    async fn count_dead_letters(&self) -> Option<u64> {
        self.ports.dead_letters.count().await.unwrap_or_else(|error| {
            let error = minutehand_ports::chain(&error);
            tracing::warn!(error, "the dead letters cannot be counted");
            None
        })
    }

    /// The destinations of the origins that hang. The rest of an overview is worth an answer without them.
    async fn hanging_targets(&self) -> Option<BTreeSet<String>> {
        let found = self.ports.hanging.hanging_origins(self.ports.clock.work_now()).await;
        match found {
            // An origin begins with the type of its actions.
            Ok(found) => {
                Some(found.iter().filter_map(|it| Some(it.split_once(' ')?.1.to_owned())).collect())
            }
            Err(error) => {
                let error = minutehand_ports::chain(&error);
                tracing::warn!(error, "the targets that hang cannot be read");
                None
            }
        }
    }

    /// The collections whose jobs are asked about.
    pub(super) async fn collections_ahead(&self, ahead: &Ahead) -> Result<Collections> {
        let mut found = Collections::new();
        if let Some((group, name)) = &ahead.collection {
            let (subscription, group) = (ahead.subscription.clone(), group.clone());
            let record = self.browsed_parent(&ResourceGroup { subscription, group }, name).await?;
            found.insert(record.collection.uid.clone(), record);
            return Ok(found);
        }
        let mut from = None;
        loop {
            let page = PageRequest { from, items_max: COLLECTIONS_PAGE };
            let page = self.browsed_page_of_collections(&ahead.subscription, page).await?;
            found.extend(page.items.into_iter().map(|it| (it.collection.uid.clone(), it)));
            from = page.next;
            if from.is_none() || found.len() >= COLLECTIONS_MAX {
                return Ok(found);
            }
        }
    }

    /// The jobs of timers that are enabled and in one of these collections, if the collection is on.
    pub(super) async fn firing(
        &self,
        timers: impl Iterator<Item = Due> + Send,
        collections: &Collections,
    ) -> Result<Vec<FiringJob>> {
        let firing: Vec<_> = timers
            .filter(|due| is_firing(due, collections))
            .map(|due| self.firing_job(due))
            .collect();
        let jobs = futures_util::stream::iter(firing).buffered(DEFINITIONS_AT_ONCE);
        jobs.try_filter_map(|job| std::future::ready(Ok(job))).try_collect().await
    }

    /// The job of a timer; `None` if it has changed meanwhile, or this version cannot read it.
    async fn firing_job(&self, due: Due) -> Result<Option<FiringJob>> {
        let DueTimer::Job(JobTimer { job, timetable: line, .. }) = due.what else {
            return Ok(None);
        };
        let schedule = if Schedule::needs_document(&line) {
            let Ok(name) = Name::new(&job.key) else { return Ok(None) };
            let found = self.ports.browse.job(&job.collection_uid, &name).await?;
            let found = found.filter(|it| it.timer.timetable.as_ref() == Some(&line));
            found.as_ref().and_then(stored_schedule)
        } else {
            line.parse().ok()
        };
        let JobRef { uid, collection_uid, key } = job;
        Ok(schedule.map(|timetable| FiringJob { uid, collection_uid, key, timetable }))
    }

    /// The first timers of each shard, at most this many in all.
    pub(super) async fn first_timers(
        &self,
        until: DateTime<Utc>,
        timers_max: u32,
    ) -> Result<Vec<Page<Due>>> {
        let shards = self.ports.browse.timer_shards();
        let items_max = timers_max / shards.max(1);
        let page = || PageRequest { from: None, items_max };
        let pages = futures_util::stream::iter(0..shards)
            .map(|shard| self.ports.browse.timers(shard, until, page()))
            .buffer_unordered(SHARDS_AT_ONCE);
        Ok(pages.try_collect().await?)
    }
}

/// Whether a timer is that of a job that is enabled, in one of these collections, and the collection is
/// on.
fn is_firing(due: &Due, collections: &Collections) -> bool {
    let DueTimer::Job(JobTimer { job, state: JobState::Enabled, .. }) = &due.what else {
        return false;
    };
    on(&job.collection_uid, collections).is_some()
}

/// What is late: since when, its job, its collection, and what it waits for.
type Late<'a> = (DateTime<Utc>, JobRef, &'a CollectionRecord, Option<WaitsFor>);

/// What runs and waits in collections, by their ids.
type Counts = HashMap<String, PresentCounts>;

/// The job of a timer that is late, if its collection is on.
fn late_job(due: Due, collections: &Collections) -> Option<Late<'_>> {
    let (DueTimer::Job(JobTimer { job, .. }) | DueTimer::Retry { job, .. }) = due.what else {
        return None;
    };
    let record = on(&job.collection_uid, collections)?;
    Some((due.due_at, job, record, None))
}

/// A collection, if it is one of these, and on.
fn on<'a>(uid: &str, collections: &'a Collections) -> Option<&'a CollectionRecord> {
    collections.get(uid).filter(|record| record.collection.definition.state.is_on())
}

fn in_short(
    record: CollectionRecord,
    plan_limits: PlanLimits,
    counts: Option<&Counts>,
    now: DateTime<Utc>,
) -> CollectionOverview {
    let CollectionRecord { place, collection, job_count: jobs, state_since: since, .. } = record;
    let present = counts.map(|it| it.get(&collection.uid).cloned().unwrap_or_default());
    let definition = collection.definition;
    let snoozed_until = snoozed_at(definition.snoozed_until(), now);
    let attempts = definition.limits();
    let limits = JobLimits::of(definition.plan, definition.quota.as_ref(), plan_limits);
    CollectionOverview {
        place,
        name: collection.name,
        state: definition.state,
        since,
        jobs,
        // A quota that is not allowed any more, since the limits of plans apply now, has none here.
        jobs_max: limits.ok().and_then(|limits| limits.jobs_max()),
        limits: attempts,
        present,
        snoozed_until,
    }
}

/// By what collections are sorted.
fn order(of: &CollectionOverview) -> impl Ord + '_ {
    let since = of.since.filter(|_| !of.state.is_on());
    let place = (of.place.group.as_str().to_lowercase(), of.name.as_str().to_lowercase());
    (of.state.is_on(), since, place)
}
