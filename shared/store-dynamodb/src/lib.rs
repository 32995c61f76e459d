//! The job store on DynamoDB, the only one there is.
//!
//! One table holds everything; `keys` says under which keys. Every change that depends on what
//! was read carries that as a condition, and changes that belong together are one transaction:
//! a crash leaves all of such a change or nothing of it, so there is nothing to repair.
//!
//! | change | items | condition |
//! |---|---|---|
//! | create a collection | name, switch | it is not there |
//! | replace a collection | name, switch | the version and the number of jobs that were read |
//! | delete a collection | name, switch, purge timer | the version that was read |
//! | create a job | definition, timer, the collection's count | it is not there; the collection is the version that was read, and not full |
//! | replace a job | definition; timer if its timing changes | the version and the generation that were read |
//! | delete a job | definition, timer, the collection's count | the version that was read |

mod collections;
mod error;
mod item;
mod jobs;
mod keys;
mod list;
mod table;
mod transaction;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use domain::name::{Name, Segment};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, Place, SaveJob, Saved};
use ports::{JobStore, StoreError};

pub use table::{DUE_INDEX, ensure_table};

/// Keeps collections and jobs in one table.
#[derive(Debug, Clone)]
pub struct DynamoJobStore {
    client: Client,
    table: String,
}

impl DynamoJobStore {
    /// A store in a table that exists.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

#[async_trait]
impl JobStore for DynamoJobStore {
    async fn find_collection(
        &self,
        place: &Place,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        collections::find(self, place, name).await
    }

    async fn list_collections(
        &self,
        subscription: &Segment,
        group: Option<&Segment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        collections::list(self, subscription, group, page).await
    }

    async fn create_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        collections::create(self, collection).await
    }

    async fn replace_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        collections::replace(self, collection).await
    }

    async fn delete_collection(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        collections::delete(self, collection, now).await
    }

    async fn find_job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        jobs::find(self, collection_uid, name).await
    }

    async fn list_jobs(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        jobs::list(self, collection_uid, page).await
    }

    async fn create_job(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
    ) -> Result<Saved, StoreError> {
        jobs::create(self, save, jobs_max).await
    }

    async fn replace_job(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        jobs::replace(self, save).await
    }

    async fn delete_job(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
    ) -> Result<Saved, StoreError> {
        jobs::delete(self, collection, job).await
    }
}
