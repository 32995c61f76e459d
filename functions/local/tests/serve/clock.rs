//! The test clock, as seen in responses.

use serde_json::{Value, json};

use crate::server::Server;

fn dated(server: &Server) -> String {
    server.send("GET", "/healthz", "").header("date").unwrap().to_owned()
}

/// Creates a job that runs at six every day, and returns its next execution time.
fn next(server: &Server, start: Option<&str>) -> Value {
    let mut body = json!({"properties": {
        "recurrence": {"frequency": "day", "schedule": {"hours": [6]}},
        "action": {"type": "Http", "request": {"uri": "http://example.org", "method": "GET"}},
    }});
    if let Some(start) = start {
        body["properties"]["startTime"] = start.into();
    }
    let answer = server.must("PUT", "/jc/jobs/j", &body.to_string());
    answer.json()["properties"]["status"]["nextExecutionTime"].clone()
}

#[test]
fn the_clock_starts_at_the_given_time_and_can_run_slower() {
    let clock = ["--clock-start", "2030-01-01T12:00:00Z", "--clock-rate", "0.1"];
    let server = Server::start(["--memory", "--no-auth"].into_iter().chain(clock));
    assert!(dated(&server).starts_with("Tue, 01 Jan 2030 12:00:0"), "{}", dated(&server));
    server.must("PUT", "/jc", "{}");
    assert_eq!(next(&server, Some("2029-06-01")), "2030-01-02T06:00:00Z");
    server.stop().is_clean();
}

#[test]
fn the_clock_can_run_faster_while_shutdown_takes_real_time() {
    let clock = ["--clock-start", "2030-01-01T00:00:00Z", "--clock-rate", "100000"];
    let server = Server::start(["--memory", "--no-auth"].into_iter().chain(clock));
    // A day takes 864 ms, so the month ends after half a minute; the server stops in real time.
    let first = dated(&server);
    while dated(&server).get(5..7) == first.get(5..7) {}
    assert!(dated(&server).contains(" 2030 "), "{}", dated(&server));
    server.stop().is_clean();
}

#[test]
fn without_a_start_the_clock_begins_now() {
    let server = Server::start(["--memory", "--no-auth", "--clock-rate", "1"]);
    server.must("PUT", "/jc", "{}");
    let run = next(&server, None);
    let now = minutehand_runtime::system_now().to_rfc3339();
    // The hour may have changed in between, but not the century.
    assert_eq!(run.as_str().unwrap().get(..2), now.get(..2));
    server.stop().is_clean();
}
