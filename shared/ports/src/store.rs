//! Keeping collections, jobs and history.
//!
//! A change is made on what was read: each record has a version, and a change of another version
//! is [`Saved::Stale`], upon which the caller reads again and decides anew.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::collection::Collection;
use domain::job::{Counters, JobState};
use domain::name::{Name, PathSegment};
use domain::timing::Timing;

/// Where a collection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceGroup {
    /// The subscription.
    pub subscription: PathSegment,
    /// The resource group.
    pub group: PathSegment,
}

/// A collection as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionRecord {
    /// Where it is, as it was first given.
    pub place: ResourceGroup,
    /// The collection.
    pub collection: Collection,
    /// How many jobs it holds.
    pub job_count: u32,
    /// When it was last switched on; what fell due before is not owed.
    pub on_since: DateTime<Utc>,
    /// Which change of it this is.
    pub version: u64,
}

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its own, never reused.
    pub uid: String,
    /// As it was first given.
    pub name: Name,
    /// Its properties as compact JSON, without secrets and without what changes when it fires.
    pub document: String,
    /// Its secrets, sealed; `None` if it has none.
    pub sealed: Option<Vec<u8>>,
    /// Which change of the definition this is.
    pub version: u64,
    /// What changes when it fires.
    pub timer: TimerRecord,
}

/// What changes when a job fires, is switched, or gets another timing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRecord {
    /// The state; the scheduler sets the final ones.
    pub state: JobState,
    /// When it fires.
    pub timing: Timing,
    /// Its timetable as one line, for whoever has the timer and not the definition; `None` while it
    /// is switched off.
    pub rule: Option<String>,
    /// What it has done so far.
    pub counters: Counters,
    /// When it is due: for the next occurrence that has not been handed over; with nothing left, to
    /// be looked at; when it is over, to be deleted. `None` while it is switched off.
    pub due_at: Option<DateTime<Utc>>,
    /// Whether every occurrence has been handed over.
    pub is_spent: bool,
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// It is kept.
    Kept,
    /// Something else changed first; nothing of this change is kept.
    Stale,
    /// The collection holds as many jobs as it may.
    Full,
}

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// Its items, in order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
}

/// Which page of a list to read.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// Where it begins; `None` is the first.
    pub from: Option<String>,
    /// The most items.
    pub items_max: u32,
}

/// A new job, or a new definition of one.
#[derive(Debug)]
pub struct SaveJob<'a> {
    /// Its collection as it was read.
    pub collection: &'a CollectionRecord,
    /// The job as it shall be.
    pub job: &'a JobRecord,
    /// Its timer, if the change touches it.
    pub timer_changes: bool,
}

/// Keeps collections and jobs.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Finds a collection; names match without regard to case.
    async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError>;

    /// A page of the collections of a subscription, or of one of its groups, by name.
    async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError>;

    /// Keeps a collection that was not there.
    async fn create_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError>;

    /// Keeps a collection that was read at `collection.version`, which becomes the next one.
    async fn replace_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError>;

    /// Deletes a collection's name and switch: its jobs are silent at once, and purged later.
    async fn delete_collection(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError>;

    /// Finds a job.
    async fn find_job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError>;

    /// A page of the jobs of a collection, by name.
    async fn list_jobs(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError>;

    /// Keeps a job that was not there, and counts it: [`Saved::Full`] beyond `jobs_max`.
    async fn create_job(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
    ) -> Result<Saved, StoreError>;

    /// Keeps a job that was read at `job.version`, which becomes the next one.
    async fn replace_job(&self, save: SaveJob<'_>) -> Result<Saved, StoreError>;

    /// Deletes a job with its timer, and counts it off.
    async fn delete_job(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
    ) -> Result<Saved, StoreError>;
}

/// Why the store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is not there, or did not answer in time: asking again may help.
    #[error("the store is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It asks for patience.
    #[error("the store asks to slow down")]
    Throttled(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What it keeps is not what we wrote.
    #[error("item {key} is corrupt: {what}")]
    Corrupt {
        /// Which item.
        key: String,
        /// What is wrong with it.
        what: String,
    },
    /// It refused what should have been right.
    #[error("the store refused a request")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether asking again may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Throttled(_) => true,
            Self::Corrupt { .. } | Self::Refused(_) => false,
        }
    }
}
