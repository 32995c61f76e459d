//! A herd of timers that are due at one instant, over an index that takes so many moves in a second.

#![expect(
    clippy::disallowed_methods,
    reason = "the time of the test is paused, and goes on with its waits"
)]

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::{Dispatcher, Heartbeat, Sweeper};
use minutehand_domain::firing::limits::PASS_MAX;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::{
    Advance, Due, DueTimer, Layer, Page, PageRequest, PulseOf, StoreError, TimerKey, TimersLayer,
};
use minutehand_ports::{Clock, DispatchQueue, QueueError, QueueMessage, Snapshots};
use minutehand_store_dynamodb::WRITES_IN_FLIGHT_MAX;
use minutehand_testkit::services::{NoOutages, NoTimers, Unused};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::super::{CONCURRENT_PAGES, GATHERED_MAX, SHARD_STRIDE};

/// The passes of this test, one at each minute.
const PASSES_MAX: u32 = 10;
/// The shards of a table.
const SHARDS: usize = 64;
/// How long a request to the table or the queue takes.
const REQUEST: Duration = Duration::from_millis(10);
/// How often the client tries a throttled write, and its pause after the first try; it doubles.
const TRIES: u32 = 4;
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
/// What the client may spend on tries after the first: each costs 5, and a success brings 1 back.
const RETRY_QUOTA: u32 = 500;
/// The moves that the index takes in a second, and those that it takes at once after a rest.
const MOVES_A_SECOND: f64 = 2_000.0;
const MOVES_AT_ONCE: f64 = 200.0;

type Key = (DateTime<Utc>, String);

/// What the queue has.
#[derive(Default)]
struct Sent {
    of: HashSet<String>,
    messages: usize,
    /// When the last one came whose timer had sent none before.
    last: Option<Instant>,
}

/// A table whose index throttles, its queue, and the time.
struct Throttling {
    began: Instant,
    timers: Mutex<Vec<BTreeSet<Key>>>,
    /// The moves that the index takes now, and when that was reckoned.
    room: Mutex<(f64, Instant)>,
    retry_quota: Mutex<u32>,
    sent: Mutex<Sent>,
    throttled: Mutex<usize>,
}

impl Throttling {
    fn with_herd(timers: usize) -> Self {
        let began = Instant::now();
        let mut shards = vec![BTreeSet::new(); SHARDS];
        for n in 0..timers {
            shards[n % SHARDS].insert((at(0), format!("{n:06}")));
        }
        Self {
            began,
            timers: Mutex::new(shards),
            room: Mutex::new((MOVES_AT_ONCE, began)),
            retry_quota: Mutex::new(RETRY_QUOTA),
            sent: Mutex::default(),
            throttled: Mutex::default(),
        }
    }

    /// Whether the index takes one more move.
    fn takes(&self) -> bool {
        let mut room = self.room.lock().unwrap();
        let now = Instant::now();
        let refilled = room.0 + (now - room.1).as_secs_f64() * MOVES_A_SECOND;
        *room = (refilled.min(MOVES_AT_ONCE), now);
        let takes = room.0 >= 1.0;
        if takes {
            room.0 -= 1.0;
        } else {
            *self.throttled.lock().unwrap() += 1;
        }
        takes
    }

    /// A move, as the client tries it.
    async fn move_one(&self, advance: &Advance) -> Result<bool, StoreError> {
        let mut backoff = FIRST_BACKOFF;
        for tried in 1..=TRIES {
            sleep(REQUEST).await;
            if self.takes() {
                let mut quota = self.retry_quota.lock().unwrap();
                *quota = (*quota + 1).min(RETRY_QUOTA);
                return Ok(self.moved(advance));
            }
            {
                let mut quota = self.retry_quota.lock().unwrap();
                if tried == TRIES || *quota < 5 {
                    break;
                }
                *quota -= 5;
            }
            sleep(backoff).await;
            backoff *= 2;
        }
        Err(StoreError::Throttled("the index takes no more".into()))
    }

    fn moved(&self, advance: &Advance) -> bool {
        let Advance { timer: TimerKey::Purge { collection_uid }, from, to, .. } = advance else {
            panic!("not of this test: {advance:?}");
        };
        let mut shards = self.timers.lock().unwrap();
        let shard = &mut shards[collection_uid.parse::<usize>().unwrap() % SHARDS];
        shard.remove(&(*from, collection_uid.clone()))
            && shard.insert((*to, collection_uid.clone()))
    }
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

#[async_trait]
impl Clock for Throttling {
    fn now(&self) -> DateTime<Utc> {
        at(0) + TimeDelta::from_std(self.began.elapsed()).unwrap()
    }

    async fn wait_until(&self, until: DateTime<Utc>) {
        sleep((until - self.now()).to_std().unwrap_or_default()).await;
    }

    async fn wait(&self, work: Duration) {
        sleep(work).await;
    }
}

impl Layer for Throttling {
    type Inner = NoTimers;

    fn inner(&self) -> Arc<NoTimers> {
        Arc::new(NoTimers)
    }
}

#[async_trait]
impl TimersLayer for Throttling {
    fn shards(&self) -> u32 {
        u32::try_from(SHARDS).unwrap()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        sleep(REQUEST).await;
        let shards = self.timers.lock().unwrap();
        let items_max = usize::try_from(page.items_max).unwrap();
        // The name of the last timer of the page before: all of the herd are due at one instant.
        let from = page.from.unwrap_or_default();
        let due = shards[usize::try_from(shard).unwrap()].iter();
        let due: Vec<&Key> = due
            .filter(|(due_at, name)| *due_at <= until && *name > from)
            .take(items_max + 1)
            .collect();
        let next = (due.len() > items_max).then(|| due[items_max - 1].1.clone());
        let items = due.into_iter().take(items_max).map(|(due_at, name)| Due {
            due_at: *due_at,
            what: DueTimer::Purge { collection_uid: name.clone() },
        });
        Ok(Page { items: items.collect(), next })
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let in_flight = Semaphore::new(WRITES_IN_FLIGHT_MAX);
        let moves = advances.iter().map(|advance| async {
            let _permit = in_flight.acquire().await.unwrap();
            self.move_one(advance).await
        });
        futures_util::future::join_all(moves).await
    }
}

#[async_trait]
impl DispatchQueue for Throttling {
    async fn send(&self, messages: &[QueueMessage], _: DateTime<Utc>) -> Result<(), QueueError> {
        // Ten in a request, and sixteen requests at a time.
        sleep(REQUEST * u32::try_from(messages.len().div_ceil(160)).unwrap()).await;
        let mut sent = self.sent.lock().unwrap();
        for message in messages {
            let WorkItem::PurgeCollection { collection_uid } = &message.work_item else {
                panic!("not of this test: {message:?}");
            };
            sent.messages += 1;
            if sent.of.insert(collection_uid.clone()) {
                sent.last = Some(Instant::now());
            }
        }
        Ok(())
    }
}

/// Passes, one at each minute, until all have been sent and moved. Returns the seconds until all were sent,
/// the messages, and the throttled requests.
async fn sweep(timers: usize) -> (f64, usize, usize) {
    let table = Arc::new(Throttling::with_herd(timers));
    let heartbeat = Heartbeat::new(Arc::new(NoOutages), table.clone(), PulseOf::Sweepers);
    let (jobs, events) = (Arc::new(Unused::<dyn Snapshots>::default()), Arc::new(()));
    let dispatcher = Dispatcher::new(table.clone(), jobs, table.clone(), events, table.clone());
    let sweeper = Sweeper::new(table.clone(), dispatcher, Arc::new(heartbeat), table.clone())
        .with_concurrent_pages(CONCURRENT_PAGES)
        .gathering(GATHERED_MAX);
    for minute in 0..PASSES_MAX {
        table.wait_until(at(60 * i64::from(minute))).await;
        let over = sleep(PASS_MAX.to_std().unwrap());
        let pass = sweeper.pass(minute.wrapping_mul(SHARD_STRIDE), over).await;
        assert_eq!(pass.failed, 0, "throttling is no failure: {pass:?}");
        if pass.throttled == 0 && !pass.is_cut {
            break;
        }
    }
    let sent = table.sent.lock().unwrap();
    assert_eq!(sent.of.len(), timers, "all are sent");
    let took = sent.last.unwrap() - table.began;
    (took.as_secs_f64(), sent.messages, *table.throttled.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_herd_is_sent_as_fast_as_the_index_takes_its_moves() {
    let timers = 100_000;
    let (seconds, messages, throttled) = sweep(timers).await;
    let needed = f64::from(u32::try_from(timers).unwrap()) / MOVES_A_SECOND;
    println!(
        "{seconds:.1} s for {needed:.1} s of moves; {messages} messages, {throttled} throttled"
    );
    assert!(seconds <= 1.3 * needed, "{seconds:.1} s for {needed:.1} s of moves");
    assert!(messages <= timers + timers / 4, "{messages} messages for {timers} timers");
}
