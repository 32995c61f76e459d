//! What sweeping and executing ask of the store.
//!
//! Requests come in groups, and each of a group ends by itself: on one machine a group is one
//! transaction, on AWS as many single writes, since a transaction costs twice as much there.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, Record};
use domain::job::{Counters, JobState};
use domain::name::Name;
use domain::pricing_tier::PricingTier;
use domain::recently_counted::RecentlyCounted;
use domain::timing::Timing;
use domain::work_item::JobRef;

use crate::StoreError;
use crate::store::{Page, PageRequest};

/// What the index of timers shows to be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub due_at: DateTime<Utc>,
    /// What.
    pub what: DueTimer,
}

/// A timer, as the index shows it: possibly a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueTimer {
    /// The timer of a job.
    Job(JobTimer),
    /// A retry that is too far away for a message.
    Retry {
        /// Whose.
        job: JobRef,
        /// Which.
        attempt: Attempt,
    },
    /// The jobs of a collection that is deleted.
    Purge {
        /// The collection.
        collection_uid: String,
    },
}

/// What a sweep has to know of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTimer {
    /// Whose it is.
    pub job: JobRef,
    /// Enabled; or final, and to be deleted.
    pub state: JobState,
    /// Under which timing.
    pub generation: u64,
    /// Its timetable as one line.
    pub rule: String,
    /// Whether every occurrence has been handed over, so that it is due to be looked at only.
    pub is_spent: bool,
}

/// A timer that moves on, if it is where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// Which.
    pub timer: TimerKey,
    /// When it was due.
    pub from: DateTime<Utc>,
    /// When it is due next.
    pub to: DateTime<Utc>,
}

/// Which timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimerKey {
    /// A job's.
    Job {
        /// The job.
        job_uid: String,
        /// If this is its timing still, and its state.
        generation: u64,
        /// Its state as it was seen: enabled, or final.
        state: JobState,
        /// Whether every occurrence has been handed over now.
        is_spent: bool,
        /// Occurrences that were overtaken, and come to the counters.
        overtaken: u64,
    },
    /// A retry's.
    Retry {
        /// The job.
        job_uid: String,
        /// The attempt.
        attempt: Attempt,
    },
    /// That of a collection that is deleted.
    Purge {
        /// The collection.
        collection_uid: String,
    },
}

/// The wish to perform an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whose attempt.
    pub job_uid: String,
    /// Which.
    pub attempt: Attempt,
    /// Tells this claim from all others.
    pub claim_id: String,
    /// Now, in which work is done.
    pub now: DateTime<Utc>,
    /// Until when nobody else may have it.
    pub lease_until: DateTime<Utc>,
    /// A claim that is void though its lease lasts, as its worker's process has ended. It is not
    /// counted among the claims that led to nothing.
    pub over: Option<String>,
}

/// How a claim ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// It is ours, also if it was before and the answer was lost.
    Won,
    /// Another has it.
    Held {
        /// Whose claim.
        claim_id: String,
        /// Until when.
        lease_until: DateTime<Utc>,
    },
    /// Its workers were lost, again and again: it is ours to be recorded as failed.
    Exhausted,
    /// It has ended.
    Ended(Record),
}

/// The most claims of one attempt; what ends none of them is taken to kill its workers.
pub const CLAIMS_MAX: u32 = 10;

/// Who holds an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whose attempt.
    pub job_uid: String,
    /// Which.
    pub attempt: Attempt,
    /// The claim.
    pub claim_id: String,
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Whose claim it is.
    pub held: Held,
    /// What became of it.
    pub record: Record,
}

/// How a recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It is kept, also if it was before and the answer was lost.
    Kept,
    /// Another has recorded it.
    Already(Record),
    /// Another has claimed it, and is at it.
    Lost,
}

/// All that decides whether an attempt may start, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSnapshot {
    /// The job's name, as it was first given.
    pub name: Name,
    /// Its properties without secrets.
    pub document: String,
    /// Its secrets, sealed.
    pub sealed: Option<Vec<u8>>,
    /// Its state.
    pub state: JobState,
    /// Its timing.
    pub timing: Timing,
    /// Its timetable as one line; `None` while it is switched off.
    pub rule: Option<String>,
    /// What it has done so far.
    pub counters: Counters,
    /// What of it is counted.
    pub settled: RecentlyCounted,
    /// Whether every occurrence has been handed over.
    pub is_spent: bool,
    /// The plan of its collection.
    pub plan: PricingTier,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
}

/// What a job's counters get, if nobody counted in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterUpdate {
    /// Whose.
    pub job_uid: String,
    /// What was counted when it was read.
    pub as_read: RecentlyCounted,
    /// What comes to that. None of it is in what was read, and nothing is in it twice.
    pub counted: Vec<Counted>,
}

/// An attempt that comes to a job's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Which.
    pub attempt: Attempt,
    /// When it ended; `None` if it was skipped.
    pub ended_at: Option<DateTime<Utc>>,
    /// What it adds.
    pub add: CountersAdd,
}

impl CounterUpdate {
    /// What is counted now.
    #[must_use]
    pub fn settled(&self) -> RecentlyCounted {
        let mut ended: Vec<&Counted> = self.counted.iter().collect();
        // Of those that come together, what ended first is forgotten first.
        ended.sort_by_key(|counted| counted.ended_at);
        let mut settled = self.as_read.clone();
        for Counted { attempt, ended_at, .. } in ended {
            settled.add(attempt, *ended_at);
        }
        settled
    }

    /// What comes to the counters.
    #[must_use]
    pub fn sum(&self) -> CountersAdd {
        self.counted
            .iter()
            .map(|counted| counted.add)
            .fold(CountersAdd::default(), CountersAdd::and)
    }

    /// Takes in another one of the same job, if both were decided on the same reading: then one
    /// write is as good as the two, and the second need not find that the first was there.
    ///
    /// # Errors
    ///
    /// The other one, if it cannot be joined.
    pub fn join(&mut self, other: Self) -> Result<(), Self> {
        if other.job_uid != self.job_uid || other.as_read != self.as_read {
            return Err(other);
        }
        for counted in other.counted {
            // Two copies of a message may be at it at once.
            if !self.counted.iter().any(|it| it.attempt == counted.attempt) {
                self.counted.push(counted);
            }
        }
        Ok(())
    }
}

/// What comes to a job's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountersAdd {
    /// Attempts of the main action.
    pub executions: u64,
    /// Those that failed.
    pub failures: u64,
    /// Occurrences that failed for good.
    pub faulted: u64,
    /// Occurrences that were not owed.
    pub skipped: u64,
    /// When the latest of the attempts began.
    pub last_execution_at: Option<DateTime<Utc>>,
}

impl CountersAdd {
    fn and(self, other: Self) -> Self {
        Self {
            executions: self.executions + other.executions,
            failures: self.failures + other.failures,
            faulted: self.faulted + other.faulted,
            skipped: self.skipped + other.skipped,
            last_execution_at: self.last_execution_at.max(other.last_execution_at),
        }
    }
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// Which.
    pub job_uid: String,
    /// If this is its timing still.
    pub generation: u64,
    /// Completed or faulted.
    pub state: JobState,
    /// When it is to be deleted.
    pub delete_at: DateTime<Utc>,
}

/// A retry that is too far away for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongRetry {
    /// Whose.
    pub job: JobRef,
    /// Which; it is due when the attempt is.
    pub attempt: Attempt,
}

/// An execution as it is kept: a claim until it ends, then an item of history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Which attempt.
    pub attempt: Attempt,
    /// What became of it; `None` while it is only claimed.
    pub record: Option<Record>,
}

/// A moment in what is written to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub u64);

/// Keeps timers, for who hands over what they are due for.
#[async_trait]
pub trait TimerStore: Send + Sync {
    /// Moves timers on; `false` for one that is no longer where it was. The answers are in order.
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>>;
}

/// Keeps what jobs have executed, for who reads it.
#[async_trait]
pub trait History: Send + Sync {
    /// What a job has executed and is executing: the newest occurrence first, and in it the newest
    /// attempt first. An error action is newer than what it answers.
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError>;
}

/// Keeps timers, claims and history.
///
/// Answers of a group are in its order.
#[async_trait]
pub trait FiringStore: TimerStore + History {
    /// How many shards the index of timers has.
    fn shards(&self) -> u32;

    /// Timers of a shard that are due until then, the oldest first.
    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError>;

    /// Claims attempts.
    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>>;

    /// Gives claims back that led to nothing.
    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>>;

    /// Reads, as they are now, the jobs that are there and whose collections are.
    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError>;

    /// Marks this moment; `None` where others write, too, and nobody can say what they do.
    fn mark(&self) -> Option<Mark> {
        None
    }

    /// Whether what a [look](Self::look) at a job showed after a mark is still so: nothing of it has
    /// been written since, as far as anybody has been told. It asks nobody, and costs nothing.
    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        let _ = (job, since);
        false
    }

    /// Records how attempts ended.
    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>>;

    /// Counts attempts; `false` if others were counted in between, or the job is gone. No job is
    /// twice in a group.
    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>>;

    /// Ends a job that is enabled; `false` if it is not, or no longer, or has another timing.
    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError>;

    /// Keeps retries for later; one that is kept already stays as it is.
    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>>;

    /// Drops the timers of retries that are settled; those that are gone are no error.
    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>>;

    /// The retries of a job that wait in timers of their own, at most so many of them.
    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError>;

    /// Deletes a job that is over and has this timing, and counts it off. One that is gone, or is
    /// not, stays as it is.
    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError>;

    /// Deletes some of the jobs of a collection that is deleted; `true` when none is left, and the
    /// timer that asks for it is gone, too.
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError>;
}
