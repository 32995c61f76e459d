//! What a screen on a wall shows of a subscription: what became of the occurrences of each collection, quarter by
//! quarter, what is due next, and what runs.
//!
//! A store may count no quarters. Then the failures of the time are read and what was left out, and what was due
//! less these counts as well: as the jobs are defined now, and without telling retries or delays.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::load::add_load;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::quarter::{
    QUARTER, Quarter, QuarterCounts, StartTimes, StartWithin, spread,
};
use minutehand_ports::store::{CollectionRecord, CountedQuarters, ResourceGroup};

use super::ahead::{Ahead, Collections, FiringJob};
use super::failures::WantedFailures;
use super::present::AllPresent;
use super::{Manage, PresentState};
use crate::error::Result;

/// The most timers that are looked at for one answer, in all shards.
const TIMERS_MAX: u32 = 10_000;
/// The most occurrences and steps that are computed for one answer.
const COMPUTED_MAX: u64 = 500_000;
/// The reads that are made at once.
const READS_AT_ONCE: usize = 16;
/// The most failures that are read where no quarters are counted.
const FAILURES_MAX: usize = 2_000;
/// The most jobs of which is read what was left out, where no quarters are counted, and the ranges of each.
const LEFT_OUT_JOBS_MAX: usize = 100;
const LEFT_OUT_RANGES: u32 = 10;
/// The most attempts that are named because they run.
const RUNNING_MAX: usize = 12;
/// The quarters whose starts are those of now.
const LAST_HOUR: usize = 4;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedWall {
    /// The subscription.
    pub subscription: PathSegment,
    /// How many quarters that have ended are shown.
    pub back: u32,
    /// How many that have not begun; none needs no timer.
    pub ahead: u32,
    /// The most collections.
    pub collections_max: usize,
}

/// A wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    /// The first quarter.
    pub first: Quarter,
    /// The collections, by group and name.
    pub rows: Vec<WallRow>,
    /// How many collections there are.
    pub all: usize,
    /// How late attempts of the last hour have started, if that is known.
    pub starts: Option<StartWithin>,
    /// Whether the store counts quarters.
    pub is_counted: bool,
    /// Whether the past has everything that was read for it.
    pub is_past_whole: bool,
    /// Whether all timers were looked at for what is due.
    pub is_ahead_whole: bool,
    /// What runs, the longest first; `None` if the store cannot list it.
    pub running: Option<Vec<RunningJob>>,
    /// The timers, failures and jobs that were looked at.
    pub looked_at: usize,
}

/// A collection on a wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WallRow {
    /// Its resource group.
    pub place: ResourceGroup,
    /// Its name.
    pub name: Name,
    /// Whether its jobs fire.
    pub state: CollectionState,
    /// The number of its jobs.
    pub jobs: u32,
    /// What became of its occurrences in each quarter. The last one is not over.
    pub past: Vec<QuarterCounts>,
    /// How many occurrences are due in the rest of that quarter and in each one that follows.
    pub due: Vec<u64>,
    /// How late its attempts of all these quarters have started, if that is known.
    pub starts: Option<StartWithin>,
}

/// A job of which an attempt runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningJob {
    /// Its collection.
    pub collection: (ResourceGroup, Name),
    /// Its name in lower case.
    pub key: String,
    /// Since when the attempt runs.
    pub since: DateTime<Utc>,
    /// How long its action took last, in milliseconds, if that is known.
    pub took_ms: Option<u32>,
}

/// The quarters of a wall.
struct Quarters {
    first: Quarter,
    back: usize,
    now: DateTime<Utc>,
    /// The beginnings of the quarters that are past, and now.
    past: Vec<DateTime<Utc>>,
    /// Now, the beginnings of the quarters that follow, and the end of the last one.
    ahead: Vec<DateTime<Utc>>,
}

impl Quarters {
    fn of(wanted: &WantedWall, now: DateTime<Utc>) -> Self {
        let current = Quarter::of(now);
        let back = i32::try_from(wanted.back).unwrap_or(i32::MAX);
        let ahead = i32::try_from(wanted.ahead).unwrap_or(i32::MAX);
        let begin = |n: i32| current.plus(n).start();
        let past = (-back..=0).map(begin).chain([now]).collect();
        let ahead = if ahead == 0 {
            Vec::new()
        } else {
            [now].into_iter().chain((1..=ahead + 1).map(begin)).collect()
        };
        let first = current.plus(-back);
        let back = usize::try_from(wanted.back).unwrap_or(usize::MAX);
        Self { first, back, now, past, ahead }
    }

    /// The place of a quarter among those that are past.
    fn place(&self, quarter: Quarter) -> Option<usize> {
        let after = (quarter.start() - self.first.start()).num_minutes();
        let place = usize::try_from(after / QUARTER.num_minutes());
        place.ok().filter(|place| after >= 0 && *place <= self.back)
    }

    fn empty(&self) -> Vec<QuarterCounts> {
        vec![QuarterCounts::default(); self.back.saturating_add(1)]
    }
}

/// What is known of the past.
struct Past {
    /// By the ids of collections.
    counts: HashMap<String, Vec<QuarterCounts>>,
    is_whole: bool,
    looked_at: usize,
}

/// The jobs that fire.
struct Firing {
    jobs: Vec<FiringJob>,
    is_whole: bool,
    looked_at: usize,
}

impl Manage {
    /// What a screen on a wall shows.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn wall(&self, wanted: &WantedWall) -> Result<Wall> {
        let subscription = wanted.subscription.clone();
        let ahead = Ahead { subscription: subscription.clone(), collection: None };
        let known = self.collections_ahead(&ahead).await?;
        let quarters = Quarters::of(wanted, self.ports.clock.now());
        let present = self.all_present().await?;
        let mut shown: Vec<&CollectionRecord> = known.values().collect();
        shown.sort_by_cached_key(|it| (it.place.group.key(), it.collection.name.key()));
        // If there are too many, those without jobs give way.
        shown.sort_by_key(|it| it.job_count == 0);
        shown.truncate(wanted.collections_max);
        shown.sort_by_cached_key(|it| (it.place.group.key(), it.collection.name.key()));
        let chosen: Collections =
            shown.iter().map(|it| (it.collection.uid.clone(), (*it).clone())).collect();
        let counted = self.counted_past(&shown, &quarters).await?;
        let is_counted = counted.is_some();
        let firing = if is_counted && quarters.ahead.is_empty() {
            Firing { jobs: Vec::new(), is_whole: true, looked_at: 0 }
        } else {
            self.firing_jobs(&chosen).await?
        };
        let mut past = match counted {
            Some(past) => past,
            None => self.computed_past(&subscription, &chosen, &firing, &quarters).await?,
        };
        let (mut due, is_computed) = due(&firing.jobs, &quarters);
        let mut last_hour = StartTimes::default();
        let rows = shown.into_iter().map(|record| {
            let uid = &record.collection.uid;
            let past = past.counts.remove(uid).unwrap_or_else(|| quarters.empty());
            for counts in past.iter().rev().take(LAST_HOUR + 1) {
                last_hour += counts.starts;
            }
            let mut starts = StartTimes::default();
            for counts in &past {
                starts += counts.starts;
            }
            let none = || vec![0; quarters.ahead.len().saturating_sub(1)];
            WallRow {
                place: record.place.clone(),
                name: record.collection.name.clone(),
                state: record.collection.definition.state,
                jobs: record.job_count,
                due: due.remove(uid).unwrap_or_else(none),
                starts: starts.p99(),
                past,
            }
        });
        let rows = rows.collect();
        let running = match &present {
            Some(present) => Some(self.running(present, &known).await?),
            None => None,
        };
        Ok(Wall {
            first: quarters.first,
            rows,
            all: known.len(),
            starts: last_hour.p99(),
            is_counted,
            is_past_whole: past.is_whole,
            is_ahead_whole: firing.is_whole && is_computed,
            running,
            looked_at: firing.looked_at + past.looked_at,
        })
    }

    /// The past as the store has counted it; `None` if it counts nothing.
    async fn counted_past(
        &self,
        shown: &[&CollectionRecord],
        quarters: &Quarters,
    ) -> Result<Option<Past>> {
        let between = [quarters.first.start(), Quarter::of(quarters.now).plus(1).start()];
        let reads: Vec<_> =
            shown.iter().map(|it| self.quarters_of(&it.collection.uid, between)).collect();
        let read = futures_util::stream::iter(reads).buffer_unordered(READS_AT_ONCE);
        let read: Vec<_> = read.try_collect().await?;
        let mut counts = HashMap::new();
        for (uid, found) in read {
            let CountedQuarters::Counted(found) = found else { return Ok(None) };
            let row: &mut Vec<_> = counts.entry(uid).or_insert_with(|| quarters.empty());
            for (quarter, counted) in found {
                let place = quarters.place(quarter).and_then(|place| row.get_mut(place));
                if let Some(place) = place {
                    *place += counted;
                }
            }
        }
        Ok(Some(Past { counts, is_whole: true, looked_at: 0 }))
    }

    /// The past from what is stored anyway.
    async fn computed_past(
        &self,
        subscription: &PathSegment,
        chosen: &Collections,
        firing: &Firing,
        quarters: &Quarters,
    ) -> Result<Past> {
        let mut counts: HashMap<String, Vec<QuarterCounts>> = HashMap::new();
        let mut steps: HashMap<&str, Vec<u64>> = HashMap::new();
        let (mut computed, mut is_whole) = (0, firing.is_whole);
        for job in &firing.jobs {
            if computed >= COMPUTED_MAX {
                is_whole = false;
                break;
            }
            let steps = steps.entry(&job.collection_uid);
            let steps = steps.or_insert_with(|| vec![0; quarters.past.len().saturating_sub(1)]);
            computed += add_load(&job.timetable, &quarters.past, steps);
        }
        for (uid, steps) in steps {
            let row = counts.entry(uid.to_owned()).or_insert_with(|| quarters.empty());
            for (place, due) in row.iter_mut().zip(steps) {
                place.ok = due;
            }
        }
        let wanted = WantedFailures {
            subscription: subscription.clone(),
            collection: None,
            job: None,
            since: quarters.first.start(),
            max: FAILURES_MAX,
            from: None,
        };
        let failures = self.list_failures(&wanted).await?;
        is_whole = is_whole && failures.next.is_none();
        let uids: HashMap<_, _> = chosen
            .iter()
            .map(|(uid, it)| ((it.place.group.key(), it.collection.name.key()), uid))
            .collect();
        for failed in &failures.items {
            let path = &failed.collection_path;
            let key = (path.group().to_lowercase(), path.name().to_lowercase());
            let Some(uid) = uids.get(&key) else { continue };
            let Some(place) = quarters.place(Quarter::of(failed.nominal_at)) else { continue };
            let row = counts.entry((*uid).clone()).or_insert_with(|| quarters.empty());
            if let Some(place) = row.get_mut(place) {
                place.failed += 1;
                // A run was due by no timetable.
                place.ok = place.ok.saturating_sub(u64::from(!failed.is_run));
            }
        }
        is_whole = is_whole && firing.jobs.len() <= LEFT_OUT_JOBS_MAX;
        let jobs = firing.jobs.iter().take(LEFT_OUT_JOBS_MAX);
        let reads: Vec<_> = jobs.map(|job| self.left_out_of(job)).collect();
        let looked_at = failures.looked_at + reads.len();
        let read = futures_util::stream::iter(reads).buffer_unordered(READS_AT_ONCE);
        let read: Vec<_> = read.try_collect().await?;
        for (uid, found) in read {
            for left_out in found {
                let row = counts.entry(uid.clone()).or_insert_with(|| quarters.empty());
                let range = [left_out.first, left_out.last];
                for (quarter, skipped) in spread(range, left_out.occurrences) {
                    let place = quarters.place(quarter).and_then(|place| row.get_mut(place));
                    if let Some(place) = place {
                        place.skipped += skipped;
                        place.ok = place.ok.saturating_sub(skipped);
                    }
                }
            }
        }
        Ok(Past { counts, is_whole, looked_at })
    }

    /// What became of the occurrences of a collection, with its id.
    async fn quarters_of(
        &self,
        collection_uid: &str,
        between: [DateTime<Utc>; 2],
    ) -> Result<(String, CountedQuarters)> {
        let found = self.ports.browse.quarters(collection_uid, between).await?;
        Ok((collection_uid.to_owned(), found))
    }

    /// What a job has left out, with the id of its collection.
    async fn left_out_of(&self, job: &FiringJob) -> Result<(String, Vec<LeftOut>)> {
        let found = self.ports.browse.left_out(&job.uid, None, LEFT_OUT_RANGES).await?;
        Ok((job.collection_uid.clone(), found))
    }

    /// The jobs of these collections that fire, by the timers that are due first.
    async fn firing_jobs(&self, chosen: &Collections) -> Result<Firing> {
        let pages = self.first_timers(DateTime::<Utc>::MAX_UTC, TIMERS_MAX).await?;
        let is_whole = pages.iter().all(|page| page.next.is_none());
        let looked_at = pages.iter().map(|page| page.items.len()).sum();
        let timers = pages.into_iter().flat_map(|page| page.items);
        Ok(Firing { jobs: self.firing(timers, chosen).await?, is_whole, looked_at })
    }

    /// What runs, the longest first.
    async fn running(&self, present: &AllPresent, known: &Collections) -> Result<Vec<RunningJob>> {
        let mut running: Vec<_> = present
            .items
            .iter()
            .filter_map(|(job, it)| match it.state {
                PresentState::Running { since, .. } => {
                    Some((since, job, known.get(&job.collection_uid)?))
                }
                PresentState::Waiting(_) => None,
            })
            .collect();
        running.sort_by_key(|(since, job, _)| (*since, job.uid.as_str()));
        running.truncate(RUNNING_MAX);
        let mut found = Vec::new();
        for (since, job, record) in running {
            let Ok(name) = Name::new(&job.key) else { continue };
            let stored = self.ports.browse.job(&job.collection_uid, &name).await?;
            found.push(RunningJob {
                collection: (record.place.clone(), record.collection.name.clone()),
                key: job.key.clone(),
                since,
                took_ms: stored.and_then(|it| it.timer.counters.latest().took_ms()),
            });
        }
        Ok(found)
    }
}

/// How many occurrences are due in each step that follows, by the ids of collections; and whether all jobs were
/// computed.
fn due(jobs: &[FiringJob], quarters: &Quarters) -> (HashMap<String, Vec<u64>>, bool) {
    let mut due: HashMap<String, Vec<u64>> = HashMap::new();
    if quarters.ahead.is_empty() {
        return (due, true);
    }
    let mut computed = 0;
    for job in jobs {
        if computed >= COMPUTED_MAX {
            return (due, false);
        }
        let steps = due.entry(job.collection_uid.clone());
        let steps = steps.or_insert_with(|| vec![0; quarters.ahead.len().saturating_sub(1)]);
        computed += add_load(&job.timetable, &quarters.ahead, steps);
    }
    (due, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarter_that_is_not_over_is_the_last_of_the_past_and_the_first_ahead() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let subscription = PathSegment::new("s").unwrap();
        let wanted = WantedWall { subscription, back: 2, ahead: 1, collections_max: 1 };
        let quarters = Quarters::of(&wanted, at("2027-01-01T12:20:00Z"));
        let texts = |all: &[DateTime<Utc>]| {
            all.iter().map(|at| at.format("%H:%M").to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(&quarters.past), "11:45 12:00 12:15 12:20");
        assert_eq!(texts(&quarters.ahead), "12:20 12:30 12:45");
        assert_eq!(quarters.empty().len(), 3);
        for (instant, place) in [
            ("2027-01-01T11:44:59Z", None),
            ("2027-01-01T11:45:00Z", Some(0)),
            ("2027-01-01T12:29:59Z", Some(2)),
            ("2027-01-01T12:30:00Z", None),
        ] {
            assert_eq!(quarters.place(Quarter::of(at(instant))), place, "{instant}");
        }
        let without = Quarters::of(&WantedWall { ahead: 0, ..wanted }, quarters.now);
        assert!(without.ahead.is_empty());
    }
}
