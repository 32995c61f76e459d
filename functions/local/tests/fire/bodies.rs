//! `serve --keep-bodies failures`: what a target answered to a failure, from the target to the command
//! line.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use minutehand_testkit::InTime as _;
use serde_json::{Value, json};

use crate::jobs::{history, job, on, until, with_collection};
use crate::server::Server;
use crate::target::{Reply, Target, status};

fn answer(status: &'static str, body: String) -> Reply {
    Reply::Answer { status, headers: String::new(), body }
}

fn keeping(data: &Path, archive: &Path, more: &[&str]) -> Server {
    let archive = archive.display().to_string();
    on(data, &[&["--archive", &archive, "--keep-bodies", "failures"], more].concat())
}

/// A job that runs once and has no retries.
fn once(url: &str) -> String {
    job(url, &json!({"action": {"retryPolicy": {"retryType": "None"}}}))
}

fn run(server: &Server, name: &str, url: &str) -> Value {
    let path = format!("/jc/jobs/{name}");
    server.must("PUT", &path, &once(url));
    until(server, &path, |now| now["state"] == "completed" || now["state"] == "faulted");
    server.must("GET", &format!("{path}/history"), "").json()["value"][0].clone()
}

/// Where the body of an item of history is.
fn body_path(item: &Value) -> String {
    let name = item["name"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let job = item["name"].as_str().unwrap().split('/').nth(1).unwrap().to_owned();
    let group = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc";
    format!("{group}/jobs/{job}/history/{name}/body")
}

fn command(server: &Server, arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command.env("MINUTEHAND_URL", format!("http://{}", server.address));
    command.args(["job", "history", "--subscription", "s", "--group", "g"]);
    command.args(arguments).output_in_time()
}

fn kept(archive: &Path) -> usize {
    let days = fs::read_dir(archive.join("bodies/v1")).into_iter().flatten();
    days.map(|day| fs::read_dir(day.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn the_body_of_a_failure_is_kept_and_read_back() {
    let target = Target::start(|seen| match seen.path.as_str() {
        "/html" => answer("500 Broken", "<script>alert(1)</script>".to_owned()),
        "/long" => answer("502 Bad Gateway", "x".repeat(300_000)),
        _ => status("200 OK"),
    });
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = with_collection(keeping(data.path(), archive.path(), &[]));
    let well = run(&server, "well", &target.url("/"));
    assert_eq!(well["properties"].get("minutehand"), None, "{well}");
    assert_eq!(kept(archive.path()), 0);
    assert_eq!(server.send("GET", &body_path(&well), "").status, 404);

    let html = run(&server, "html", &target.url("/html"));
    let cause = json!({"kind": "httpStatus", "text": "HTTP 500"});
    assert_eq!(html["properties"]["minutehand"], json!({"cause": cause, "bodyBytes": 25}));
    let body = server.send("GET", &body_path(&html), "");
    assert_eq!((body.status, body.body.as_str()), (200, "<script>alert(1)</script>"));
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-disposition", "attachment; filename=\"body.txt\""),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ] {
        assert_eq!(body.header(name), Some(value), "{name}");
    }
    assert_eq!(body.header("x-minutehand-cut"), None);

    let long = run(&server, "long", &target.url("/long"));
    assert_eq!(long["properties"]["minutehand"]["bodyBytes"], 262_144);
    let body = server.send("GET", &body_path(&long), "");
    assert_eq!((body.body.len(), body.header("x-minutehand-cut")), (262_144, Some("true")));

    let listed = command(&server, &["jc/html"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let id = listed.split('\t').nth(5).unwrap();
    assert!(body_path(&html).contains(id), "{listed}");
    let printed = command(&server, &["jc/html", "--body", id]);
    assert_eq!(printed.stdout, b"<script>alert(1)</script>");
    let printed = command(&server, &["jc/long", "--body", long["id"].as_str().unwrap()]);
    assert_eq!(printed.stdout.len(), 262_144);
    let said = String::from_utf8(printed.stderr).unwrap();
    assert!(said.contains("cut: the target answered more than the server keeps"), "{said}");
    // Of another job, of no attempt, and of one that is none.
    for (path, status, says) in [
        (body_path(&html).replace("jobs/html", "jobs/long"), 404, "No body is kept of"),
        (body_path(&html).replace("jobs/html", "jobs/none"), 404, "Job 'none' cannot be found"),
        (body_path(&html).replace("/body", "0/body"), 400, "The path names no attempt"),
    ] {
        let refused = server.send("GET", &path, "");
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.body.contains(says), "{refused:?}");
    }
    server.stop().is_clean();

    // What was kept is read after a start without the flag, and nothing more is kept.
    let archive_path = archive.path().display().to_string();
    let server = on(data.path(), &["--archive", &archive_path]);
    assert_eq!(server.send("GET", &body_path(&html), "").status, 200);
    let other = run(&server, "other", &target.url("/html"));
    assert_eq!(other["properties"]["minutehand"].get("bodyBytes"), None);
    assert_eq!(kept(archive.path()), 2);
    server.stop().is_clean();
    let server = on(data.path(), &[]);
    let refused = server.send("GET", &body_path(&html), "");
    assert!(
        refused.body.contains("keeps no bodies of failures. Start the server with"),
        "{refused:?}"
    );
    server.stop().is_clean();
}

#[test]
fn a_body_that_cannot_be_kept_fails_no_attempt_and_the_log_says_why() {
    let target = Target::start(|_| status("500 Broken"));
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut server = with_collection(keeping(data.path(), archive.path(), &[]));
    fs::remove_file(archive.path().join("minutehand.json")).unwrap();
    let failed = run(&server, "j", &target.url("/"));
    assert_eq!(failed["properties"]["minutehand"].get("bodyBytes"), None, "{failed}");
    server.wait_for("the body of a failure is not kept");
    assert_eq!(history(&server, "/jc/jobs/j").len(), 1);
    assert_eq!(kept(archive.path()), 0);
    server.stop().is_clean();
}

#[test]
fn bodies_go_when_the_history_of_their_day_is_gone() {
    let target = Target::start(|_| status("500 Broken"));
    let (data, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = |at: &str| {
        let more = ["--history-days", "7", "--clock-start", at];
        keeping(data.path(), archive.path(), &more)
    };
    let server = with_collection(start("2030-01-01T12:00:00Z"));
    let failed = run(&server, "j", &target.url("/"));
    server.stop().is_clean();
    let server = start("2030-01-08T11:00:00Z");
    assert_eq!(server.send("GET", &body_path(&failed), "").status, 200);
    server.stop().is_clean();
    let mut server = start("2030-01-09T12:00:00Z");
    server.wait_for("removed old bodies of failures");
    assert_eq!(server.send("GET", &body_path(&failed), "").status, 404);
    assert_eq!(kept(archive.path()), 0);
    server.stop().is_clean();
}
