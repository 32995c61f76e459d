//! The port of sweeping and executing: which call is performed where.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::work_item::JobRef;
use ports::firing::{
    Advance, Claim, Claimed, CounterUpdate, Due, Execution, Finish, Held, JobSnapshot, LongRetry,
    Mark, Recorded, Recording,
};
use ports::store::{Page, PageRequest};
use ports::{FiringStore, History, StoreError, TimerStore};

use crate::{DynamoStore, counters, executions, keys, removal, snapshots, timers};

#[async_trait]
impl TimerStore for DynamoStore {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        timers::advance(self, advances).await
    }
}

#[async_trait]
impl History for DynamoStore {
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        executions::list(self, job_uid, page).await
    }
}

#[async_trait]
impl FiringStore for DynamoStore {
    fn shards(&self) -> u32 {
        keys::SHARDS
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        timers::due(self, shard, until, page).await
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        executions::claim(self, claims).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        executions::release(self, claims).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
        snapshots::look(self, jobs).await
    }

    fn mark(&self) -> Option<Mark> {
        self.changes.as_ref().map(|changes| changes.mark())
    }

    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        snapshots::stands(self, job, since)
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        executions::record(self, recordings).await
    }

    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        counters::settle(self, settlements).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        timers::finish(self, finish).await
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        timers::keep_retries(self, retries).await
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        timers::drop_retries(self, retries).await
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        timers::retries(self, job_uid, max).await
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        removal::delete_finished(self, job, generation).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        removal::purge(self, collection_uid).await
    }
}
