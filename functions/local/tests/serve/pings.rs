//! Jobs that expect pings, on a running server: the URL, a missing ping, and a restart while one is owed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

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
fn a_missing_ping_alerts_within_five_seconds() {
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/alerts", receiver.local_addr().unwrap());
    let alert =
        json!({"type": "Http", "format": "ntfy", "request": {"uri": uri, "method": "POST"}});
    let server = Server::start(["--memory", "--no-auth"]);
    let collection = json!({"properties": {"minutehand": {"onFailure": alert}}});
    let at = soon(2);
    put(&server, &once(at, "PT1S"));
    server.must("PATCH", "/jc", &collection.to_string());
    let (mut stream, _) = receiver.accept().unwrap();
    let late = minutehand_runtime::system_now() - (at + TimeDelta::seconds(1));
    let mut first = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("POST /"), "{first}");
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    println!("the alert came {late} after the grace");
    assert!(late >= TimeDelta::zero() && late < TimeDelta::seconds(5), "{late}");
    server.stop().is_clean();
}

#[test]
fn with_an_archive_the_whole_body_is_kept() {
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = archive.path().display().to_string();
    let data = data.path().display().to_string();
    let server = Server::start(["--no-auth", "--data", &data, "--archive", &folder]);
    for (name, start) in [("paid", false), ("started", true)] {
        let own = OWN.replace("jobs/j", &format!("jobs/{name}"));
        server.must("PUT", "/jc", "{}");
        let job = format!("/jc/jobs/{name}");
        server.must("PUT", &job, &once(soon(60), "PT10M").to_string());
        let answer = server.send("POST", &format!("{own}/pingUrl"), "").json();
        let path = path_of(&answer);
        if start {
            assert_eq!(server.send("GET", &format!("{path}/start"), "").status, 200);
        }
        // The end of what is longer than 100 KB is not looked at.
        let body = "0123456789".repeat(10_001);
        assert_eq!(server.send("POST", &format!("{path}/fail"), &body).status, 200);
        let item = loop {
            let history = server.must("GET", &format!("{job}/history"), "").json();
            if let Some(item) = history["value"].as_array().unwrap().first() {
                break item.clone();
            }
        };
        let message = item["properties"]["message"].as_str().unwrap();
        assert!(message.ends_with(&body[..1_024]) && message.len() < 1_100, "{message}");
        assert_eq!(item["properties"]["minutehand"]["bodyBytes"], 100_000, "{item}");
        let history = item["name"].as_str().unwrap().rsplit('/').next().unwrap();
        let kept = server.send("GET", &format!("{own}/history/{history}/body"), "");
        assert_eq!((kept.status, kept.body.len()), (200, 100_000));
        assert!(body.starts_with(&kept.body));
    }
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
