//! The test clock, as answers show it.

use serde_json::Value;

use crate::server::{Server, job};

fn dated(server: &Server) -> String {
    server.send("GET", "/healthz", "").header("date").unwrap().to_owned()
}

fn next(server: &Server, start: &str) -> Value {
    let body = job("p").replace(
        r#""startTime":"2050-01-01""#,
        &format!(r#"{start}"recurrence":{{"frequency":"day","schedule":{{"hours":[6]}}}}"#),
    );
    let answer = server.must("PUT", "/jc/jobs/j", &body);
    answer.json()["properties"]["status"]["nextExecutionTime"].clone()
}

#[test]
fn the_schedule_runs_from_where_it_is_told_and_slower() {
    let clock = ["--clock-start", "2030-01-01T12:00:00Z", "--clock-rate", "0.1"];
    let server = Server::start(["--memory", "--no-auth"].into_iter().chain(clock));
    assert!(dated(&server).starts_with("Tue, 01 Jan 2030 12:00:0"), "{}", dated(&server));
    server.must("PUT", "/jc", "{}");
    assert_eq!(next(&server, r#""startTime":"2029-06-01","#), "2030-01-02T06:00:00Z");
    server.stop().is_clean();
}

#[test]
fn the_schedule_runs_faster_than_its_work() {
    let clock = ["--clock-start", "2030-01-01T00:00:00Z", "--clock-rate", "100000"];
    let server = Server::start(["--memory", "--no-auth"].into_iter().chain(clock));
    // A day goes by in 864 ms, so the month ends in half a minute; the server ends in real time.
    let first = dated(&server);
    while dated(&server).get(5..7) == first.get(5..7) {}
    assert!(dated(&server).contains(" 2030 "), "{}", dated(&server));
    server.stop().is_clean();
}

#[test]
fn without_either_it_is_now() {
    let server = Server::start(["--memory", "--no-auth", "--clock-rate", "1"]);
    server.must("PUT", "/jc", "{}");
    let run = next(&server, "");
    let now = runtime::system_now().to_rfc3339();
    // The hour may have changed in between, but not the century.
    assert_eq!(run.as_str().unwrap().get(..2), now.get(..2));
    server.stop().is_clean();
}
