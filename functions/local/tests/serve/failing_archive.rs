//! An archive in a bucket whose service fails: jobs fire, and the server says so.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::bucket::{BAD, Bad, Service};
use crate::server::{Server, command};

fn with(service: &Service, data: &Path) -> Command {
    let mut command = command();
    command.envs(service.variables());
    command.args(["--listen", "127.0.0.1:0", "--no-auth", "--archive", "s3://bucket/a"]);
    command.args([OsStr::new("--data"), data.as_os_str()]);
    command
}

/// A start that fails: its exit code, and what it said.
fn refused(service: &Service, data: &Path) -> (Option<i32>, String) {
    let output = with(service, data).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A new job fires.
fn check_firing(service: &Service, server: &Server) {
    let uri = format!("http://{}/target", service.address);
    let action = json!({"type": "Http", "request": {"uri": uri, "method": "GET"}});
    let body = json!({"properties": {"action": action}}).to_string();
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/j", &body);
    let history = || server.must("GET", "/jc/jobs/j/history", "").json();
    let mut found = history();
    while found["value"] == json!([]) {
        found = history();
    }
    let message = &found["value"][0]["properties"]["message"];
    assert!(message.as_str().unwrap().contains("'OK'"), "{found}");
}

fn is_ok(server: &Server) -> bool {
    let page = server.send("GET", "/metrics", "").body;
    let value = page.lines().find_map(|line| line.strip_prefix("minutehand_archive_ok "));
    value.unwrap() == "1"
}

fn doctor(server: &Server) -> (Option<i32>, String) {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command.args(["doctor", "--ascii", "--server", &format!("http://{}", server.address)]);
    let output = command.args(["--subscription", "s", "--group", "g"]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The server is healthy, and says everywhere that its archive is not.
fn check_saying(server: &Server, bad: Bad) {
    let health = server.send("GET", "/healthz", "");
    let note: &Value = &health.json()["notes"][0];
    assert_eq!((health.status, &note["about"]), (200, &json!("archive")), "{health:?}");
    let (says, remedy) = (note["says"].as_str().unwrap(), note["remedy"].as_str().unwrap());
    assert!(says.contains(bad.says), "{bad:?}: {says}");
    assert!(!health.body.contains("bucket/a"), "everybody reads it: {health:?}");
    let (code, said) = doctor(server);
    let line = format!("!! archive      {says}\n    {remedy}\n");
    assert!(code == Some(5) && said.contains(&line), "{said}");
    assert!(said.contains("ok server  ") && said.contains("ok jobs  "), "{said}");
}

fn each_at_once(check: impl Fn(Bad) + Sync) {
    thread::scope(|scope| {
        let check = &check;
        for bad in BAD {
            scope.spawn(move || check(bad));
        }
    });
}

#[test]
fn an_archive_that_fails_at_a_start_keeps_no_job_from_firing() {
    each_at_once(|bad| {
        let (service, dir) = (Service::start(), tempfile::tempdir().unwrap());
        Server::spawn(with(&service, dir.path())).stop().is_clean();
        service.is_bad(bad);
        let mut server = Server::spawn(with(&service, dir.path()));
        server.wait_for("cannot archive: history is kept until it is archived");
        check_firing(&service, &server);
        check_saying(&server, bad);
        assert!(!is_ok(&server));
        server.stop().is_clean();
        service.is_bad(None);
        let server = Server::spawn(with(&service, dir.path()));
        assert_eq!(server.send("GET", "/healthz", "").json()["notes"], Value::Null);
        assert!(is_ok(&server));
        server.stop().is_clean();
    });
}

#[test]
fn a_new_archive_that_cannot_be_used_and_another_one_are_refused() {
    each_at_once(|bad| {
        let (service, dir) = (Service::start(), tempfile::tempdir().unwrap());
        service.is_bad(bad);
        let (code, said) = refused(&service, dir.path());
        assert_eq!(code, Some(1), "{bad:?}: {said}");
        service.is_bad(None);
        Server::spawn(with(&service, dir.path())).stop().is_clean();
        // The data directory remembers another archive than the one of the mark.
        let remembered = dir.path().join("archive.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&remembered).unwrap()).unwrap();
        state["id"] = "another".into();
        fs::write(&remembered, state.to_string()).unwrap();
        let (code, said) = refused(&service, dir.path());
        assert!(code == Some(1) && said.contains("another archive is at s3://bucket/a"), "{said}");
    });
}
