//! One collection next to another one whose targets hang: the scenes of `make bench`, with less load
//! and fewer files. An action may take two seconds instead of sixty.

use std::path::Path;
use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use runtime::system_now;
use serde_json::json;

use crate::client::Request;
use crate::jobs::{format_instant, job, on};
use crate::server::{Server, versioned};
use crate::target::{Reply, Target};

/// Jobs of the quiet collection, one a second.
const QUIET: usize = 8;
/// A bound for machines that are busy with other tests; the bench has the real one.
const LATE_MAX: TimeDelta = TimeDelta::seconds(2);
/// When the first job is due.
const FIRST: &str = "2030-01-01T01:00:00Z";
/// When the server that fires starts, on its own clock.
const START: &str = "2030-01-01T00:59:55Z";
const WRITERS: usize = 8;

/// What the noisy collection has: jobs with these delays after [`FIRST`].
struct Load {
    files: u32,
    noisy: Vec<TimeDelta>,
}

/// Creates the jobs of both collections, on a clock that is an hour behind.
fn create(dir: &Path, load: &Load, quiet: &Target, hanging: &Target) {
    let clock = "2030-01-01T00:00:00Z";
    let server = on(dir, &["--log-level", "warn", "--plan-limits", "off", "--clock-start", clock]);
    for collection in ["/noisy", "/quiet"] {
        server.must("PUT", collection, "{}");
    }
    let first: DateTime<Utc> = FIRST.parse().unwrap();
    let (address, hanging) = (server.address, hanging.url(""));
    let put = |path: &str, url: &str, delay: TimeDelta| {
        let more = json!({
            "startTime": format_instant(first + delay),
            "action": {"retryPolicy": {"retryType": "none"}},
        });
        let (path, body) = (&versioned(path), &job(url, &more));
        let request = Request { method: "PUT", path, token: None, body };
        assert_eq!(request.send(address).unwrap().status, 201);
    };
    for n in 0..QUIET {
        let delay = TimeDelta::seconds(i64::try_from(n).unwrap());
        put(&format!("/quiet/jobs/j{n}"), &quiet.url(&format!("/{n}")), delay);
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (put, hanging) = (&put, &hanging);
            scope.spawn(move || {
                for (n, delay) in load.noisy.iter().enumerate().skip(writer).step_by(WRITERS) {
                    put(&format!("/noisy/jobs/j{n}"), &format!("{hanging}/{n}"), *delay);
                }
            });
        }
    });
    server.stop().is_clean();
}

/// A server that may have so many files open, and starts shortly before the jobs are due.
fn start(dir: &Path, files: u32) -> Server {
    let mut command = Command::new("sh");
    let script = format!("ulimit -Sn {files}; ulimit -Hn {files}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_minutehand")])
        .args(["serve", "--listen", "127.0.0.1:0", "--no-auth", "--data"])
        .arg(dir)
        .args(["--clock-start", START, "--test-action-limit", "2", "--log-level", "warn"]);
    Server::spawn(command)
}

/// Fires the jobs. Each quiet one has to come once, and in time; each noisy one has to come once,
/// sooner or later.
#[track_caller]
fn check(load: &Load) {
    let (quiet, hanging) = (Target::ok(), Target::start(|_| Reply::Silence));
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), load, &quiet, &hanging);
    let until_first =
        FIRST.parse::<DateTime<Utc>>().unwrap() - START.parse::<DateTime<Utc>>().unwrap();
    let before = system_now();
    let server = start(dir.path(), load.files);
    let first = before + until_first;
    let mut late: Vec<TimeDelta> = quiet
        .next_n(QUIET)
        .iter()
        .map(|seen| {
            let n: i32 = seen.path.trim_start_matches('/').parse().unwrap();
            let late = seen.at - (first + TimeDelta::seconds(1) * n);
            assert!(late >= TimeDelta::zero(), "{n} is early");
            late
        })
        .collect();
    late.sort();
    println!("{} files, quiet jobs late by {late:?}", load.files);
    assert!(*late.last().unwrap() < LATE_MAX, "{late:?}");
    let mut paths: Vec<String> =
        hanging.next_n(load.noisy.len()).into_iter().map(|seen| seen.path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), load.noisy.len(), "each came once");
    let ended = server.stop();
    assert!(!ended.log.contains("Too many open files"), "{}", ended.log);
    ended.is_clean();
    assert_eq!((quiet.rest().len(), hanging.rest().len()), (0, 0));
}

/// Two thousand jobs a minute, for six seconds.
fn steady() -> Vec<TimeDelta> {
    (0..200).map(|n| TimeDelta::milliseconds(30) * n).collect()
}

#[test]
fn hanging_targets_do_not_delay_another_collection_with_few_files() {
    check(&Load { files: 256, noisy: steady() });
}

#[test]
fn hanging_targets_do_not_delay_another_collection_with_many_files() {
    check(&Load { files: 8_192, noisy: steady() });
}

#[test]
fn a_burst_of_hanging_targets_does_not_delay_another_collection() {
    check(&Load { files: 512, noisy: vec![TimeDelta::zero(); 500] });
}
