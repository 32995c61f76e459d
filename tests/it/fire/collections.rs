//! Collections that are switched and deleted.

use domain::collection::CollectionState::{Disabled, Enabled};
use domain::firing::SkipReason;
use ports::store::PageRequest;
use ports::{Jobs, Timers};
use serde_json::json;

use super::world::{World, status};

#[tokio::test]
async fn occurrences_due_while_the_collection_is_off_are_skipped_and_counted() {
    let mut world = World::at("2027-03-01T08:00").await;
    world
        .put(
            "j",
            json!({"startTime": "2027-03-01T09:00", "recurrence": {"frequency": "hour", "count": 5}}),
        )
        .await;
    world.run_until("2027-03-01T09:30").await;
    world.switch(Disabled).await;
    world.run_until("2027-03-01T11:30").await;
    world.switch(Enabled).await;
    world.run_until("2027-03-01T14:00").await;
    assert_eq!(world.history("j").await, ["01 09:00 #1.0", "01 12:00 #4.0", "01 13:00 #5.0"]);
    assert_eq!(world.noted.dropped("j"), [SkipReason::CollectionOff; 2]);
    assert_eq!(world.status("j").await, status("completed").executions(3).skipped(2));
}

#[tokio::test]
async fn messages_in_flight_are_skipped_while_the_collection_is_off_for_minutes() {
    let mut world = World::at("2027-03-01T09:00").await;
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}}))
        .await;
    world.run_until("2027-03-01T10:02:30").await;
    world.switch(Disabled).await;
    // Also what is delivered late, when it is on again.
    world.worker_running = false;
    world.run_until("2027-03-01T10:05:30").await;
    world.switch(Enabled).await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:06:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01", "01 10:02", "01 10:06"]);
    assert_eq!(world.status("j").await, status("enabled").executions(4).skipped(3));
}

#[tokio::test]
async fn waiting_retries_start_when_the_collection_is_on_again() {
    for interval in ["PT10M", "PT1H"] {
        let mut world = World::at("2027-03-01T09:00").await;
        world.put_failing_once("j", interval).await;
        world.run_until("2027-03-01T10:02").await;
        world.switch(Disabled).await;
        world.run_until("2027-03-01T10:08").await;
        world.switch(Enabled).await;
        world.run_until("2027-03-01T11:01").await;
        assert_eq!(
            world.status("j").await,
            status("completed").executions(2).failures(1),
            "{interval}"
        );
    }
}

#[tokio::test]
async fn a_retry_due_while_the_collection_is_off_does_not_start() {
    for interval in ["PT5M", "PT1H"] {
        let mut world = World::at("2027-03-01T09:00").await;
        world.put_failing_once("j", interval).await;
        world.run_until("2027-03-01T10:02").await;
        world.switch(Disabled).await;
        world.run_until("2027-03-01T12:00").await;
        assert_eq!(
            world.status("j").await,
            status("enabled").executions(1).failures(1),
            "{interval}"
        );
        world.switch(Enabled).await;
        world.run_until("2027-03-01T13:00").await;
        assert_eq!(world.calls("http://j/"), ["01 10:00"]);
        assert_eq!(world.status("j").await.state, "faulted", "{interval}");
    }
}

#[tokio::test]
async fn the_jobs_of_a_deleted_collection_stop_at_once_and_are_purged() {
    let mut world = World::with("2027-03-01T09:00", json!({"sku": {"name": "P20Premium"}})).await;
    for n in 0..150 {
        let minute = n % 60;
        world.put(&format!("j{n}"), json!({"startTime": format!("2027-03-01T09:{minute:02}"), "recurrence": {"frequency": "hour"}})).await;
    }
    let uid = world.job("j0").await.collection_uid;
    world.run_until("2027-03-01T09:05:30").await;
    let calls = world.targets.calls().len();
    assert_eq!(calls, 18);
    world.delete_collection().await;
    world.run_until("2027-03-01T09:08").await;
    let page = PageRequest { from: None, items_max: 500 };
    assert!(world.dynamo.list(&uid, page.clone()).await.unwrap().items.is_empty());
    for shard in 0..world.dynamo.shards() {
        let due = world.dynamo.due(shard, chrono::DateTime::<chrono::Utc>::MAX_UTC, page.clone());
        assert_eq!(due.await.unwrap().items, []);
    }
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.targets.calls().len(), calls);
    assert_eq!(world.queued(), 0);
}
