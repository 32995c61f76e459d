//! Disabled jobs and collections.

use serde_json::json;

use crate::jobs::{history, in_memory, job, properties, until};
use crate::target::Target;

const CLOCK: [&str; 2] = ["--clock-rate", "300"];

#[test]
fn a_disabled_job_does_not_fire_but_can_be_run() {
    let (target, server) = (Target::ok(), in_memory(&CLOCK));
    let often = |state: &str| json!({"state": state, "recurrence": {"frequency": "minute"}});
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/j"), &often("Disabled")));
    server.must("PUT", "/jc/jobs/k", &job(&target.url("/k"), &often("Enabled")));
    assert!(target.next_n(4).iter().all(|seen| seen.path == "/k"));
    assert!(properties(&server, "/jc/jobs/j").get("status").is_none());

    server.must("POST", "/jc/jobs/j/run", "");
    while target.next().path != "/j" {}
    let now = until(&server, "/jc/jobs/j", |now| now["status"]["executionCount"] == 1);
    assert_eq!(now["state"], "disabled");
    assert!(now["status"].get("nextExecutionTime").is_none(), "{now}");
    assert_eq!(history(&server, "/jc/jobs/j").len(), 1);

    server.must("PATCH", "/jc/jobs/j", r#"{"properties":{"state":"Enabled"}}"#);
    while target.next().path != "/j" {}
    server.stop().is_clean();
}

#[test]
fn a_disabled_collection_does_not_fire_and_continues_when_it_is_enabled() {
    let (target, server) = (Target::ok(), in_memory(&CLOCK));
    server.must("PUT", "/other", "{}");
    let often = json!({"recurrence": {"frequency": "minute"}});
    server.must("POST", "/jc/disable", "");
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/j"), &often));
    server.must("PUT", "/other/jobs/k", &job(&target.url("/k"), &often));
    let silent = target.next_n(5);
    assert!(silent.iter().all(|seen| seen.path == "/k"), "{silent:?}");
    assert_eq!(server.ask("POST", "/jc/jobs/j/run", "").status, 409);
    let off_until = silent.last().unwrap().expected_at();

    server.must("POST", "/jc/enable", "");
    let first = loop {
        let seen = target.next();
        if seen.path == "/j" {
            break seen;
        }
    };
    assert!(first.expected_at() > off_until, "{first:?} was due before {off_until}");
    server.stop().is_clean();
}
