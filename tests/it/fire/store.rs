//! The store in front of the store: it fails when a test asks for it, and knows which shards of the
//! index have nothing due, so that a year of ticks is soon over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::work_item::JobRef;
use ports::firing::{
    Advance, Claim, Claimed, CounterUpdate, Due, DueTimer, Execution, Finish, Held, JobSnapshot,
    JobTimer, LongRetry, Mark, Recorded, Recording,
};
use ports::store::{Page, PageRequest};
use ports::{FiringStore, History, StoreError, TimerStore};
use store_dynamodb::DynamoStore;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fails {
    /// The request is lost: nothing is done.
    Before,
    /// The answer is lost: it is done.
    After,
}

/// Calls that fail: of all ports together, each so many of them, so that each has its turn.
#[derive(Debug, Default)]
pub(super) struct Trouble(Mutex<Plan>);

#[derive(Debug, Default)]
struct Plan {
    calls: u64,
    fails: Option<Failing>,
}

/// Which calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failing {
    /// The first of them, from 1.
    pub(super) first: u64,
    /// Then each of so many.
    pub(super) each: u64,
    pub(super) how: Fails,
}

impl Trouble {
    /// Lets calls from now on fail.
    pub(super) fn begin(&self, fails: Failing) {
        *self.0.lock().unwrap() = Plan { calls: 0, fails: Some(fails) };
    }

    /// Calls since that was said.
    pub(super) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    /// Counts a call; how it fails, if it does.
    pub(super) fn of_this_call(&self) -> Option<Fails> {
        let mut plan = self.0.lock().unwrap();
        plan.calls += 1;
        let fails = plan.fails?;
        let after = plan.calls.checked_sub(fails.first)?;
        after.is_multiple_of(fails.each).then_some(fails.how)
    }
}

/// What is known of the index.
#[derive(Debug, Default)]
struct Known {
    /// Per shard, before when nothing is due.
    quiet: HashMap<u32, DateTime<Utc>>,
    /// The shards of jobs that were seen in it.
    shards: HashMap<String, u32>,
}

/// What was asked of the store so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// Jobs that were looked at.
    pub(super) looks: usize,
    /// Writes of counters.
    pub(super) settlements: usize,
}

pub(super) struct Fronted {
    pub(super) inner: Arc<DynamoStore>,
    pub(super) trouble: Arc<Trouble>,
    asked: Mutex<Asked>,
    known: Mutex<Known>,
}

impl Fronted {
    pub(super) fn new(inner: Arc<DynamoStore>, trouble: Arc<Trouble>) -> Self {
        Self { inner, trouble, asked: Mutex::default(), known: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Asked {
        *self.asked.lock().unwrap()
    }

    /// Forgets what it knows of the index: something may have changed.
    pub(super) fn stir(&self) {
        self.known.lock().unwrap().quiet.clear();
    }

    /// The same for the shard of a job.
    fn stir_job(&self, uid: &str) {
        let mut known = self.known.lock().unwrap();
        match known.shards.get(uid).copied() {
            Some(shard) => drop(known.quiet.remove(&shard)),
            None => known.quiet.clear(),
        }
    }

    fn stir_retries(&self, retries: &[LongRetry]) {
        for retry in retries {
            self.stir_job(&retry.job.uid);
        }
    }

    /// Before when nothing is due in any shard, if that is known of all.
    pub(super) fn quiet_until(&self) -> Option<DateTime<Utc>> {
        let known = self.known.lock().unwrap();
        let all = u32::try_from(known.quiet.len()).unwrap() == self.inner.shards();
        known.quiet.values().min().copied().filter(|_| all)
    }

    /// When the first timer of a shard is due.
    async fn first(&self, shard: u32) -> Result<DateTime<Utc>, StoreError> {
        let known = self.known.lock().unwrap().quiet.get(&shard).copied();
        if let Some(quiet) = known {
            return Ok(quiet);
        }
        let first = PageRequest { from: None, items_max: 1 };
        let page = self.inner.due(shard, DateTime::<Utc>::MAX_UTC, first).await?;
        let first = page.items.first().map_or(DateTime::<Utc>::MAX_UTC, |due| due.due_at);
        self.known.lock().unwrap().quiet.insert(shard, first);
        Ok(first)
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
impl TimerStore for Fronted {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        self.group(advances.len(), self.inner.advance(advances)).await
    }
}

#[async_trait]
impl History for Fronted {
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.call(self.inner.executions(job_uid, page)).await
    }
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
        if until < self.first(shard).await? {
            return Ok(Page { items: Vec::new(), next: None });
        }
        if self.trouble.of_this_call().is_some() {
            return Err(throttled());
        }
        let found = self.inner.due(shard, until, page).await?;
        let mut known = self.known.lock().unwrap();
        // What is found is about to move.
        known.quiet.remove(&shard);
        for due in &found.items {
            if let DueTimer::Job(JobTimer { job, .. }) = &due.what {
                known.shards.insert(job.uid.clone(), shard);
            }
        }
        Ok(found)
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        self.group(claims.len(), self.inner.claim(claims)).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        self.group(claims.len(), self.inner.release(claims)).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
        self.asked.lock().unwrap().looks += jobs.len();
        self.call(self.inner.look(jobs)).await
    }

    fn mark(&self) -> Option<Mark> {
        self.inner.mark()
    }

    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        self.inner.stands(job, since)
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        self.group(recordings.len(), self.inner.record(recordings)).await
    }

    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        self.asked.lock().unwrap().settlements += settlements.len();
        self.group(settlements.len(), self.inner.settle(settlements)).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.stir_job(&finish.job_uid);
        self.call(self.inner.finish(finish)).await
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.stir_retries(retries);
        self.group(retries.len(), self.inner.keep_retries(retries)).await
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.stir_retries(retries);
        self.group(retries.len(), self.inner.drop_retries(retries)).await
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.call(self.inner.retries(job_uid, max)).await
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.stir_job(&job.uid);
        self.call(self.inner.delete_finished(job, generation)).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.stir();
        self.call(self.inner.purge(collection_uid)).await
    }
}
