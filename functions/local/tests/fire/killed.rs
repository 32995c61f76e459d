//! `kill -9` at any moment of a burst, again and again over one data directory.
//!
//! Nothing that was accepted is lost, and nothing fires early. An attempt may be made twice only if it
//! was under way at a kill: then its record is of the later time, as there was none of the earlier.
//! However often that happens it is no failure: what a restart makes void is no try.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use runtime::system_now;
use serde_json::json;

use crate::chance::Chance;
use crate::client::Request;
use crate::jobs::{format_instant, history, instant, job, on};
use crate::server::{Server, versioned};
use crate::target::{PATIENCE, Seen, Target};

/// How often it is killed.
const ROUNDS: usize = 50;
/// Jobs that are put in each round, to fire once each; the kill comes when some of them are.
const JOBS: usize = 20;
/// A job is due at most so long after its round begins, in milliseconds.
const SPREAD: u64 = 200;
const WRITERS: usize = 4;

/// What was asked for.
#[derive(Default)]
struct Asked {
    /// When each job is due, by its path at the target.
    starts: Mutex<HashMap<String, DateTime<Utc>>>,
    /// Those whose creation was answered.
    accepted: Mutex<BTreeSet<String>>,
}

/// What the target saw, and between which two starts of the server.
struct Told {
    target: Target,
    /// When each server was started.
    rounds: Vec<DateTime<Utc>>,
    seen: Vec<(usize, Seen)>,
}

impl Told {
    fn take(&mut self, seen: Seen) {
        self.seen.push((self.rounds.len(), seen));
    }

    /// Takes what comes until all of these have come.
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

    /// Takes what the target was still asked by a server that has ended.
    fn take_rest(&mut self) {
        self.target.until_left();
        for seen in self.target.rest() {
            self.take(seen);
        }
    }
}

#[test]
fn nothing_is_lost_early_or_done_twice_but_what_a_kill_interrupts() {
    let mut chance = Chance::new();
    let dir = tempfile::tempdir().unwrap();
    let asked = Asked::default();
    let mut told = Told { target: Target::ok(), rounds: Vec::new(), seen: Vec::new() };
    for round in 0..ROUNDS {
        kill_in_a_burst(round, dir.path(), &asked, &mut told, &mut chance);
    }
    told.rounds.push(system_now());
    let server = start(dir.path());
    let accepted = asked.accepted.into_inner().unwrap();
    told.wait_for(&accepted);
    wait_until_over(&server, &accepted);
    for seen in told.target.rest() {
        told.take(seen);
    }
    check(&server, &told, &asked.starts.into_inner().unwrap());
    println!("{} accepted, {} requests", accepted.len(), told.seen.len());
    server.stop().is_clean();
}

fn start(dir: &Path) -> Server {
    on(dir, &["--log-level", "warn"])
}

fn kill_in_a_burst(round: usize, dir: &Path, asked: &Asked, told: &mut Told, chance: &mut Chance) {
    told.rounds.push(system_now());
    let server = start(dir);
    server.must("PUT", &format!("/r{round}"), r#"{"properties":{"sku":{"name":"P20Premium"}}}"#);
    let base = system_now();
    let delays: Vec<_> = (0..JOBS).map(|_| chance.below(SPREAD)).collect();
    // All of the round's fire sooner or later, so that many requests will come.
    let requests = chance.below(JOBS as u64);
    let (is_killed, address, url) = (AtomicBool::new(false), server.address, told.target.url(""));
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
            let seen = told.target.next();
            told.take(seen);
        }
        is_killed.store(true, Ordering::SeqCst);
        server.signal("KILL");
    });
    server.wait();
    told.take_rest();
}

/// Puts a job; false if no answer came.
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

/// Waits until every job that was accepted is completed.
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

fn check(server: &Server, told: &Told, starts: &HashMap<String, DateTime<Utc>>) {
    let mut executions: BTreeMap<&str, Vec<&(usize, Seen)>> = BTreeMap::new();
    let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in &told.seen {
        let seen = &one.1;
        let start = starts[&seen.path];
        assert!(seen.at >= start, "early, {} before {start}: {seen:?}", seen.at);
        executions.entry(seen.execution_id()).or_default().push(one);
        ids.entry(&seen.path).or_default().insert(seen.execution_id());
    }
    for (path, ids) in ids {
        assert_eq!(ids.len(), 1, "{path} has one occurrence");
    }
    let mut n_doubles = 0;
    for (id, times) in executions.iter().filter(|(_, times)| times.len() > 1) {
        n_doubles += times.len() - 1;
        let rounds: BTreeSet<_> = times.iter().map(|(round, _)| *round).collect();
        assert_eq!(rounds.len(), times.len(), "{id} was done twice without a kill: {times:?}");
        let (last, seen) = times.last().unwrap();
        let (collection, name) = seen.path[1..].split_once('/').unwrap();
        let history = history(server, &format!("/{collection}/jobs/{name}"));
        assert_eq!(history.len(), 1, "{history:?}");
        let (recorded, since) = (instant(&history[0]["startTime"]), told.rounds[last - 1]);
        assert!(recorded >= since, "{id} was recorded before a kill, and done again: {times:?}");
    }
    println!("{n_doubles} attempts were made again");
}
