//! The store in memory beside the real one: every call goes to both, and both have to answer the
//! same. So what is simulated is what is deployed.
//!
//! The index of timers is the one thing that is not compared: the simulated one is late on purpose.

use std::fmt::Debug;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, Pulse, Slot, SlotBook};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::limits::Concurrent;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::work_item::JobRef;
use minutehand_embedded::Store as Embedded;
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, CounterUpdate, Due, Finish,
    HistoryEntry, JobRecord, JobSnapshot, LongRetry, Page, PageRequest, Pause, PulseOf,
    PulseRecord, Recorded, Recount, ResourceGroup, SaveJob, Saved, SlotRequest, TurnsRead,
    TurnsWrite,
};
use minutehand_ports::{
    Attempts, Collections, Counters, History, Jobs, Pulses, Removal, RetryTimers, Seats, Slots,
    Snapshots, StoreError, Timers, Turns,
};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use tokio::runtime::Runtime;

use super::faults::Store;
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

/// Calls both stores, and gives the answer on which they agree.
macro_rules! both {
    ($twin:ident, $port:ident::$method:ident($($argument:expr),*)) => {{
        let real = $twin.real($port::$method(&$twin.store(), $($argument),*));
        Ok(same($port::$method($twin.memory.as_ref(), $($argument),*).await?, &real?))
    }};
}

#[async_trait]
impl Collections for Twin {
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        both!(self, Collections::find(place, name))
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        Collections::list(self.memory.as_ref(), subscription, group, page).await
    }

    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        both!(self, Collections::create(collection, entry))
    }

    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        both!(self, Collections::replace(collection, entry))
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        both!(self, Collections::delete(collection, now, entry))
    }
}

#[async_trait]
impl Jobs for Twin {
    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        both!(self, Jobs::find(collection_uid, name))
    }

    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        Jobs::list(self.memory.as_ref(), collection_uid, now, page).await
    }

    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes, entry } = save;
        both!(self, Jobs::create(SaveJob { collection, job, timer_changes, entry }, jobs_max, now))
    }

    async fn count(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError> {
        both!(self, Jobs::count(collection, now))
    }

    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        recount: Recount,
    ) -> Result<Saved, StoreError> {
        both!(self, Jobs::correct_count(collection, recount))
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes, entry } = save;
        both!(self, Jobs::replace(SaveJob { collection, job, timer_changes, entry }))
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        both!(self, Jobs::delete(collection, job, entry))
    }
}

#[async_trait]
impl Timers for Twin {
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

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let real = self.real(self.store().advance(advances));
        same(self.memory.advance(advances).await, &real)
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        both!(self, Timers::expire_definition(finish))
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        both!(self, Timers::finish(finish))
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        both!(self, Timers::pause(pause))
    }
}

#[async_trait]
impl History for Twin {
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

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        both!(self, History::list_left_out(job_uid, page.clone()))
    }
}

#[async_trait]
impl Attempts for Twin {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        both!(self, Attempts::claim(request))
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        both!(self, Attempts::release(claim))
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        both!(self, Attempts::postpone(claim, hold, now))
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        both!(self, Attempts::record(claim, record))
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        both!(self, Attempts::leave_out(job_uid, left_out))
    }

    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        both!(self, Attempts::add_failure(failed))
    }
}

#[async_trait]
impl Turns for Twin {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        both!(self, Turns::read_turns(job_uid, attempt))
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        both!(self, Turns::write_turns(write))
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        both!(self, Turns::give_back_turn(claim))
    }
}

#[async_trait]
impl Slots for Twin {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        both!(self, Slots::read_slots(collection_uid))
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError> {
        both!(self, Slots::open_slots(collection_uid, as_read, book))
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        both!(self, Slots::take_slot(request))
    }
}

#[async_trait]
impl Seats for Twin {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        both!(self, Seats::taken_seats(collection_uid, now))
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        both!(self, Seats::take_seat(claim, limit, now))
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        both!(self, Seats::give_back_seat(claim))
    }
}

#[async_trait]
impl Snapshots for Twin {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        both!(self, Snapshots::read(job))
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        both!(self, Snapshots::read_collection(collection_uid))
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let real = self.real(self.store().prefetch(claim));
        same(self.memory.prefetch(claim).await, &real)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        both!(self, Snapshots::read_for_start(claim))
    }
}

#[async_trait]
impl Counters for Twin {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        both!(self, Counters::add(update))
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        both!(self, Counters::is_evicted(job_uid, attempt, ended_at))
    }
}

#[async_trait]
impl RetryTimers for Twin {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        both!(self, RetryTimers::keep(retry))
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        both!(self, RetryTimers::remove(retry))
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        both!(self, RetryTimers::list(job_uid, max))
    }
}

#[async_trait]
impl Pulses for Twin {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        both!(self, Pulses::read_pulses())
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        both!(self, Pulses::beat(of, as_read, pulse))
    }
}

#[async_trait]
impl Removal for Twin {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        both!(self, Removal::purge(collection_uid))
    }
}
