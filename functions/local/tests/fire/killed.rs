//! `kill -9` at random moments of a burst, repeatedly on one data directory.
//!
//! No accepted job is lost, and none fires early. An attempt may run twice only if a kill interrupted
//! it; its record is then of the later run, as the earlier one left none. Such repetitions are never
//! counted as failures.
//!
//! The counts of quarters agree with the counters of jobs after each kill, and with the history at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_runtime::system_now;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::Request;
use crate::jobs::{format_instant, history, instant, job, on};
use crate::server::{Server, versioned};
use crate::target::{PATIENCE, Seen, Target};

/// The number of kills.
const ROUNDS: usize = 50;
/// Jobs per round, each of which fires once; the kill comes after some of them.
const JOBS: usize = 20;
/// The longest delay between the beginning of a round and the start of a job, in milliseconds.
const SPREAD: u64 = 200;
const WRITERS: usize = 4;

/// The jobs that the test asked for.
#[derive(Default)]
struct Asked {
    /// The start of each job, by its path at the target.
    starts: Mutex<HashMap<String, DateTime<Utc>>>,
    /// The jobs whose creation was answered.
    accepted: Mutex<BTreeSet<String>>,
}

/// The requests at the target, and in which round each arrived.
struct Received {
    target: Target,
    /// When the server of each round was started.
    rounds: Vec<DateTime<Utc>>,
    seen: Vec<(usize, Seen)>,
}

impl Received {
    fn take(&mut self, seen: Seen) {
        self.seen.push((self.rounds.len(), seen));
    }

    /// Takes requests until all of these have arrived.
    fn wait_for(&mut self, accepted: &BTreeSet<String>) {
        let mut missing = accepted.clone();
        for (_, seen) in &self.seen {
            missing.remove(&seen.path);
        }
        while !missing.is_empty() {
            let seen = self.target.next();
            missing.remove(&seen.path);
            self.take(seen);
        }
    }

    /// Takes the remaining requests of a server that was killed.
    fn take_rest(&mut self) {
        self.target.until_left();
        for seen in self.target.rest() {
            self.take(seen);
        }
    }
}

#[test]
fn kills_lose_no_job_and_repeat_only_the_attempts_they_interrupt() {
    let mut chance = Chance::new();
    let dir = tempfile::tempdir().unwrap();
    let asked = Asked::default();
    let mut received = Received { target: Target::ok(), rounds: Vec::new(), seen: Vec::new() };
    for round in 0..ROUNDS {
        kill_in_a_burst(round, dir.path(), &asked, &mut received, &mut chance);
    }
    received.rounds.push(system_now());
    let server = start(dir.path());
    let accepted = asked.accepted.into_inner().unwrap();
    received.wait_for(&accepted);
    wait_until_over(&server, &accepted);
    for seen in received.target.rest() {
        received.take(seen);
    }
    check(&server, &received, &asked.starts.into_inner().unwrap());
    for round in 0..ROUNDS {
        counts_are_of_history(&server, round);
    }
    println!("{} accepted, {} requests", accepted.len(), received.seen.len());
    server.stop().is_clean();
}

fn start(dir: &Path) -> Server {
    on(dir, &["--log-level", "warn"])
}

fn kill_in_a_burst(
    round: usize,
    dir: &Path,
    asked: &Asked,
    received: &mut Received,
    chance: &mut Chance,
) {
    received.rounds.push(system_now());
    let server = start(dir);
    if let Some(before) = round.checked_sub(1) {
        counts_agree(&server, before);
    }
    server.must("PUT", &format!("/r{round}"), r#"{"properties":{"sku":{"name":"P20Premium"}}}"#);
    let base = system_now();
    let delays: Vec<_> = (0..JOBS).map(|_| chance.below(SPREAD)).collect();
    // All jobs of the round fire sooner or later, so this many requests will arrive.
    let requests = chance.below(JOBS as u64);
    let (is_killed, address, url) =
        (AtomicBool::new(false), server.address, received.target.url(""));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (is_killed, delays, url) = (&is_killed, &delays, &url);
            scope.spawn(move || {
                for n in (writer..JOBS).step_by(WRITERS) {
                    let milliseconds = i64::try_from(delays[n]).unwrap();
                    let start = base + TimeDelta::milliseconds(milliseconds);
                    if !put(address, url, (round, n), start, asked) {
                        assert!(is_killed.load(Ordering::SeqCst), "refused before the kill");
                        return;
                    }
                }
            });
        }
        for _ in 0..requests {
            let seen = received.target.next();
            received.take(seen);
        }
        is_killed.store(true, Ordering::SeqCst);
        server.signal("KILL");
    });
    server.wait();
    received.take_rest();
}

/// Occurrences by the quarter in which they were due: those in time, and those that started late.
type Quarters = BTreeMap<DateTime<Utc>, [u64; 2]>;

/// What the server has counted of a round.
fn in_quarters(server: &Server, round: usize) -> Quarters {
    let path = "/minutehand/v1/subscriptions/s/wall?back=2&ahead=0";
    let wall = Request { method: "GET", path, token: None, body: "" }.send(server.address);
    let wall = wall.unwrap().json();
    assert_eq!(wall["isCounted"], true);
    let from = instant(&wall["from"]);
    let rows = wall["collections"]["items"].as_array().unwrap();
    let row = rows.iter().find(|row| row["collection"] == format!("r{round}")).unwrap();
    for none in ["retried", "failed", "skipped"] {
        assert_eq!(row[none], json!([]), "{row}");
    }
    let mut found = Quarters::new();
    for (place, kind) in ["ok", "late"].into_iter().enumerate() {
        for (n, count) in row[kind].as_array().unwrap().iter().enumerate() {
            let quarter = from + TimeDelta::minutes(15) * i32::try_from(n).unwrap();
            found.entry(quarter).or_default()[place] += count.as_u64().unwrap();
        }
    }
    found.retain(|_, counts| *counts != [0, 0]);
    found
}

/// The same from the history of its jobs.
fn in_history(server: &Server, round: usize) -> Quarters {
    let mut found = Quarters::new();
    for job in jobs(server, round) {
        for item in history(server, &format!("/r{round}/jobs/{}", name(&job))) {
            let due = instant(&item["expectedExecutionTime"]);
            let is_late = instant(&item["startTime"]) - due > TimeDelta::seconds(1);
            let quarter = due.timestamp() - due.timestamp().rem_euclid(900);
            let quarter = DateTime::from_timestamp(quarter, 0).unwrap();
            found.entry(quarter).or_default()[usize::from(is_late)] += 1;
        }
    }
    found
}

/// Waits until what was counted of a round is its history. A job whose creation was not answered may be there,
/// and not be over.
fn counts_are_of_history(server: &Server, round: usize) {
    let since = Instant::now();
    loop {
        let (counted, recorded) = (in_quarters(server, round), in_history(server, round));
        if counted == recorded {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "r{round}: {counted:?}, and {recorded:?} in history");
    }
}

/// Compares the counts of a round with the counters of its jobs, which change meanwhile.
fn counts_agree(server: &Server, round: usize) {
    let counted = || in_quarters(server, round).into_values().flatten().sum::<u64>();
    let before = counted();
    let executions = |job: &Value| job["properties"]["status"]["executionCount"].as_u64();
    let jobs = jobs(server, round);
    let of_jobs = jobs.iter().map(|job| executions(job).unwrap_or_default()).sum();
    let after = counted();
    assert!(before <= of_jobs && of_jobs <= after, "r{round}: {before}, {of_jobs}, {after}");
}

fn jobs(server: &Server, round: usize) -> Vec<Value> {
    let list = server.must("GET", &format!("/r{round}/jobs"), "").json();
    list["value"].as_array().unwrap().clone()
}

/// The name of a job in a list.
fn name(job: &Value) -> &str {
    job["name"].as_str().unwrap().rsplit('/').next().unwrap()
}

/// Creates a job; false if there was no answer.
fn put(
    server: SocketAddr,
    url: &str,
    (round, n): (usize, usize),
    start: DateTime<Utc>,
    asked: &Asked,
) -> bool {
    let at_target = format!("/r{round}/j{n}");
    let start: DateTime<Utc> = format_instant(start).parse().unwrap();
    asked.starts.lock().unwrap().insert(at_target.clone(), start);
    let body = job(&format!("{url}{at_target}"), &json!({"startTime": format_instant(start)}));
    let path = &versioned(&format!("/r{round}/jobs/j{n}"));
    let Ok(answer) = (Request { method: "PUT", path, token: None, body: &body }).send(server)
    else {
        return false;
    };
    assert_eq!(answer.status, 201, "{answer:?}");
    asked.accepted.lock().unwrap().insert(at_target);
    true
}

/// Waits until all accepted jobs are completed.
fn wait_until_over(server: &Server, accepted: &BTreeSet<String>) {
    let since = Instant::now();
    for round in 0..ROUNDS {
        loop {
            let list = server.must("GET", &format!("/r{round}/jobs"), "").json();
            let open: Vec<_> = list["value"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|job| job["properties"]["state"] != "completed")
                .map(|job| format!("/{}", job["name"].as_str().unwrap()))
                .filter(|path| accepted.contains(path))
                .collect();
            if open.is_empty() {
                break;
            }
            assert!(since.elapsed() < PATIENCE, "not over: {open:?}");
        }
    }
}

fn check(server: &Server, received: &Received, starts: &HashMap<String, DateTime<Utc>>) {
    let mut executions: BTreeMap<&str, Vec<&(usize, Seen)>> = BTreeMap::new();
    let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in &received.seen {
        let seen = &one.1;
        let start = starts[&seen.path];
        assert!(seen.at >= start, "early, {} before {start}: {seen:?}", seen.at);
        executions.entry(seen.execution_id()).or_default().push(one);
        ids.entry(&seen.path).or_default().insert(seen.execution_id());
    }
    for (path, ids) in ids {
        assert_eq!(ids.len(), 1, "{path} must have one occurrence");
    }
    let mut n_doubles = 0;
    for (id, times) in executions.iter().filter(|(_, times)| times.len() > 1) {
        n_doubles += times.len() - 1;
        let rounds: BTreeSet<_> = times.iter().map(|(round, _)| *round).collect();
        assert_eq!(rounds.len(), times.len(), "{id} ran twice without a kill: {times:?}");
        let (last, seen) = times.last().unwrap();
        let (collection, name) = seen.path[1..].split_once('/').unwrap();
        let history = history(server, &format!("/{collection}/jobs/{name}"));
        assert_eq!(history.len(), 1, "{history:?}");
        let (recorded, since) = (instant(&history[0]["startTime"]), received.rounds[last - 1]);
        assert!(recorded >= since, "{id} was recorded before a kill and ran again: {times:?}");
    }
    println!("{n_doubles} attempts ran again");
}
