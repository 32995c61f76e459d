//! Recurring jobs, on a faster clock.

use serde_json::json;

use crate::jobs::{counters, history, in_memory, instant, job, until, until_state};
use crate::target::{Seen, Target, status};

const CLOCK: [&str; 4] = ["--clock-start", "2030-01-01T00:00:30Z", "--clock-rate", "300"];

#[test]
fn a_job_fires_each_minute_until_its_count_is_reached() {
    let (target, server) = (Target::ok(), in_memory(&CLOCK));
    let body = job(
        &target.url("/"),
        &json!({
            "startTime": "2030-01-01T00:40:00Z",
            "recurrence": {"frequency": "minute", "interval": 1, "count": 5},
        }),
    );
    server.must("PUT", "/jc/jobs/j", &body);
    let seen = target.next_n(5);
    let mut expected: Vec<_> = seen.iter().map(|seen| seen.expected_at().to_rfc3339()).collect();
    expected.sort();
    let minute = |n: u32| format!("2030-01-01T00:4{n}:00+00:00");
    assert_eq!(expected, (0..5).map(minute).collect::<Vec<_>>());

    let over = until_state(&server, "/jc/jobs/j", "completed");
    assert_eq!(counters(&over), [5, 0, 0]);
    let history = history(&server, "/jc/jobs/j");
    let counts: Vec<_> = history.iter().map(|item| item["repeatCount"].as_u64().unwrap()).collect();
    assert_eq!(counts, [5, 4, 3, 2, 1]);
    for item in &history {
        assert!(instant(&item["startTime"]) >= instant(&item["expectedExecutionTime"]), "{item}");
    }
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn a_recurring_job_that_fails_continues_and_counts_its_faults() {
    let target = Target::start(|_| status("404 Not Found"));
    let server = in_memory(&CLOCK);
    let body = job(
        &target.url("/"),
        &json!({
            "action": {"retryPolicy": {"retryType": "None"}},
            "recurrence": {"frequency": "minute"},
        }),
    );
    server.must("PUT", "/jc/jobs/j", &body);
    target.next_n(3);
    let now = until(&server, "/jc/jobs/j", |now| counters(now)[0] >= 3);
    let [executions, failures, faults] = counters(&now);
    assert_eq!((executions, executions), (failures, faults));
    assert_eq!(now["state"], "enabled");
    let (last, next) = (&now["status"]["lastExecutionTime"], &now["status"]["nextExecutionTime"]);
    // Later occurrences may have been due at the time of the request without being recorded yet.
    assert!(instant(next) > instant(last), "{now}");
    server.stop().is_clean();
}

#[test]
fn a_deleted_job_stops_firing() {
    let (target, server) = (Target::ok(), in_memory(&CLOCK));
    let often = json!({"recurrence": {"frequency": "minute"}});
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/j"), &often));
    target.next();
    server.must("DELETE", "/jc/jobs/j", "");
    server.must("PUT", "/jc/jobs/k", &job(&target.url("/k"), &often));
    let mut seen = Vec::new();
    while seen.iter().filter(|seen: &&Seen| seen.path == "/k").count() < 4 {
        seen.push(target.next());
    }
    server.stop().is_clean();
    // Attempts in progress at the deletion may still arrive, later ones must not. The second job
    // starts after the deletion.
    let (of_k, of_j): (Vec<_>, Vec<_>) = seen.into_iter().partition(|seen| seen.path == "/k");
    let begun_at = of_k.iter().map(Seen::expected_at).min().unwrap();
    assert!(of_j.iter().all(|seen| seen.expected_at() < begun_at), "{begun_at}: {of_j:?}");
}
