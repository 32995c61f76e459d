use chrono::{DateTime, Utc};
use minutehand_domain::name::PathSegment;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{
    CloudServiceRecord, CollectionRecord, JobRecord, LongRetry, Page, PageRequest, PingKey,
    StoreError,
};

/// Something that goes from one installation to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// A cloud service.
    CloudService(CloudServiceRecord),
    /// A collection.
    Collection(Box<CollectionRecord>),
    /// A job with its timer.
    Job {
        /// Its collection.
        collection_uid: String,
        /// The job.
        job: Box<JobRecord>,
    },
    /// A retry that waits.
    Retry(LongRetry),
    /// The key of the address at which a job takes pings.
    PingKey {
        /// The job.
        job: JobRef,
        /// The key.
        key: PingKey,
    },
}

/// Something that was found in an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It can be carried.
    Carried(Carried),
    /// It cannot be read. The text says where it is stored.
    Unreadable(String),
}

/// A part of an installation that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The cloud services of a subscription.
    CloudServices(PathSegment),
    /// The collections of a subscription.
    Collections(PathSegment),
    /// The jobs of the collection with this id.
    Jobs(String),
    /// The retries that wait in timers of this shard.
    Retries(u32),
}

/// What became of something that was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Brought {
    /// It is there now.
    Kept,
    /// It was there already.
    Already,
    /// Something else has its name. Nothing is changed.
    Taken,
}

/// What there is in the place of a collection that is to be brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionStanding {
    /// Nothing.
    Free,
    /// The collection itself.
    Same,
    /// Another collection of this name, or the collection itself under another name: at this path.
    Taken(String),
    /// The collection was deleted, and its jobs are still being removed.
    BeingRemoved,
}

/// Lists what an installation has, and takes in what comes from another one, as it is now.
///
/// What follows from something else is not carried: the switch of a collection, the subscriptions in use,
/// the index of timers. Nor are attempts, journals, and what only the processes of the source know.
#[port]
pub trait Installation: Send + Sync {
    /// Lists the subscriptions that have had a collection, by name.
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError>;

    /// The number of shards of the index of timers.
    fn timer_shards(&self) -> u32;

    /// Lists a part. What has expired is left out.
    async fn part(
        &self,
        part: &Part,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Found>, StoreError>;

    /// What there is in the place of a collection.
    async fn standing(
        &self,
        collection: &CollectionRecord,
    ) -> Result<CollectionStanding, StoreError>;

    /// Brings a cloud service, unless its resource group has one.
    async fn bring_cloud_service(
        &self,
        service: &CloudServiceRecord,
    ) -> Result<Brought, StoreError>;

    /// Brings a job with its timer, as they are, unless its name or its timer exists. The collection counts
    /// it already.
    async fn bring_job(&self, collection_uid: &str, job: &JobRecord)
    -> Result<Brought, StoreError>;

    /// The export whose import is under way, if one is.
    async fn import_under_way(&self) -> Result<Option<String>, StoreError>;

    /// Notes that the import of an export has begun. `in_place` says that it takes the place of another one
    /// that never ended; otherwise the answer is then `false`.
    async fn begin_import(&self, export_id: &str, in_place: bool) -> Result<bool, StoreError>;

    /// Notes that the import of an export has ended.
    async fn end_import(&self, export_id: &str) -> Result<(), StoreError>;
}
