//! Data that one run writes and the next one reads.

use serde_json::json;

use crate::server::{Server, job};

#[test]
fn collections_jobs_and_secrets_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    server.must("PUT", "/jc", r#"{"location":"West Europe","tags":{"a":"b"}}"#);
    server.must("PUT", "/jc/jobs/j", &job("a secret to keep"));
    let before = ["/jc", "/jc/jobs/j", "/jc/jobs"].map(|path| server.must("GET", path, "").body);
    server.stop().is_clean();

    let server = Server::start(
        ["--no-auth", "--sync", "full", "--data"]
            .map(AsRef::as_ref)
            .into_iter()
            .chain([dir.path().as_os_str()]),
    );
    let after = ["/jc", "/jc/jobs/j", "/jc/jobs"].map(|path| server.must("GET", path, "").body);
    assert_eq!(before, after);
    // The change is accepted without the secret, so the stored one was opened.
    let patch = r#"{"properties":{"action":{"request":{"method":"POST"}}}}"#;
    let patched = server.must("PATCH", "/jc/jobs/j", patch).json();
    let request = &patched["properties"]["action"]["request"];
    assert_eq!(
        (&request["method"], &request["authentication"]["username"]),
        (&"POST".into(), &"u".into())
    );
    server.stop().is_clean();
}

#[test]
fn plan_limits_are_enforced_only_if_they_are_switched_on() {
    let often = json!({"properties": {
        "startTime": "2050-01-01",
        "recurrence": {"frequency": "minute"},
        "action": {"type": "Http", "request": {"uri": "http://example.org", "method": "GET"}},
    }});
    let often = often.to_string();
    let given: [(&[&str], u16); 3] =
        [(&["--plan-limits", "on"], 409), (&["--plan-limits", "off"], 201), (&[], 201)];
    for (limits, status) in given {
        let server = Server::start(["--memory", "--no-auth"].iter().chain(limits));
        server.must("PUT", "/jc", r#"{"properties":{"sku":{"name":"Free"}}}"#);
        assert_eq!(server.ask("PUT", "/jc/jobs/j", &often).status, status, "{limits:?}");
        server.stop().is_clean();
    }
}
