//! The store in memory beside the real one: every call goes to both, and both have to answer the
//! same. So what is simulated is what is deployed.
//!
//! The index of timers is the one thing that is not compared: the simulated one is late on purpose.

use std::fmt::Debug;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::name::PathSegment;
use minutehand_embedded::Store as Embedded;
use minutehand_ports::store::{
    AttemptsLayer, Call, CollectionRecord, CollectionsLayer, CountersLayer, Due, HistoryEntry,
    HistoryLayer, JobRecord, JobsLayer, Layer, Page, PageRequest, PulsesLayer, RemovalLayer,
    RetryTimersLayer, SeatsLayer, SlotsLayer, SnapshotsLayer, TimersLayer, TurnsLayer,
};
use minutehand_ports::{Collections, History, Jobs, StoreError, Timers};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use tokio::runtime::Runtime;

use super::faults::{Ports, Store};
use super::judge::judge;
use super::memory::Memory;
use super::play::{Scenario, play_on};
use super::scenario;

/// Both stores.
struct Twin {
    memory: Arc<Memory>,
    real: Mutex<DynamoStore>,
    runtime: Arc<Runtime>,
}

impl Store for Twin {
    fn remove_expired(&self, now: DateTime<Utc>) {
        self.memory.remove_expired(now);
        self.real(self.store().remove_expired(now, now, None)).unwrap();
    }

    fn begin_process(&self, process: u64) {
        self.memory.begin_process(process);
        let mut real = self.real.lock().unwrap();
        *real = real.clone().alone(format!("twin{process}"));
    }
}

impl Twin {
    fn store(&self) -> DynamoStore {
        self.real.lock().unwrap().clone()
    }

    /// The answer of the real store, in no simulated time.
    fn real<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// The answers of both stores.
#[track_caller]
fn same<T: Debug>(simulated: T, real: &T) -> T {
    assert_eq!(format!("{simulated:?}"), format!("{real:?}"));
    simulated
}

#[test]
fn the_store_in_memory_answers_as_the_real_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = Arc::new(runtime.unwrap());
    let runs = [0, 1, 2, 3, 6, 9, 18, 39].map(|seed| (seed, scenario(seed)));
    for (seed, scenario) in runs.into_iter().chain([
        (0, Scenario::Overlap),
        (0, Scenario::Limits),
        (0, Scenario::Seats),
    ]) {
        let store = Embedded::in_memory().unwrap();
        runtime.block_on(ensure_table(&store.client(), "simulated")).unwrap();
        let real = DynamoStore::new(store.client(), "simulated").alone("twin");
        let run = play_on(seed, scenario, None, |memory| {
            // Both purge pages of one size.
            memory.purged_max.store(100, Relaxed);
            let (memory, real) = (memory.clone(), Mutex::new(real));
            Arc::new(Twin { memory, real, runtime: runtime.clone() })
        });
        assert_eq!(judge(&run), [""; 0], "seed {seed}");
        runtime.block_on(store.close());
    }
}

/// Each call goes to both stores, and its answer is the one on which they agree.
impl Layer for Twin {
    type Inner = dyn Ports;

    fn inner(&self) -> Arc<dyn Ports> {
        self.memory.clone()
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, dyn Ports, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let real = self.real(call(Arc::new(self.store())));
        Ok(same(call(self.memory.clone()).await?, &real?))
    }

    async fn call<'a, A: Debug + Send + 'a>(&'a self, call: impl Call<'a, dyn Ports, A>) -> A {
        let real = self.real(call(Arc::new(self.store())));
        same(call(self.memory.clone()).await, &real)
    }
}

#[async_trait]
impl CollectionsLayer for Twin {
    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        Collections::list(self.memory.as_ref(), subscription, group, page).await
    }
}

#[async_trait]
impl JobsLayer for Twin {
    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        Jobs::list(self.memory.as_ref(), collection_uid, now, page).await
    }
}

#[async_trait]
impl TimersLayer for Twin {
    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.memory.due(shard, until, page).await
    }
}

#[async_trait]
impl HistoryLayer for Twin {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let (store, items_max) = (self.store(), page.items_max);
        let simulated = History::list(self.memory.as_ref(), job_uid, page).await?;
        // The one in memory answers in one page.
        let (mut items, mut from) = (Vec::new(), None);
        loop {
            let page = PageRequest { from, items_max };
            let page = self.real(History::list(&store, job_uid, page))?;
            items.extend(page.items);
            from = page.next;
            if from.is_none() {
                return Ok(Page { items: same(simulated.items, &items), ..simulated });
            }
        }
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        // In no order, and without their times.
        let sorted = |mut found: Vec<Attempt>| {
            found.sort_by_key(|attempt| attempt.id().to_string());
            found.iter().map(|attempt| attempt.id().to_string()).collect::<Vec<_>>()
        };
        let real = self.real(self.store().attempts_between(job_uid, from, until))?;
        let simulated = self.memory.attempts_between(job_uid, from, until).await?;
        same(sorted(simulated.clone()), &sorted(real));
        Ok(simulated)
    }
}

impl AttemptsLayer for Twin {}
impl TurnsLayer for Twin {}
impl SlotsLayer for Twin {}
impl SeatsLayer for Twin {}
impl SnapshotsLayer for Twin {}
impl CountersLayer for Twin {}
impl RetryTimersLayer for Twin {}
impl PulsesLayer for Twin {}
impl RemovalLayer for Twin {}
