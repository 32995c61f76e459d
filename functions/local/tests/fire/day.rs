//! One day of a hundred jobs of all kinds, on a clock on which it takes a minute: history and preview
//! must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand::preview::Preview;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::jobs::{format_instant, history, instant, job, on, with_collection};
use crate::target::{PATIENCE, Reply, Seen, Target, status};

/// When the jobs are created, on a clock that runs in real time.
const PUT_AT: &str = "2027-03-27T12:00:00Z";
/// The beginning of the day on which clocks go forward in Europe.
const DAY_AT: &str = "2027-03-27T17:55:00Z";
/// How much faster than real time the day passes.
const RATE: &str = "1440";
/// The first jobs start this long after they are created; creating all of them takes less.
const HEAD_START: TimeDelta = TimeDelta::hours(6);
const DAY: TimeDelta = TimeDelta::hours(24);
/// Once a run this long after the day has arrived, all runs of the day must have arrived.
const LATE_MAX: TimeDelta = TimeDelta::hours(24);
const JOBS: usize = 100;
/// More than any job has in a day.
const OCCURRENCES_MAX: u32 = 1_000;

/// Random timings of all kinds.
struct Timings(Chance);

impl Timings {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn hours(&mut self) -> Value {
        let hours: BTreeSet<u64> = (0..=self.below(4)).map(|_| self.below(24)).collect();
        json!(hours)
    }

    fn zone(&mut self) -> &'static str {
        match self.below(4) {
            0 => "UTC",
            1 => "Europe/Paris",
            2 => "America/New_York",
            _ => "Asia/Kolkata",
        }
    }

    /// The timing of a job that starts at `start`.
    fn timing(&mut self, start: &str) -> Value {
        let interval = 1 + self.below(3);
        let recurrence = match self.below(8) {
            0 => return json!({"startTime": start}),
            1 => json!({"frequency": "minute", "interval": 15 + self.below(60)}),
            2 => json!({"frequency": "hour", "interval": interval}),
            3 => {
                json!({"frequency": "hour", "interval": 1, "schedule": {"minutes": [0, 20, 40]}, "timeZone": self.zone()})
            }
            4 => {
                json!({"frequency": "day", "interval": 1, "schedule": {"hours": self.hours(), "minutes": [5, 35]}, "timeZone": self.zone()})
            }
            5 => {
                json!({"frequency": "week", "schedule": {"weekDays": ["saturday", "sunday"], "hours": self.hours()}, "timeZone": self.zone()})
            }
            6 => {
                json!({"frequency": "month", "schedule": {"monthDays": [28, -4], "hours": self.hours()}})
            }
            _ => json!({"frequency": "minute", "interval": 30, "count": 1 + self.below(20)}),
        };
        json!({"startTime": start, "recurrence": recurrence})
    }
}

#[test]
fn the_history_of_a_day_contains_exactly_the_previewed_occurrences() {
    let mut timings = Timings(Chance::new());
    let target = Target::start(answer);
    let put_at: DateTime<Utc> = PUT_AT.parse().unwrap();
    let end = put_at + HEAD_START + DAY;
    let dir = tempfile::tempdir().unwrap();
    let server = with_collection(on(dir.path(), &["--roles", "api", "--clock-start", PUT_AT]));
    let mut expected = BTreeMap::new();
    for n in 0..JOBS {
        let offset = i64::try_from(timings.below(180)).unwrap();
        let start = put_at + HEAD_START + TimeDelta::minutes(offset);
        let timing = timings.timing(&format_instant(start));
        let body = job(&target.url(&format!("/j{n}")), &timing);
        server.must("PUT", &format!("/jc/jobs/j{n}"), &body);
        let preview = Preview::of(&body, put_at, OCCURRENCES_MAX).unwrap();
        let preview: Value = serde_json::from_str(&preview.json()).unwrap();
        let occurrences = preview["occurrences"].as_array().unwrap().iter().map(instant);
        let of_the_day: BTreeSet<_> = occurrences.filter(|at| *at <= end).collect();
        expected.insert(format!("j{n}"), of_the_day);
    }
    server.stop().is_clean();

    let clock = ["--clock-start", DAY_AT, "--clock-rate", RATE, "--log-level", "warn"];
    let server = on(dir.path(), &clock);
    let mut missing: BTreeSet<_> = expected
        .iter()
        .flat_map(|(name, occurrences)| occurrences.iter().map(move |at| (format!("/{name}"), *at)))
        .collect();
    let total = missing.len();
    while !missing.is_empty() {
        let seen = target.next();
        assert!(seen.expected_at() < end + LATE_MAX, "missing requests: {missing:?}");
        missing.remove(&(seen.path.clone(), seen.expected_at()));
    }
    for (name, expected) in &expected {
        let since = Instant::now();
        // The last results may not be recorded yet.
        while lines(&history(&server, &format!("/jc/jobs/{name}")), end) != *expected {
            assert!(
                since.elapsed() < PATIENCE,
                "{name}: history has {:?}, and preview {expected:?}",
                lines(&history(&server, &format!("/jc/jobs/{name}")), end),
            );
        }
    }
    println!("{total} occurrences of {JOBS} jobs");
    server.stop().is_clean();
}

/// One job in ten fails at its first attempt and is retried.
fn answer(seen: &Seen) -> Reply {
    let (_, attempt) = seen.execution_id().rsplit_once('.').unwrap();
    if attempt == "m0" && seen.path.ends_with('7') { status("503 Busy") } else { status("200 OK") }
}

/// The occurrences in a history up to an instant, without retries and error actions.
fn lines(history: &[Value], end: DateTime<Utc>) -> BTreeSet<DateTime<Utc>> {
    let first = history.iter().filter(|item| item["retryCount"] == 0);
    let main = first.filter(|item| item["actionName"] == "MainAction");
    main.map(|item| instant(&item["expectedExecutionTime"])).filter(|at| *at <= end).collect()
}
