//! Jobs that let no attempts overlap: what is left out, what waits, and what a dead worker holds up.

use chrono::TimeDelta;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::recent::LastSkip;
use serde_json::{Value, json};

use super::target::Behaviour::{AskToWait, Fail, Hold, Kill, Take};
use super::world::{World, instant, named, place, status};

/// A job that lets none overlap, with this recurrence.
fn skipping(recurrence: &Value) -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": recurrence,
        "minutehand": {"overlap": {"policy": "skip"}}})
}

fn minutely() -> Value {
    skipping(&json!({"frequency": "minute"}))
}

/// The same, whose action fails once and is tried again after this time.
fn retrying(mut job: Value, interval: &str) -> Value {
    job["action"]["retryPolicy"] =
        json!({"retryType": "fixed", "retryInterval": interval, "retryCount": 1});
    job
}

/// The instants of the occurrences of a job that ran, runs among them, in the order of their instants.
async fn fired(world: &World) -> Vec<String> {
    let history = world.history("j").await;
    history.iter().map(|line| line.split(" #").next().unwrap().to_owned()).collect()
}

/// Holds the call of the next message. The job's attempt runs until the test lets it go on.
async fn held(world: &World) -> tokio::task::JoinHandle<()> {
    world.targets.next("http://j/", &[Hold]);
    world.begin_next().await
}

#[tokio::test]
async fn an_occurrence_is_left_out_while_another_one_runs() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T09:59:59").await;
    let first = held(&world).await;
    world.run_until("2027-03-01T10:01:10").await;
    world.targets.go_on();
    first.await.unwrap();
    world.run_until("2027-03-01T10:03:30").await;
    assert_eq!(fired(&world).await, ["01 10:00", "01 10:02", "01 10:03"]);
    assert_eq!(world.left_out("j").await, ["01 10:01 to 01 10:01: 1"]);
    assert_eq!(world.status("j").await, status("enabled").executions(3).skipped(1));
    let at = instant("2027-03-01T10:01");
    let last = LastSkip::one(at, SkipReason::Overlap);
    assert_eq!(world.counters("j").await.last_skip, Some(last));
    assert_eq!(world.counters("j").await.results().letters(), "sooo");
    let why = world.manage.explain((&place(), &named("jc"), &named("j")), at).await.unwrap();
    assert_eq!(why.why.name(), "overlap");
    // It is not taken for lost, and sent again.
    world.tick_until("2027-03-01T11:00:30").await;
    assert_eq!(world.noted.dropped("j"), [SkipReason::Overlap]);
    assert_eq!(fired(&world).await.len(), 60);
}

#[tokio::test]
async fn a_job_that_allows_it_runs_beside_itself() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = minutely();
    job["minutehand"]["overlap"]["policy"] = "allow".into();
    world.put("j", job).await;
    world.run_until("2027-03-01T09:59:59").await;
    let first = held(&world).await;
    world.run_until("2027-03-01T10:01:10").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01"]);
    world.targets.go_on();
    first.await.unwrap();
}

#[tokio::test]
async fn a_retry_waits_for_its_turn_and_goes_before_the_next_occurrence() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", retrying(minutely(), "PT50S")).await;
    world.targets.next("http://j/", &[Fail]);
    world.run_until("2027-03-01T10:00:45").await;
    world.call_run("j").await;
    // The run.
    let run = held(&world).await;
    world.run_until("2027-03-01T10:01:03").await;
    assert_eq!(world.left_out("j").await, ["01 10:01 to 01 10:01: 1"]);
    world.targets.go_on();
    run.await.unwrap();
    world.run_until("2027-03-01T10:01:30").await;
    let calls = world.calls("http://j/");
    assert_eq!(calls, ["01 10:00", "01 10:00:45", "01 10:01:05"]);
    assert_eq!(
        world.history("j").await,
        ["01 10:00 #1.0 failed", "01 10:00:50 #1.1", "01 10:00:45 run #2.0"]
    );
    world.run_until("2027-03-01T10:02:30").await;
    let expected = status("enabled").executions(4).failures(1).skipped(1);
    assert_eq!(world.status("j").await, expected);
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn what_waits_leaves_out_what_comes_after_it() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T10:00:57").await;
    world.call_run("j").await;
    let first = held(&world).await;
    world.call_run("j").await;
    // It looks for its turn, and again five seconds later.
    world.run_until("2027-03-01T10:00:59").await;
    world.targets.go_on();
    first.await.unwrap();
    world.run_until("2027-03-01T10:01:30").await;
    assert_eq!(world.left_out("j").await, ["01 10:01 to 01 10:01: 1"]);
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:00:57", "01 10:01:02"]);
}

#[tokio::test]
async fn a_dead_worker_counts_as_running_until_its_lease_is_over() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", minutely()).await;
    world.targets.next("http://j/", &[Kill]);
    world.run_until("2027-03-01T10:04:30").await;
    // Its own message comes back after two minutes: what has begun is never left out.
    assert_eq!(world.left_out("j").await, ["01 10:01 to 01 10:01: 1"]);
    assert_eq!(fired(&world).await, ["01 10:00", "01 10:02", "01 10:03", "01 10:04"]);
    assert_eq!(world.calls("http://j/").len(), 5);
    assert_eq!(world.status("j").await, status("enabled").executions(4).skipped(1));
}

#[tokio::test]
async fn the_end_of_a_process_that_is_alone_frees_its_turn() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.put("j", minutely()).await;
    world.targets.next("http://j/", &[Kill]);
    world.run_until("2027-03-01T10:00:30").await;
    let mut world = world.restart().await;
    // Otherwise it would take its own turn again at once.
    drop(world.take());
    world.run_until("2027-03-01T10:01:30").await;
    assert_eq!(world.left_out("j").await, [""; 0]);
    assert_eq!(fired(&world).await, ["01 10:01"]);
}

#[tokio::test]
async fn the_policy_holds_for_what_was_sent_before_it_and_no_longer_when_it_is_gone() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = minutely();
    job["minutehand"] = json!({});
    world.put("j", job).await;
    world.run_until("2027-03-01T09:59:59").await;
    world.patch("j", json!({"minutehand": {"overlap": {"policy": "skip"}}})).await;
    let first = held(&world).await;
    world.run_until("2027-03-01T10:01:10").await;
    assert_eq!(world.left_out("j").await, ["01 10:01 to 01 10:01: 1"]);
    world.targets.go_on();
    first.await.unwrap();
    world.run_until("2027-03-01T10:02:10").await;
    // 10:03 takes its turn by its message, and needs none any more.
    world.patch("j", json!({"minutehand": {"overlap": null}})).await;
    world.call_run("j").await;
    let run = held(&world).await;
    world.run_until("2027-03-01T10:03:10").await;
    assert_eq!(world.calls("http://j/").last().unwrap(), "01 10:03");
    world.targets.go_on();
    run.await.unwrap();
    assert_eq!(world.left_out("j").await.len(), 1);
}

#[tokio::test]
async fn runs_of_a_disabled_job_take_turns_too() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", minutely()).await;
    world.disable("j").await;
    for _ in 0..3 {
        world.call_run("j").await;
    }
    let first = held(&world).await;
    world.run_for(TimeDelta::seconds(12)).await;
    assert_eq!(world.calls("http://j/").len(), 1);
    world.targets.go_on();
    first.await.unwrap();
    world.run_for(TimeDelta::seconds(30)).await;
    assert_eq!(world.calls("http://j/").len(), 3);
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn an_error_action_needs_no_turn() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = retrying(minutely(), "PT5S");
    job["action"]["retryPolicy"] = json!({"retryType": "none"});
    job["action"]["errorAction"] =
        json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    world.put("j", job).await;
    world.targets.next("http://j/", &[Fail]);
    world.targets.next("http://err/", &[Take(30)]);
    world.run_until("2027-03-01T10:01:30").await;
    assert_eq!(world.calls("http://err/"), ["01 10:00"]);
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01"]);
}

#[tokio::test]
async fn an_attempt_that_may_not_start_gives_its_turn_back() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = minutely();
    job["minutehand"]["maxLateness"] = "PT1M".into();
    world.put("j", job).await;
    world.run_until("2027-03-01T09:59:59").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:05:30").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:06:30").await;
    // Six wait, of which four are too late.
    assert_eq!(world.noted.dropped("j"), [SkipReason::TooLate; 5]);
    assert_eq!(fired(&world).await, ["01 10:05", "01 10:06"]);
}

#[tokio::test]
async fn a_job_that_ends_with_an_occurrence_left_out_is_over() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", skipping(&json!({"frequency": "minute", "count": 2}))).await;
    world.run_until("2027-03-01T09:59:59").await;
    let first = held(&world).await;
    world.run_until("2027-03-01T10:01:10").await;
    world.targets.go_on();
    first.await.unwrap();
    world.tick_until("2027-03-01T11:00").await;
    assert_eq!(world.status("j").await, status("completed").executions(1).skipped(1));
}

#[tokio::test]
async fn a_copy_of_a_message_that_was_left_out_does_not_run() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.redeliver = true;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T10:00:57").await;
    world.call_run("j").await;
    let run = held(&world).await;
    let copies = world.copy_all();
    world.run_until("2027-03-01T10:01:10").await;
    world.targets.go_on();
    run.await.unwrap();
    for copy in copies {
        world.put_back(copy);
    }
    world.run_until("2027-03-01T10:01:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:00:57"]);
    assert_eq!(world.status("j").await, status("enabled").executions(2).skipped(1));
}

#[tokio::test]
async fn a_long_retry_takes_its_turn() {
    let mut world = World::at("2027-03-01T09:59").await;
    let hourly = skipping(&json!({"frequency": "hour", "count": 1}));
    world.put("j", retrying(hourly, "PT30M")).await;
    world.targets.next("http://j/", &[AskToWait(1)]);
    world.run_until("2027-03-01T10:29:59").await;
    world.call_run("j").await;
    let run = held(&world).await;
    world.run_until("2027-03-01T10:30:10").await;
    world.targets.go_on();
    run.await.unwrap();
    world.tick_until("2027-03-01T11:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:29:59", "01 10:30:15"]);
    assert_eq!(world.status("j").await, status("completed").executions(3).failures(1));
}
