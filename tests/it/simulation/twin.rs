//! The store in memory beside the real one: every call goes to both, and both have to answer the
//! same. So what is simulated is what is deployed.
//!
//! The index of timers is the one thing that is not compared: the simulated one is late on purpose.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::name::{Name, PathSegment};
use domain::work_item::JobRef;
use embedded::Store as Embedded;
use ports::firing::{
    Advance, Claim, Claimed, CounterUpdate, Due, Execution, Finish, Held, JobSnapshot, LongRetry,
    Mark, Recorded, Recording,
};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup, SaveJob, Saved};
use ports::{FiringStore, History, JobStore, StoreError, TimerStore};
use store_dynamodb::{DynamoStore, ensure_table};
use tokio::runtime::Runtime;

use super::judge::judge;
use super::memory::Memory;
use super::play::play_on;
use super::scenario;

/// Both stores.
struct Twin {
    memory: Arc<Memory>,
    real: DynamoStore,
    /// The real mark of each simulated one.
    marks: Mutex<HashMap<u64, Mark>>,
    runtime: Arc<Runtime>,
}

impl Twin {
    /// What the real store answers, in no simulated time.
    fn real<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// What both answered.
#[track_caller]
fn same<T: Debug>(simulated: T, real: &T) -> T {
    assert_eq!(format!("{simulated:?}"), format!("{real:?}"));
    simulated
}

#[test]
fn the_store_in_memory_answers_as_the_real_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = Arc::new(runtime.unwrap());
    for seed in [0, 2, 3, 6, 18, 39] {
        let store = Embedded::in_memory().unwrap();
        runtime.block_on(ensure_table(&store.client(), "simulated")).unwrap();
        let real = DynamoStore::new(store.client(), "simulated").alone();
        let run = play_on(seed, scenario(seed), None, |memory| {
            // Both purge pages of one size.
            memory.purged_max.store(100, Relaxed);
            Arc::new(Twin {
                memory: memory.clone(),
                real,
                marks: Mutex::default(),
                runtime: runtime.clone(),
            })
        });
        assert_eq!(judge(&run), [""; 0], "seed {seed}");
        runtime.block_on(store.close());
    }
}

#[async_trait]
impl JobStore for Twin {
    async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let real = self.real(self.real.find_collection(place, name));
        Ok(same(self.memory.find_collection(place, name).await?, &real?))
    }

    async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        self.memory.list_collections(subscription, group, page).await
    }

    async fn create_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        let real = self.real(self.real.create_collection(collection));
        Ok(same(self.memory.create_collection(collection).await?, &real?))
    }

    async fn replace_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        let real = self.real(self.real.replace_collection(collection));
        Ok(same(self.memory.replace_collection(collection).await?, &real?))
    }

    async fn delete_collection(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let real = self.real(self.real.delete_collection(collection, now));
        Ok(same(self.memory.delete_collection(collection, now).await?, &real?))
    }

    async fn find_job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        let real = self.real(self.real.find_job(collection_uid, name));
        Ok(same(self.memory.find_job(collection_uid, name).await?, &real?))
    }

    async fn list_jobs(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.memory.list_jobs(collection_uid, page).await
    }

    async fn create_job(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
    ) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes } = save;
        let save = || SaveJob { collection, job, timer_changes };
        let real = self.real(self.real.create_job(save(), jobs_max));
        Ok(same(self.memory.create_job(save(), jobs_max).await?, &real?))
    }

    async fn replace_job(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes } = save;
        let save = || SaveJob { collection, job, timer_changes };
        let real = self.real(self.real.replace_job(save()));
        Ok(same(self.memory.replace_job(save()).await?, &real?))
    }

    async fn delete_job(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
    ) -> Result<Saved, StoreError> {
        let real = self.real(self.real.delete_job(collection, job));
        Ok(same(self.memory.delete_job(collection, job).await?, &real?))
    }
}

/// The same, of each of a group.
#[track_caller]
fn each<T: Debug>(
    simulated: Vec<Result<T, StoreError>>,
    real: &[Result<T, StoreError>],
) -> Vec<Result<T, StoreError>> {
    assert_eq!(format!("{simulated:?}"), format!("{real:?}"));
    simulated
}

#[async_trait]
impl TimerStore for Twin {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let real = self.real(self.real.advance(advances));
        each(self.memory.advance(advances).await, &real)
    }
}

#[async_trait]
impl History for Twin {
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        let real = self.real(self.real.executions(job_uid, page.clone()));
        Ok(same(self.memory.executions(job_uid, page).await?, &real?))
    }
}

#[async_trait]
impl FiringStore for Twin {
    fn shards(&self) -> u32 {
        self.memory.shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.memory.due(shard, until, page).await
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        let real = self.real(self.real.claim(claims));
        each(self.memory.claim(claims).await, &real)
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        let real = self.real(self.real.release(claims));
        each(self.memory.release(claims).await, &real)
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
        let real = self.real(self.real.look(jobs));
        Ok(same(self.memory.look(jobs).await?, &real?))
    }

    fn mark(&self) -> Option<Mark> {
        let simulated = self.memory.mark()?;
        self.marks.lock().unwrap().insert(simulated.0, self.real.mark().unwrap());
        Some(simulated)
    }

    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        let real = self.real.stands(job, self.marks.lock().unwrap()[&since.0]);
        let simulated = self.memory.stands(job, since);
        // The real one may be in doubt where the simulated one knows, and not the other way round.
        assert!(simulated || !real, "what was seen of {job:?} has changed");
        simulated
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        let real = self.real(self.real.record(recordings));
        each(self.memory.record(recordings).await, &real)
    }

    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        let real = self.real(self.real.settle(settlements));
        each(self.memory.settle(settlements).await, &real)
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        let real = self.real(self.real.finish(finish));
        Ok(same(self.memory.finish(finish).await?, &real?))
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        let real = self.real(self.real.keep_retries(retries));
        each(self.memory.keep_retries(retries).await, &real)
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        let real = self.real(self.real.drop_retries(retries));
        each(self.memory.drop_retries(retries).await, &real)
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        let real = self.real(self.real.retries(job_uid, max));
        Ok(same(self.memory.retries(job_uid, max).await?, &real?))
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.real(self.real.delete_finished(job, generation))?;
        self.memory.delete_finished(job, generation).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        let real = self.real(self.real.purge(collection_uid));
        Ok(same(self.memory.purge(collection_uid).await?, &real?))
    }
}
