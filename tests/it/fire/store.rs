//! The store in front of the store. It fails when a test asks for it, and it remembers until when
//! nothing is due in a shard of the index, so that a year of ticks is soon over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::FireStore;
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, Pulse, Slot, SlotBook};
use minutehand_domain::limits::Concurrent;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, CounterUpdate, Due, DueTimer, Finish,
    HistoryEntry, JobSnapshot, JobTimer, LongRetry, Page, PageRequest, Pause, PulseOf, PulseRecord,
    Recorded, SlotRequest, TurnsRead, TurnsWrite,
};
use minutehand_ports::{
    Attempts, Counters, History, Pulses, Removal, RetryTimers, Seats, Slots, Snapshots, StoreError,
    Timers, Turns,
};

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

/// The state of the index.
#[derive(Debug, Default)]
struct Known {
    /// Per shard, before when nothing is due.
    quiet: HashMap<u32, DateTime<Utc>>,
    /// The shards of jobs that were seen in it.
    shards: HashMap<String, u32>,
}

pub(super) struct Fronted {
    inner: FireStore,
    trouble: Arc<Trouble>,
    snapshots_read: Mutex<usize>,
    known: Mutex<Known>,
}

impl Fronted {
    pub(super) fn new(inner: FireStore, trouble: Arc<Trouble>) -> Self {
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
        let all = u32::try_from(known.quiet.len()).unwrap() == self.inner.timers.shards();
        known.quiet.values().min().copied().filter(|_| all)
    }

    /// When the first timer of a shard is due.
    async fn first(&self, shard: u32) -> Result<DateTime<Utc>, StoreError> {
        let known = self.known.lock().unwrap().quiet.get(&shard).copied();
        if let Some(quiet) = known {
            return Ok(quiet);
        }
        let first = PageRequest { from: None, items_max: 1 };
        let page = self.inner.timers.due(shard, DateTime::<Utc>::MAX_UTC, first).await?;
        let first = page.items.first().map_or(DateTime::<Utc>::MAX_UTC, |due| due.due_at);
        self.known.lock().unwrap().quiet.insert(shard, first);
        Ok(first)
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
impl Timers for Fronted {
    fn shards(&self) -> u32 {
        self.inner.timers.shards()
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
        let found = self.inner.timers.due(shard, until, page).await?;
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
            None => self.inner.timers.advance(advances).await,
            Some(Fails::Before) => failed(),
            Some(Fails::After) => {
                self.inner.timers.advance(advances).await;
                failed()
            }
        }
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        self.inner.timers.collection_path(collection_uid).await
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.call(self.inner.timers.expire_definition(finish)).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.stir_job(&finish.job.uid);
        self.call(self.inner.timers.finish(finish)).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        self.stir_job(&pause.job.uid);
        self.call(self.inner.timers.pause(pause)).await
    }
}

#[async_trait]
impl History for Fronted {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        self.call(self.inner.history.list(job_uid, page)).await
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        self.call(self.inner.history.attempts_between(job_uid, from, until)).await
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        self.call(self.inner.history.list_left_out(job_uid, page)).await
    }
}

#[async_trait]
impl Attempts for Fronted {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.call(self.inner.attempts.claim(request)).await
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.call(self.inner.attempts.release(claim)).await
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.call(self.inner.attempts.postpone(claim, hold, now)).await
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        self.call(self.inner.attempts.record(claim, record)).await
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        self.call(self.inner.attempts.leave_out(job_uid, left_out)).await
    }

    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        self.call(self.inner.attempts.add_failure(failed)).await
    }
}

#[async_trait]
impl Slots for Fronted {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        self.call(self.inner.slots.read_slots(collection_uid)).await
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError> {
        self.call(self.inner.slots.open_slots(collection_uid, as_read, book)).await
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        self.call(self.inner.slots.take_slot(request)).await
    }
}

#[async_trait]
impl Seats for Fronted {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        self.call(self.inner.seats.taken_seats(collection_uid, now)).await
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.call(self.inner.seats.take_seat(claim, limit, now)).await
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        self.call(self.inner.seats.give_back_seat(claim)).await
    }
}

#[async_trait]
impl Turns for Fronted {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        self.call(self.inner.turns.read_turns(job_uid, attempt)).await
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        self.call(self.inner.turns.write_turns(write)).await
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        self.call(self.inner.turns.give_back_turn(claim)).await
    }
}

#[async_trait]
impl Snapshots for Fronted {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        *self.snapshots_read.lock().unwrap() += 1;
        self.call(self.inner.snapshots.read(job)).await
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.call(self.inner.snapshots.read_collection(collection_uid)).await
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let snapshot = self.inner.snapshots.prefetch(claim).await?;
        *self.snapshots_read.lock().unwrap() += 1;
        self.trouble.of_this_call().is_none().then_some(snapshot)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        *self.snapshots_read.lock().unwrap() += 1;
        self.call(self.inner.snapshots.read_for_start(claim)).await
    }
}

#[async_trait]
impl Pulses for Fronted {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        self.inner.pulses.read_pulses().await
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        self.inner.pulses.beat(of, as_read, pulse).await
    }
}

#[async_trait]
impl Counters for Fronted {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        self.call(self.inner.counters.add(update)).await
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        self.call(self.inner.counters.is_evicted(job_uid, attempt, ended_at)).await
    }
}

#[async_trait]
impl RetryTimers for Fronted {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.stir_job(&retry.job.uid);
        self.call(self.inner.retries.keep(retry)).await
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.stir_job(&retry.job.uid);
        self.call(self.inner.retries.remove(retry)).await
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.call(self.inner.retries.list(job_uid, max)).await
    }
}

#[async_trait]
impl Removal for Fronted {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.stir();
        self.call(self.inner.removal.purge(collection_uid)).await
    }
}
