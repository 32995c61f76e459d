//! `minutehand backup` of a server while its jobs fire: a server on the copy makes everything that was
//! owed when the copy was made.

use std::path::Path;
use std::process::Command;

use chrono::TimeDelta;
use minutehand_runtime::system_now;
use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::jobs::{
    counters, format_instant, instant, job, on, properties, until, until_state, with_collection,
};
use crate::target::{Target, status};

/// Jobs that fire once.
const JOBS: usize = 60;
/// Between the first and the last of them.
const SPREAD: TimeDelta = TimeDelta::seconds(3);
/// After how many requests a copy is made.
const COPIES_AFTER: [usize; 3] = [10, 25, 40];

fn backup(data: &Path, target: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output = command.arg("backup").arg(target).arg("--data").arg(data).output_in_time();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn copies_of_a_server_that_fires_have_everything_that_is_owed() {
    let dir = tempfile::tempdir().unwrap();
    let copy = |n: usize| dir.path().join(format!("copy{n}"));
    let target = Target::ok();
    let server = with_collection(on(&dir.path().join("data"), &["--log-level", "warn"]));
    let start = system_now() + TimeDelta::seconds(1);
    let names: Vec<_> = (0..JOBS).map(|n| format!("/jc/jobs/j{n}")).collect();
    for (n, name) in (0_i32..).zip(&names) {
        let start = start + SPREAD * n / i32::try_from(JOBS).unwrap();
        let body = job(&target.url(name), &json!({"startTime": format_instant(start)}));
        server.must("PUT", name, &body);
    }
    let mut n_requests = 0;
    for after in COPIES_AFTER {
        target.next_n(after - n_requests);
        n_requests = after;
        backup(&dir.path().join("data"), &copy(after));
    }
    server.signal("KILL");
    server.wait();
    for after in COPIES_AFTER {
        let server = on(&copy(after), &["--log-level", "warn"]);
        for name in &names {
            let over = until_state(&server, name, "completed");
            assert_eq!(counters(&over), [1, 0, 0], "{name} of the copy after {after} requests");
        }
        server.stop().is_clean();
    }
}

#[test]
fn a_retry_that_waits_when_the_copy_is_made_is_made_by_the_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let target = Target::start(|_| status("503 Service Unavailable"));
    let server = with_collection(on(&data, &["--log-level", "warn"]));
    let retries = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 2});
    let body = job(&target.url("/j"), &json!({"action": {"retryPolicy": retries}}));
    server.must("PUT", "/jc/jobs/j", &body);
    let first = target.next();
    until(&server, "/jc/jobs/j", |now| counters(now)[1] == 1);
    backup(&data, &copy);
    server.signal("KILL");
    server.wait();
    let before = properties(&on(&copy, &["--roles", "api"]), "/jc/jobs/j");
    assert_eq!(counters(&before), [1, 1, 0]);

    // A minute later, as the copy sees it.
    let later = format_instant(system_now() + TimeDelta::seconds(61));
    let server = on(&copy, &["--clock-start", &later, "--log-level", "warn"]);
    let second = target.next();
    assert_ne!(second.execution_id(), first.execution_id());
    assert_eq!(second.expected_at(), first.expected_at());
    let now = until(&server, "/jc/jobs/j", |now| counters(now)[1] == 2);
    assert!(instant(&now["status"]["lastExecutionTime"]) > first.at, "{now}");
    server.stop().is_clean();
}
