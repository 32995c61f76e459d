//! `GET /metrics`.

use serde_json::json;

use crate::jobs::{in_memory, job, until_state};
use crate::server::Server;
use crate::target::{Reply, Target, status};

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
        "minutehand_sweep_age_seconds 0",
        "# TYPE process_cpu_seconds_total counter",
        "# TYPE process_start_time_seconds gauge",
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

#[test]
fn the_metrics_page_needs_a_token() {
    let mut server = Server::start(["--memory", "--token", "t"]);
    assert_eq!(server.send("GET", "/metrics", "").status, 401);
    server.token = Some("t".to_owned());
    assert_eq!(server.send("GET", "/metrics", "").status, 200);
    server.stop().is_clean();
}
