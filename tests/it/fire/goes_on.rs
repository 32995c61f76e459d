//! Jobs that are disabled and enabled again while their last occurrence has no final result.

use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::Why;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::target::Behaviour::{Fail, Hold, HoldAndFail, Kill, Succeed};
use super::world::{World, instant, status};

const URI: &str = "http://j/";

/// A one-time job for 10:00 with these retries, and an error action.
fn once(interval: &str, count: u32) -> Value {
    let error = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    let retry = json!({"retryType": "Fixed", "retryInterval": interval, "retryCount": count});
    json!({"startTime": "2027-03-01T10:00", "action": {"errorAction": error, "retryPolicy": retry}})
}

/// A world with a job, at an instant.
async fn world(job: Value, until: &str) -> World {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", job).await;
    world.run_until(until).await;
    world
}

/// A world whose job fails at its only occurrence, and waits for its retry.
async fn failed_once(interval: &str, count: u32) -> World {
    let world = World::at("2027-03-01T09:59").await;
    world.targets.next(URI, &[Fail]);
    let mut world = world;
    Box::pin(world.put("j", once(interval, count))).await;
    Box::pin(world.run_until("2027-03-01T10:00:10")).await;
    world
}

/// The attempt of 10:00, under way since 10:00:05.
async fn begun(world: &mut World) -> JoinHandle<()> {
    world.worker_running = false;
    world.run_until("2027-03-01T10:00:05").await;
    world.worker_running = true;
    world.begin_next().await
}

#[tokio::test]
async fn a_retry_that_was_due_while_the_job_was_disabled_is_made_when_it_is_enabled() {
    let mut world = failed_once("PT30S", 4).await;
    world.disable("j").await;
    world.run_until("2027-03-01T10:05").await;
    assert_eq!(world.status("j").await, status("disabled").executions(1).failures(1));
    world.enable("j").await;
    assert_eq!(world.view("j").await.state.name(), "enabled");
    world.run_until("2027-03-01T10:05:01").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 10:05"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 10:00:30 #1.1"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn a_retry_that_is_still_to_come_is_made_in_its_time() {
    let mut world = failed_once("PT5M", 4).await;
    for _ in 0..3 {
        world.disable("j").await;
        world.enable("j").await;
    }
    world.run_until("2027-03-01T10:04:59").await;
    assert_eq!(world.calls(URI).len(), 1);
    world.run_until("2027-03-01T10:06").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 10:05"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
    world.run_until("2027-03-02T10:00").await;
    assert_eq!(world.calls(URI).len(), 2);
}

#[tokio::test]
async fn a_job_whose_retries_fail_ends_as_faulted_with_error_action_and_failure() {
    let mut world = failed_once("PT30S", 2).await;
    world.targets.always(URI, Fail);
    world.disable("j").await;
    world.run_until("2027-03-01T11:00").await;
    world.enable("j").await;
    world.run_until("2027-03-01T11:00:15").await;
    // Once more.
    world.disable("j").await;
    world.run_until("2027-03-01T12:00").await;
    world.enable("j").await;
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 11:00", "01 12:00"]);
    assert_eq!(world.calls("http://err/"), ["01 12:00"]);
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(3).faulted(1));
    let listed = world.failures(instant("2027-03-01T00:00")).await;
    let shown: Vec<_> = listed.iter().map(|it| (it.nominal_at, it.attempts)).collect();
    assert_eq!(shown, [(instant("2027-03-01T10:00"), 3)]);
    let why = world.explain("j", "2027-03-01T10:00").await;
    assert!(matches!(why, Why::Failed { attempts: 3, .. }), "{why:?}");
}

#[tokio::test]
async fn what_was_pending_is_explained() {
    let mut world = failed_once("PT1H", 1).await;
    world.disable("j").await;
    world.enable("j").await;
    world.run_until("2027-03-01T10:01").await;
    let why = world.explain("j", "2027-03-01T10:00").await;
    assert!(matches!(why, Why::Retrying { number: 1, .. }), "{why:?}");
    let why = world.explain("j", "2027-03-01T10:00:05").await;
    assert!(matches!(why, Why::OtherTiming { .. }), "{why:?}");
}

#[tokio::test]
async fn the_last_of_a_count_goes_on_and_what_was_pending_before_it_does_not() {
    for rule in [
        json!({"frequency": "minute", "count": 3}),
        json!({"frequency": "minute", "endTime": "2027-03-01T10:02:30"}),
    ] {
        let mut job = once("PT10M", 1);
        job["recurrence"] = rule;
        let world = World::at("2027-03-01T09:59").await;
        world.targets.next(URI, &[Succeed, Fail, Fail]);
        let mut world = world;
        world.put("j", job).await;
        world.run_until("2027-03-01T10:02:10").await;
        world.disable("j").await;
        world.run_until("2027-03-01T10:30").await;
        world.enable("j").await;
        world.call_run("j").await;
        world.run_until("2027-03-01T12:00").await;
        let history = world.history("j").await;
        assert_eq!(history[3..], ["01 10:12 #3.1", "01 10:30 run #3.0"]);
        assert_eq!(world.status("j").await, status("completed").executions(5).failures(2));
    }
}

#[tokio::test]
async fn an_attempt_under_way_decides_when_it_is_recorded() {
    for (does, calls, state) in [
        (Hold, 1, status("completed").executions(1)),
        (HoldAndFail, 2, status("completed").executions(2).failures(1)),
    ] {
        for is_recorded_first in [false, true] {
            let mut world = World::at("2027-03-01T09:59").await;
            world.targets.next(URI, &[does]);
            world.put("j", once("PT30S", 4)).await;
            let attempt = begun(&mut world).await;
            world.disable("j").await;
            if !is_recorded_first {
                world.enable("j").await;
                world.run_until("2027-03-01T10:00:20").await;
                assert_eq!(world.view("j").await.state.name(), "enabled");
            }
            world.targets.go_on();
            attempt.await.unwrap();
            if is_recorded_first {
                world.run_until("2027-03-01T10:01").await;
                assert_eq!(world.view("j").await.state.name(), "disabled");
                world.enable("j").await;
            }
            world.run_until("2027-03-01T10:10").await;
            assert_eq!(world.calls(URI).len(), calls, "{does:?} {is_recorded_first}");
            assert_eq!(world.status("j").await, state, "{does:?} {is_recorded_first}");
        }
    }
}

#[tokio::test]
async fn a_last_attempt_that_fails_while_the_job_is_disabled_has_its_error_action() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.next(URI, &[HoldAndFail]);
    world.put("j", once("PT30S", 1)).await;
    world.patch("j", json!({"action": {"retryPolicy": {"retryType": "None"}}})).await;
    let attempt = begun(&mut world).await;
    world.disable("j").await;
    world.targets.go_on();
    attempt.await.unwrap();
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.calls("http://err/").len(), 0);
    world.enable("j").await;
    world.run_until("2027-03-01T10:10:01").await;
    assert_eq!(world.calls("http://err/"), ["01 10:10"]);
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
    assert_eq!(world.failures(instant("2027-03-01T00:00")).await.len(), 1);
}

#[tokio::test]
async fn an_attempt_whose_worker_died_is_made_again_with_its_id() {
    for is_back_while_off in [false, true] {
        let mut world = World::at("2027-03-01T09:59").await;
        world.targets.next(URI, &[Kill]);
        world.put("j", once("PT30S", 4)).await;
        world.run_until("2027-03-01T10:00:10").await;
        world.disable("j").await;
        if is_back_while_off {
            world.run_until("2027-03-01T10:10").await;
        }
        world.enable("j").await;
        world.run_until("2027-03-01T10:20").await;
        let calls = world.targets.calls();
        let ids: Vec<_> = calls.iter().map(|it| it.context.execution_id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{ids:?}");
        assert_eq!(ids[0], ids[1]);
        assert_eq!(world.status("j").await, status("completed").executions(1));
    }
}

#[tokio::test]
async fn a_long_retry_waits_for_its_time_or_is_made_when_the_job_is_enabled() {
    for (enabled_at, called_at) in [("10:20", "01 11:00"), ("11:30", "01 11:30")] {
        let mut world = failed_once("PT1H", 1).await;
        world.run_until("2027-03-01T10:10").await;
        world.disable("j").await;
        world.run_until(&format!("2027-03-01T{enabled_at}")).await;
        world.enable("j").await;
        world.run_until("2027-03-01T13:00").await;
        assert_eq!(world.calls(URI), ["01 10:00", called_at]);
        assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
    }
}

#[tokio::test]
async fn the_next_attempt_has_the_action_and_the_policy_of_its_time() {
    let mut world = failed_once("PT30S", 4).await;
    world.targets.always("http://new/", Fail);
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 2});
    world.patch("j", json!({"state": "Disabled"})).await;
    let action = json!({"request": {"uri": "http://new/"}, "retryPolicy": retry});
    world.patch("j", json!({"action": action})).await;
    world.run_until("2027-03-01T10:30").await;
    world.enable("j").await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://new/"), ["01 10:30", "01 10:31"]);
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(3).faulted(1));
}

#[tokio::test]
async fn another_start_goes_on_with_nothing() {
    let mut world = failed_once("PT10M", 4).await;
    world.disable("j").await;
    world.patch("j", json!({"state": "Enabled", "startTime": "2027-03-01T11:00"})).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 11:00"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 11:00 #1.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn an_occurrence_that_falls_due_while_the_job_is_disabled_does_not_run() {
    let mut job = once("PT30S", 1);
    job["recurrence"] = json!({"frequency": "minute", "endTime": "2027-03-01T10:02"});
    let mut world = world(job, "2027-03-01T10:01:30").await;
    world.disable("j").await;
    world.run_until("2027-03-01T10:10").await;
    world.enable("j").await;
    assert_eq!(world.status("j").await, status("completed").executions(2));
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls(URI).len(), 2);
}

#[tokio::test]
async fn an_occurrence_that_fell_due_and_did_not_begin_begins_when_the_job_is_enabled() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", once("PT30S", 1)).await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:00:10").await;
    world.disable("j").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:10").await;
    assert!(world.calls(URI).is_empty());
    world.enable("j").await;
    assert!(matches!(world.explain("j", "2027-03-01T10:00").await, Why::Waiting));
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    assert_eq!(world.calls(URI), ["01 10:10"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn what_the_queue_has_lost_is_sent_again() {
    let mut world = failed_once("PT5M", 4).await;
    world.disable("j").await;
    world.enable("j").await;
    world.lose_all();
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 10:20:10"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn every_message_may_come_twice() {
    let mut world = failed_once("PT30S", 1).await;
    world.redeliver = true;
    world.targets.always(URI, Fail);
    world.disable("j").await;
    world.run_until("2027-03-01T10:10").await;
    world.enable("j").await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls(URI).len(), 2);
    assert_eq!(world.calls("http://err/").len(), 1);
    assert_eq!(world.status("j").await, status("faulted").executions(2).failures(2).faulted(1));
}

#[tokio::test]
async fn a_job_that_lets_none_overlap_and_pauses_goes_on_like_any_other() {
    let mut job = once("PT30S", 2);
    job["recurrence"] = json!({"frequency": "day", "count": 1});
    job["minutehand"] = json!({
        "overlap": {"policy": "skip"}, "pauseOnFailure": {"after": 1}, "maxLateness": "PT10S",
    });
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always(URI, Fail);
    world.put("j", job).await;
    world.run_until("2027-03-01T10:00:10").await;
    world.disable("j").await;
    world.run_until("2027-03-01T10:10").await;
    world.enable("j").await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls(URI), ["01 10:00", "01 10:10", "01 10:10:30"]);
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(3).faulted(1));
}

#[tokio::test]
async fn the_last_occurrence_goes_on_when_its_collection_is_on_again() {
    let mut world = failed_once("PT30S", 1).await;
    world.targets.always(URI, Fail);
    world.switch(CollectionState::Disabled).await;
    world.run_until("2027-03-01T12:00:30").await;
    world.switch(CollectionState::Enabled).await;
    world.run_until("2027-03-01T12:25").await;
    let calls = world.calls(URI);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(world.calls("http://err/").len(), 1);
    assert_eq!(world.status("j").await, status("faulted").executions(2).failures(2).faulted(1));
}

#[tokio::test]
async fn runs_beside_it_decide_nothing() {
    let mut world = failed_once("PT10M", 1).await;
    world.disable("j").await;
    world.run_until("2027-03-01T10:05").await;
    world.enable("j").await;
    world.call_run("j").await;
    world.run_until("2027-03-01T10:09").await;
    assert_eq!(world.status("j").await, status("enabled").executions(2).failures(1));
    world.targets.always(URI, Fail);
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(2).faulted(1));
}
