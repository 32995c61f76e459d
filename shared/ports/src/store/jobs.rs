use chrono::{DateTime, Utc};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::Name;
use minutehand_domain::timing::Timing;
use minutehand_ports_macro::port;

use super::{CollectionRecord, Page, PageRequest, StoreError};

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its unique id, never reused.
    pub uid: String,
    /// Its name, in the spelling in which it was first given.
    pub name: Name,
    /// Its properties as compact JSON, without secrets and without what changes when it fires.
    pub document: String,
    /// Its secrets, sealed; `None` if it has none.
    pub sealed: Option<Vec<u8>>,
    /// The number of this change of the definition.
    pub version: u64,
    /// From when on it is as if the job did not exist; `None` while it has not finished.
    pub expires_at: Option<DateTime<Utc>>,
    /// The timings that it had before, the oldest first: a few of the latest.
    pub earlier: Vec<EarlierTiming>,
    /// What changes when it fires.
    pub timer: TimerRecord,
}

/// The part of a job that changes when it fires, is switched, or gets another timing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRecord {
    /// The state. Only the scheduler sets the final ones.
    pub state: JobState,
    /// When the job fires.
    pub timing: Timing,
    /// Its timetable as one line, for readers that have the timer and not the definition; `None`
    /// while the job is disabled.
    pub timetable: Option<String>,
    /// The counters of what it has done so far.
    pub counters: JobCounters,
    /// When the sweeper must look at the job: at the next occurrence to dispatch; if none is left,
    /// to check whether the job finished. `None` if it is disabled or has finished. If an earlier
    /// version finished it, it is due to be deleted.
    pub due_at: Option<DateTime<Utc>>,
    /// Whether every occurrence has been dispatched.
    pub is_spent: bool,
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// The change is stored.
    Kept,
    /// Another change came first. Nothing of this one is stored.
    Stale,
    /// The collection holds as many jobs as it may.
    Full,
}

/// A new job, or a new definition of a job.
#[derive(Debug, Clone, Copy)]
pub struct SaveJob<'a> {
    /// Its collection, as it was read.
    pub collection: &'a CollectionRecord,
    /// The job as it is to be stored.
    pub job: &'a JobRecord,
    /// Whether the change also replaces the job's timer.
    pub timer_changes: bool,
    /// The entry of the journal, stored with the change; `None` if no user made it.
    pub entry: Option<&'a JournalEntry>,
}

/// The number of jobs of a collection, counted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recount {
    /// The number that was stored. It may be too high, because jobs that expire are not taken off.
    pub as_read: u32,
    /// How many jobs had been created in the collection. It tells whether one was created since.
    pub creations: u64,
    /// The jobs that have not expired.
    pub jobs: u32,
}

/// A run that was asked for under a key, so that it is begun once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRun {
    /// The key, which is the job's own.
    pub key: String,
    /// The generation of the job's timing, under which it was sent.
    pub generation: u64,
    /// The instant of the request.
    pub asked_at: DateTime<Utc>,
    /// The id of the run.
    pub run_id: String,
    /// The caller who asked for it, if that is known.
    pub asked_by: Option<String>,
    /// Until when the key stands for the run.
    pub expires_at: DateTime<Utc>,
}

/// Stores the definitions of jobs, each with its timer. Names match without regard to case.
#[port]
pub trait Jobs: Send + Sync {
    /// Finds a job by its name.
    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError>;

    /// Lists the jobs of a collection that have not expired, by name.
    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError>;

    /// Creates a job, unless one with its name exists that has not expired, and counts it in its
    /// collection. The answer is [`Saved::Full`] if the collection counts `jobs_max` jobs already: then
    /// it may have to be [counted](Self::count).
    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError>;

    /// Counts the jobs of a collection that have not expired; `None` if the collection is gone.
    async fn count(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError>;

    /// Corrects the number of jobs of a collection, unless it has changed since it was counted.
    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        recount: Recount,
    ) -> Result<Saved, StoreError>;

    /// Replaces a job that was read at `job.version`. The stored version is the next.
    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError>;

    /// Deletes a job with its timer, and takes it off the count of its collection.
    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError>;

    /// Adds an entry to the journal of a collection, for a request that changes nothing that is stored. Adding it
    /// again changes nothing.
    async fn note(&self, collection_uid: &str, entry: &JournalEntry) -> Result<(), StoreError>;

    /// Keeps a run under its key, unless another one is kept under it that has not expired and whose id is
    /// not `instead_of`: returns that one. Keeping a run again changes nothing.
    async fn keep_asked(
        &self,
        job_uid: &str,
        asked: &AskedRun,
        instead_of: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Option<AskedRun>, StoreError>;
}
