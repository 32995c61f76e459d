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
//! | replace a job | definition, timer | the version that was read, and the generation if the timing changes |
//! | delete a job | definition, timer, the collection's count | the version that was read |
//!
//! What a firing changes is one item each time, so there is nothing to repair between two of them
//! either. It comes in groups; see [`Groups`].
//!
//! | change | item | condition |
//! |---|---|---|
//! | move a timer on | timer | it is due when it was seen to be; of a job, its generation and state are those that were seen |
//! | claim | execution | it is not there |
//! | take a claim over | execution | it is the claim that was seen, and has not ended |
//! | release a claim | execution | it is the caller's, and has not ended |
//! | record | execution | the claim is the caller's, and has not ended |
//! | settle | timer | what is counted is what was read |
//! | finish a job | timer | its generation, and it is enabled |
//! | keep a retry | retry timer | it is not there |
//! | drop a retry | retry timer | none |

mod attempts;
mod batch;
mod changes;
mod collections;
mod counters;
mod definitions;
mod error;
mod executions;
mod expired;
mod firing;
mod groups;
mod item;
mod jobs;
mod keys;
mod list;
mod message;
mod meter;
mod removal;
mod snapshots;
mod table;
mod timers;
mod transaction;

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use domain::name::{Name, PathSegment};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup, SaveJob, Saved};
use ports::{JobStore, StoreError};

use changes::Changes;
use definitions::Definitions;
pub use groups::{Groups, SINGLES_IN_FLIGHT_MAX};
pub use meter::{Consumed, Meter, MeteredCall};
pub use table::{DUE_INDEX, ensure_table};

/// Keeps collections, jobs, timers and history in one table.
#[derive(Debug, Clone)]
pub struct DynamoStore {
    client: Client,
    table: String,
    groups: Groups,
    meter: Option<Arc<Meter>>,
    definitions: Arc<Definitions>,
    /// What was written, where nobody else writes.
    changes: Option<Arc<Changes>>,
}

impl DynamoStore {
    /// A store in a table that exists, which performs groups as [`Groups::Singles`].
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
            groups: Groups::default(),
            meter: None,
            definitions: Arc::default(),
            changes: None,
        }
    }

    /// It with another way to perform groups.
    #[must_use]
    pub fn with_groups(self, groups: Groups) -> Self {
        Self { groups, ..self }
    }

    /// It as the only one that writes to the table: then it knows whether what was read still
    /// stands. Clones of it are the same one.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { changes: Some(Arc::new(Changes::new())), ..self }
    }

    /// It with a meter, which sums what the calls of [`FiringStore`](ports::FiringStore) consume.
    #[must_use]
    pub fn with_meter(self, meter: Arc<Meter>) -> Self {
        Self { meter: Some(meter), ..self }
    }
}

#[async_trait]
impl JobStore for DynamoStore {
    async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        collections::find(self, place, name).await
    }

    async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
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
