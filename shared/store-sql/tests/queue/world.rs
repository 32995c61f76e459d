//! A clock that tests set, and messages with names.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{
    Clock, Deliveries as _, DispatchQueue as _, QueueMessage, ReceiptHandle, TakenMessage,
};
use minutehand_store_sql::sqlite::Database;
use minutehand_store_sql::{QueueStanding, SqlQueue};
use minutehand_testkit::TimeLimit;
use tokio::sync::watch;

/// How long a test waits for a message that can be delivered at once.
const DELIVERY_MAX: Duration = Duration::from_secs(10);

/// A clock whose schedule time and work time stand still until a test moves them.
pub(crate) struct ManualClock {
    hands: watch::Sender<Hands>,
    /// The latest waits, in schedule time and in work time.
    asked: watch::Sender<(Option<DateTime<Utc>>, Option<Duration>)>,
    /// How much faster schedule time runs than work time.
    rate: i32,
    _limit: TimeLimit,
}

#[derive(Clone, Copy)]
struct Hands {
    now: DateTime<Utc>,
    work_now: DateTime<Utc>,
}

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_rate(1)
    }

    /// Schedule time and work time differ, so that code which confuses them fails.
    pub(crate) fn with_rate(rate: i32) -> Arc<Self> {
        let hands = Hands { now: at(0), work_now: at(1_000_000) };
        Arc::new(Self {
            hands: watch::Sender::new(hands),
            asked: watch::Sender::new((None, None)),
            rate,
            _limit: TimeLimit::start(),
        })
    }

    /// Advances the clock by this much work time.
    pub(crate) fn advance(&self, work: TimeDelta) {
        self.hands.send_modify(|hands| {
            hands.work_now += work;
            hands.now += work * self.rate;
        });
    }

    /// Sets the schedule time, like a correction of the system clock.
    pub(crate) fn set(&self, now: DateTime<Utc>) {
        // This wakes no waiting task: their timers were set by the old time.
        self.hands.send_if_modified(|hands| {
            hands.now = now;
            false
        });
    }

    /// Returns when a task waits until this schedule time.
    pub(crate) async fn is_asked_for(&self, at: DateTime<Utc>) {
        self.asked.subscribe().wait_for(|(until, _)| *until == Some(at)).await.unwrap();
    }

    /// Returns when a task waits for this much work time.
    pub(crate) async fn is_asked_to_wait(&self, work: Duration) {
        self.asked.subscribe().wait_for(|(_, waits)| *waits == Some(work)).await.unwrap();
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        self.hands.borrow().now
    }

    fn work_now(&self) -> DateTime<Utc> {
        self.hands.borrow().work_now
    }

    fn scheduled_during(&self, work: TimeDelta) -> TimeDelta {
        work * self.rate
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        let mut hands = self.hands.subscribe();
        self.asked.send_modify(|asked| asked.0 = Some(at));
        hands.wait_for(|hands| hands.now >= at).await.unwrap();
    }

    async fn wait(&self, work: Duration) {
        let mut hands = self.hands.subscribe();
        let until = hands.borrow().work_now + work;
        self.asked.send_modify(|asked| asked.1 = Some(work));
        hands.wait_for(|hands| hands.work_now >= until).await.unwrap();
    }
}

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

pub(crate) fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

/// A queue in memory.
pub(crate) async fn in_memory(clock: Arc<ManualClock>) -> SqlQueue {
    let (database, _threads) = Database::in_memory().unwrap();
    SqlQueue::open(database, clock).await.unwrap()
}

/// A message with this name, due at this second.
pub(crate) fn message(name: impl Into<String>, due: i64) -> QueueMessage {
    QueueMessage {
        work_item: WorkItem::PurgeCollection { collection_uid: name.into() },
        due_at: at(due),
    }
}

pub(crate) async fn send(queue: &SqlQueue, messages: &[(&str, i64)]) {
    let messages: Vec<_> = messages.iter().map(|(name, due)| message(*name, *due)).collect();
    queue.send(&messages, at(0)).await.unwrap();
}

pub(crate) fn name(delivery: &TakenMessage) -> &str {
    match delivery.work_item.as_ref().unwrap() {
        WorkItem::PurgeCollection { collection_uid } => collection_uid,
        other => panic!("not sent by a test: {other:?}"),
    }
}

/// Receives the messages that are deliverable now: at least one.
pub(crate) async fn receive(queue: &SqlQueue) -> Vec<TakenMessage> {
    let received = tokio::time::timeout(DELIVERY_MAX, queue.receive(10)).await;
    received.expect("a message can be delivered at once").unwrap()
}

/// Receives the only deliverable message.
pub(crate) async fn receive_one(queue: &SqlQueue) -> TakenMessage {
    let mut received = receive(queue).await;
    assert_eq!(received.len(), 1, "{received:?}");
    received.pop().unwrap()
}

pub(crate) async fn receive_names(queue: &SqlQueue) -> Vec<String> {
    receive(queue).await.iter().map(|delivery| name(delivery).to_owned()).collect()
}

pub(crate) fn receipts(deliveries: &[TakenMessage]) -> Vec<ReceiptHandle> {
    deliveries.iter().map(|delivery| delivery.receipt).collect()
}

/// The numbers of visible, delayed, hidden and dead messages.
pub(crate) async fn counts(queue: &SqlQueue) -> [u64; 4] {
    let QueueStanding { visible, delayed, hidden, dead_letters, .. } =
        queue.standing().await.unwrap();
    [visible, delayed, hidden, dead_letters]
}
