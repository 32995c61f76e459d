//! Damaged data directories: a start is refused with what to do, and after `minutehand repair` fires
//! everything that was owed, once.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Output};

use chrono::TimeDelta;
use minutehand_runtime::system_now;
use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::jobs::{counters, format_instant, job, on, until_state, with_collection};
use crate::server::Server;
use crate::target::Target;

/// Damages a data directory.
type Damage<'a> = &'a dyn Fn(&Path);

/// A page of a database.
const PAGE: usize = 4096;

fn refused(data: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(["serve", "--no-auth", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let output = command.env_remove("MINUTEHAND_TOKEN").output_in_time();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn repair(data: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(["repair", "--data"]).arg(data).output_in_time()
}

#[track_caller]
fn repaired(data: &Path) -> String {
    let output = repair(data);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A directory whose queue holds the messages of three jobs, of a server that was stopped or killed.
fn with_queued_jobs(data: &Path, target: &Target, signal: &str) {
    // Without an executor, the messages stay in the queue.
    let server = with_collection(on(data, &["--roles", "api,sweeper"]));
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

/// Starts a server on the directory and kills it: the logs of the databases are left.
fn start_and_kill(data: &Path) {
    let server = on(data, &["--roles", "api,sweeper"]);
    server.signal("KILL");
    server.wait();
}

fn fires_everything_once(data: &Path, target: &Target) {
    let server = on(data, &[]);
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

fn truncate(path: &Path) {
    fs::write(path, "").unwrap();
}

fn damage_page(path: &Path, page: usize) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let start = u64::try_from((page - 1) * PAGE).unwrap();
    file.write_all_at(&[0xa5; PAGE], start).unwrap();
}

#[test]
fn a_lost_or_damaged_queue_is_refused_and_after_a_repair_everything_fires() {
    let other = tempfile::tempdir().unwrap();
    with_collection(on(other.path(), &[])).stop().is_clean();
    let foreign = other.path().join("queue.db");
    let damages: [(&str, Damage<'_>); 8] = [
        ("missing or empty", &|data| fs::remove_file(data.join("queue.db")).unwrap()),
        ("missing or empty", &|data| truncate(&data.join("queue.db"))),
        ("another data directory", &|data| {
            fs::copy(&foreign, data.join("queue.db")).unwrap();
        }),
        ("is damaged", &|data| damage_page(&data.join("queue.db"), 2)),
        ("is damaged", &|data| damage_page(&data.join("queue.db"), 3)),
        ("its log is missing", &|data| {
            start_and_kill(data);
            fs::remove_file(data.join("queue.db-wal")).unwrap();
        }),
        ("its log is damaged", &|data| {
            start_and_kill(data);
            fs::write(data.join("queue.db-wal"), "junk").unwrap();
        }),
        ("its log is missing", &|data| {
            start_and_kill(data);
            fs::remove_file(data.join("store.db-wal")).unwrap();
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
            assert!(said.contains("run `minutehand repair`"), "{number}: {said}");
        }
        let report = repaired(dir.path());
        assert!(report.contains("looked at 3 enabled jobs"), "{number}: {report}");
        assert!(report.contains("Lost: dead letters, and runs"), "{number}: {report}");
        let sent = "sent again: 3 occurrences that were due or soon due";
        assert!(report.contains(sent), "{number}: {report}");
        fires_everything_once(dir.path(), &target);
    }
}

#[test]
fn a_lost_store_is_refused_and_only_a_backup_helps() {
    let other = tempfile::tempdir().unwrap();
    with_collection(on(other.path(), &[])).stop().is_clean();
    let foreign = other.path().join("store.db");
    let damages: [(&str, Damage<'_>); 3] = [
        ("missing or empty", &|data| fs::remove_file(data.join("store.db")).unwrap()),
        ("missing or empty", &|data| truncate(&data.join("store.db"))),
        ("another data directory", &|data| {
            fs::copy(&foreign, data.join("store.db")).unwrap();
        }),
    ];
    for (why, damage) in damages {
        let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
        with_queued_jobs(dir.path(), &target, "TERM");
        damage(dir.path());
        for _ in 0..2 {
            let said = refused(dir.path());
            assert!(said.contains(why) && said.contains("restore the data directory"), "{said}");
            assert!(!said.contains("minutehand repair"), "{said}");
            let output = repair(dir.path());
            assert_eq!(output.status.code(), Some(1), "{output:?}");
        }
    }
}

#[test]
fn a_repair_of_what_is_not_damaged_changes_nothing() {
    for signal in ["TERM", "KILL"] {
        let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
        with_queued_jobs(dir.path(), &target, signal);
        assert_eq!(repaired(dir.path()), "nothing is damaged, and nothing was changed\n");
        fires_everything_once(dir.path(), &target);
    }
    let dir = tempfile::tempdir().unwrap();
    let output = repair(&dir.path().join("none"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn a_repair_that_was_interrupted_is_gone_on_with() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    with_queued_jobs(dir.path(), &target, "TERM");
    // As a crash leaves it after the queue was put aside, and before the messages were sent.
    let identity = fs::read_to_string(dir.path().join("identity")).unwrap();
    fs::write(dir.path().join("identity"), identity.replace("closed", "damaged")).unwrap();
    fs::rename(dir.path().join("queue.db"), dir.path().join("queue.db.damaged")).unwrap();
    let kept = fs::read(dir.path().join("queue.db.damaged")).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("missing or empty"), "{said}");
    repaired(dir.path());
    assert_eq!(fs::read(dir.path().join("queue.db.damaged")).unwrap(), kept);
    fires_everything_once(dir.path(), &target);

    let identity = fs::read_to_string(dir.path().join("identity")).unwrap();
    fs::write(dir.path().join("identity"), identity.replace("closed", "damaged")).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("a repair was interrupted"), "{said}");
    repaired(dir.path());
    Server::open(dir.path()).stop().is_clean();
    assert_eq!(target.rest().len(), 0, "what has ended is not made again");
}

#[test]
fn the_first_start_of_an_earlier_versions_directory_adds_the_identity() {
    let (target, dir) = (Target::ok(), tempfile::tempdir().unwrap());
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/format-1");
    for name in ["format", "key", "key.check", "store.db", "queue.db"] {
        let copy = dir.path().join(name);
        fs::write(&copy, fs::read(frozen.join(name)).unwrap()).unwrap();
        fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    // Damage of before the identity is found, too.
    let aside = dir.path().join("aside");
    fs::rename(dir.path().join("queue.db"), &aside).unwrap();
    assert!(refused(dir.path()).contains("missing or empty"));
    fs::rename(&aside, dir.path().join("queue.db")).unwrap();

    on(dir.path(), &["--roles", "api"]).stop().is_clean();
    let identity = fs::read_to_string(dir.path().join("identity")).unwrap();
    assert!(identity.ends_with("\nclosed\n"), "{identity}");
    fs::remove_file(dir.path().join("queue.db")).unwrap();
    assert!(refused(dir.path()).contains("run `minutehand repair`"));
    assert_eq!(target.rest().len(), 0);
}
