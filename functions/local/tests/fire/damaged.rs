//! Damaged data directories and copies of several moments: a start is refused with what to do, each time, and
//! what is whole fires everything that was owed, once.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use chrono::TimeDelta;
use minutehand_runtime::system_now;
use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::jobs::{counters, format_instant, job, on, until_state, with_collection};
use crate::target::Target;

/// Damages a data directory.
type Damage<'a> = &'a dyn Fn(&Path);

/// A page of a database.
const PAGE: usize = 4096;

const DATABASE: &str = "minutehand.db";
const LOG: &str = "minutehand.db-wal";

fn refused(data: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(["serve", "--no-auth", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let output = command.env_remove("MINUTEHAND_TOKEN").output_in_time();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A directory with the messages of three jobs, of a server that was stopped or killed.
fn with_queued_jobs(data: &Path, target: &Target, signal: &str) {
    // Without an executor, the messages stay in the queue. What is answered is on the disk at once, so the
    // record says so, however soon the server is killed.
    let server = with_collection(on(data, &["--roles", "api,sweeper", "--sync", "full"]));
    let soon = format_instant(system_now() + TimeDelta::milliseconds(200));
    for (name, more) in [
        ("due", json!({})),
        ("soon", json!({"startTime": soon})),
        ("often", json!({"recurrence": {"frequency": "hour"}})),
    ] {
        let body = job(&target.url(&format!("/{name}")), &more);
        server.must("PUT", &format!("/jc/jobs/{name}"), &body);
    }
    server.signal(signal);
    server.wait();
}

fn fires_everything_once(data: &Path, target: &Target, arguments: &[&str]) {
    let server = on(data, arguments);
    let mut paths: Vec<String> = target.next_n(3).into_iter().map(|seen| seen.path).collect();
    paths.sort();
    assert_eq!(paths, ["/due", "/often", "/soon"]);
    for name in ["due", "soon"] {
        let over = until_state(&server, &format!("/jc/jobs/{name}"), "completed");
        assert_eq!(counters(&over), [1, 0, 0]);
    }
    assert_eq!(server.send("GET", "/healthz", "").status, 200);
    server.stop().is_clean();
    assert_eq!(target.rest().len(), 0);
}

fn damage_page(path: &Path, page: usize) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let start = u64::try_from((page - 1) * PAGE).unwrap();
    file.write_all_at(&[0xa5; PAGE], start).unwrap();
}

fn halve(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn what_was_stopped_or_killed_fires_everything_once() {
    for signal in ["TERM", "KILL"] {
        for arguments in [&[][..], &["--accept-copy"]] {
            let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
            with_queued_jobs(dir.path(), &target, signal);
            fires_everything_once(dir.path(), &target, arguments);
        }
    }
}

#[test]
fn a_lost_or_damaged_database_is_refused_and_only_a_backup_helps() {
    let other = tempfile::tempdir().unwrap();
    with_collection(on(other.path(), &[])).stop().is_clean();
    let foreign = other.path().join(DATABASE);
    let lost =
        "is missing or empty, and it was there before: restore the data directory from a backup";
    let damages: [(&str, Damage<'_>); 5] = [
        (lost, &|data| fs::remove_file(data.join(DATABASE)).unwrap()),
        (lost, &|data| fs::write(data.join(DATABASE), "").unwrap()),
        ("is of another directory: restore both", &|data| {
            fs::copy(&foreign, data.join(DATABASE)).unwrap();
        }),
        ("is damaged, or not a database: restore the data directory from a backup", &|data| {
            damage_page(&data.join(DATABASE), 1);
        }),
        ("is a symbolic link, or no regular file", &|data| {
            fs::rename(data.join(DATABASE), data.join("moved")).unwrap();
            std::os::unix::fs::symlink("moved", data.join(DATABASE)).unwrap();
        }),
    ];
    for (number, (why, damage)) in damages.into_iter().enumerate() {
        let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
        with_queued_jobs(dir.path(), &target, "TERM");
        damage(dir.path());
        // The same each time: a refusal changes nothing that the next start looks at.
        for _ in 0..2 {
            let said = refused(dir.path());
            assert!(said.contains(why), "{number}: {said}");
        }
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_until_the_user_accepts_them() {
    let damages: [(&str, Damage<'_>); 6] = [
        ("its log is missing or empty", &|data| fs::remove_file(data.join(LOG)).unwrap()),
        ("its log is missing or empty", &|data| fs::write(data.join(LOG), "").unwrap()),
        ("its log is cut off", &|data| fs::write(data.join(LOG), "junk").unwrap()),
        ("its log is cut off", &|data| halve(&data.join(LOG))),
        ("the file `open`, which says", &|data| fs::remove_file(data.join("open")).unwrap()),
        ("the file `open`, which says", &|data| halve(&data.join("open"))),
    ];
    for (number, (why, damage)) in damages.into_iter().enumerate() {
        let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
        with_queued_jobs(dir.path(), &target, "KILL");
        damage(dir.path());
        for _ in 0..2 {
            let said = refused(dir.path());
            assert!(said.contains(why), "{number}: {said}");
            assert!(said.contains("do not belong together"), "{number}: {said}");
            assert!(said.contains("Restore a backup"), "{number}: {said}");
        }
        let server = on(dir.path(), &["--accept-copy"]);
        let ended = server.stop();
        assert!(ended.log.contains("may be missing"), "{number}: {}", ended.log);
        on(dir.path(), &[]).stop().is_clean();
    }
}

#[test]
fn yesterdays_database_beside_todays_log_is_refused_and_makes_what_it_has() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    with_queued_jobs(dir.path(), &target, "TERM");
    let yesterday = fs::read(dir.path().join(DATABASE)).unwrap();
    let server = on(dir.path(), &["--roles", "api,sweeper", "--sync", "full"]);
    let late = format_instant(system_now() + TimeDelta::days(300));
    let more = json!({"startTime": late});
    server.must("PUT", "/jc/jobs/later", &job(&target.url("/later"), &more));
    server.stop().is_clean();
    let server = on(dir.path(), &["--roles", "api,sweeper", "--sync", "full"]);
    server.must("PUT", "/jc/jobs/latest", &job(&target.url("/latest"), &more));
    server.signal("KILL");
    server.wait();
    fs::write(dir.path().join(DATABASE), yesterday).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("the database is older than its log"), "{said}");
    fires_everything_once(dir.path(), &target, &["--accept-copy"]);
    let server = on(dir.path(), &[]);
    for lost in ["later", "latest"] {
        assert_eq!(server.ask("GET", &format!("/jc/jobs/{lost}"), "").status, 404);
    }
    server.stop().is_clean();
}

#[test]
fn a_directory_of_an_earlier_version_is_refused_by_name_and_not_changed() {
    for names in [&["format", "store.db", "queue.db"][..], &["store.db"], &["queue.db"]] {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(dir.path().join(name), "of before").unwrap();
        }
        let said = refused(dir.path());
        assert!(said.contains("is of an earlier version, which kept its data in"), "{said}");
        for way in ["`minutehand export`", "`minutehand apply`", "Secrets are not in them"] {
            assert!(said.contains(way), "{said}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), names.len(), "nothing was created");
    }
}
