use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::job::JobState;
use domain::work_item::JobRef;

use super::{Page, PageRequest, StoreError};

/// A timer that is due, as the index of timers shows it. The index may be a moment old.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// When it is due.
    pub due_at: DateTime<Utc>,
    /// What it is due for.
    pub what: DueTimer,
}

/// What a timer is due for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueTimer {
    /// A job has occurrences to dispatch, or may have finished, or is to be deleted.
    Job(JobTimer),
    /// A retry that was too far in the future for a message is to be sent.
    Retry {
        /// The job.
        job: JobRef,
        /// The retry.
        attempt: Attempt,
    },
    /// The jobs of a deleted collection are to be purged.
    Purge {
        /// The deleted collection.
        collection_uid: String,
    },
}

/// What a sweep must know of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTimer {
    /// The job.
    pub job: JobRef,
    /// Enabled; or final, and then the job is to be deleted.
    pub state: JobState,
    /// The generation of the job's timing.
    pub generation: u64,
    /// Its timetable as one line.
    pub timetable: String,
    /// Whether every occurrence has been dispatched, so that the job is due only to be checked.
    pub is_spent: bool,
}

/// Moves one timer to its next due time, if the timer is where it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The timer.
    pub timer: TimerKey,
    /// When it was due.
    pub from: DateTime<Utc>,
    /// When it is due next.
    pub to: DateTime<Utc>,
}

/// The timer to move, with what must still hold of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimerKey {
    /// The timer of a job.
    Job {
        /// The job.
        job_uid: String,
        /// The generation that the timing must still have.
        generation: u64,
        /// The state that the job must still have: enabled, or final.
        state: JobState,
        /// Whether every occurrence has been dispatched now.
        is_spent: bool,
        /// How many overtaken occurrences to add to the job's counters.
        overtaken: u64,
    },
    /// The timer of a retry.
    Retry {
        /// The job.
        job_uid: String,
        /// The retry.
        attempt: Attempt,
    },
    /// The timer of a deleted collection.
    Purge {
        /// The deleted collection.
        collection_uid: String,
    },
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The job.
    pub job_uid: String,
    /// The generation that the job's timing must still have.
    pub generation: u64,
    /// Completed or faulted.
    pub state: JobState,
    /// When the job is to be deleted.
    pub delete_at: DateTime<Utc>,
}

/// The timers of jobs, and the index of all timers by when they are due.
#[async_trait]
pub trait Timers: Send + Sync {
    /// How many shards the index of timers has.
    fn shards(&self) -> u32;

    /// Reads the timers of a shard that are due until `until`, the oldest first.
    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError>;

    /// Moves a page of timers. The answers are in the order of the page; `false` means that a timer
    /// is no longer where it was seen.
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>>;

    /// The path of a collection, for the log: subscription, resource group and name, separated by
    /// slashes. `None` if it is gone, or the store does not know.
    async fn collection_path(&self, collection_uid: &str) -> Result<Option<String>, StoreError> {
        let _ = collection_uid;
        Ok(None)
    }

    /// Finishes a job that is enabled; `false` if it is not enabled, or its timing has changed.
    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError>;
}

/// The jobs whose timers are in no index by time: nothing of them is planned, because they are disabled
/// or have finished.
#[async_trait]
pub trait JobsAtRest: Send + Sync {
    /// Reads a page of them, in no order that means anything.
    async fn at_rest(&self, page: PageRequest) -> Result<Page<JobRef>, StoreError>;
}
