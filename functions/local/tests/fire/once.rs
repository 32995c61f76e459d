//! One-time jobs.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_runtime::system_now;
use serde_json::json;

use crate::jobs::{counters, format_instant, history, http, in_memory, instant, job, until_state};
use crate::target::{Target, status};

#[test]
fn a_one_time_job_fires_at_its_start_and_completes() {
    let (target, server) = (Target::ok(), in_memory(&[]));
    let start = system_now() + TimeDelta::seconds(4);
    let body = job(&target.url("/a?b=c"), &json!({"startTime": format_instant(start)}));
    server.must("PUT", "/jc/jobs/j", &body);
    let seen = target.next();
    assert!(seen.at >= start, "{} is before {start}", seen.at);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("GET", "/a?b=c"));
    assert_eq!(seen.header("x-ms-scheduler-execution-region"), "local");
    let expected: DateTime<Utc> = format_instant(start).parse().unwrap();
    assert_eq!(seen.expected_at(), expected);

    let over = until_state(&server, "/jc/jobs/j", "completed");
    assert_eq!(counters(&over), [1, 0, 0]);
    assert!(instant(&over["status"]["lastExecutionTime"]) >= start);
    assert!(over["status"].get("nextExecutionTime").is_none(), "{over}");
    let history = history(&server, "/jc/jobs/j");
    assert_eq!(history.len(), 1, "{history:?}");
    let item = &history[0];
    assert_eq!(instant(&item["expectedExecutionTime"]), expected);
    assert!(instant(&item["startTime"]) >= start && item["endTime"].is_string());
    assert_eq!((&item["retryCount"], &item["repeatCount"]), (&0.into(), &1.into()));
    assert_eq!(item["actionName"], "MainAction");
    // It can still be run, and stays completed.
    server.must("POST", "/jc/jobs/j/run", "");
    target.next();
    until_state(&server, "/jc/jobs/j", "completed");
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn a_one_time_job_with_a_start_in_the_past_fires_at_once() {
    let (target, server) = (Target::ok(), in_memory(&[]));
    let body = job(&target.url("/"), &json!({"startTime": "2020-01-01T00:00:00Z"}));
    server.must("PUT", "/jc/jobs/j", &body);
    target.next();
    until_state(&server, "/jc/jobs/j", "completed");
    assert_eq!(history(&server, "/jc/jobs/j").len(), 1);
    server.stop().is_clean();
}

#[test]
fn a_failing_job_is_retried_then_runs_its_error_action_and_is_faulted() {
    let target = Target::start(|seen| match seen.path.as_str() {
        "/main" => status("500 Broken"),
        _ => status("200 OK"),
    });
    // At this rate, fifteen seconds take a quarter of a second.
    let server = in_memory(&["--clock-rate", "60"]);
    let body = job(
        &target.url("/main"),
        &json!({"action": {
            "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 2},
            "errorAction": http(&target.url("/error")),
        }}),
    );
    server.must("PUT", "/jc/jobs/j", &body);
    let seen = target.next_n(4);
    let paths: Vec<_> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/main", "/main", "/main", "/error"]);

    let over = until_state(&server, "/jc/jobs/j", "faulted");
    assert_eq!(counters(&over), [3, 3, 1]);
    let mut history = history(&server, "/jc/jobs/j");
    history.reverse();
    let actions: Vec<_> = history
        .iter()
        .map(|item| (item["actionName"].as_str().unwrap(), item["retryCount"].as_u64().unwrap()))
        .collect();
    let main = "MainAction";
    assert_eq!(actions, [(main, 0), (main, 1), (main, 2), ("ErrorAction", 0)]);
    let failed: Vec<_> = history.iter().map(|item| item["status"] == "failed").collect();
    assert_eq!(failed, [true, true, true, false]);
    for (earlier, later) in history.iter().zip(&history[1..3]) {
        let due = instant(&earlier["endTime"]) + TimeDelta::seconds(15);
        assert_eq!(instant(&later["expectedExecutionTime"]), due);
        assert!(instant(&later["startTime"]) >= due, "{later}");
    }
    assert!(history.iter().all(|item| item["repeatCount"] == 1));
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn a_job_whose_end_time_has_passed_completes_without_firing() {
    let (target, server) = (Target::ok(), in_memory(&[]));
    let body = job(
        &target.url("/"),
        &json!({"recurrence": {"frequency": "minute", "endTime": "2020-01-01T00:00:00Z"}}),
    );
    let answer = server.must("PUT", "/jc/jobs/j", &body).json();
    assert_eq!(answer["properties"]["state"], "completed");
    server.must("PUT", "/jc/jobs/k", &job(&target.url("/k"), &json!({})));
    assert_eq!(target.next().path, "/k");
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}
