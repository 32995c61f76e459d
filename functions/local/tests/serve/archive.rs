//! `serve --archive`, and `minutehand archive repair`, with a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use minutehand_testkit::InTime as _;
use serde_json::{Value, json};

use crate::server::{Server, command};

fn arguments(data: &Path, archive: &Path) -> Vec<String> {
    let (data, archive) = (data.display().to_string(), archive.display().to_string());
    ["--no-auth", "--data", &data, "--archive", &archive].map(str::to_owned).into()
}

/// A start that fails: its exit code, and what it said.
fn refused(data: &Path, archive: &Path) -> (Option<i32>, String) {
    let output =
        command().args(["--listen", "127.0.0.1:0"]).args(arguments(data, archive)).output_in_time();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn repair(data: &Path, day: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output =
        command.args(["archive", "repair", "--day", day, "--data"]).arg(data).output_in_time();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn files(archive: &Path, stream: &str) -> Vec<PathBuf> {
    let Ok(days) = fs::read_dir(archive.join(stream)) else {
        return Vec::new();
    };
    let files = days.flat_map(|day| fs::read_dir(day.unwrap().path()).unwrap());
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The API answers what has expired as it did before.
fn check_reading_back(server: &Server, kept: &Value) {
    let newest = server.must("GET", "/jc/jobs/j/history", "").json();
    assert_eq!(newest["value"], json!([]));
    let link = newest["nextLink"].as_str().unwrap();
    let (_, path) = link.split_once("localhost").unwrap();
    let archived = server.send("GET", path, "").json();
    assert_eq!((&archived["value"], &archived["nextLink"]), (kept, &Value::Null));
    let window = server.must("GET", "/jc/jobs/j/history?$top=5", "").json();
    assert_eq!((&window["value"], &window["nextLink"]), (&json!([]), &Value::Null));
    for (query, value) in [
        ("archive=true", kept),
        ("archive=true&$filter=status%20eq%20failed", kept),
        ("archive=true&$filter=status%20eq%20completed", &json!([])),
        ("archive=true&$filter=status%20eq%20skipped", &json!([])),
        ("archive=false", &json!([])),
        ("archive=true&$top=1&$skip=1", &json!([kept[1]])),
    ] {
        let answer = server.must("GET", &format!("/jc/jobs/j/history?{query}"), "").json();
        assert_eq!(answer["value"], *value, "{query}");
    }
    let refused = server.ask("GET", "/jc/jobs/j/history?archive=maybe", "");
    assert!(refused.status == 400 && refused.body.contains("use true or false"), "{refused:?}");
}

/// How many attempts `minutehand job history` shows.
fn shown_by_the_command(server: &Server, more: &[&str]) -> usize {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command.env("MINUTEHAND_URL", format!("http://{}", server.address));
    command.args(["job", "history", "jc/j", "--subscription", "s", "--group", "g", "--json"]);
    let output = command.args(more).output_in_time();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().matches("repeatCount").count()
}

#[test]
fn days_that_are_over_are_files_and_a_lost_one_is_written_again_while_the_server_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("archive"));
    fs::create_dir(&archive).unwrap();
    // A day takes two minutes, and the target is nobody, so every attempt fails at once.
    let clock = ["--clock-start", "2030-01-01T12:00:00Z", "--clock-rate", "720"];
    let start = |clock: &[&str]| {
        Server::start(
            arguments(&data, &archive).into_iter().chain(clock.iter().map(|it| (*it).to_owned())),
        )
    };
    let server = start(&clock);
    server.must("PUT", "/jc", "{}");
    let job = json!({"properties": {
        "recurrence": {"frequency": "minute", "interval": 10},
        "action": {"type": "Http", "retryPolicy": {"retryType": "none"}, "request": {
            "uri": "http://127.0.0.1:9/", "method": "GET",
            "authentication": {"type": "Basic", "username": "u", "password": "hunter2"},
        }},
    }});
    server.must("PUT", "/jc/jobs/j", &job.to_string());
    let ran = |answer: &Value| answer["value"].as_array().map_or(0, Vec::len) >= 3;
    while !ran(&server.must("GET", "/jc/jobs/j/history", "").json()) {}
    server.must("PATCH", "/jc/jobs/j", r#"{"properties":{"state":"disabled"}}"#);
    server.stop().is_clean();
    assert_eq!(files(&archive, "history/v1").len(), 0, "the day is not over");

    // The next process starts on the day after.
    let mut server = start(&["--clock-start", "2030-01-02T01:00:00Z"]);
    server.wait_for("archived");
    let (history, audit) = (files(&archive, "history/v1"), files(&archive, "audit/v1"));
    assert_eq!((history.len(), audit.len()), (1, 1), "{history:?} {audit:?}");
    let unpacked = |file: &Path| {
        let name = file.display().to_string();
        minutehand_archive::unpack(&name, &fs::read(file).unwrap()).lines
    };
    let lines = unpacked(&history[0]);
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines.iter().chain(&unpacked(&audit[0])) {
        assert!(!line.contains("hunter2") && !line.contains("sealed"), "{line}");
    }
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&line["outcome"], &line["role"]), (&json!("failed"), &json!("main")));
    assert!(line["nominal"].as_str().unwrap().starts_with("2030-01-01T1"), "{line}");

    fs::remove_file(&history[0]).unwrap();
    let (code, said) = repair(&data, "2030-01-01");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(unpacked(&files(&archive, "history/v1")[0]), lines);
    assert!(!data.join("archive-repair.tmp").exists());
    let kept = server.must("GET", "/jc/jobs/j/history", "").json();
    assert_eq!(kept["value"].as_array().unwrap().len(), lines.len());
    server.stop().is_clean();

    // What has expired is answered from the archive, in the same form.
    let server = start(&["--clock-start", "2030-03-10T00:00:00Z"]);
    check_reading_back(&server, &kept["value"]);
    let shown = lines.len().min(20);
    assert_eq!(
        (shown_by_the_command(&server, &[]), shown_by_the_command(&server, &["--archive"])),
        (0, shown)
    );
    server.stop().is_clean();

    // Without a server, and with an archive that is gone.
    let (code, said) = repair(&data, "2030-01-01");
    assert!(code == Some(0) && said.contains("written again: 0 lines"), "{said}");
    fs::remove_file(archive.join("minutehand.json")).unwrap();
    let (code, said) = repair(&data, "2030-01-01");
    assert!(code == Some(1) && said.contains("no file minutehand.json"), "{said}");
}

#[test]
fn an_archive_that_is_not_there_is_refused_and_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("mnt/archive"));
    let (code, said) = refused(&data, &archive);
    assert!(code == Some(2) && said.contains("does not exist: mount it, or create it"), "{said}");
    assert!(!data.exists() && !archive.exists());

    fs::create_dir_all(&archive).unwrap();
    Server::start(arguments(&data, &archive)).stop().is_clean();
    assert!(archive.join("minutehand.json").exists());
    // Its file system is not mounted: nothing is written to the disk below, and the server starts.
    for has_mount_point in [true, false] {
        fs::remove_dir_all(&archive).unwrap();
        if has_mount_point {
            fs::create_dir(&archive).unwrap();
        }
        let mut server = Server::start(arguments(&data, &archive));
        server.wait_for("has no file minutehand.json");
        server.stop().is_clean();
        assert!(!archive.join("minutehand.json").exists());
        assert_eq!(archive.exists(), has_mount_point);
    }
    fs::create_dir(&archive).unwrap();

    // Once the data directory forgets it, it is a new archive.
    fs::remove_file(data.join("archive.json")).unwrap();
    Server::start(arguments(&data, &archive)).stop().is_clean();
    let (code, said) = repair(&dir.path().join("none"), "2030-01-01");
    assert!(code == Some(1) && said.contains("is not a data directory"), "{said}");
    let (code, said) = repair(&data, "yesterday");
    assert!(code == Some(2) && said.contains("give a day like 2026-11-20"), "{said}");
}
