use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::job::JobState;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

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
    /// Enabled; or final, if an earlier version finished the job: then it is to be deleted.
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
    /// When it is moved. What it was due for was sent then.
    pub at: DateTime<Utc>,
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
        /// The occurrences that an outage cost. They are recorded before the timer moves, and added to
        /// the job's counters with it.
        left_out: Vec<LeftOut>,
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
    pub job: JobRef,
    /// The version that its definition must still have.
    pub version: u64,
    /// The generation that the job's timing must still have.
    pub generation: u64,
    /// Completed or faulted.
    pub state: JobState,
    /// From when on it is as if the job did not exist.
    pub expires_at: DateTime<Utc>,
}

/// A pause of a job after too many failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The job.
    pub job: JobRef,
    /// The version that its definition must still have.
    pub version: u64,
    /// Its timing from now on, of the next generation. It must still have the one before.
    pub timing: Timing,
    /// Its document from now on: disabled, with the reason. Its secrets stay.
    pub document: String,
    /// The timing that ends with the pause.
    pub ended: EarlierTiming,
    /// The entry of the journal, stored with the pause.
    pub entry: JournalEntry,
}

/// The timers of jobs, and the index of all timers by when they are due.
#[port]
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

    /// The path of a collection, for the log. `None` if it is gone, or the store does not know.
    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        let _ = collection_uid;
        Ok(None)
    }

    /// Says when the definition of a job expires that is about to finish; `false` if it has changed. A
    /// later change of the job takes that away again.
    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError>;

    /// Finishes a job whose definition [expires](Self::expire_definition), and takes its timer out of
    /// the index; `false` if the job is not enabled, or has changed. A job that an earlier version
    /// finished is taken out of the index, too.
    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError>;

    /// Disables an enabled job, and takes its timer out of the index; `false` if the job has changed.
    /// Definition and timer change together.
    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError>;
}
