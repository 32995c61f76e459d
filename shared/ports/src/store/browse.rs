use async_trait::async_trait;
use domain::journal::JournalEntry;
use domain::name::{Name, PathSegment};

use super::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup, StoreError};

/// Reads for people and their tools: as the store was a moment ago, at half the price.
///
/// A decision never rests on these reads, and neither does a change.
#[async_trait]
pub trait Browse: Send + Sync {
    /// Lists the subscriptions that have had a collection, by name.
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError>;

    /// Finds a collection by its name.
    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError>;

    /// Finds a job by its name.
    async fn job(&self, collection_uid: &str, name: &Name)
    -> Result<Option<JobRecord>, StoreError>;

    /// Lists the entries of a collection's journal, the newest first. Some of them may have expired.
    async fn journal(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError>;
}
