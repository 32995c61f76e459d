//! Retries and error actions.

use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::firing::NO_RETRY_FOLLOWS;
use minutehand_domain::firing::limits::LONG_RETRIES_MAX;
use minutehand_ports::RetryTimers;
use minutehand_ports::store::LongRetry;
use serde_json::{Value, json};

use super::target::Behaviour::{AskToWait, Fail, Succeed};
use super::world::{World, instant, status};

fn fixed(interval: &str, count: u32) -> Value {
    json!({"retryType": "Fixed", "retryInterval": interval, "retryCount": count})
}

#[tokio::test]
async fn default_policy_retries_four_times_then_runs_the_error_action() {
    let mut world = World::at("2027-03-01T00:00").await;
    world.targets.always("http://j/", Fail);
    let action = json!({"errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}}});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "action": action})).await;
    world.run_until("2027-03-02T00:00").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0 failed",
            "01 10:00:30 #1.1 failed",
            "01 10:01 #1.2 failed",
            "01 10:01:30 #1.3 failed",
            "01 10:02 #1.4 failed",
            "01 10:00 error action #1.0",
        ]
    );
    assert_eq!(world.calls("http://err/"), ["01 10:02"]);
    assert_eq!(world.status("j").await, status("faulted").executions(5).failures(5).faulted(1));
}

#[tokio::test]
async fn what_fails_for_good_is_listed_once() {
    let mut world = World::at("2027-03-01T00:00").await;
    world.targets.always("http://j/", Fail);
    world.targets.next("http://k/", &[Fail]);
    let action = json!({"retryPolicy": fixed("PT1M", 1)});
    let daily = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day"}, "action": action});
    world.put("j", daily.clone()).await;
    world.put("k", daily).await;
    world.run_until("2027-03-02T12:00").await;
    world.call_run("j").await;
    world.run_until("2027-03-02T13:00").await;
    let listed = world.failures(instant("2027-03-01T00:00")).await;
    let shown: Vec<_> =
        listed.iter().map(|it| (it.job.as_str(), it.nominal_at, it.attempts, it.is_run)).collect();
    // The retry of k has succeeded.
    assert_eq!(
        shown,
        [
            ("j", instant("2027-03-02T12:00"), 2, true),
            ("j", instant("2027-03-02T10:00"), 2, false),
            ("j", instant("2027-03-01T10:00"), 2, false),
        ]
    );
    assert!(listed.iter().all(|it| it.collection_path.as_str() == "s/g/jc"), "{listed:?}");
    assert_eq!(listed[0].target.as_deref(), Some("GET j"));
    // A list from a later time, and one of an earlier day.
    assert_eq!(world.failures(instant("2027-03-02T10:30")).await.len(), 1);
    world.run_for(TimeDelta::days(62)).await;
    assert_eq!(world.failures(instant("2027-03-01T00:00")).await.len(), 60);
}

#[tokio::test]
async fn retries_outlast_the_next_occurrence() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let retry = fixed("PT5M", 1);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "count": 7}, "action": {"retryPolicy": retry}}))
        .await;
    world.run_until("2027-03-01T10:05:10").await;
    assert_eq!(world.calls("http://j/").len(), 7);
    world.run_until("2027-03-01T11:00").await;
    let mut expected = Vec::new();
    for n in 0..7 {
        expected.push(format!("01 10:0{n} #{}.0 failed", n + 1));
        expected.push(format!("01 10:{:02} #{}.1 failed", n + 5, n + 1));
    }
    assert_eq!(world.history("j").await, expected);
    assert_eq!(world.status("j").await, status("faulted").executions(14).failures(14).faulted(7));
}

#[tokio::test]
async fn the_last_occurrence_succeeds_while_an_earlier_one_is_retried() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Fail]);
    let retry = fixed("PT5M", 1);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "count": 2}, "action": {"retryPolicy": retry}}))
        .await;
    world.run_until("2027-03-01T10:04").await;
    assert_eq!(world.status("j").await, status("enabled").executions(2).failures(1));
    world.run_until("2027-03-01T10:06").await;
    assert_eq!(world.status("j").await, status("completed").executions(3).failures(1));
}

#[tokio::test]
async fn an_error_action_has_its_own_retries_and_does_not_change_the_state() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    world.targets.always("http://err/", Fail);
    let retry = fixed("PT1M", 2);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": {"retryType": "None"}, "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}, "retryPolicy": retry}}}))
        .await;
    // The job is over before its error action is retried.
    world.run_until("2027-03-01T10:00:30").await;
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0 failed",
            "01 10:00 error action #1.0 failed",
            "01 10:01 error action #1.1 failed",
            "01 10:02 error action #1.2 failed",
        ]
    );
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
}

#[tokio::test]
async fn an_error_action_without_a_policy_uses_that_of_the_main_action() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    world.targets.next("http://err/", &[Fail, Succeed]);
    let retry = fixed("PT2M", 1);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": retry, "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}}}}))
        .await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://err/"), ["01 10:02", "01 10:04"]);
}

#[tokio::test]
async fn a_retry_after_eighteen_months_waits_beside_the_next_occurrence() {
    let mut world = World::at("2027-02-28T00:00").await;
    world.targets.next("http://j/", &[Fail]);
    let retry = fixed("P548D", 1);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "year"}, "action": {"retryPolicy": retry}}))
        .await;
    world.run_until("2027-03-01T11:00").await;
    let uid = world.job("j").await.uid;
    assert_eq!(RetryTimers::list(world.store.as_ref(), &uid, 10).await.unwrap().len(), 1);
    assert_eq!(world.queued(), 0);
    world.run_until("2028-08-30T10:05").await;
    assert_eq!(
        world.history("j").await,
        ["30 10:00 #1.1"],
        "what came before has expired, and the one of March has, too"
    );
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:00", "30 10:00"]);
    assert!(RetryTimers::list(world.store.as_ref(), &uid, 10).await.unwrap().is_empty());
    assert_eq!(world.status("j").await, status("enabled").executions(3).failures(1));
}

#[tokio::test]
async fn a_retry_of_an_hour_survives_a_missing_sweep() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put_failing_once("j", "PT1H").await;
    world.run_until("2027-03-01T10:50").await;
    world.sweeper_running = false;
    world.run_until("2027-03-01T13:00").await;
    world.sweeper_running = true;
    world.run_until("2027-03-01T13:05").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 13:00"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 11:00 #1.1"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn no_retry_follows_when_the_limit_of_long_retries_is_reached() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let retry = fixed("P548D", 1);
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"}, "action": {"retryPolicy": retry}}))
        .await;
    let job = world.job("j").await;
    let due_at = instant("2028-01-01");
    let pending: Vec<_> = (1..LONG_RETRIES_MAX)
        .map(|minute| {
            let nominal_at = instant("2026-01-01") + chrono::TimeDelta::minutes(minute.into());
            let first = Attempt::first(0, Occurrence::Scheduled { nominal_at });
            let attempt = Attempt { number: 1, due_at, is_long: true, ..first };
            LongRetry { job: job.clone(), attempt }
        })
        .collect();
    for retry in &pending {
        world.store.keep(retry).await.unwrap();
    }
    // One is left, and taken by the first.
    world.run_until("2027-03-01T11:30").await;
    let messages: Vec<_> =
        world.executions("j").await.into_iter().map(|it| it.record.message).collect();
    assert_eq!(messages, [format!("Failed{NO_RETRY_FOLLOWS}"), "Failed".to_owned()]);
    assert_eq!(world.status("j").await, status("enabled").executions(2).failures(2).faulted(1));
}

#[tokio::test]
async fn a_retry_that_waits_longer_than_history_is_kept_is_not_taken_for_a_first_attempt() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put_failing_once("j", "P90D").await;
    world.run_until("2027-03-01T10:30").await;
    // The history has expired by the next request.
    world.sweeper_running = false;
    world.run_until("2027-05-20T00:00").await;
    world.sweeper_running = true;
    world.run_until("2027-05-20T01:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    assert_eq!(world.status("j").await, status("enabled").executions(1).failures(1));
    world.sweeper_running = false;
    world.run_until("2027-05-30T09:59").await;
    world.sweeper_running = true;
    world.run_until("2027-05-30T12:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "30 10:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

/// A job at 10:00 on 1 March whose target fails, with an extension `retry`.
fn with_backoff(policy: &Value, retry: &Value) -> Value {
    json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": policy}, "minutehand": {"retry": retry}})
}

#[tokio::test]
async fn an_exponential_back_off_grows_to_its_limit_and_survives_the_horizon() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let retry = json!({"backoff": "exponential", "factor": 3, "maxInterval": "PT30M"});
    world.put("j", with_backoff(&fixed("PT1M", 5), &retry)).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0 failed",
            "01 10:01 #1.1 failed",
            "01 10:04 #1.2 failed",
            "01 10:13 #1.3 failed",
            // 27 minutes are beyond what a message can be delayed: this retry waits in a timer.
            "01 10:40 #1.4 failed",
            "01 11:10 #1.5 failed",
        ]
    );
    assert_eq!(world.status("j").await, status("faulted").executions(6).failures(6).faulted(1));
}

#[tokio::test]
async fn a_target_may_ask_for_a_longer_wait() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[AskToWait(300), AskToWait(5), AskToWait(7_200), Succeed]);
    let retry = json!({"retryAfter": {"max": "PT20M"}});
    world.put("j", with_backoff(&fixed("PT1M", 5), &retry)).await;
    world.targets.next("http://plain/", &[AskToWait(300), Succeed]);
    let mut plain = with_backoff(&fixed("PT1M", 5), &json!({"retryAfter": {"honour": false}}));
    plain["action"]["request"] = json!({"uri": "http://plain/", "method": "GET"});
    world.put("plain", plain).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:05", "01 10:06", "01 10:26"]);
    assert_eq!(world.calls("http://plain/"), ["01 10:00", "01 10:01"]);
}

#[tokio::test]
async fn no_retry_begins_later_than_the_limit_after_the_occurrence() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let retry = json!({"backoff": "exponential", "maxElapsed": "PT3M"});
    let mut job = with_backoff(&fixed("PT1M", 9), &retry);
    job["action"]["errorAction"] =
        json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    world.put("j", job).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01", "01 10:03"]);
    assert_eq!(world.calls("http://err/"), ["01 10:03"]);
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(3).faulted(1));
}
