//! `serve --zones`: the time zones of the system in the place of the built-in ones.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, command};

/// A TZif file of a clock that is always nine hours ahead.
fn nine_hours_ahead() -> Vec<u8> {
    let counts = [0_u32, 0, 0, 0, 1, 4].map(u32::to_be_bytes).concat();
    let header = [b"TZif2".to_vec(), vec![0; 15], counts].concat();
    let block = [&32_400_i32.to_be_bytes()[..], &[0, 0], b"+09\0"].concat();
    [header.clone(), block.clone(), header, block, b"\n<+09>-9\n".to_vec()].concat()
}

fn started(data: &Path, zones: &Path, clock: &str) -> Command {
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--no-auth", "--clock-start", clock]);
    command.args([
        OsStr::new("--data"),
        data.as_os_str(),
        OsStr::new("--zones"),
        zones.as_os_str(),
    ]);
    command
}

fn next(server: &Server) -> Value {
    let job = server.must("GET", "/jc/jobs/j", "").json();
    job["properties"]["status"]["nextExecutionTime"].clone()
}

#[test]
fn a_job_follows_the_zones_of_the_system_and_outlives_them() {
    let dir = tempfile::tempdir().unwrap();
    let (data, zones) = (dir.path().join("data"), dir.path().join("zones"));
    fs::create_dir_all(zones.join("Europe")).unwrap();
    // A link, as trees of systems have.
    fs::write(zones.join("nine"), nine_hours_ahead()).unwrap();
    std::os::unix::fs::symlink("../nine", zones.join("Europe/Berlin")).unwrap();
    fs::write(zones.join("tzdata.zi"), "# version 2024a\n").unwrap();

    let mut server = Server::spawn(started(&data, &zones, "2030-01-01T12:00:00Z"));
    server.wait_for("these time zones are older than the built-in ones");
    server.wait_for("some time zones are missing: the built-in ones are used for them");
    let health = server.send("GET", "/healthz", "").json();
    assert_eq!((&health["timeZones"], &health["timeZonesDate"]), (&json!("2024a"), &Value::Null));
    server.must("PUT", "/jc", "{}");
    let recurrence = json!({
        "frequency": "day", "timeZone": "W. Europe Standard Time", "schedule": {"hours": [9]},
    });
    let action = json!({
        "type": "Http", "retryPolicy": {"retryType": "none"},
        "request": {"uri": "http://127.0.0.1:9/", "method": "GET"},
    });
    // With a start that has passed, creating the job is not an occurrence.
    let properties =
        json!({"startTime": "2029-12-31T00:00:00Z", "recurrence": recurrence, "action": action});
    server.must("PUT", "/jc/jobs/j", &json!({"properties": properties}).to_string());
    assert_eq!(next(&server), "2030-01-02T00:00:00Z");
    server.stop().is_clean();

    // The zone vanishes: the job is read with the built-in one, and fires.
    fs::remove_file(zones.join("Europe/Berlin")).unwrap();
    fs::create_dir(zones.join("Asia")).unwrap();
    fs::rename(zones.join("nine"), zones.join("Asia/Tokyo")).unwrap();
    let server = Server::spawn(started(&data, &zones, "2030-01-02T00:00:00Z"));
    while next(&server) == "2030-01-02T00:00:00Z" {}
    assert_eq!(next(&server), "2030-01-02T08:00:00Z");
    server.stop().is_clean();
}

#[test]
fn zones_that_cannot_be_used_are_refused_with_the_file_and_nothing_is_begun() {
    let dir = tempfile::tempdir().unwrap();
    let (data, zones) = (dir.path().join("data"), dir.path().join("zones"));
    let refused = |why: &str| {
        let output = started(&data, &zones, "2030-01-01T12:00:00Z").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(why), "{why}: {said}");
        assert!(!data.exists());
    };
    refused("has no time zones: give a folder like /usr/share/zoneinfo");
    fs::create_dir_all(zones.join("Europe")).unwrap();
    refused("has no time zones");
    let berlin = zones.join("Europe/Berlin");
    let whole = nine_hours_ahead();
    for damaged in [Vec::new(), whole[..50].to_vec(), b"<html>".to_vec(), vec![b'x'; 300_000]] {
        fs::write(&berlin, damaged).unwrap();
        refused("Europe/Berlin");
    }
    fs::remove_file(&berlin).unwrap();
    std::os::unix::fs::symlink("Berlin", &berlin).unwrap();
    refused("Europe/Berlin");
    fs::remove_file(&berlin).unwrap();
    fs::create_dir(&berlin).unwrap();
    refused("Europe/Berlin: it is not a file");
}
