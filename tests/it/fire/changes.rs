//! Jobs that change while their occurrences are on their way.

use minutehand_domain::firing::SkipReason;
use serde_json::{Value, json};

use super::target::Behaviour::Fail;
use super::world::{World, status};

fn minutely() -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}})
}

/// A world with a minutely job that has fired from 10:00 until now, with messages for what comes.
async fn minutely_until(now: &str) -> World {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world.run_until(now).await;
    assert!(world.queued() > 5, "{}", world.queued());
    world
}

fn minutes(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|minute| format!("01 10:{minute:02}")).collect()
}

#[tokio::test]
async fn messages_in_flight_perform_the_new_action() {
    let mut world = minutely_until("2027-03-01T10:05:30").await;
    world.patch("j", json!({"action": {"request": {"uri": "http://new/"}}})).await;
    world.run_until("2027-03-01T10:20:30").await;
    assert_eq!(world.calls("http://j/"), minutes(0..6));
    assert_eq!(world.calls("http://new/"), minutes(6..21));
    assert_eq!(world.status("j").await, status("enabled").executions(21));
}

#[tokio::test]
async fn a_new_recurrence_cancels_messages_of_the_old_one() {
    let mut world = minutely_until("2027-03-01T10:05:30").await;
    let queued = world.queued();
    world.patch("j", json!({"recurrence": {"interval": 10}})).await;
    world.run_until("2027-03-01T10:35").await;
    let history = world.history("j").await;
    assert_eq!(history[..6].len(), 6);
    assert_eq!(history[6..], ["01 10:10 #1.0", "01 10:20 #2.0", "01 10:30 #3.0"]);
    assert_eq!(world.noted.dropped("j"), vec![SkipReason::TimingChanged; queued]);
    assert_eq!(world.status("j").await, status("enabled").executions(9));
}

#[tokio::test]
async fn a_new_recurrence_cancels_retries_of_the_old_one() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Fail, Fail]);
    // The first has one in a message, the second one in a timer.
    let retry = |interval| json!({"action": {"retryPolicy": {"retryType": "Fixed", "retryInterval": interval}}});
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}}))
        .await;
    world.patch("j", retry("PT10M")).await;
    world.run_until("2027-03-01T10:00:30").await;
    world.patch("j", retry("PT20M")).await;
    world.run_until("2027-03-01T10:01:30").await;
    world.patch("j", json!({"recurrence": {"frequency": "day"}})).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01"]);
    assert_eq!(world.queued(), 0);
    world.run_until("2027-03-02T10:01").await;
    assert_eq!(world.calls("http://j/").len(), 3);
}

#[tokio::test]
async fn a_disabled_job_stops_at_once_and_continues_its_count_when_enabled() {
    let mut world = World::at("2027-03-01T09:00").await;
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "count": 10}}))
        .await;
    world.run_until("2027-03-01T10:03:30").await;
    world.disable("j").await;
    world.run_until("2027-03-01T10:30:30").await;
    assert_eq!(world.calls("http://j/"), minutes(0..4));
    world.enable("j").await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://j/"), [minutes(0..4), minutes(31..37)].concat());
    let history = world.history("j").await;
    assert_eq!((&*history[3], &*history[4]), ("01 10:03 #4.0", "01 10:31 #5.0"));
    assert_eq!(history[9], "01 10:36 #10.0");
    assert_eq!(world.status("j").await, status("completed").executions(10));
}

#[tokio::test]
async fn a_one_time_job_enabled_after_its_start_fires_at_once() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00", "state": "Disabled"})).await;
    world.run_until("2027-03-01T12:00:30").await;
    assert!(world.calls("http://j/").is_empty());
    world.enable("j").await;
    world.run_until("2027-03-02T00:00").await;
    assert_eq!(world.history("j").await, ["01 12:00:30 #1.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_one_time_job_disabled_and_enabled_before_its_start_fires_at_its_start() {
    let mut world = World::at("2027-03-01T09:50").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T09:55").await;
    world.disable("j").await;
    world.run_until("2027-03-01T09:56").await;
    world.enable("j").await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
}

#[tokio::test]
async fn a_deleted_job_stops_and_a_new_job_of_its_name_is_independent() {
    let mut world = minutely_until("2027-03-01T10:05:30").await;
    let queued = world.queued();
    world.delete("j").await;
    world.put("j", json!({"startTime": "2028-01-01", "recurrence": {"frequency": "minute"}})).await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://j/"), minutes(0..6));
    assert_eq!(world.noted.dropped("j"), vec![SkipReason::Gone; queued]);
    assert_eq!(world.status("j").await, status("enabled"));
    assert!(world.history("j").await.is_empty());
}

#[tokio::test]
async fn a_run_of_a_job_that_is_deleted_does_not_start() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world.worker_running = false;
    world.call_run("j").await;
    world.delete("j").await;
    world.worker_running = true;
    world.run_until("2027-03-01T11:00").await;
    assert!(world.calls("http://j/").is_empty());
    assert_eq!(world.noted.dropped("j"), [SkipReason::Gone]);
}
