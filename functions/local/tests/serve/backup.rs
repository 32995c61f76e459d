//! `minutehand backup`, and serving from the copy.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::server::{Server, job};

fn backup(data: &Path, target: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output = command.arg("backup").arg(target).arg("--data").arg(data).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn refuses(data: &Path, target: &Path, why: &str) {
    let (code, said) = backup(data, target);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_server_on_the_copy_has_the_same_data_and_changes_independently() {
    let dir = tempfile::tempdir().unwrap();
    let (data, target) = (dir.path().join("data"), dir.path().join("copy"));
    let server = Server::start(
        ["--tls-self-signed", "--data"].map(AsRef::as_ref).into_iter().chain([data.as_os_str()]),
    );
    server.stop().is_clean();
    let server = Server::open(&data);
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/j", &job("p"));
    refuses(&data, &target, "stop the server first");
    // After a kill, recent writes are only in the database's log.
    server.signal("KILL");
    server.wait();

    let (code, said) = backup(&data, &target);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("copied "), "{said}");
    for name in ["format", "key", "key.check", "store.db", "tls-cert.pem", "tls-key.pem", "token"] {
        assert!(target.join(name).exists(), "{name}");
    }
    assert!(!target.join("lock").exists());
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
