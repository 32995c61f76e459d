//! Policies of jobs: what runs after an outage, what is too late, and starts that are spread.

use chrono::TimeDelta;
use minutehand_domain::firing::SkipReason;
use serde_json::{Value, json};

use super::target::Behaviour::Fail;
use super::world::{World, instant, short, status};

fn with(policies: &Value) -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"},
        "minutehand": policies})
}

/// The instants of the occurrences of a job that ran.
async fn fired(world: &World, name: &str) -> Vec<String> {
    let history = world.history(name).await;
    history.iter().map(|line| line.split(" #").next().unwrap().to_owned()).collect()
}

fn minutes(hour: u32, range: std::ops::RangeInclusive<u32>) -> Vec<String> {
    range.map(|minute| format!("01 {hour}:{minute:02}")).collect()
}

/// What became of the occurrence at an instant.
async fn why(world: &World, name: &str, at: &str) -> String {
    let place = super::world::place();
    let (collection, job) = (super::world::named("jc"), super::world::named(name));
    let found = world.manage.explain((&place, &collection, &job), instant(at)).await.unwrap();
    found.why.name().to_owned()
}

#[tokio::test]
async fn after_an_outage_a_job_makes_up_for_what_its_policy_says() {
    let mut world = World::at("2027-03-01T09:00").await;
    for (name, catch_up) in [
        ("last", json!({"policy": "last"})),
        ("none", json!({"policy": "none"})),
        ("three", json!({"policy": "all", "max": 3})),
        ("young", json!({"policy": "all", "window": "PT20M", "max": 1_000})),
        ("all", json!({"policy": "all", "max": 1_000})),
    ] {
        world.put(name, with(&json!({"catchUp": catch_up}))).await;
    }
    let once =
        json!({"startTime": "2027-03-01T11:00", "minutehand": {"catchUp": {"policy": "none"}}});
    world.put("once", once).await;
    world.run_until("2027-03-01T10:29:30").await;
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-01T12:30").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.run_until("2027-03-01T12:45:30").await;
    // Until 10:30:40 workers may have been there.
    for (name, made_up, after, left_out) in [
        ("last", 30..=30, 31, 119),
        ("none", 31..=31, 32, 120),
        ("three", 28..=30, 31, 117),
        ("young", 10..=30, 31, 99),
    ] {
        let before_and_after =
            [minutes(10, 0..=30), minutes(12, made_up), minutes(12, after..=45)].concat();
        assert_eq!(fired(&world, name).await, before_and_after, "{name}");
        let executions = u64::try_from(before_and_after.len()).unwrap();
        let expected = status("enabled").executions(executions).skipped(left_out);
        assert_eq!(world.status(name).await, expected, "{name}");
    }
    assert_eq!(fired(&world, "all").await.len(), 166);
    assert_eq!(world.left_out("all").await, [""; 0]);
    assert_eq!(world.calls("http://once/"), ["01 12:30"]);
    assert_eq!(why(&world, "none", "2027-03-01T12:30").await, "overtaken");
    assert_eq!(why(&world, "three", "2027-03-01T12:20").await, "overtaken");
    assert_eq!(why(&world, "three", "2027-03-01T12:29").await, "firedLate");
}

#[tokio::test]
async fn what_would_start_too_late_is_left_out_with_a_word() {
    let mut world = World::at("2027-03-01T09:59").await;
    let policies = json!({"maxLateness": "PT3M"});
    world.put("j", with(&policies)).await;
    world.run_until("2027-03-01T10:00:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:06:30").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:07:30").await;
    // 10:03 is three minutes and a half late.
    assert_eq!(fired(&world, "j").await, [minutes(10, 0..=0), minutes(10, 4..=7)].concat());
    let row = |minute| format!("01 10:{minute:02} to 01 10:{minute:02}: 1");
    assert_eq!(world.left_out("j").await, [row(3), row(2), row(1)]);
    assert_eq!(world.status("j").await, status("enabled").executions(5).skipped(3));
    assert_eq!(world.noted.dropped("j"), [SkipReason::TooLate; 3]);
    assert_eq!(why(&world, "j", "2027-03-01T10:02").await, "tooLate");
    // They are not taken for lost, and sent again.
    world.run_until("2027-03-01T11:00:30").await;
    assert_eq!(world.noted.dropped("j"), [SkipReason::TooLate; 3]);
}

#[tokio::test]
async fn a_retry_and_a_run_are_never_too_late() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = with(&json!({"maxLateness": "PT1S"}));
    job["recurrence"] = json!({"frequency": "day"});
    job["action"] = json!({"type": "Http", "request": {"uri": "http://j/", "method": "GET"},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT5M", "retryCount": 1}});
    world.put("j", job).await;
    world.targets.next("http://j/", &[Fail]);
    world.run_until("2027-03-01T10:00:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:09:30").await;
    world.call_run("j").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:10:30").await;
    assert_eq!(world.status("j").await, status("enabled").executions(3).failures(1));
}

#[tokio::test]
async fn jitter_delays_each_start_and_is_no_part_of_the_occurrence() {
    let mut world = World::at("2027-03-01T08:00").await;
    let hourly = |window: &str| {
        json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour", "count": 6},
            "minutehand": {"jitter": {"window": window}}})
    };
    for name in ["a", "b", "c"] {
        world.put(name, hourly("PT25M")).await;
    }
    world.run_until("2027-03-01T17:00").await;
    let mut starts = Vec::new();
    for name in ["a", "b", "c"] {
        let expected: Vec<_> = (10..=15).map(|hour| format!("01 {hour}:00")).collect();
        assert_eq!(fired(&world, name).await, expected, "{name}");
        assert_eq!(world.status(name).await, status("completed").executions(6));
        for (hour, view) in (10..).zip(world.executions(name).await.iter().rev()) {
            let delay = view.record.started_at - instant(&format!("2027-03-01T{hour}:00"));
            assert!((TimeDelta::zero()..TimeDelta::minutes(25)).contains(&delay), "{delay}");
            starts.push(delay);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    assert!(starts.len() > 12, "{starts:?}");
}

#[tokio::test]
async fn another_jitter_moves_the_starts_that_are_still_to_come_and_loses_none() {
    let mut world = World::at("2027-03-01T09:30").await;
    let hourly = |window: &str| {
        json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour", "count": 3},
            "minutehand": {"jitter": {"window": window}}})
    };
    world.put("j", hourly("PT30M")).await;
    let first = world.view("j").await;
    assert_eq!(first.status.unwrap().next_execution_at.map(short).as_deref(), Some("01 10:00"));
    world.run_until("2027-03-01T10:00:01").await;
    assert_eq!(world.status("j").await, status("enabled"), "it starts later");
    world.patch("j", json!({"minutehand": {"jitter": {"window": "PT1S"}}})).await;
    world.run_until("2027-03-01T10:00:10").await;
    assert_eq!(world.status("j").await, status("enabled").executions(1));
    world.patch("j", json!({"minutehand": {"jitter": null}})).await;
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(world.calls("http://j/")[1..], ["01 11:00", "01 12:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(3));
}

#[tokio::test]
async fn a_change_of_policy_applies_to_what_has_not_started() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", with(&json!({}))).await;
    world.run_until("2027-03-01T10:00:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:05:30").await;
    world.patch("j", json!({"minutehand": {"maxLateness": "PT1M"}})).await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:06:30").await;
    assert_eq!(fired(&world, "j").await, [minutes(10, 0..=0), minutes(10, 5..=6)].concat());
    // And no longer, when it is gone.
    world.patch("j", json!({"minutehand": null})).await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:09:30").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:10:30").await;
    assert_eq!(world.status("j").await, status("enabled").executions(7).skipped(4));
}

#[tokio::test]
async fn a_policy_that_cannot_be_is_refused() {
    let world = World::at("2027-03-01T09:00").await;
    for (policies, expected) in [
        (
            json!({"jitter": {"window": "PT31S"}}),
            "'minutehand.jitter.window' is 00:00:31; two occurrences are 00:01:00 apart, so use at most 00:00:30.",
        ),
        (
            json!({"jitter": {}}),
            "'minutehand.jitter.window' is missing; use a duration such as PT10M.",
        ),
        (
            json!({"maxLateness": "PT0S"}),
            "'minutehand.maxLateness' is 00:00:00; use 00:00:01 to 548.00:00:00.",
        ),
        (
            json!({"catchUp": {"policy": "first"}}),
            "'minutehand.catchUp.policy' is \"first\"; use one of last, none, all.",
        ),
        (json!({"catchup": {"polcy": "all"}}), ""),
    ] {
        let error = world.try_put("j", with(&policies)).await.unwrap_err().to_string();
        if expected.is_empty() {
            assert!(error.contains("did you mean 'policy'?"), "{error}");
        } else {
            assert_eq!(error, expected);
        }
    }
}
