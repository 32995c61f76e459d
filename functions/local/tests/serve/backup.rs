//! `minutehand backup`, and serving from the copy.

use std::fs::{self, DirEntry};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use minutehand_testkit::InTime as _;

use crate::server::{Server, job};

fn backup(data: &Path, target: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output = command.arg("backup").arg(target).arg("--data").arg(data).output_in_time();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn refuses(data: &Path, target: &Path, why: &str) {
    let (code, said) = backup(data, target);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(why), "{said}");
}

/// A server with a collection, on a directory in which all its files are.
fn with_every_file(data: &Path) -> Server {
    let server = Server::start(
        ["--tls-self-signed", "--data"].map(AsRef::as_ref).into_iter().chain([data.as_os_str()]),
    );
    server.stop().is_clean();
    let server = Server::open(data);
    server.must("PUT", "/jc", "{}");
    server
}

/// A copy has every file, and each is for its owner alone.
#[track_caller]
fn assert_is_complete(copy: &Path) {
    let mut names: Vec<_> = fs::read_dir(copy).unwrap().map(|entry| entry.unwrap()).collect();
    names.sort_by_key(DirEntry::file_name);
    for entry in &names {
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{entry:?} has mode {mode:o}");
    }
    let names: Vec<_> =
        names.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    let files = ["key", "key.check", "minutehand.db"];
    for name in files.iter().chain(&["tls-cert.pem", "tls-key.pem", "token"]) {
        assert!(names.iter().any(|has| has == name), "{name} is not in {names:?}");
    }
    let of_a_process = ["lock", "open", "minutehand.db-wal", "minutehand.db-shm"];
    assert!(!names.iter().any(|name| of_a_process.contains(&name.as_str())), "{names:?}");
}

#[test]
fn a_server_on_the_copy_has_the_same_data_and_changes_independently() {
    let dir = tempfile::tempdir().unwrap();
    let (data, target) = (dir.path().join("data"), dir.path().join("copy"));
    let server = with_every_file(&data);
    server.must("PUT", "/jc/jobs/j", &job("p"));
    // After a kill, recent writes are only in the database's log.
    server.signal("KILL");
    server.wait();

    let (code, said) = backup(&data, &target);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("copied "), "{said}");
    assert_is_complete(&target);
    let copy = Server::open(&target);
    copy.must("PATCH", "/jc/jobs/j", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    // From now on the two directories are independent.
    let server = Server::open(&data);
    let start = |server: &Server| {
        server.must("GET", "/jc/jobs/j", "").json()["properties"]["startTime"].clone()
    };
    assert_eq!(start(&copy), "2051-01-01T00:00:00Z");
    assert_eq!(start(&server), "2050-01-01T00:00:00Z");
    copy.stop().is_clean();
    server.stop().is_clean();
}

#[test]
fn a_running_server_is_copied_as_it_is_at_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let (data, target) = (dir.path().join("data"), dir.path().join("copy"));
    let server = with_every_file(&data);
    server.must("PUT", "/jc/jobs/before", &job("p"));
    let (code, said) = backup(&data, &target);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("The server went on"), "{said}");
    assert_is_complete(&target);
    server.must("PUT", "/jc/jobs/after", &job("p"));
    // A killed server finds its log: the copy was made without touching them.
    server.signal("KILL");
    server.wait();
    let server = Server::open(&data);
    server.must("GET", "/jc/jobs/after", "");

    let copy = Server::open(&target);
    // A change unseals the job's secrets, so the copied key has to fit them.
    copy.must("PATCH", "/jc/jobs/before", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    assert_eq!(copy.ask("GET", "/jc/jobs/after", "").status, 404);
    refuses(&data, &target, "already exists");
    copy.stop().is_clean();
    server.stop().is_clean();
}

#[test]
fn backup_refuses_a_wrong_source_and_an_existing_target() {
    let dir = tempfile::tempdir().unwrap();
    let (data, none) = (dir.path().join("data"), dir.path().join("none"));
    Server::open(&data).stop().is_clean();
    refuses(&none, &dir.path().join("copy"), "is not a data directory");
    assert!(!none.exists());
    fs::create_dir(&none).unwrap();
    refuses(&data, &none, "already exists");
    refuses(&data, &data.join("copy"), "is inside the data directory");
    refuses(&data, &dir.path().join("a/b"), "cannot find the directory");
    fs::create_dir(dir.path().join("copy.partial")).unwrap();
    refuses(&data, &dir.path().join("copy"), "copy.partial already exists");
    assert!(!dir.path().join("copy").exists());
}
