//! Executions that a user asks for.
use chrono::TimeDelta;
use minutehand_domain::collection::CollectionState;
use serde_json::json;

use super::target::Behaviour::{Fail, Succeed};
use super::world::{World, status};

#[tokio::test]
async fn a_run_adds_one_execution_and_changes_nothing_else() {
    let mut world = World::at("2027-03-01T09:00").await;
    world
        .put(
            "j",
            json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day", "count": 2}}),
        )
        .await;
    world.run_until("2027-03-01T09:10").await;
    let next = world.view("j").await.status.unwrap().next_execution_at;
    world.call_run("j").await;
    world.run_until("2027-03-01T09:20").await;
    assert_eq!(world.view("j").await.status.unwrap().next_execution_at, next);
    world.run_until("2027-03-01T11:10").await;
    world.call_run("j").await;
    world.run_until("2027-03-03T00:00").await;
    assert_eq!(
        world.history("j").await,
        ["01 09:10 run #1.0", "01 10:00 #1.0", "01 11:10 run #1.0", "02 10:00 #2.0"]
    );
    assert_eq!(world.status("j").await, status("completed").executions(4));
}

#[tokio::test]
async fn a_run_starts_although_the_clock_was_set_back_behind_the_switch_of_its_collection() {
    for (clock_then, called) in [("2027-03-01T09:30", "01 09:30"), ("2027-03-01T10:05", "01 10:05")]
    {
        let mut world = World::local("2027-03-01T09:00").await;
        world.put("j", json!({"startTime": "2027-03-05T10:00"})).await;
        world.run_until("2027-03-01T10:00").await;
        world.switch(CollectionState::Disabled).await;
        world.switch(CollectionState::Enabled).await;
        world.set_clock("2027-03-01T09:30");
        world.call_run("j").await;
        world.set_clock(clock_then);
        world.run_for(TimeDelta::minutes(1)).await;
        assert_eq!(world.calls("http://j/"), [called]);
        assert_eq!(world.status("j").await, status("enabled").executions(1));
    }
}

#[tokio::test]
async fn a_disabled_job_can_be_run() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"state": "Disabled", "recurrence": {"frequency": "day"}})).await;
    world.call_run("j").await;
    world.run_until("2027-03-03T00:00").await;
    assert_eq!(world.calls("http://j/"), ["01 09:00"]);
    assert_eq!(world.status("j").await, status("disabled").executions(1));
}

#[tokio::test]
async fn a_failed_run_is_retried_and_does_not_change_the_state() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Fail, Fail, Succeed]);
    let action = json!({"retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1}, "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}}});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "action": action})).await;
    world.call_run("j").await;
    world.run_until("2027-03-01T09:30").await;
    assert_eq!(
        world.history("j").await,
        ["01 09:00 run #1.0 failed", "01 09:01 run #1.1 failed", "01 09:00 error action #1.0"]
    );
    assert_eq!(world.status("j").await, status("enabled").executions(2).failures(2).faulted(1));
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.status("j").await, status("completed").executions(3).failures(2).faulted(1));
}

#[tokio::test]
async fn a_run_that_fails_after_the_last_occurrence_does_not_change_the_state() {
    for interval in ["PT1M", "PT1H"] {
        let mut world = World::at("2027-03-01T09:59:30").await;
        world.targets.next("http://j/", &[Fail, Succeed, Fail]);
        let action = json!({"retryPolicy": {"retryType": "Fixed", "retryInterval": interval, "retryCount": 1}});
        world.put("j", json!({"startTime": "2027-03-01T10:00", "action": action})).await;
        world.call_run("j").await;
        world.run_until("2027-03-01T10:00:15").await;
        // Its retry is to come, and the job is over.
        assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
        world.run_until("2027-03-01T12:00").await;
        assert_eq!(
            world.status("j").await,
            status("completed").executions(3).failures(2).faulted(1)
        );
    }
}

#[tokio::test]
async fn a_run_outlasts_a_change_of_its_job() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Fail]);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day"}}))
        .await;
    world.call_run("j").await;
    world.run_until("2027-03-01T09:00:10").await;
    world.patch("j", json!({"recurrence": {"interval": 2}})).await;
    world.disable("j").await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.history("j").await, ["01 09:00 run #1.0 failed", "01 09:00:30 run #1.1"]);
}

#[tokio::test]
async fn a_burst_of_runs_is_counted_to_the_last_one_however_often_its_messages_come() {
    const RUNS: usize = 1_500;
    let world = World::local("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    for _ in 0..RUNS {
        world.call_run("j").await;
    }
    let copies = world.copy_all();
    assert_eq!(copies.len(), RUNS);
    world.deliver_all().await;
    assert_eq!(world.status("j").await, status("enabled").executions(RUNS as u64));
    for copy in copies {
        world.put_back(copy);
    }
    world.deliver_all().await;
    assert_eq!(world.status("j").await, status("enabled").executions(RUNS as u64));
}
