//! When the first timers of shards are read again, over a store with two shards.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use minutehand_ports::store::{Advance, DueTimer, Layer, Page, PulseOf, TimerKey, TimersLayer};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage, Snapshots, StoreError};
use minutehand_testkit::SetClock;
use minutehand_testkit::services::{NoOutages, NoTimers, Unused};

use super::super::*;

/// The timers of two shards: which, and when each is due.
type Shards = [Vec<(String, DateTime<Utc>)>; 2];

/// Timers of deleted collections, by shard, and the queue that their messages go to.
#[derive(Default)]
struct TwoShards {
    timers: Mutex<Shards>,
    is_down: AtomicBool,
}

impl TwoShards {
    fn timers(&self) -> MutexGuard<'_, Shards> {
        self.timers.lock().unwrap()
    }

    /// As another process does it.
    fn add(&self, shard: usize, name: &str, due: i64) {
        self.timers()[shard].push((name.to_owned(), at(due)));
    }

    fn first(&self) -> Option<DateTime<Utc>> {
        self.timers().iter().flatten().map(|(_, due_at)| *due_at).min()
    }
}

impl Layer for TwoShards {
    type Inner = NoTimers;

    fn inner(&self) -> Arc<NoTimers> {
        Arc::new(NoTimers)
    }
}

#[async_trait]
impl TimersLayer for TwoShards {
    fn shards(&self) -> u32 {
        2
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(StoreError::Throttled("the test asked for it".into()));
        }
        let mut timers = self.timers()[usize::try_from(shard).unwrap()].clone();
        timers.sort_by_key(|(_, due_at)| *due_at);
        let due = timers.into_iter().filter(|(_, due_at)| *due_at <= until);
        let due = due.map(|(collection_uid, due_at)| {
            let what = DueTimer::Purge { collection_uid };
            Due { due_at, what }
        });
        Ok(Page { items: due.take(page.items_max as usize).collect(), next: None })
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let mut timers = self.timers();
        let mut moved = Vec::new();
        for Advance { timer, from, to, .. } in advances {
            let TimerKey::Purge { collection_uid } = timer else { panic!("{timer:?}") };
            let seen = (collection_uid.clone(), *from);
            let found = timers.iter_mut().flatten().find(|timer| **timer == seen);
            moved.push(Ok(found.map(|timer| timer.1 = *to).is_some()));
        }
        moved
    }
}

#[async_trait]
impl DispatchQueue for TwoShards {
    async fn send(&self, _: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        Ok(())
    }
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn sweeper() -> (Arc<TwoShards>, Arc<SetClock>, Sweeper) {
    let (store, clock) = (Arc::new(TwoShards::default()), Arc::new(SetClock::at(at(0))));
    let heartbeat = Heartbeat::new(Arc::new(NoOutages), clock.clone(), PulseOf::Sweepers);
    let (jobs, events) = (Arc::new(Unused::<dyn Snapshots>::default()), Arc::new(()));
    let dispatcher = Dispatcher::new(store.clone(), jobs, store.clone(), events, clock.clone());
    let sweeper = Sweeper::new(store.clone(), dispatcher, Arc::new(heartbeat), clock.clone());
    (store, clock, sweeper)
}

fn next(sweeper: &Sweeper) -> Option<DateTime<Utc>> {
    pollster::block_on(sweeper.next_due_at()).unwrap()
}

#[test]
fn a_shard_of_which_a_pass_has_found_timers_is_read_again() {
    let (store, _clock, sweeper) = sweeper();
    store.add(0, "a", 10_000);
    store.add(1, "b", 20_000);
    assert_eq!(next(&sweeper), Some(at(10_000)));
    // Another process creates a timer that is due soon. The pass finds and moves it.
    store.add(1, "c", 5);
    let pass = pollster::block_on(sweeper.pass(0, pending()));
    assert_eq!(pass.dispatched.timers, 1);
    let moved = store.first();
    assert!(moved > Some(at(5)) && moved < Some(at(10_000)), "{moved:?}");
    assert_eq!(next(&sweeper), moved);
}

#[test]
fn a_shard_that_a_pass_cannot_read_is_read_again() {
    let (store, _clock, sweeper) = sweeper();
    store.add(0, "a", 10_000);
    assert_eq!(next(&sweeper), Some(at(10_000)));
    store.add(0, "b", 300);
    store.is_down.store(true, Ordering::Relaxed);
    assert_eq!(pollster::block_on(sweeper.pass(0, pending())).failed, 2);
    store.is_down.store(false, Ordering::Relaxed);
    assert_eq!(next(&sweeper), Some(at(300)));
}

#[test]
fn timers_that_others_create_are_known_after_half_a_minute() {
    let (store, clock, sweeper) = sweeper();
    store.add(0, "a", 10_000);
    assert_eq!(next(&sweeper), Some(at(10_000)));
    store.add(0, "b", 300);
    store.add(1, "c", 200);
    clock.advance(TimeDelta::seconds(29));
    assert_eq!(next(&sweeper), Some(at(10_000)), "the shards were read 29 seconds ago");
    clock.advance(TimeDelta::seconds(1));
    assert_eq!(next(&sweeper), Some(at(200)));
}
