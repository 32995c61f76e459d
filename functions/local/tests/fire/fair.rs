//! One collection next to another one whose targets hang: the scenes of `make bench`, with less load
//! and fewer files. An action may take two seconds instead of sixty.

use std::env;
use std::path::Path;
use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_runtime::system_now;
use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::client::Request;
use crate::jobs::{format_instant, job, on};
use crate::nuisance::{endless_informational_answers, serve_names, with_own_name_server};
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

/// The other collection: its jobs, each with its URL and its delay after [`FIRST`].
struct Noise {
    files: u32,
    jobs: Vec<(String, TimeDelta)>,
}

/// Creates the jobs of both collections, on a clock that is an hour behind.
fn create(dir: &Path, noise: &Noise, quiet: &[String]) {
    let clock = "2030-01-01T00:00:00Z";
    let server = on(dir, &["--log-level", "warn", "--plan-limits", "off", "--clock-start", clock]);
    for collection in ["/noisy", "/quiet"] {
        server.must("PUT", collection, "{}");
    }
    let address = server.address;
    let first: DateTime<Utc> = FIRST.parse().unwrap();
    let put = |path: &str, url: &str, delay: TimeDelta| {
        let more = json!({
            "startTime": format_instant(first + delay),
            "action": {"retryPolicy": {"retryType": "none"}},
        });
        let (path, body) = (&versioned(path), &job(url, &more));
        let request = Request { method: "PUT", path, token: None, body };
        assert_eq!(request.send(address).unwrap().status, 201);
    };
    for (url, n) in quiet.iter().zip(0..) {
        put(&format!("/quiet/jobs/j{n}"), url, TimeDelta::seconds(n));
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let put = &put;
            scope.spawn(move || {
                let mine = noise.jobs.iter().enumerate().skip(writer).step_by(WRITERS);
                for (n, (url, delay)) in mine {
                    put(&format!("/noisy/jobs/j{n}"), url, *delay);
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

/// Fires the jobs beside a job a second that calls these URLs: each has to come once, and in time.
/// Then `noise_ends` waits for what the noise has to do.
#[track_caller]
fn check(noise: &Noise, target: &Target, quiet: &[String], noise_ends: impl FnOnce(&Server)) {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), noise, quiet);
    let until_first =
        FIRST.parse::<DateTime<Utc>>().unwrap() - START.parse::<DateTime<Utc>>().unwrap();
    let before = system_now();
    let server = start(dir.path(), noise.files);
    let first = before + until_first;
    let mut late: Vec<TimeDelta> = target
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
    println!("{} files, late by {late:?}", noise.files);
    assert!(*late.last().unwrap() < LATE_MAX, "{late:?}");
    noise_ends(&server);
    let ended = server.stop();
    assert!(!ended.log.contains("Too many open files"), "{}", ended.log);
    ended.is_clean();
    assert_eq!(target.rest().len(), 0, "none comes twice");
}

/// The URLs of the quiet jobs at a target.
fn quiet(target: &Target) -> Vec<String> {
    (0..QUIET).map(|n| target.url(&format!("/{n}"))).collect()
}

/// Jobs with these delays whose target hangs. Each of them has to come once, sooner or later.
#[track_caller]
fn check_hanging(files: u32, delays: &[TimeDelta]) {
    let (target, hanging) = (Target::ok(), Target::start(|_| Reply::Silence));
    let jobs = delays.iter().enumerate();
    let jobs = jobs.map(|(n, delay)| (hanging.url(&format!("/{n}")), *delay)).collect();
    check(&Noise { files, jobs }, &target, &quiet(&target), |_| {
        let mut paths: Vec<String> =
            hanging.next_n(delays.len()).into_iter().map(|seen| seen.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), delays.len(), "each came once");
    });
    assert_eq!(hanging.rest().len(), 0);
}

/// Two thousand jobs a minute, for six seconds.
fn steady() -> Vec<TimeDelta> {
    (0..200).map(|n| TimeDelta::milliseconds(30) * n).collect()
}

#[test]
fn hanging_targets_do_not_delay_another_collection_with_few_files() {
    check_hanging(256, &steady());
}

#[test]
fn hanging_targets_do_not_delay_another_collection_with_many_files() {
    check_hanging(8_192, &steady());
}

#[test]
fn a_burst_of_hanging_targets_does_not_delay_another_collection() {
    check_hanging(512, &[TimeDelta::zero(); 500]);
}

#[test]
fn answers_that_never_become_final_do_not_delay_another_collection() {
    let target = Target::ok();
    let endless = endless_informational_answers();
    let jobs = (0..2).map(|n| (format!("http://{endless}/{n}"), TimeDelta::zero())).collect();
    check(&Noise { files: 1_024, jobs }, &target, &quiet(&target), |_| {});
}

/// Set in the namespaces in which this test runs a second time.
const INSIDE: &str = "MINUTEHAND_TEST_NAMES";

/// The names need a name server of their own, and so a file system and a network of their own.
#[test]
fn names_that_do_not_resolve_do_not_delay_another_collection() {
    if env::var_os(INSIDE).is_some() {
        return check_names();
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(mut inside) = with_own_name_server(dir.path()) else {
        println!("skipped: this needs unshare, ip and mount, and to be root");
        return;
    };
    let inside = inside
        .arg(env::current_exe().unwrap())
        .args(["fair::names_that_do_not_resolve_do_not_delay_another_collection", "--exact"])
        .arg("--nocapture")
        .env(INSIDE, "1")
        .output_in_time();
    println!("{}", String::from_utf8_lossy(&inside.stdout));
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
}

fn check_names() {
    serve_names();
    let target = Target::ok();
    let port = target.address.port();
    // More than the system would look up at once.
    let jobs = (0..600).map(|n| (format!("http://x{n}.slow.test:{port}/"), TimeDelta::zero()));
    let noise = Noise { files: 2_048, jobs: jobs.collect() };
    let quiet: Vec<_> = (0..QUIET).map(|n| format!("http://q{n}.fast.test:{port}/{n}")).collect();
    check(&noise, &target, &quiet, |_| {});
}
