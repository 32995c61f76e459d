use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::named;
use minutehand_domain::quarter::{Quarter, QuarterCounts};
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{
    CollectionRecord, Due, HistoryEntry, JobRecord, OpenSpan, Page, PageRequest, PulseRecord,
    ResourceGroup, StoreError,
};

/// An attempt that is due, or about to be, and has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentAttempt {
    /// Its job.
    pub job: JobRef,
    /// The attempt.
    pub attempt: Attempt,
    /// Whether it runs, or what it waits for.
    pub standing: Standing,
}

/// What an attempt does that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A worker has claimed it, until this instant of the clock of work.
    Claimed {
        /// When the claim ends, unless it is taken again.
        lease_until: DateTime<Utc>,
    },
    /// It is open: its target is at work.
    Open {
        /// Its start and its deadline.
        span: OpenSpan,
        /// What its target last said of its progress.
        progress: Option<String>,
    },
    /// It waits.
    Waits(WaitsFor),
}

impl Standing {
    /// What an attempt does that has a claim, or waits under the limits of its collection. One whose lease is
    /// over waits for another worker.
    #[must_use]
    pub fn of_claim(waits: bool, lease_until: DateTime<Utc>, work_now: DateTime<Utc>) -> Self {
        if waits {
            Self::Waits(WaitsFor::Limit)
        } else if lease_until < work_now {
            Self::Waits(WaitsFor::Worker)
        } else {
            Self::Claimed { lease_until }
        }
    }
}

named! {
    /// What an attempt waits for.
    #[derive(PartialOrd, Ord)]
    pub enum WaitsFor {
        /// The limits of its collection.
        Limit = "limit",
        /// Another attempt of its job, as the job lets none overlap.
        Turn = "turn",
        /// A place among the attempts under way: its collection, or what it calls, has its share, or hangs.
        Place = "place",
        /// What it calls hangs, and gets few calls until it answers.
        Origin = "origin",
        /// A worker that takes it.
        Worker = "worker",
    }
}

/// What became of the occurrences of a collection, by quarters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountedQuarters {
    /// The store counts none: it would be one more write at each firing.
    NotCounted,
    /// The counts.
    Counted(Vec<(Quarter, QuarterCounts)>),
}

/// The attempts that have not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentAttempts {
    /// They, in any order.
    pub items: Vec<PresentAttempt>,
    /// Whether there may be more than were read.
    pub is_least: bool,
}

/// Reads for people and their tools: as the store was a moment ago, at half the price.
///
/// A decision never rests on these reads, and neither does a change.
#[port]
pub trait Browse: Send + Sync {
    /// Lists the subscriptions that have had a collection, by name.
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError>;

    /// Finds a collection by its name.
    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError>;

    /// The path of a collection; `None` if it is gone.
    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError>;

    /// Finds a job by its name.
    async fn job(&self, collection_uid: &str, name: &Name)
    -> Result<Option<JobRecord>, StoreError>;

    /// Lists the jobs of a collection that have not expired and whose names begin with a prefix, by
    /// name and in any case.
    async fn jobs(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError>;

    /// Lists the names of the jobs of a collection that have not expired and begin with a prefix, by name and in any
    /// case.
    async fn job_names(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Name>, StoreError>;

    /// How many names may be read for one answer.
    fn names_max(&self) -> usize;

    /// Reads the attempts of a job at the occurrences and runs of one instant, at most a hundred.
    async fn attempts(
        &self,
        job_uid: &str,
        nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError>;

    /// Reads the attempts of a job at the occurrences and runs before an instant, or all of them: the
    /// newest first, as [`History::list`](super::History::list) does.
    async fn attempts_before(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError>;

    /// Reads the attempts of all jobs that have not ended: those that are claimed, and those that are due and
    /// wait. `None` if the store cannot list them.
    async fn present(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Option<PresentAttempts>, StoreError>;

    /// The same of one job, as far as that is known.
    async fn present_of(
        &self,
        job: &JobRef,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Vec<PresentAttempt>, StoreError>;

    /// Reads the occurrences of a job that were left out, in ranges, the newest first: those
    /// that begin before an instant, or all of them.
    async fn left_out(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError>;

    /// Lists the occurrences of a subscription that failed for good on a day, the newest first. Some of
    /// them may have expired.
    async fn failures(
        &self,
        subscription: &PathSegment,
        day: NaiveDate,
        page: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError>;

    /// Reads what became of the occurrences of a collection in the quarters of a time, the earliest first, without
    /// those in which there was none.
    async fn quarters(
        &self,
        collection_uid: &str,
        between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError>;

    /// Lists the collections of a subscription, by name.
    async fn collections(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError>;

    /// The number of shards of the index of timers.
    fn timer_shards(&self) -> u32;

    /// Lists the timers of a shard that are due until an instant, the earliest first.
    async fn timers(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError>;

    /// Reads the pulses of sweepers and workers.
    async fn pulses(&self) -> Result<PulseRecord, StoreError>;

    /// Lists the entries of a collection's journal, the newest first. Some of them may have expired.
    async fn journal(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError>;
}
