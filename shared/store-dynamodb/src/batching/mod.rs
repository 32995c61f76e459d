//! Gathers concurrent calls into groups.
//!
//! On one machine a commit costs the same whether it holds one claim or a hundred. So calls of one
//! kind go through one task: while it performs a group, the next group gathers. A call that comes
//! alone is a group of its own, and waits for no other call of its kind.
//!
//! A call is performed even if its caller has gone, as if its answer was lost.
//!
//! When thousands of attempts are due at one instant, the store is busy for longer than an instant.
//! Then calls that an action waits for go first:
//!
//! 1. claims and snapshots go at once;
//! 2. records go when no call of the first kind is open and no attempt waits for its start permit;
//! 3. counter updates, releases, failed occurrences, look-ups of evicted attempts and the ends of jobs go
//!    when no record is open either.
//!
//! Collections take turns for claims and snapshots: a burst of one collection is not before the calls of
//! another.
//!
//! No call waits longer than [`YIELD_MAX`](priority::YIELD_MAX) for calls of a higher priority. After
//! that all calls that have come by then are performed, so the last kind keeps up under any load.

mod gathering;
mod grouped;
mod host;
mod join;
mod permits;
mod priority;
mod start_limiter;
mod timer_changes;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, Pulse, Slot, SlotBook};
use minutehand_domain::limits::Concurrent;
use minutehand_domain::recently_counted::end_of;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, CounterUpdate, Due, Finish,
    HistoryEntry, JobSnapshot, LongRetry, Page, PageRequest, Pause, PulseOf, PulseRecord, Recorded,
    SlotRequest, TurnsRead, TurnsWrite,
};
use minutehand_ports::{
    Attempts, Counters, History, Pulses, Removal, RetryTimers, Seats, Slots, Snapshots, StoreError,
    Timers, Turns,
};

use crate::counters::AskedEvicted;
use crate::store::DynamoStore;
use crate::table::SharedError;
use gathering::{Gathering, add_to_group};
pub use grouped::{GroupedStore, SnapshotRead};
use host::TokioHost;
pub use host::{Host, Running};
use join::join_updates;
use priority::Priorities;
use start_limiter::StartLimiter;
pub use timer_changes::TimerChanges;

/// A store that gathers concurrent calls of each kind that firing repeats into groups, and limits how many
/// attempts start at the same moment.
pub struct BatchingStore<S = DynamoStore> {
    store: Arc<S>,
    claims: Gathering<ClaimRequest, Claimed>,
    releases: Gathering<Claim, ()>,
    snapshots: Gathering<JobRef, Option<Arc<JobSnapshot>>>,
    records: Gathering<(Claim, Record), Recorded>,
    failures: Gathering<FailedOccurrence, ()>,
    updates: Gathering<CounterUpdate, bool>,
    evicted: Gathering<AskedEvicted, bool>,
    expiries: Gathering<Finish, bool>,
    finishes: Gathering<Finish, bool>,
    starts: StartLimiter,
    timer_changes: Arc<TimerChanges>,
}

impl<S: GroupedStore> BatchingStore<S> {
    /// Gathers the calls of a store. It must be made within a Tokio runtime; its tasks end when it is
    /// dropped.
    #[must_use]
    pub fn new(store: Arc<S>) -> Self {
        let host: Arc<dyn Host> = Arc::new(TokioHost::new());
        Self::on(&host, store)
    }

    /// Gathers the calls of a store, in tasks on this host.
    #[must_use]
    pub fn on(host: &Arc<dyn Host>, store: Arc<S>) -> Self {
        let Priorities { before_actions, records, last } = Priorities::new(host);
        Self {
            claims: Gathering::new(&store, &before_actions, add_to_group, |store, group| {
                Box::pin(async move { store.claim_all(&group).await })
            }),
            releases: Gathering::new(&store, &last, add_to_group, |store, group| {
                Box::pin(async move { store.release_all(&group).await })
            }),
            snapshots: Gathering::new(&store, &before_actions, add_to_group, |store, group| {
                Box::pin(async move {
                    match store.read_all(&group).await {
                        Ok(snapshots) => snapshots.into_iter().map(Ok).collect(),
                        Err(error) => {
                            let error = SharedError::new(error);
                            group.iter().map(|_| Err(error.copy())).collect()
                        }
                    }
                })
            }),
            records: Gathering::new(&store, &records, add_to_group, |store, group| {
                Box::pin(async move { store.record_all(&group).await })
            }),
            failures: Gathering::new(&store, &last, add_to_group, |store, group| {
                Box::pin(async move { store.add_failures(&group).await })
            }),
            updates: Gathering::new(&store, &last, join_updates, |store, group| {
                Box::pin(async move { store.add_all(&group).await })
            }),
            evicted: Gathering::new(&store, &last, add_to_group, |store, group| {
                Box::pin(async move { store.are_evicted(&group).await })
            }),
            expiries: Gathering::new(&store, &last, add_to_group, |store, group| {
                Box::pin(async move { store.expire_all(&group).await })
            }),
            finishes: Gathering::new(&store, &last, add_to_group, |store, group| {
                Box::pin(async move { store.finish_all(&group).await })
            }),
            starts: StartLimiter::new(before_actions),
            timer_changes: Arc::default(),
            store,
        }
    }
}

impl<S> BatchingStore<S> {
    /// Tells which timers were moved through this store, for a sweeper that waits for the next one.
    #[must_use]
    pub fn timer_changes(&self) -> Arc<TimerChanges> {
        self.timer_changes.clone()
    }
}

#[async_trait]
impl<S: GroupedStore> Attempts for BatchingStore<S> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let collection_uid = &request.claim.job.collection_uid;
        self.claims.ask_in_turn(collection_uid, request.clone()).await
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.starts.end(&claim.claim_id);
        self.releases.ask(claim.clone()).await
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.starts.end(&claim.claim_id);
        self.store.postpone(claim, hold, now).await
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        self.starts.end(&claim.claim_id);
        self.records.ask((claim.clone(), record.clone())).await
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        self.store.leave_out(job_uid, left_out).await
    }

    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        self.failures.ask(failed.clone()).await
    }
}

#[async_trait]
impl<S: GroupedStore> Turns for BatchingStore<S> {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        self.store.read_turns(job_uid, attempt).await
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        self.store.write_turns(write).await
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        self.store.give_back_turn(claim).await
    }
}

#[async_trait]
impl<S: GroupedStore> Slots for BatchingStore<S> {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        self.store.read_slots(collection_uid).await
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError> {
        self.store.open_slots(collection_uid, as_read, book).await
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        self.store.take_slot(request).await
    }
}

#[async_trait]
impl<S: GroupedStore> Seats for BatchingStore<S> {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        self.store.taken_seats(collection_uid, now).await
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.store.take_seat(claim, limit, now).await
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        self.store.give_back_seat(claim).await
    }
}

#[async_trait]
impl<S: GroupedStore> Pulses for BatchingStore<S> {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        self.store.read_pulses().await
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        self.store.beat(of, as_read, pulse).await
    }
}

#[async_trait]
impl<S: GroupedStore> Snapshots for BatchingStore<S> {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        self.snapshots.ask_in_turn(&job.collection_uid, job.clone()).await
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.store.read_collection(collection_uid).await
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        self.store.prefetch_by(claim, self.read(&claim.job)).await
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let permit = self.starts.permit(&claim.job.collection_uid).await;
        let snapshot = match self.store.unchanged_prefetched(claim) {
            Some(snapshot) => Some(snapshot),
            None => self.read(&claim.job).await?,
        };
        if snapshot.is_some() {
            self.starts.begin(&claim.claim_id, permit);
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl<S: GroupedStore> Counters for BatchingStore<S> {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        self.updates.ask(update.clone()).await
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let (job_uid, attempt) = (job_uid.to_owned(), attempt.clone());
        let end = end_of(&attempt, ended_at);
        self.evicted.ask(AskedEvicted { job_uid, attempt, end }).await
    }
}

#[async_trait]
impl<S: GroupedStore> Timers for BatchingStore<S> {
    fn shards(&self) -> u32 {
        self.store.shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.store.due(shard, until, page).await
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let moved = self.store.advance(advances).await;
        self.timer_changes.moved(advances);
        moved
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        self.store.collection_path(collection_uid).await
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.expiries.ask(finish.clone()).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.finishes.ask(finish.clone()).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        self.store.pause(pause).await
    }
}

#[async_trait]
impl<S: GroupedStore> RetryTimers for BatchingStore<S> {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.store.keep(retry).await
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.store.remove(retry).await
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        RetryTimers::list(self.store.as_ref(), job_uid, max).await
    }
}

#[async_trait]
impl<S: GroupedStore> History for BatchingStore<S> {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        History::list(self.store.as_ref(), job_uid, page).await
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        self.store.attempts_between(job_uid, from, until).await
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        self.store.list_left_out(job_uid, page).await
    }
}

#[async_trait]
impl<S: GroupedStore> Removal for BatchingStore<S> {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.store.purge(collection_uid).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use minutehand_domain::attempt::Occurrence;
    use minutehand_embedded::Store;
    use tokio::time::Instant;

    use super::priority::YIELD_MAX;
    use super::start_limiter::STARTS_MAX;
    use super::*;
    use crate::ensure_table;

    /// More than two groups.
    const RELEASES: u32 = 1_000;

    #[tokio::test(start_paused = true)]
    async fn calls_of_the_last_priority_keep_up_while_an_attempt_waits_to_start() {
        let embedded = Store::in_memory().unwrap();
        ensure_table(&embedded.client(), "table").await.unwrap();
        let store = DynamoStore::new(embedded.client(), "table");
        let store = Arc::new(BatchingStore::new(Arc::new(store)));
        let mut permits = Vec::new();
        for number in 0..STARTS_MAX {
            permits.push(store.starts.permit(&number.to_string()).await);
        }
        let waiting = tokio::spawn({
            let store = store.clone();
            async move { store.starts.permit("last").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "no permit is left");

        let since = Instant::now();
        let releases = (0..RELEASES).map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.release(&claim(number)).await })
        });
        for release in releases.collect::<Vec<_>>() {
            release.await.unwrap().unwrap();
        }
        let yielded = since.elapsed();
        assert!(yielded >= YIELD_MAX, "it went before the start: {yielded:?}");
        assert!(yielded < 2 * YIELD_MAX, "each group waited: {yielded:?}");

        drop(permits);
        drop(waiting.await.unwrap());
        let since = Instant::now();
        store.release(&claim(0)).await.unwrap();
        assert!(since.elapsed() < YIELD_MAX, "nothing goes first");
        embedded.close().await;
    }

    #[tokio::test]
    async fn the_claims_of_a_burst_are_not_before_those_of_another_collection() {
        const BURST: u32 = 3_000;
        let embedded = Store::in_memory().unwrap();
        ensure_table(&embedded.client(), "table").await.unwrap();
        let store = DynamoStore::new(embedded.client(), "table");
        let store = Arc::new(BatchingStore::new(Arc::new(store)));
        let n_ended = Arc::new(AtomicU32::new(0));
        let burst: Vec<_> = (0..BURST)
            .map(|number| {
                let (store, n_ended) = (store.clone(), n_ended.clone());
                tokio::spawn(async move {
                    let request = ClaimRequest { claim: claim(number), now: DateTime::UNIX_EPOCH };
                    store.claim(&request).await.unwrap();
                    store.read(&request.claim.job).await.unwrap();
                    n_ended.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        while n_ended.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let mut other = claim(0);
        (other.job.uid, other.job.collection_uid) = ("other".to_owned(), "other".to_owned());
        let request = ClaimRequest { claim: other, now: DateTime::UNIX_EPOCH };
        store.claim(&request).await.unwrap();
        store.read(&request.claim.job).await.unwrap();
        let before = n_ended.load(Ordering::SeqCst);
        assert!(before < BURST / 2, "{before} of {BURST} were first");
        for call in burst {
            call.await.unwrap();
        }
        embedded.close().await;
    }

    fn claim(number: u32) -> Claim {
        let occurrence = Occurrence::Scheduled { nominal_at: DateTime::UNIX_EPOCH };
        let text = str::to_owned;
        Claim {
            job: JobRef { uid: text("job"), collection_uid: text("collection"), key: text("key") },
            attempt: Attempt { number, ..Attempt::first(0, occurrence) },
            claim_id: text("claim"),
            lease_until: DateTime::UNIX_EPOCH,
        }
    }
}
