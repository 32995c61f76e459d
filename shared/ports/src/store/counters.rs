use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::job::JobCounters;
use minutehand_domain::missed::Latest;
use minutehand_domain::quarter::{Quarter, QuarterCounts};
use minutehand_domain::recent::{LastSkip, Mark, Recent};
use minutehand_domain::recently_counted::{Evicted, RecentlyCounted};
use minutehand_ports_macro::port;

use super::StoreError;

/// Attempts to count, if no others were counted since the job was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterUpdate {
    /// The job.
    pub job_uid: String,
    /// What was counted when the job was read.
    pub as_read: RecentlyCounted,
    /// The counters when the job was read.
    pub counters: JobCounters,
    /// The attempts to count. None of them is in `as_read`, and none is in the list twice.
    pub counted: Vec<Counted>,
}

/// An attempt to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The attempt.
    pub attempt: Attempt,
    /// When it ended; `None` if it was skipped.
    pub ended_at: Option<DateTime<Utc>>,
    /// What it adds to the counters.
    pub add: CountersAdd,
}

/// What is counted after an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterUpdate {
    /// The attempts that are remembered.
    pub recently_counted: RecentlyCounted,
    /// Attempts that are no longer remembered. They must be stored first.
    pub evicted: Option<Evicted>,
    /// The results of the last occurrences.
    pub recent: Recent,
    /// What was left out last, if this update left anything out.
    pub last_skip: Option<LastSkip>,
    /// What the job remembers of its latest results, if this update changes it.
    pub latest: Option<Latest>,
}

impl CounterUpdate {
    /// What is counted after this update. Only attempts that were counted before are evicted.
    #[must_use]
    pub fn after(&self) -> AfterUpdate {
        let mut ended: Vec<&Counted> = self.counted.iter().collect();
        // Of several at once, the one that ended first is to be forgotten first.
        ended.sort_by_key(|counted| counted.ended_at);
        let mut recently_counted = self.as_read.clone();
        let evicted = recently_counted.make_room(ended.len());
        let mut recent = self.counters.results();
        let mut last_skip = None;
        let mut latest = None;
        let mut total = self.counters.unsuccessful();
        for Counted { attempt, ended_at, add } in ended {
            recently_counted.add(attempt, *ended_at);
            recent = add.mark.map_or(recent, |mark| recent.and(mark));
            if let Some(mark) = add.mark {
                let before = latest.unwrap_or_else(|| self.counters.latest());
                latest = Some(before.after(attempt, mark, add.skip, total));
            }
            if let Some(took) = add.took {
                let before = latest.unwrap_or_else(|| self.counters.latest());
                latest = Some(before.with_time(took));
            }
            total = total.wrapping_add(add.ended_badly());
            if let Some(skip) = add.skip {
                let before = last_skip.or(self.counters.last_skip);
                last_skip = Some(skip.after(before, self.counters.last_execution_at));
            }
        }
        AfterUpdate { recently_counted, evicted, recent, last_skip, latest }
    }

    /// What all attempts of this update add to the counters.
    #[must_use]
    pub fn sum(&self) -> CountersAdd {
        let adds = self.counted.iter().map(|counted| counted.add);
        adds.fold(CountersAdd::default(), CountersAdd::and)
    }

    /// What it adds to the counts of quarters, for a store that has some.
    #[must_use]
    pub fn quarters(&self) -> BTreeMap<Quarter, QuarterCounts> {
        let mut quarters: BTreeMap<_, QuarterCounts> = BTreeMap::new();
        for Counted { attempt, add, .. } in &self.counted {
            if add.mark.is_none() && add.started_after.is_none() {
                continue;
            }
            let quarter = Quarter::of(attempt.occurrence.nominal_at());
            let counts = quarters.entry(quarter).or_default();
            if let Some(mark) = add.mark {
                counts.note(mark);
            }
            if let Some(after) = add.started_after {
                counts.starts.note(after);
            }
        }
        quarters
    }

    /// Takes in another update of the same job that was decided on the same reading. One write then
    /// does for both, and the second caller need not find out that the first one came before it.
    ///
    /// # Errors
    ///
    /// The other update, if the two cannot be joined.
    pub fn join(&mut self, other: Self) -> Result<(), Box<Self>> {
        if other.job_uid != self.job_uid || other.as_read != self.as_read {
            return Err(Box::new(other));
        }
        // A sweeper may have skipped more between the two readings.
        if other.counters.skipped > self.counters.skipped {
            self.counters = other.counters;
        }
        for counted in other.counted {
            // Two copies of a message may be in progress at the same time, and one may say more of when
            // it was sent.
            if !self.counted.iter().any(|it| it.attempt.is_same(&counted.attempt)) {
                self.counted.push(counted);
            }
        }
        Ok(())
    }
}

/// What to add to a job's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountersAdd {
    /// Attempts of the main action.
    pub executions: u64,
    /// Attempts of the main action that failed.
    pub failures: u64,
    /// Occurrences that failed with their last retry.
    pub faulted: u64,
    /// Occurrences that were skipped.
    pub skipped: u64,
    /// When the latest of the attempts began.
    pub last_execution_at: Option<DateTime<Utc>>,
    /// How long the action of the attempt took.
    pub took: Option<TimeDelta>,
    /// How long after it was due the attempt started, if it is the first one of its occurrence.
    pub started_after: Option<TimeDelta>,
    /// The result of the occurrence that the attempt ended.
    pub mark: Option<Mark>,
    /// What was left out with the occurrence that was skipped.
    pub skip: Option<LastSkip>,
}

impl CountersAdd {
    /// A skipped occurrence, and with which others it was left out.
    #[must_use]
    pub fn skipped(skip: LastSkip) -> Self {
        Self { skipped: 1, mark: Some(Mark::Skipped), skip: Some(skip), ..Self::default() }
    }

    /// How many occurrences failed for good or were skipped.
    fn ended_badly(self) -> u32 {
        u32::try_from(self.faulted.saturating_add(self.skipped)).unwrap_or(u32::MAX)
    }

    fn and(self, other: Self) -> Self {
        Self {
            executions: self.executions + other.executions,
            failures: self.failures + other.failures,
            faulted: self.faulted + other.faulted,
            skipped: self.skipped + other.skipped,
            last_execution_at: self.last_execution_at.max(other.last_execution_at),
            // These are not sums: see [`CounterUpdate::after`] and [`CounterUpdate::quarters`].
            ..Self::default()
        }
    }
}

/// The counters of jobs.
#[port]
pub trait Counters: Send + Sync {
    /// Counts attempts; `false` if others were counted since the job was read, or the job is gone.
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError>;

    /// Whether an attempt is among those that were counted and are no longer remembered.
    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::Occurrence;
    use minutehand_domain::firing::SkipReason;

    use super::*;

    #[test]
    fn two_copies_of_an_attempt_are_counted_once() {
        let nominal_at = DateTime::UNIX_EPOCH;
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
        let update = |attempt: &Attempt| {
            let add = CountersAdd { executions: 1, ..CountersAdd::default() };
            let counted = Counted { attempt: attempt.clone(), ended_at: Some(nominal_at), add };
            CounterUpdate {
                job_uid: "u".to_owned(),
                as_read: RecentlyCounted::default(),
                counters: JobCounters::default(),
                counted: vec![counted],
            }
        };
        let mut joined = update(&attempt);
        let late = attempt.clone().sent_at(nominal_at + TimeDelta::hours(1));
        assert_ne!(late, attempt);
        let retry = Attempt { number: 1, ..attempt.clone() };
        for copy in [late, Attempt { is_long: true, ..attempt.clone() }, retry] {
            joined.join(update(&copy)).unwrap();
        }
        assert_eq!(joined.sum().executions, 2, "{:?}", joined.counted);
    }
    #[test]
    fn an_occurrence_counts_in_the_quarter_in_which_it_was_due() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap_or_default();
        let counted = |nominal_at, add| Counted {
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: at(nominal_at) }),
            ended_at: Some(at(5_000)),
            add,
        };
        let second = Some(TimeDelta::seconds(1));
        let ok =
            CountersAdd { mark: Some(Mark::Ok), started_after: second, ..CountersAdd::default() };
        // A retry follows.
        let failed = CountersAdd { started_after: second, ..CountersAdd::default() };
        let retry = CountersAdd { executions: 1, ..CountersAdd::default() };
        let skipped = CountersAdd::skipped(LastSkip::one(at(60), SkipReason::Overlap));
        let update = CounterUpdate {
            job_uid: "u".to_owned(),
            as_read: RecentlyCounted::default(),
            counters: JobCounters::default(),
            counted: vec![
                counted(0, ok),
                counted(899, failed),
                counted(900, ok),
                counted(1_800, retry),
                counted(60, skipped),
            ],
        };
        let found: Vec<_> = update
            .quarters()
            .iter()
            .map(|(it, n)| {
                let starts: u64 = n.starts.0.iter().sum();
                (it.start().timestamp(), n.ok, n.skipped, n.all(), starts)
            })
            .collect();
        assert_eq!(found, [(0, 1, 1, 2, 2), (900, 1, 0, 1, 1)]);
    }
}
