//! Restarts: occurrences that were missed, and actions that were interrupted.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use minutehand_runtime::system_now;
use serde_json::json;

use crate::jobs::{
    counters, format_instant, history, job, on, until, until_state, with_collection,
};
use crate::target::{Reply, Target, status};

#[test]
fn queued_jobs_fire_once_after_a_restart() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    let server = with_collection(on(dir.path(), &["--roles", "api"]));
    let start = system_now() + TimeDelta::milliseconds(300);
    for name in ["a", "b", "c"] {
        let url = target.url(&format!("/{name}"));
        let body = job(&url, &json!({"startTime": format_instant(start)}));
        server.must("PUT", &format!("/jc/jobs/{name}"), &body);
    }
    server.stop().is_clean();

    let server = on(dir.path(), &[]);
    let mut seen = target.next_n(3);
    seen.sort_by(|one, other| one.path.cmp(&other.path));
    let paths: Vec<_> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b", "/c"]);
    assert!(seen.iter().all(|seen| seen.at >= start));
    for name in ["a", "b", "c"] {
        until_state(&server, &format!("/jc/jobs/{name}"), "completed");
    }
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn a_job_fires_once_and_on_time_after_a_restart_just_before_it_is_due() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    let server = with_collection(on(dir.path(), &[]));
    let start = system_now() + TimeDelta::milliseconds(1_500);
    let body = job(&target.url("/"), &json!({"startTime": format_instant(start)}));
    server.must("PUT", "/jc/jobs/j", &body);
    // Wait until a worker has the message, or the start has passed on a slow machine.
    let is_taken = || server.send("GET", "/metrics", "").body.contains("_queue_hidden 1\n");
    while system_now() < start && !is_taken() {}
    server.stop().is_clean();

    let server = on(dir.path(), &[]);
    assert!(target.next().at >= start);
    let over = until_state(&server, "/jc/jobs/j", "completed");
    assert_eq!(counters(&over), [1, 0, 0]);
    assert_eq!(history(&server, "/jc/jobs/j").len(), 1);
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn of_what_fell_due_while_the_server_was_away_the_last_occurrence_runs() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    let clock = |start| ["--clock-start", start, "--clock-rate", "60"];
    let server = with_collection(on(dir.path(), &clock("2030-01-01T00:00:00Z")));
    let often = json!({
        "startTime": "2030-01-01T00:04:00Z",
        "recurrence": {"frequency": "hour", "interval": 2},
    });
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/"), &often));
    let first = target.next();
    assert_eq!(first.expected_at().to_rfc3339(), "2030-01-01T00:04:00+00:00");
    server.stop().is_clean();

    // Twelve hours later. At this rate of the clock, the server may have been there until 01:44.
    let server = on(dir.path(), &clock("2030-01-01T12:04:05Z"));
    let last = target.next();
    assert_eq!(last.expected_at().to_rfc3339(), "2030-01-01T12:04:00+00:00");
    // An attempt is recorded and then counted a moment after the request.
    let now = until(&server, "/jc/jobs/j", |now| counters(now)[0] == 2);
    assert_eq!(counters(&now), [2, 0, 0]);
    assert_eq!(history(&server, "/jc/jobs/j").len(), 2);
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

#[test]
fn an_action_that_the_shutdown_interrupts_runs_again_after_the_restart() {
    let is_first = AtomicBool::new(true);
    let target = Target::start(move |_| {
        if is_first.swap(false, Ordering::SeqCst) { Reply::Silence } else { status("200 OK") }
    });
    let dir = tempfile::tempdir().unwrap();
    let server = with_collection(on(dir.path(), &[]));
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/"), &json!({})));
    let interrupted = target.next();
    server.stop().is_clean();

    let server = on(dir.path(), &[]);
    let again = target.next();
    assert_eq!(again.execution_id(), interrupted.execution_id());
    let over = until_state(&server, "/jc/jobs/j", "completed");
    assert_eq!(counters(&over), [1, 0, 0]);
    assert_eq!(history(&server, "/jc/jobs/j").len(), 1);
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}
