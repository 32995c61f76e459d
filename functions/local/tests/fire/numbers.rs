//! `GET /metrics`.

use serde_json::json;

use std::collections::BTreeSet;
use std::time::Instant;

use crate::jobs::{in_memory, job, until_state};
use crate::server::Server;
use crate::target::{PATIENCE, Reply, Target, status};

#[test]
fn the_metrics_page_shows_attempts_and_the_state_of_the_queue() {
    let target = Target::start(|_| status("503 Busy"));
    let server = in_memory(&[]);
    let none = json!({"action": {"retryPolicy": {"retryType": "None"}}});
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/"), &none));
    target.next();
    until_state(&server, "/jc/jobs/j", "faulted");
    let answer = server.send("GET", "/metrics", "");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "# HELP minutehand_queue_hidden Messages being processed or waiting for another try.",
        "minutehand_executions_total{outcome=\"failed\"} 1",
        "minutehand_executions_total{outcome=\"succeeded\"} 0",
        "minutehand_finished_jobs_total 1",
        "minutehand_late_seconds_count 1",
        "minutehand_queue_visible 0",
        "minutehand_queue_delayed 0",
        "minutehand_dead_letters 0",
        "minutehand_queue_oldest_due_seconds 0",
        "minutehand_actions_under_way 0",
        "minutehand_ready 1",
        "# TYPE process_cpu_seconds_total counter",
        "# TYPE process_start_time_seconds gauge",
        r#"minutehand_failed_executions_total{collection="s/g/jc"} 1"#,
        r#"minutehand_failed_executions_total{collection="other"} 0"#,
        concat!(
            r#"minutehand_requests_total{method="PUT",route="/subscriptions/{subscriptionId}/"#,
            "resourceGroups/{resourceGroupName}/providers/Microsoft.Scheduler/jobCollections/",
            r#"{jobCollectionName}/jobs/{jobName}",status="201"} 1"#,
        ),
    ] {
        assert!(answer.body.lines().any(|found| found == line), "{line}: {}", answer.body);
    }
    let build = format!("minutehand_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(answer.body.contains(&build), "{}", answer.body);
    assert!(answer.body.contains("\nminutehand_sweep_age_seconds "), "{}", answer.body);
    server.stop().is_clean();
}

#[test]
fn an_attempt_counts_as_late_and_under_way_while_its_target_does_not_answer() {
    let target = Target::start(|_| Reply::Silence);
    let server = in_memory(&["--drain", "0"]);
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/"), &json!({})));
    target.next();
    let page = server.send("GET", "/metrics", "").body;
    for line in ["minutehand_actions_under_way 1", "minutehand_late_seconds_count 1"] {
        assert!(page.lines().any(|found| found == line), "{line}: {page}");
    }
    server.stop().is_clean();
}

/// Jobs and collections are counted at the start, and then only every five minutes.
fn page_with_counts(server: &Server) -> String {
    let since = Instant::now();
    loop {
        let page = server.send("GET", "/metrics", "").body;
        if page.contains("\nminutehand_jobs{") {
            return page;
        }
        assert!(since.elapsed() < PATIENCE, "nothing is counted: {page}");
    }
}

#[test]
fn the_metrics_page_tells_jobs_and_collections_by_state() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/off", r#"{"properties":{"state":"Disabled"}}"#);
    for (name, state) in [("a", "enabled"), ("b", "enabled"), ("c", "disabled")] {
        let later = json!({"startTime": "2050-01-01", "state": state});
        server.must("PUT", &format!("/jc/jobs/{name}"), &job("http://example.org", &later));
    }
    server.stop().is_clean();
    let server = Server::open(dir.path());
    let page = page_with_counts(&server);
    for line in [
        r#"minutehand_jobs{state="enabled"} 2"#,
        r#"minutehand_jobs{state="disabled"} 1"#,
        r#"minutehand_jobs{state="completed"} 0"#,
        r#"minutehand_collections{state="enabled"} 1"#,
        r#"minutehand_collections{state="disabled"} 1"#,
        "# TYPE minutehand_state_count_age_seconds gauge",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}: {page}");
    }
    server.stop().is_clean();
}

#[test]
fn a_server_that_does_not_sweep_tells_no_age_of_a_sweep() {
    let server = in_memory(&["--roles", "api"]);
    let page = page_with_counts(&server);
    assert!(!page.contains("minutehand_sweep_age_seconds"), "{page}");
    server.stop().is_clean();
}

#[cfg(target_os = "linux")]
#[test]
fn the_operations_page_has_a_row_for_every_metric_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("archive"));
    std::fs::create_dir(&archive).unwrap();
    let watcher = ["--heartbeat-url", "http://127.0.0.1:9/"];
    let words = ["--no-auth", "--data", data.to_str().unwrap(), "--archive"];
    let mut server = Server::start(words.into_iter().chain(archive.to_str()).chain(watcher));
    // From then on its time is told. Whether the watcher answers is told a moment after the start.
    server.wait_for("backed up");
    let mut page = page_with_counts(&server);
    while !page.contains("minutehand_heartbeat_ok") {
        page = page_with_counts(&server);
    }
    let told: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let document = include_str!("../../../../shared/docs/operations.md");
    let table = document.split_once("### One machine").unwrap().1;
    let table = table.split_once("### AWS").unwrap().0;
    let documented: BTreeSet<&str> = table
        .lines()
        .filter(|line| !line.contains("only with `--database`"))
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .flat_map(|(names, _)| names.split("`, `"))
        .map(|name| name.split('{').next().unwrap())
        .collect();
    assert_eq!(told, documented);
    server.stop().is_clean();
}

#[test]
fn the_metrics_page_needs_a_token() {
    let mut server = Server::start(["--memory", "--token", "t"]);
    assert_eq!(server.send("GET", "/metrics", "").status, 401);
    server.token = Some("t".to_owned());
    assert_eq!(server.send("GET", "/metrics", "").status, 200);
    server.stop().is_clean();
}
