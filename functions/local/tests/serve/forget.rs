//! `--forget-secrets`: a start without the key that sealed the secrets.

use std::fs;
use std::path::Path;

use minutehand_testkit::InTime as _;
use serde_json::{Value, json};

use crate::server::{Ended, Server, command, job};

const PLAIN: &str = r#"{"properties":{"startTime":"2050-01-01","action":{"type":"Http","request":{"uri":"http://example.org","method":"GET"}}}}"#;

fn filled(dir: &Path) {
    let server = Server::open(dir);
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/secret", &job("p"));
    server.must("PUT", "/jc/jobs/plain", PLAIN);
    server.stop().is_clean();
}

fn forgetting(dir: &Path) -> Server {
    Server::start([
        "--no-auth".as_ref(),
        "--forget-secrets".as_ref(),
        "--data".as_ref(),
        dir.as_os_str(),
    ])
}

fn state(server: &Server, name: &str) -> Value {
    let answer = server.must("GET", &format!("/jc/jobs/{name}"), "");
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    answer["properties"]["state"].clone()
}

/// What a start without the flag says.
fn refusal(dir: &Path) -> String {
    let mut command = command();
    let output =
        command.args(["--no-auth", "--listen", "127.0.0.1:0", "--data"]).arg(dir).output_in_time();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

fn count(ended: &Ended, text: &str) -> usize {
    ended.log.matches(text).count()
}

const DISABLED: &str = "disabled, because the key of its secrets is lost: put the job again";

#[test]
fn without_its_key_a_store_starts_once_with_the_flag_and_then_without_it() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    fs::remove_file(dir.path().join("key")).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("If it is lost for good, start once with --forget-secrets"), "{said}");
    assert!(!dir.path().join("key").exists(), "a start without the flag makes no key");

    let server = forgetting(dir.path());
    assert_eq!(
        (state(&server, "secret"), state(&server, "plain")),
        (json!("disabled"), json!("enabled"))
    );
    server.must("PUT", "/jc/jobs/secret", &job("q"));
    let ended = server.stop();
    ended.is_clean();
    assert_eq!(count(&ended, DISABLED), 1, "{}", ended.log);
    assert!(ended.log.contains("s/g/jc/secret"), "{}", ended.log);
    assert!(ended.log.contains("jobs=1 collections=0"), "{}", ended.log);

    let server = Server::open(dir.path());
    assert_eq!(state(&server, "secret"), "enabled");
    server.must("PATCH", "/jc/jobs/secret", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    server.stop().is_clean();
}

#[test]
fn a_crash_before_the_end_leaves_a_key_that_only_a_start_with_the_flag_takes() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filled(dir.path());
    Server::open(other.path()).stop().is_clean();
    // The new key is there, and `key.check` is of the old one.
    fs::copy(other.path().join("key"), dir.path().join("key")).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is not the key that sealed the secrets in this directory"), "{said}");
    assert!(said.contains("start once with --forget-secrets"), "{said}");
    let server = forgetting(dir.path());
    assert_eq!(
        (state(&server, "secret"), state(&server, "plain")),
        (json!("disabled"), json!("enabled"))
    );
    let ended = server.stop();
    ended.is_clean();
    assert_eq!(count(&ended, DISABLED), 1, "{}", ended.log);
    Server::open(dir.path()).stop().is_clean();
}

#[test]
fn with_the_right_key_the_flag_changes_nothing_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let server = forgetting(dir.path());
    assert_eq!(state(&server, "secret"), "enabled");
    server.must("PATCH", "/jc/jobs/secret", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    let ended = server.stop();
    ended.is_clean();
    assert!(
        ended.log.contains("the key is the right one, so nothing was forgotten"),
        "{}",
        ended.log
    );
    assert_eq!(count(&ended, DISABLED), 0);
}
