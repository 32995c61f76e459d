//! A store and a queue that fail, at each of their calls in turn.

use serde_json::json;

use super::store::Failing;
use super::store::Fails::{After, Before};
use super::target::Behaviour::{Fail, NotMade, Succeed};
use super::world::{Status, World, status};

/// The distance of calls that fail. No message takes a multiple of as many, which would fail at the
/// same call each time it comes back.
const EACH: u64 = 7;

/// The end of a world: its jobs, and the calls of each attempt in any order.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    jobs: Vec<Status>,
    history: Vec<String>,
    calls: Vec<String>,
}

/// Jobs that use every way there is.
async fn after_a_day(trouble: Option<Failing>) -> (Outcome, u64) {
    let mut world = World::at("2027-03-01T09:59:30").await;
    let jobs = ["short", "long", "well"];
    let retry =
        |interval: &str| json!({"retryType": "Fixed", "retryInterval": interval, "retryCount": 1});
    let start = "2027-03-01T10:30";
    let err = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    let short = json!({"retryPolicy": retry("PT1M"), "errorAction": err});
    world.put("short", json!({"startTime": start, "action": short})).await;
    let long = json!({"retryPolicy": retry("PT1H")});
    world.put("long", json!({"startTime": start, "action": long})).await;
    let thrice =
        json!({"startTime": "2027-03-01T10:30", "recurrence": {"frequency": "hour", "count": 3}});
    world.put("well", thrice).await;
    world.targets.always("http://short/", Fail);
    world.targets.next("http://long/", &[Fail, Succeed]);
    if let Some(fails) = trouble {
        world.trouble.begin(fails);
    }
    world.run_until("2027-03-01T15:00").await;
    assert_eq!(world.queued(), 0);
    assert!(world.dead.is_empty());
    let mut jobs_status = Vec::new();
    let mut history = Vec::new();
    for job in jobs {
        jobs_status.push(world.status(job).await);
        // The instant of a retry depends on when the first attempt ended.
        let lines = world.history(job).await;
        history
            .extend(lines.iter().map(|line| format!("{job} {}", &line[line.find('#').unwrap()..])));
    }
    let calls = world.targets.calls().into_iter();
    let mut calls: Vec<_> =
        calls.map(|call| format!("{} {}", call.uri, call.context.execution_id)).collect();
    calls.sort();
    (Outcome { jobs: jobs_status, history, calls }, world.trouble.calls())
}

#[tokio::test]
async fn a_failure_of_any_call_loses_nothing_and_repeats_nothing() {
    let (expected, calls) = after_a_day(None).await;
    assert_eq!(expected.calls.len(), 2 + 1 + 2 + 3);
    println!("figure: {calls} calls of store and queue, each of which fails once in two ways");
    // Each seventh call fails, and each call is one of them once.
    for first in 1..=EACH {
        for how in [Before, After] {
            let (outcome, _) = after_a_day(Some(Failing { first, each: EACH, how })).await;
            assert_eq!(outcome, expected, "calls from {first} on fail {how:?}");
        }
    }
}

/// A job whose attempt is due, and whose next call of the store loses its answer `n` times in a row.
async fn with_lost_answers(n: u64) -> World {
    let mut world = World::at("2027-03-01T09:59:30").await;
    world.put("job", json!({"startTime": "2027-03-01T10:00"})).await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:00").await;
    world.worker_running = true;
    world.trouble.begin(Failing { first: 1, each: 1, how: After });
    world.trouble.end_after(n);
    world
}

#[tokio::test]
async fn a_worker_asks_again_for_a_claim_whose_answer_is_lost_and_its_attempt_does_not_wait_for_the_lease()
 {
    let mut world = with_lost_answers(1).await;
    world.run_until("2027-03-01T10:05").await;
    assert_eq!(world.calls("http://job/"), ["01 10:00:01"]);
    assert_eq!(world.status("job").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_worker_that_is_never_answered_gives_its_claim_back() {
    // It asks for 20 seconds, and its release is answered a second later.
    let mut world = with_lost_answers(22).await;
    // The message comes back after two minutes here; the lease is asked about before that.
    world.visibility = chrono::TimeDelta::seconds(30);
    world.run_until("2027-03-01T10:05").await;
    let calls = world.calls("http://job/");
    assert_eq!(calls, ["01 10:00:51"], "the lease ends at 10:01:40");
    assert_eq!(world.status("job").await, status("completed").executions(1));
}

#[tokio::test]
async fn an_attempt_that_could_not_begin_is_not_recorded_and_is_made_later() {
    let mut world = World::at("2027-03-01T09:59:30").await;
    world.put("job", json!({"startTime": "2027-03-01T10:00"})).await;
    // More often than a message is delivered.
    let n_not_made = 30;
    let mut script = vec![NotMade; n_not_made];
    script.push(Succeed);
    world.targets.next("http://job/", &script);
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.targets.calls().len(), n_not_made + 1);
    assert_eq!(world.history("job").await.len(), 1, "only the attempt that was made");
    assert_eq!(world.status("job").await, status("completed").executions(1));
    assert_eq!(world.queued(), 0);
    assert!(world.dead.is_empty());
}
