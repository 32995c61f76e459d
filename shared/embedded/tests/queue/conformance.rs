//! The queue as the services rely on it: `minutehand_testkit::queue_conformance`.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta};
use minutehand_domain::work_item::WorkItem;
use minutehand_embedded::Queue;
use minutehand_embedded::queue::RECEIVE_MAX;
use minutehand_ports::{DeadLetters, Deliveries, DispatchQueue};
use minutehand_testkit::ManualClock;
use minutehand_testkit::conformance::{OpenedQueue, QueueBackEnd, QueueSubject};

minutehand_testkit::queue_conformance!(crate::conformance::OneMachine);

pub(crate) struct OneMachine;

struct Opened {
    queue: Queue,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl QueueBackEnd for OneMachine {
    fn name(&self) -> &'static str {
        "queue on one machine"
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedQueue> {
        let start = DateTime::from_timestamp(QueueSubject::START, 0).unwrap();
        let clock = Arc::new(ManualClock::at(start));
        Arc::new(Opened { queue: Queue::in_memory(clock.clone()).unwrap(), clock })
    }
}

#[async_trait]
impl OpenedQueue for Opened {
    fn queue(&self) -> &dyn DispatchQueue {
        &self.queue
    }

    async fn arrived(&self) -> Vec<WorkItem> {
        let mut arrived = Vec::new();
        while self.queue.stats().await.unwrap().visible > 0 {
            for taken in self.queue.receive(RECEIVE_MAX).await.unwrap() {
                self.queue.finish(&[taken.receipt]).await.unwrap();
                arrived.push(taken.work_item.unwrap());
            }
        }
        arrived
    }

    fn deliveries(&self) -> Option<&dyn Deliveries> {
        Some(&self.queue)
    }

    fn dead_letters(&self) -> &dyn DeadLetters {
        &self.queue
    }

    fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }
}
