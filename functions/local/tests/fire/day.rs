//! A day of a hundred jobs of every kind, on a clock that lets it go by in a minute: history and
//! preview say the same of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use local::preview::Preview;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::jobs::{history, in_memory, instant, job, written};
use crate::target::{PATIENCE, Reply, Seen, Target, status};

/// Where clocks go forward in Europe within the day.
const CLOCK_START: &str = "2027-03-27T12:00:00Z";
/// The schedule goes by so much faster than work.
const RATE: &str = "1440";
/// Jobs start no earlier than this after the clock does, so that all of them are there by then.
const HEAD_START: TimeDelta = TimeDelta::hours(6);
const DAY: TimeDelta = TimeDelta::hours(24);
const JOBS: usize = 100;
/// More than any of them has in a day.
const OCCURRENCES_MAX: u32 = 1_000;

/// Timings of every kind.
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
fn every_line_of_history_is_an_occurrence_and_every_occurrence_a_line() {
    let mut timings = Timings(Chance::new());
    let target = Target::start(answer);
    let clock_start: DateTime<Utc> = CLOCK_START.parse().unwrap();
    let server =
        in_memory(&["--clock-start", CLOCK_START, "--clock-rate", RATE, "--log-level", "warn"]);
    let end = clock_start + HEAD_START + DAY;
    let mut expected = BTreeMap::new();
    for n in 0..JOBS {
        let offset = i64::try_from(timings.below(180)).unwrap();
        let start = clock_start + HEAD_START + TimeDelta::minutes(offset);
        let timing = timings.timing(&written(start));
        let body = job(&target.url(&format!("/j{n}")), &timing);
        server.must("PUT", &format!("/jc/jobs/j{n}"), &body);
        let preview = Preview::of(&body, clock_start, OCCURRENCES_MAX).unwrap();
        let preview: Value = serde_json::from_str(&preview.json()).unwrap();
        let occurrences = preview["occurrences"].as_array().unwrap().iter().map(instant);
        let of_the_day: BTreeSet<_> = occurrences.filter(|at| *at <= end).collect();
        expected.insert(format!("j{n}"), of_the_day);
    }
    let total: usize = expected.values().map(BTreeSet::len).sum();
    let mut asked = BTreeSet::new();
    while asked.len() < total {
        let seen = target.next();
        if seen.expected_at() <= end {
            asked.insert((seen.path.clone(), seen.expected_at()));
        }
    }
    for (name, expected) in &expected {
        let since = Instant::now();
        // The last answers may not be recorded yet.
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

/// One in ten jobs fails at first, and is tried again.
fn answer(seen: &Seen) -> Reply {
    let (_, attempt) = seen.execution_id().rsplit_once('.').unwrap();
    if attempt == "m0" && seen.path.ends_with('7') { status("503 Busy") } else { status("200 OK") }
}

/// The occurrences that a history has up to an instant; retries are of the same.
fn lines(history: &[Value], end: DateTime<Utc>) -> BTreeSet<DateTime<Utc>> {
    let first = history.iter().filter(|item| item["retryCount"] == 0);
    let main = first.filter(|item| item["actionName"] == "MainAction");
    main.map(|item| instant(&item["expectedExecutionTime"])).filter(|at| *at <= end).collect()
}
