//! `demo`: a tour that plays by itself.

use std::time::{Duration, Instant};

use crate::world::{Ended, Server, at_home, run, words};

/// Ten minutes on the clock of the demo, and more than its first attempts need.
const PLAYED_MAX: Duration = Duration::from_mins(1);

#[test]
fn thirty_jobs_are_created_and_some_of_them_succeed_and_fail() {
    let demo = Server::run(["demo", "--no-open", "--listen", "127.0.0.1:0"]);
    let home = tempfile::tempdir().unwrap();
    let ask = |line: &str| -> Ended {
        run(at_home(home.path()).env("MINUTEHAND_URL", &demo.url).args(words(line)), "")
    };
    let jobs = || -> usize {
        let lists =
            ["shop", "billing", "reports", "health"].map(|name| ask(&format!("job list {name}")));
        lists.iter().map(|list| list.out.lines().count()).sum()
    };
    let since = Instant::now();
    let is_played = || {
        let failures = ask("failures").out;
        ask("job history shop/sync-orders").out.contains("\tok\t")
            && ["HTTP 500", "HTTP 404", "connection refused"].iter().all(|it| failures.contains(it))
    };
    while jobs() < 30 || !is_played() {
        assert!(since.elapsed() < PLAYED_MAX, "{} jobs: {:?}", jobs(), ask("failures"));
    }
    assert_eq!(jobs(), 30);
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let ended = run(at_home(home.path()).args(["demo", "--listen", "0.0.0.0:7070"]), "");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("give a loopback address"), "{ended:?}");
}
