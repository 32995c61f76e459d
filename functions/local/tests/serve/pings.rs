//! Jobs that expect pings, on a running server: the URL, a missing ping, and a restart while one is owed.

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use crate::server::Server;

const OWN: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/jobs/j";

/// A job that expects one ping, from five minutes before an instant until some seconds after.
fn once(at: DateTime<Utc>, grace: &str) -> Value {
    json!({"properties": {"startTime": format_instant(at),
        "action": {"type": "expect", "expect": {"grace": grace}}}})
}

/// In some seconds, without fractions.
fn soon(seconds: i64) -> DateTime<Utc> {
    minutehand_runtime::system_now().trunc_subsecs(0) + TimeDelta::seconds(seconds)
}

fn put(server: &Server, job: &Value) {
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/j", &job.to_string());
}

fn own(server: &Server, path: &str) -> Value {
    let answer = server.send("POST", &format!("{OWN}{path}"), "");
    assert_eq!(answer.status, 200, "{}", answer.whole());
    answer.json()
}

/// The path of the URL at which the job takes pings.
fn path_of(answer: &Value) -> String {
    let (root, key) = answer["url"].as_str().unwrap().split_once("/ping/").unwrap();
    assert!(root.starts_with("http://"), "{answer}");
    format!("/ping/{key}")
}

/// The first item of the history, once there is one.
fn first(server: &Server, filter: &str) -> Value {
    loop {
        let history = server.must("GET", &format!("/jc/jobs/j/history?{filter}"), "").json();
        if let Some(first) = history["value"].as_array().unwrap().first() {
            return first["properties"].clone();
        }
    }
}

#[test]
fn a_url_takes_pings_and_is_in_no_log() {
    let clock = ["--clock-start", "2030-01-01T11:58:00Z"];
    let server =
        Server::start(["--memory", "--no-auth", "--log-level", "debug"].into_iter().chain(clock));
    put(&server, &once("2030-01-01T12:00:00Z".parse().unwrap(), "PT10M"));
    let path = path_of(&own(&server, "/pingUrl"));
    let answer = server.send("POST", &path, "7 rows");
    assert_eq!((answer.status, answer.body.as_str()), (200, "OK"));
    let ended = first(&server, "");
    // A success has no status, as in the original.
    assert_eq!(ended["status"], Value::Null, "{ended}");
    assert_eq!(ended["message"], "Expect Action - A ping came. Body: 7 rows");
    let pings = own(&server, "/pingUrl");
    assert_eq!(pings["pings"][0]["occurrence"], "2030-01-01T12:00:00Z", "{pings}");
    let rotated = path_of(&own(&server, "/rotatePing"));
    assert_eq!(server.send("GET", &path, "").status, 404);
    assert_eq!(server.send("HEAD", &rotated, "").status, 200);
    let ended = server.stop();
    ended.is_clean();
    for path in [path, rotated] {
        let key = path.rsplit('/').next().unwrap();
        assert!(!ended.log.contains(key) && !ended.log.contains(&key.to_uppercase()));
    }
}

#[test]
fn a_missing_ping_is_a_failure_at_once() {
    let server = Server::start(["--memory", "--no-auth"]);
    let at = soon(1);
    put(&server, &once(at, "PT1S"));
    let missing = first(&server, "");
    let until = (at + TimeDelta::seconds(1)).format("%H:%M:%S");
    let until = until.to_string().trim_end_matches(":00").to_owned();
    assert_eq!(missing["status"], "failed", "{missing}");
    assert_eq!(missing["minutehand"]["cause"]["text"], format!("no ping came until {until}"));
    let noticed: DateTime<Utc> = missing["endTime"].as_str().unwrap().parse().unwrap();
    assert!(noticed - at < TimeDelta::seconds(6), "{missing}");
    server.stop().is_clean();
}

#[test]
fn a_restart_alarms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    for signal in ["TERM", "KILL"] {
        let server = Server::open(dir.path());
        put(&server, &once(soon(1), "PT2S"));
        server.signal(signal);
        server.wait();
        let server = Server::open(dir.path());
        let skipped = first(&server, "$filter=status%20eq%20Skipped");
        assert_eq!(skipped["minutehand"]["reason"], "notWatched", "{signal}: {skipped}");
        server.must("DELETE", "/jc/jobs/j", "");
        server.stop().is_clean();
    }
}
