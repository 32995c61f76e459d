//! Which messages are deleted together with what follows their attempts, where queue and store are one.

use minutehand_app::fire::Performed;
use serde_json::json;

use super::target::Behaviour::Fail;
use super::world::{World, status};

/// What the next message comes to, and how many are stored then.
async fn perform_next(world: &World) -> (Performed, u64) {
    let parcel = world.take();
    (world.perform(&parcel).await, world.stored_messages().await)
}

/// A job with this recurrence and retry policy, whose first message is there.
async fn world(recurrence: serde_json::Value, retry: serde_json::Value) -> World {
    let mut world = World::local("2027-03-01T09:50").await;
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
    assert_eq!(perform_next(&world).await, (Performed::Finished, 0));
    assert_eq!(world.status("j").await, status("enabled").executions(1));
}

#[tokio::test]
async fn the_message_of_a_last_attempt_is_deleted_as_its_job_finishes() {
    let world = world(json!({"frequency": "day", "count": 1}), json!({"retryType": "None"})).await;
    assert_eq!(perform_next(&world).await, (Performed::Finished, 0));
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_message_whose_retry_is_sent_is_deleted_even_if_the_occurrence_is_the_last() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1});
    let world = world(json!({"frequency": "day", "count": 1}), retry).await;
    world.targets.always("http://j/", Fail);
    assert_eq!(perform_next(&world).await, (Performed::Finished, 1), "the retry");
    assert_eq!(world.queued(), 1, "the retry");
    assert_eq!(world.status("j").await, status("enabled").executions(1).failures(1));
}

#[tokio::test]
async fn a_message_of_a_retry_that_waited_in_a_timer_stays_until_the_timer_is_removed() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 1});
    let mut world = world(json!({"frequency": "day", "count": 2}), retry).await;
    world.targets.always("http://j/", Fail);
    // The retry is in a timer: nothing but the count is left to do for the message.
    assert_eq!(perform_next(&world).await, (Performed::Finished, 0));
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(perform_next(&world).await, (Performed::Done, 1));
    let expected = status("enabled").executions(2).failures(2).faulted(1);
    assert_eq!(world.status("j").await, expected);
}
