//! Secrets reach the target and appear nowhere else.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::jobs::{job, on, until, with_collection};
use crate::server::Server;
use crate::target::{Reply, Target};

#[test]
fn a_secret_that_a_target_echoes_is_not_in_the_history_the_log_or_a_file() {
    // The target echoes the request's headers and body, also in a response header.
    let target = Target::start(|seen| {
        let sent: Vec<String> =
            seen.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let echo = seen.headers.get("authorization").cloned().unwrap_or_default();
        Reply::Answer {
            status: if seen.path == "/fails" { "500 Broken" } else { "200 OK" },
            headers: format!("X-Echo: {echo}\r\n"),
            body: format!("{}\n{}", sent.join("\n"), seen.body),
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let server = with_collection(on(dir.path(), &["--log-level", "trace"]));
    let basic = json!({"type": "Basic", "username": "user", "password": "Planted-Basic-1"});
    let own = json!({"Authorization": "Bearer Planted-Header-2", "X-Api-Key": "Planted-Key-3"});
    for (name, path, request) in [
        ("a", "/", json!({"authentication": basic})),
        ("b", "/fails", json!({"authentication": basic})),
        ("c", "/?code=Planted-Code-4", json!({"headers": own})),
    ] {
        let more = json!({"action": {"request": request, "retryPolicy": {"retryType": "None"}}});
        server.must("PUT", &format!("/jc/jobs/{name}"), &job(&target.url(path), &more));
    }
    let encoded = STANDARD.encode("user:Planted-Basic-1");
    let sent = target.next_n(3);
    let got = |text: &str| sent.iter().filter(|seen| format!("{seen:?}").contains(text)).count();
    assert_eq!((got(&encoded), got("Planted-Header-2")), (2, 1), "the targets receive the secrets");
    let shown = tell_of_a_failure(&server, &target);
    let notices = |history: &str| history.contains("onFailure");
    until(&server, "/jc/jobs/d", |_| notices(&server.must("GET", "/jc/jobs/d/history", "").body));
    let mut answers = vec![shown];
    for name in ["a", "b", "c", "d"] {
        let path = format!("/jc/jobs/{name}");
        until(&server, &path, |now| now["state"] != "enabled");
        answers.push(server.must("GET", &format!("{path}/history"), "").body);
    }
    answers.push(server.must("GET", "/jc/jobs/c", "").body);
    answers.push(server.send("GET", "/metrics", "").body);
    let ended = server.stop();
    ended.is_clean();
    answers.push(ended.log);
    for file in fs::read_dir(dir.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        answers.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    for secret in [
        "Planted-Basic-1",
        &encoded,
        "Planted-Header-2",
        "Planted-Key-3",
        "Planted-Code-4",
        "Planted-Code-5",
        "Planted-Header-6",
    ] {
        for text in &answers {
            if let Some(at) = text.find(secret) {
                let from = (0..=at.saturating_sub(200)).rev().find(|at| text.is_char_boundary(*at));
                panic!("{secret:?}: {}", text.get(from.unwrap_or(0)..at).unwrap());
            }
        }
    }
}

/// Lets a job fail whose collection has a failure action with secrets. Returns what the API answers
/// of it.
fn tell_of_a_failure(server: &Server, target: &Target) -> String {
    let request = json!({
        "uri": target.url("/?code=Planted-Code-5"), "method": "POST",
        "headers": {"Authorization": "Bearer Planted-Header-6"},
    });
    let action = json!({"type": "Http", "request": request});
    let notifies = json!({"properties": {"minutehand": {"onFailure": action}}}).to_string();
    let shown = server.must("PATCH", "/jc", &notifies).body;
    let fails = json!({"action": {"retryPolicy": {"retryType": "None"}}});
    server.must("PUT", "/jc/jobs/d", &job(&target.url("/fails"), &fails));
    let (_, notice) = (target.next(), target.next());
    assert_eq!(notice.path, "/?code=Planted-Code-5");
    assert_eq!(notice.header("authorization"), "Bearer Planted-Header-6");
    assert_eq!(notice.header("x-minutehand-job"), "s/g/jc/d");
    assert!(notice.body.contains(r#""type":"minutehand.occurrence.failed""#), "{}", notice.body);
    shown
}
