//! `minutehand installation`: jobs move to another installation while they fire.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use minutehand_runtime::system_now;
use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::client::Answer;
use crate::jobs::{counters, format_instant, history, job, on, until, with_collection};
use crate::server::Server;
use crate::target::{PATIENCE, Target, status};

/// Jobs that fire every minute.
const JOBS: usize = 20;
/// A minute takes half a second.
const RATE: [&str; 4] = ["--clock-rate", "120", "--log-level", "warn"];
/// A minute takes a fifth of a second.
const FAST: [&str; 4] = ["--clock-rate", "300", "--log-level", "warn"];
/// The requests of each installation that are waited for.
const REQUESTS: usize = 200;

fn run(arguments: &[&str], data: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output = command.args(arguments).arg("--data").arg(data).output_in_time();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Carries everything of a server that runs on `data` to a new data directory.
fn move_to(data: &Path, target: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let [place, key] = [folder.path().to_path_buf(), folder.path().join("move.key")];
    let [place, copied, key] = [&place, &copy, &key].map(|path| path.to_str().unwrap());
    run(&["backup", copied], data);
    run(&["installation", "export", place, "--seal-to", key], &copy);
    run(&["installation", "import", place, "--unseal-with", key], target);
}

/// The time on the clock of a server.
fn date(answer: &Answer) -> DateTime<Utc> {
    let date = answer.header("date").and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    date.unwrap_or_else(|| panic!("no date: {answer:?}")).to_utc()
}

/// What a server says of an occurrence, when it has come so far.
fn why(server: &Server, name: &str, at: DateTime<Utc>) -> String {
    let at = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let collections = "subscriptions/s/resourceGroups/g/jobCollections/jc";
    let path = format!("/minutehand/v1/{collections}/jobs/{name}/why?at={at}");
    let since = Instant::now();
    loop {
        let answer = server.send("GET", &path, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        let verdict = answer.json()["verdict"].as_str().unwrap().to_owned();
        // A worker looks at it just now, and finds that its collection was off.
        if !["underWay", "waiting"].contains(&verdict.as_str()) {
            return verdict;
        }
        assert!(since.elapsed() < PATIENCE, "{name} at {at}: {answer:?}");
    }
}

#[test]
fn each_occurrence_fires_at_one_of_the_two_or_is_left_out_while_its_collection_is_off() {
    let dir = tempfile::tempdir().unwrap();
    let (data, new_data) = (dir.path().join("data"), dir.path().join("new"));
    let target = Target::ok();
    let source = with_collection(on(&data, &RATE));
    let start = system_now();
    for n in 0..JOBS {
        let start = start + TimeDelta::seconds(2) * i32::try_from(n).unwrap();
        let start = start.to_rfc3339_opts(SecondsFormat::Secs, true);
        let often = json!({"startTime": start, "recurrence": {"frequency": "minute"}});
        let body = job(&target.url(&format!("/j{n}")), &often);
        source.must("PUT", &format!("/jc/jobs/j{n}"), &body);
    }
    let mut seen = target.next_n(REQUESTS);
    let off_at = date(&source.must("POST", "/jc/disable", ""));
    move_to(&data, &new_data);
    seen.extend(target.rest());

    // The source runs on. The other one begins some minutes later, and then its collection is enabled.
    let start = format_instant(off_at + TimeDelta::minutes(10));
    let moved = on(&new_data, &[RATE.as_slice(), &["--clock-start", &start]].concat());
    moved.must("POST", "/jc/enable", "");
    seen.extend(target.next_n(REQUESTS));
    let end = date(&moved.must("GET", "/jc", ""));

    let arrived: BTreeSet<_> = seen.iter().map(|it| (it.path.clone(), it.expected_at())).collect();
    let (mut left_out, mut under_way) = (0, Vec::new());
    for n in 0..JOBS {
        let path = format!("/j{n}");
        let of_job = arrived.iter().filter(|(of, _)| *of == path);
        let mut due = of_job.map(|(_, at)| *at).min().unwrap();
        assert!(due <= off_at, "{path} first fired at {due}");
        while due < end {
            let it = (path.clone(), due);
            if !arrived.contains(&it) {
                match why(&moved, path.trim_start_matches('/'), due).as_str() {
                    "collectionOff" => left_out += 1,
                    "fired" | "firedLate" => under_way.push(it),
                    other => panic!("{path} at {due}: {other}"),
                }
            }
            due += TimeDelta::minutes(1);
        }
    }
    assert!(left_out >= 9 * JOBS, "{left_out} occurrences were due while both were off");
    moved.stop().is_clean();
    source.stop().is_clean();
    seen.extend(target.rest());
    let mut fired = BTreeMap::<_, usize>::new();
    for it in &seen {
        *fired.entry((it.path.clone(), it.expected_at())).or_default() += 1;
    }
    let twice: Vec<_> = fired.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "fired more than once: {twice:?}");
    let lost: Vec<_> = under_way.iter().filter(|it| !fired.contains_key(it)).collect();
    assert!(lost.is_empty(), "said to have fired: {lost:?}");
}

#[test]
fn retries_that_wait_move_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let (data, new_data) = (dir.path().join("data"), dir.path().join("new"));
    let target = Target::start(|_| status("503 Service Unavailable"));
    let source = with_collection(on(&data, &["--log-level", "warn"]));
    // One waits in the queue, the other one in a timer.
    for (name, interval) in [("short", "PT10M"), ("long", "PT2H")] {
        let retry = json!({"retryType": "Fixed", "retryInterval": interval, "retryCount": 1});
        let action = json!({"action": {"retryPolicy": retry}});
        let path = format!("/jc/jobs/{name}");
        source.must("PUT", &path, &job(&target.url(&format!("/{name}")), &action));
        until(&source, &path, |now| counters(now)[1] == 1);
    }
    let first = target.next_n(2);
    source.must("POST", "/jc/disable", "");
    move_to(&data, &new_data);
    source.stop().is_clean();

    let start = format_instant(system_now() + TimeDelta::minutes(2));
    let moved = on(&new_data, &[FAST.as_slice(), &["--clock-start", &start]].concat());
    moved.must("POST", "/jc/enable", "");
    let second = target.next_n(2);
    for seen in &second {
        let before = first.iter().find(|it| it.path == seen.path).unwrap();
        assert_eq!(seen.expected_at(), before.expected_at(), "{}", seen.path);
        let path = format!("/jc/jobs{}", seen.path);
        let now = until(&moved, &path, |now| now["state"] == "faulted");
        assert_eq!(counters(&now), [2, 2, 1], "{now}");
        let attempts = history(&moved, &path);
        assert_eq!((attempts.len(), &attempts[0]["retryCount"]), (1, &json!(1)), "{attempts:?}");
    }
    let paths: BTreeSet<_> = second.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, BTreeSet::from(["/long", "/short"]));
    moved.stop().is_clean();
}
