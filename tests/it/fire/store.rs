//! The store in front of the store. It fails when a test asks for it, and it remembers until when
//! nothing is due in a shard of the index, so that a year of ticks is soon over.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::StoreOfFiring;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::firing::Pulse;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, AlertsLayer, AttemptsLayer, Call, Claim, CountersLayer, Due, DueTimer, Finish,
    HistoryLayer, JobSnapshot, JobTimer, Layer, LeaveOpen, LeftOpen, LongRetry, OpenAttemptsLayer,
    Page, PageRequest, Pause, PulseOf, PulseRecord, PulsesLayer, RemovalLayer, RetryTimersLayer,
    SeatsLayer, SlotsLayer, SnapshotsLayer, TimersLayer, TurnsLayer,
};
use minutehand_ports::{Snapshots, StoreError};

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
    /// The last call that may fail.
    last: Option<u64>,
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
        *self.0.lock().unwrap() = Plan { calls: 0, fails: Some(fails), last: None };
    }

    /// Lets no call fail after so many.
    pub(super) fn end_after(&self, calls: u64) {
        self.0.lock().unwrap().last = Some(calls);
    }

    /// Calls since that was said.
    pub(super) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    /// Counts a call; how it fails, if it does.
    pub(super) fn of_this_call(&self) -> Option<Fails> {
        let mut plan = self.0.lock().unwrap();
        plan.calls += 1;
        let fails = plan.fails.filter(|_| plan.last.is_none_or(|last| plan.calls <= last))?;
        let after = plan.calls.checked_sub(fails.first)?;
        after.is_multiple_of(fails.each).then_some(fails.how)
    }
}

/// The state of the index.
#[derive(Debug, Default)]
struct Known {
    /// Per shard, before when nothing is due.
    quiet: HashMap<u32, DateTime<Utc>>,
    /// The shards of jobs that were seen in it.
    shards: HashMap<String, u32>,
}

pub(super) struct Fronted {
    inner: Arc<dyn StoreOfFiring>,
    trouble: Arc<Trouble>,
    snapshots_read: Mutex<usize>,
    known: Mutex<Known>,
}

impl Fronted {
    pub(super) fn new(inner: Arc<dyn StoreOfFiring>, trouble: Arc<Trouble>) -> Self {
        Self { inner, trouble, snapshots_read: Mutex::default(), known: Mutex::default() }
    }

    /// How many snapshots of jobs were read so far.
    pub(super) fn snapshots_read(&self) -> usize {
        *self.snapshots_read.lock().unwrap()
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

    async fn unless_troubled<T>(
        &self,
        done: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.trouble.of_this_call() {
            None => done.await,
            Some(Fails::Before) => Err(throttled()),
            Some(Fails::After) => {
                done.await?;
                Err(StoreError::Unavailable("the test lost the answer".into()))
            }
        }
    }
}

impl Layer for Fronted {
    type Inner = dyn StoreOfFiring;

    fn inner(&self) -> Arc<dyn StoreOfFiring> {
        self.inner.clone()
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, dyn StoreOfFiring, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.unless_troubled(call(self.inner.clone())).await
    }
}

fn throttled() -> StoreError {
    StoreError::Throttled("as the test asked for".into())
}

#[async_trait]
impl TimersLayer for Fronted {
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

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let failed = || advances.iter().map(|_| Err(throttled())).collect();
        match self.trouble.of_this_call() {
            None => self.inner.advance(advances).await,
            Some(Fails::Before) => failed(),
            Some(Fails::After) => {
                self.inner.advance(advances).await;
                failed()
            }
        }
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        self.inner.collection_path(collection_uid).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.stir_job(&finish.job.uid);
        self.unless_troubled(self.inner.finish(finish)).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        self.stir_job(&pause.job.uid);
        self.unless_troubled(self.inner.pause(pause)).await
    }
}

impl HistoryLayer for Fronted {}
impl AttemptsLayer for Fronted {}

#[async_trait]
impl OpenAttemptsLayer for Fronted {
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        self.stir_job(&claim.job.uid);
        self.unless_troubled(self.inner.leave_open(claim, open)).await
    }
}

impl AlertsLayer for Fronted {}
impl SlotsLayer for Fronted {}
impl SeatsLayer for Fronted {}
impl TurnsLayer for Fronted {}

#[async_trait]
impl SnapshotsLayer for Fronted {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        *self.snapshots_read.lock().unwrap() += 1;
        self.unless_troubled(Snapshots::read(&*self.inner, job)).await
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let snapshot = self.inner.prefetch(claim).await?;
        *self.snapshots_read.lock().unwrap() += 1;
        self.trouble.of_this_call().is_none().then_some(snapshot)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        *self.snapshots_read.lock().unwrap() += 1;
        self.unless_troubled(self.inner.read_for_start(claim)).await
    }
}

#[async_trait]
impl PulsesLayer for Fronted {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        self.inner.read_pulses().await
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        self.inner.beat(of, as_read, pulse).await
    }
}

impl CountersLayer for Fronted {}

#[async_trait]
impl RetryTimersLayer for Fronted {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.stir_job(&retry.job.uid);
        self.unless_troubled(self.inner.keep(retry)).await
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.stir_job(&retry.job.uid);
        self.unless_troubled(self.inner.remove(retry)).await
    }
}

#[async_trait]
impl RemovalLayer for Fronted {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.stir();
        self.unless_troubled(self.inner.purge(collection_uid)).await
    }
}
