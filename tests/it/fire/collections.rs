//! Collections that are switched and deleted.

use chrono::TimeDelta;
use minutehand_domain::collection::CollectionState::{Disabled, Enabled, Suspended};
use minutehand_domain::firing::SkipReason;
use minutehand_ports::Jobs;
use minutehand_ports::store::PageRequest;
use serde_json::{Value, json};

use super::target::Behaviour::Fail;
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
        world.patch("j", json!({"recurrence": {"frequency": "day", "count": 2}})).await;
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
        world.run_until("2027-03-03T10:00").await;
        assert_eq!(world.calls("http://j/"), ["01 10:00", "02 10:00"]);
        let ended = status("completed").executions(2).failures(1);
        assert_eq!(world.status("j").await, ended, "{interval}");
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
    assert!(
        Jobs::list(world.store.as_ref(), &uid, world.now(), page.clone())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    for shard in 0..world.store.shards() {
        let due = world.store.due(shard, chrono::DateTime::<chrono::Utc>::MAX_UTC, page.clone());
        assert_eq!(due.await.unwrap().items, []);
    }
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.targets.calls().len(), calls);
    assert_eq!(world.queued(), 0);
}

/// What happens to a young collection and its job, in order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Create,
    CreateDisabled,
    Off,
    On,
    Put,
}

use Step::{Create, CreateDisabled, Off, On, Put};

/// Jobs whose first occurrence is at once. The last two are cut to whole seconds.
fn jobs_at_once() -> [Value; 4] {
    [
        json!({}),
        json!({"recurrence": {"frequency": "day"}}),
        json!({"recurrence": {"frequency": "week", "schedule": {"weekDays": ["sunday"]}}}),
        json!({"recurrence": {"frequency": "day", "count": 1, "schedule": {"hours": [20]}}}),
    ]
}

/// Performs the steps with these pauses, and then what was sent; how many jobs fired.
async fn fired_after(world: &mut World, steps: &[Step], pause: TimeDelta) -> usize {
    world.delete_collection().await;
    world.worker_running = false;
    let calls = world.targets.calls().len();
    for step in steps {
        match step {
            Create => world.put_collection(json!({})).await,
            CreateDisabled => world.put_collection(json!({"state": "Disabled"})).await,
            Off => world.switch(Suspended).await,
            On => world.switch(Enabled).await,
            Put => {
                for (n, job) in jobs_at_once().into_iter().enumerate() {
                    world.put(&format!("j{n}"), job).await;
                }
            }
        }
        world.run_for(pause).await;
    }
    world.worker_running = true;
    world.run_for(TimeDelta::seconds(1)).await;
    world.targets.calls().len() - calls
}

#[tokio::test]
async fn the_first_occurrence_is_lost_to_no_order_and_spacing_of_a_young_collection() {
    let befores: [&[Step]; 5] =
        [&[Create], &[Create, Off], &[Create, Off, On], &[CreateDisabled], &[CreateDisabled, On]];
    let afters: [&[Step]; 3] = [&[], &[Off], &[Off, On]];
    // A Monday. What is due at once is sent by the API, so no sweep is needed.
    let mut world = World::at("2027-03-01T08:00:00.35").await;
    world.sweeper_running = false;
    // The last spacing crosses seconds.
    for nanos in [100, 1_000_000, 400_000_000] {
        let pause = TimeDelta::nanoseconds(nanos);
        for (before, after) in befores.iter().flat_map(|it| afters.iter().map(move |to| (it, to))) {
            let steps: Vec<_> = before.iter().chain(&[Put]).chain(*after).copied().collect();
            // Only a collection that was off when the jobs were put, or after that, costs them.
            let is_on = matches!(before.last(), Some(Create | On));
            let expected = if is_on && after.is_empty() { jobs_at_once().len() } else { 0 };
            let fired = fired_after(&mut world, &steps, pause).await;
            assert_eq!(fired, expected, "{steps:?} every {nanos} ns");
        }
    }
}

#[tokio::test]
async fn the_first_occurrence_is_counted_although_it_is_cut_to_the_second() {
    let mut world = World::at("2027-03-01T08:00:00.7").await;
    let daily = json!({"frequency": "day", "count": 3, "schedule": {"hours": [9], "minutes": [0]}});
    world.put("j", json!({"recurrence": daily})).await;
    world.run_until("2027-03-01T09:30").await;
    assert_eq!(world.history("j").await, ["01 08:00 #1.0", "01 09:00 #2.0"]);
    world.disable("j").await;
    world.enable("j").await;
    world.run_until("2027-03-05T10:00").await;
    assert_eq!(world.history("j").await, ["01 08:00 #1.0", "01 09:00 #2.0", "02 09:00 #3.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(3));
}

#[tokio::test]
async fn the_only_occurrence_is_waited_for_although_it_is_cut_to_the_second() {
    let mut world = World::at("2027-03-01T08:00:00.7").await;
    world.targets.next("http://j/", &[Fail]);
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1H"});
    let once = json!({"frequency": "day", "count": 1, "schedule": {"hours": [9]}});
    world.put("j", json!({"recurrence": once, "action": {"retryPolicy": retry}})).await;
    world.run_until("2027-03-01T08:59").await;
    assert_eq!(world.status("j").await, status("enabled").executions(1).failures(1));
    world.run_until("2027-03-01T10:00").await;
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}
