//! What a behaviour of the queue is tried on.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{
    DeadLetters, Deliveries, DispatchQueue, QueueMessage, ReceiptHandle, TakenMessage,
};

use crate::TimeLimit;

/// A kind of queue. It makes queues, each with nothing in it.
#[async_trait]
pub trait QueueBackEnd: Send + Sync {
    /// Its name, as [`DIFFERENCES`](super::DIFFERENCES) has it.
    fn name(&self) -> &'static str;

    /// Makes a queue with nothing in it, for the test of this name. Its clock shows
    /// [`QueueSubject::START`].
    async fn open(&self, test: &str) -> Arc<dyn OpenedQueue>;
}

/// A queue that a back end has made.
#[async_trait]
pub trait OpenedQueue: Send + Sync {
    /// The side that sends.
    fn queue(&self) -> &dyn DispatchQueue;

    /// The work items that can be received now, in no order that means anything. They are gone then.
    async fn arrived(&self) -> Vec<WorkItem>;

    /// The side from which workers in the process receive; `None` if others deliver.
    fn deliveries(&self) -> Option<&dyn Deliveries>;

    /// Its dead letters.
    fn dead_letters(&self) -> &dyn DeadLetters;

    /// Moves the clock of the queue on: schedule and work alike.
    fn advance(&self, by: TimeDelta);
}

/// A queue under test.
#[derive(Clone)]
pub struct QueueSubject {
    opened: Arc<dyn OpenedQueue>,
    _limit: TimeLimit,
}

impl QueueSubject {
    /// What the clock of a queue shows at first, in seconds since 1970.
    pub const START: i64 = 1_800_000_000;

    /// A queue that was opened a moment ago.
    #[must_use]
    pub fn new(opened: Arc<dyn OpenedQueue>) -> Self {
        Self { opened, _limit: TimeLimit::start() }
    }

    /// The side that sends.
    pub(crate) fn queue(&self) -> &dyn DispatchQueue {
        self.opened.queue()
    }

    /// The work items that can be received now.
    pub(crate) async fn arrived(&self) -> Vec<WorkItem> {
        self.opened.arrived().await
    }

    /// The side from which workers in the process receive.
    pub(crate) fn deliveries(&self) -> &dyn Deliveries {
        self.opened.deliveries().unwrap_or_else(|| panic!("others deliver"))
    }

    pub(crate) fn letters(&self) -> &dyn DeadLetters {
        self.opened.dead_letters()
    }

    /// Moves the clock on.
    pub(crate) fn advance(&self, by: TimeDelta) {
        self.opened.advance(by);
    }

    /// Sends messages with these names, due at these seconds.
    pub(crate) async fn send(&self, messages: &[(&str, i64)]) {
        let messages: Vec<_> = messages.iter().map(|(name, due)| message(*name, *due)).collect();
        self.queue().send(&messages, at(0)).await.unwrap();
    }

    /// Receives what can be delivered now: at least one message.
    pub(crate) async fn receive(&self) -> Vec<TakenMessage> {
        self.deliveries().receive(100).await.unwrap()
    }

    /// Receives the only message that can be delivered now.
    pub(crate) async fn receive_one(&self) -> TakenMessage {
        let mut received = self.receive().await;
        assert_eq!(received.len(), 1, "{received:?}");
        received.pop().unwrap()
    }

    /// The names of what can be delivered now, in its order.
    pub(crate) async fn receive_names(&self) -> Vec<String> {
        self.receive().await.iter().map(name).collect()
    }

    /// Whether nothing can be delivered now but what is sent now.
    pub(crate) async fn is_quiet(&self) -> bool {
        self.send(&[("the only one", -1_000_000)]).await;
        let received = self.receive().await;
        self.deliveries().finish(&receipts(&received)).await.unwrap();
        received.iter().map(name).eq(["the only one"])
    }

    /// How many dead letters there are.
    pub(crate) async fn dead(&self) -> u64 {
        self.letters().count().await.unwrap().unwrap()
    }
}

/// An instant, in seconds from when the clock starts.
pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(QueueSubject::START + second, 0).unwrap()
}

/// A message with this name, due at this second.
pub(crate) fn message(name: impl Into<String>, due: i64) -> QueueMessage {
    let work_item = WorkItem::PurgeCollection { collection_uid: name.into() };
    QueueMessage { work_item, due_at: at(due) }
}

/// The name of a message.
pub(crate) fn name(taken: &TakenMessage) -> String {
    taken.work_item.as_ref().unwrap().collection_uid().to_owned()
}

pub(crate) fn receipts(taken: &[TakenMessage]) -> Vec<ReceiptHandle> {
    taken.iter().map(|message| message.receipt).collect()
}
