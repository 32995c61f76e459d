//! Many jobs that are due at the same instant.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use minutehand_runtime::system_now;
use serde_json::json;

use crate::client::Request;
use crate::jobs::{job, on, until_state, with_collection};
use crate::server::versioned;
use crate::target::Target;

const JOBS: usize = 1_000;
const WRITERS: usize = 8;

#[test]
fn a_thousand_jobs_due_at_one_instant_each_fire_once_and_none_early() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    let server = |clock| on(dir.path(), &["--log-level", "warn", "--clock-start", clock]);
    let first = with_collection(server("2030-01-01T00:00:00Z"));
    let (url, address) = (target.url(""), first.address);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let url = &url;
            scope.spawn(move || {
                for n in (writer..JOBS).step_by(WRITERS) {
                    let start = json!({"startTime": "2030-01-01T01:00:00Z"});
                    let body = job(&format!("{url}/{n}"), &start);
                    let path = &versioned(&format!("/jc/jobs/j{n}"));
                    let request = Request { method: "PUT", path, token: None, body: &body };
                    assert_eq!(request.send(address).unwrap().status, 201);
                }
            });
        }
    });
    first.stop().is_clean();

    // The server's clock starts six seconds before the instant, some time after now.
    let instant = system_now() + TimeDelta::seconds(6);
    let server = server("2030-01-01T00:59:54Z");
    let seen = target.next_n(JOBS);
    let paths: BTreeSet<_> = seen.iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(paths.len(), JOBS, "each fires once");
    for seen in &seen {
        assert!(seen.at >= instant, "{} is before {instant}", seen.at);
    }
    for n in (0..JOBS).step_by(100) {
        until_state(&server, &format!("/jc/jobs/j{n}"), "completed");
    }
    let last = seen.iter().map(|seen| seen.at - instant).max().unwrap();
    println!("the last of {JOBS} arrived {} ms after the instant", last.num_milliseconds());
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}
