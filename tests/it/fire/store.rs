//! The store in front of the store: it fails when a test asks for it, and knows which shards of the
//! index have nothing due, so that a year of ticks is soon over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::errand::JobRef;
use domain::execution::Attempt;
use ports::firing::{
    Advance, Claim, Claimed, Due, Execution, Finish, Held, LongRetry, Recorded, Recording,
    Settlement, Sight,
};
use ports::store::{Page, PageRequest};
use ports::{FiringStore, StoreError};
use store_dynamodb::DynamoJobStore;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fails {
    /// The request is lost: nothing is done.
    Before,
    /// The answer is lost: it is done.
    After,
}

/// Calls that fail: of all ports together, so that each of them has its turn.
#[derive(Debug, Default)]
pub(super) struct Trouble(Mutex<Plan>);

#[derive(Debug, Default)]
struct Plan {
    calls: u64,
    fails: Option<(u64, Fails)>,
}

impl Trouble {
    /// Lets the n-th call from now on fail.
    pub(super) fn on_call(&self, n: u64, fails: Fails) {
        *self.0.lock().unwrap() = Plan { calls: 0, fails: Some((n, fails)) };
    }

    /// Calls since that was said.
    pub(super) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    /// Counts a call; how it fails, if it does.
    pub(super) fn of_this_call(&self) -> Option<Fails> {
        let mut plan = self.0.lock().unwrap();
        plan.calls += 1;
        plan.fails.filter(|(n, _)| *n == plan.calls).map(|(_, fails)| fails)
    }
}

pub(super) struct Fronted {
    pub(super) inner: Arc<DynamoJobStore>,
    pub(super) trouble: Arc<Trouble>,
    /// Per shard, before when nothing is due.
    quiet: Mutex<HashMap<u32, DateTime<Utc>>>,
}

impl Fronted {
    pub(super) fn new(inner: Arc<DynamoJobStore>, trouble: Arc<Trouble>) -> Self {
        Self { inner, trouble, quiet: Mutex::default() }
    }

    /// Forgets what it knows of the index: something may have changed.
    pub(super) fn stir(&self) {
        self.quiet.lock().unwrap().clear();
    }

    /// Before when nothing is due in any shard, if that is known of all.
    pub(super) fn quiet_until(&self) -> Option<DateTime<Utc>> {
        let quiet = self.quiet.lock().unwrap();
        let all = u32::try_from(quiet.len()).unwrap() == self.inner.shards();
        quiet.values().min().copied().filter(|_| all)
    }

    async fn group<T>(
        &self,
        len: usize,
        done: impl Future<Output = Vec<Result<T, StoreError>>> + Send,
    ) -> Vec<Result<T, StoreError>> {
        match self.trouble.of_this_call() {
            None => done.await,
            Some(Fails::Before) => (0..len).map(|_| Err(throttled())).collect(),
            Some(Fails::After) => done.await.into_iter().map(|_| Err(throttled())).collect(),
        }
    }

    async fn call<T>(
        &self,
        done: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.trouble.of_this_call() {
            None => done.await,
            Some(Fails::Before) => Err(throttled()),
            Some(Fails::After) => {
                done.await?;
                Err(throttled())
            }
        }
    }
}

fn throttled() -> StoreError {
    StoreError::Throttled("as the test asked for".into())
}

#[async_trait]
impl FiringStore for Fronted {
    fn shards(&self) -> u32 {
        self.inner.shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        let quiet = self.quiet.lock().unwrap().get(&shard).copied();
        if quiet.is_some_and(|quiet| until < quiet) {
            return Ok(Page { items: Vec::new(), next: None });
        }
        let found = self.inner.due(shard, until, page).await?;
        if !found.items.is_empty() && self.trouble.of_this_call().is_some() {
            return Err(throttled());
        }
        if found.items.is_empty() {
            let first = PageRequest { from: None, items_max: 1 };
            let later = self.inner.due(shard, DateTime::<Utc>::MAX_UTC, first).await?;
            let next = later.items.first().map_or(DateTime::<Utc>::MAX_UTC, |due| due.due_at);
            self.quiet.lock().unwrap().insert(shard, next);
        }
        Ok(found)
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        // What was due moves on, in shards that were not quiet.
        self.group(advances.len(), self.inner.advance(advances)).await
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        self.group(claims.len(), self.inner.claim(claims)).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        self.group(claims.len(), self.inner.release(claims)).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<Sight>>, StoreError> {
        self.call(self.inner.look(jobs)).await
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        self.group(recordings.len(), self.inner.record(recordings)).await
    }

    async fn settle(&self, settlements: &[Settlement]) -> Vec<Result<bool, StoreError>> {
        self.group(settlements.len(), self.inner.settle(settlements)).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.stir();
        self.call(self.inner.finish(finish)).await
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.stir();
        self.group(retries.len(), self.inner.keep_retries(retries)).await
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.stir();
        self.group(retries.len(), self.inner.drop_retries(retries)).await
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.call(self.inner.retries(job_uid, max)).await
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.stir();
        self.call(self.inner.delete_finished(job, generation)).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.stir();
        self.call(self.inner.purge(collection_uid)).await
    }

    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.call(self.inner.executions(job_uid, page)).await
    }
}
