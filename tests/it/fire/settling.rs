//! Which messages are deleted together with what follows their attempts, where the host allows it.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use minutehand_app::fire::{DeliveryPlace, Performed};
use minutehand_ports::{Deliveries, QueueError, ReceiptHandle, TakenMessage};
use serde_json::json;

use super::target::Behaviour::Fail;
use super::world::{World, status};

const RECEIPT: ReceiptHandle = ReceiptHandle { id: 7, delivery: 1 };

/// The place of a message that this process deletes.
struct Own;

impl DeliveryPlace for Own {
    fn is_scarce(&self) -> bool {
        false
    }

    fn try_origin(&self, _: &str) -> bool {
        true
    }

    fn set_origin(&self, _: &str) {}

    fn receipt(&self) -> Option<ReceiptHandle> {
        Some(RECEIPT)
    }
}

/// Writes down which messages were deleted.
#[derive(Default)]
pub(super) struct Deleted(Mutex<Vec<ReceiptHandle>>);

impl Deleted {
    fn take(&self) -> Vec<ReceiptHandle> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[async_trait]
impl Deliveries for Deleted {
    async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError> {
        panic!("messages come from the transit: {max}")
    }

    async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend(receipts);
        Ok(())
    }

    async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        panic!("not of these tests: {receipts:?}")
    }

    async fn set_aside(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        panic!("not of these tests: {receipts:?}")
    }

    async fn take_again(
        &self,
        receipts: &[ReceiptHandle],
    ) -> Result<Vec<Option<TakenMessage>>, QueueError> {
        panic!("not of these tests: {receipts:?}")
    }

    async fn bury(&self, receipts: &[ReceiptHandle], _: &str) -> Result<(), QueueError> {
        panic!("not of these tests: {receipts:?}")
    }
}

/// A job with this recurrence and retry policy, whose first message is there.
async fn world(recurrence: serde_json::Value, retry: serde_json::Value) -> World {
    let mut world = World::at("2027-03-01T09:50").await;
    let start = "2027-03-01T10:00";
    let action = json!({"retryPolicy": retry});
    world.put("j", json!({"startTime": start, "recurrence": recurrence, "action": action})).await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:00").await;
    world
}

#[tokio::test]
async fn a_message_of_which_nothing_else_follows_is_deleted_when_its_attempt_is_counted() {
    let world = world(json!({"frequency": "day", "count": 2}), json!({"retryType": "None"})).await;
    assert_eq!(world.deliver_at(&Own).await, Performed::Finished);
    assert_eq!(world.deleted.take(), [RECEIPT]);
    assert_eq!(world.status("j").await, status("enabled").executions(1));
}

#[tokio::test]
async fn a_message_stays_until_it_is_checked_whether_its_job_has_finished() {
    let world = world(json!({"frequency": "day", "count": 1}), json!({"retryType": "None"})).await;
    assert_eq!(world.deliver_at(&Own).await, Performed::Done);
    assert_eq!(world.deleted.take(), []);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_message_whose_retry_is_sent_is_deleted_even_if_the_occurrence_is_the_last() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1});
    let world = world(json!({"frequency": "day", "count": 1}), retry).await;
    world.targets.always("http://j/", Fail);
    assert_eq!(world.deliver_at(&Own).await, Performed::Finished);
    assert_eq!(world.deleted.take(), [RECEIPT]);
    assert_eq!(world.queued(), 1, "the retry");
    assert_eq!(world.status("j").await, status("enabled").executions(1).failures(1));
}

#[tokio::test]
async fn a_message_of_a_retry_that_waited_in_a_timer_stays_until_the_timer_is_removed() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 1});
    let mut world = world(json!({"frequency": "day", "count": 2}), retry).await;
    world.targets.always("http://j/", Fail);
    // The retry is in a timer: nothing but the count is left to do for the message.
    assert_eq!(world.deliver_at(&Own).await, Performed::Finished);
    assert_eq!(world.deleted.take(), [RECEIPT]);
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.deliver_at(&Own).await, Performed::Done);
    assert_eq!(world.deleted.take(), []);
    let expected = status("enabled").executions(2).failures(2).faulted(1);
    assert_eq!(world.status("j").await, expected);
}
