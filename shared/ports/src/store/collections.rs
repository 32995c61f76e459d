use chrono::{DateTime, Utc};
use minutehand_domain::collection::Collection;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports_macro::port;

use super::{Page, PageRequest, Saved, StoreError};

/// The first instant that a date of the API can name, in seconds since 1970.
const YEAR_1: i64 = -62_135_596_800;

/// The subscription and the resource group that a collection is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceGroup {
    /// The subscription.
    pub subscription: PathSegment,
    /// The resource group.
    pub group: PathSegment,
}

impl ResourceGroup {
    /// The path of a collection, as the log and messages for people name it.
    #[must_use]
    pub fn collection_path(&self, collection: &Name) -> CollectionPlace {
        CollectionPlace::new(&self.subscription, &self.group, collection)
    }
}

/// A collection as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionRecord {
    /// Its resource group, in the spelling in which it was first given.
    pub place: ResourceGroup,
    /// The collection.
    pub collection: Collection,
    /// How many jobs it holds.
    pub job_count: u32,
    /// When it was last switched on. Attempts that were due before do not start. Creating a
    /// collection is not switching it on: see [`NEVER_SWITCHED`](Self::NEVER_SWITCHED).
    pub on_since: DateTime<Utc>,
    /// The secrets of its definition, sealed.
    pub sealed: Option<Vec<u8>>,
    /// Since when it has its state; `None` if an earlier version stored it.
    pub state_since: Option<DateTime<Utc>>,
    /// The label that a client of the classic API gave it, as it was sent.
    pub label: Option<String>,
    /// The number of this change of the collection.
    pub version: u64,
}

impl CollectionRecord {
    /// The `on_since` of a collection that was never switched on after it was created: the beginning
    /// of time, so that no attempt is due before it. Earlier versions stored the time of creation.
    pub const NEVER_SWITCHED: DateTime<Utc> = match DateTime::from_timestamp(YEAR_1, 0) {
        Some(beginning) => beginning,
        None => DateTime::UNIX_EPOCH,
    };
}

/// Stores collections. Names match without regard to case. The entry of the journal is stored with
/// the change; there is none if no user made it.
#[port]
pub trait Collections: Send + Sync {
    /// Finds a collection by its name.
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError>;

    /// Lists the collections of a subscription, or of one of its resource groups, by name.
    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError>;

    /// Creates a collection, unless one with its name exists.
    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError>;

    /// Replaces a collection that was read at `collection.version`. The stored version is the next.
    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError>;

    /// Deletes a collection. Its jobs stop firing at once and are purged later.
    async fn delete(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError>;
}
