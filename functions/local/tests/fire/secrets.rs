//! Secrets reach the target and appear nowhere else.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::jobs::{job, on, until, with_collection};
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
    let mut answers = Vec::new();
    for name in ["a", "b", "c"] {
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
    for secret in
        ["Planted-Basic-1", &encoded, "Planted-Header-2", "Planted-Key-3", "Planted-Code-4"]
    {
        for text in &answers {
            if let Some(at) = text.find(secret) {
                let from = (0..=at.saturating_sub(200)).rev().find(|at| text.is_char_boundary(*at));
                panic!("{secret:?}: {}", text.get(from.unwrap_or(0)..at).unwrap());
            }
        }
    }
}
