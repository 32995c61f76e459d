//! What fires and what does not, as lines that CloudWatch reads metrics from.
//!
//! A line in the embedded metric format costs what a line of the log costs, and no call: what an
//! invocation did is counted, and printed once, at its end. An invocation that did nothing worth
//! counting prints nothing.
//!
//! There is one dimension, the table, which tells installations of one account apart; each metric is
//! then one time series, whichever function counts it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use domain::attempt::Outcome;
use ports::{Event, EventSink};
use serde_json::{Map, Value, json};

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Minutehand";
/// The dimension of all metrics.
pub const TABLE_DIMENSION: &str = "Table";
/// How late attempts were, in milliseconds.
const LATE_BY: &str = "LateBy";
/// The most values of one metric in a line: a limit of the format.
const VALUES_MAX: usize = 100;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Attempts that were made, retries and error actions included.
    Fired,
    /// Those of them that failed.
    Failed,
    /// Attempts that will be made again.
    Retried,
    /// Occurrences that were not owed when their turn came, or were overtaken.
    Skipped,
    /// Messages of jobs that were changed or deleted meanwhile.
    Dropped,
    /// Jobs that are over.
    Finished,
    /// Passes that saw every shard.
    Swept,
    /// Passes that did not.
    SweepsFailed,
    /// Timers that passes looked at.
    Timers,
    /// Messages that passes handed to the queue.
    Dispatched,
    /// Timers whose timetable cannot be read.
    TimersUnreadable,
    /// Messages that cannot be read.
    MessagesUnreadable,
    /// Messages that go to the dead letters.
    DeadLetters,
    /// Events that could not be put on the bus.
    EventsLost,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Fired,
        Self::Failed,
        Self::Retried,
        Self::Skipped,
        Self::Dropped,
        Self::Finished,
        Self::Swept,
        Self::SweepsFailed,
        Self::Timers,
        Self::Dispatched,
        Self::TimersUnreadable,
        Self::MessagesUnreadable,
        Self::DeadLetters,
        Self::EventsLost,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fired => "Fired",
            Self::Failed => "Failed",
            Self::Retried => "Retried",
            Self::Skipped => "Skipped",
            Self::Dropped => "Dropped",
            Self::Finished => "Finished",
            Self::Swept => "Swept",
            Self::SweepsFailed => "SweepsFailed",
            Self::Timers => "Timers",
            Self::Dispatched => "Dispatched",
            Self::TimersUnreadable => "TimersUnreadable",
            Self::MessagesUnreadable => "MessagesUnreadable",
            Self::DeadLetters => "DeadLetters",
            Self::EventsLost => "EventsLost",
        }
    }
}

/// Counts what one invocation does.
#[derive(Debug, Default)]
pub struct Tally {
    counts: [AtomicU64; Metric::ALL.len()],
    late_ms: Mutex<Vec<i64>>,
}

impl EventSink for Tally {
    fn note(&self, event: Event<'_>) {
        match event {
            Event::Executed { record, late, .. } => {
                self.add(Metric::Fired, 1);
                if record.outcome == Outcome::Failed {
                    self.add(Metric::Failed, 1);
                }
                let mut late_ms = self.late_ms.lock().unwrap_or_else(PoisonError::into_inner);
                late_ms.push(late.num_milliseconds());
            }
            Event::Dropped { why, .. } if why.is_skip() => self.add(Metric::Skipped, 1),
            Event::Dropped { .. } => self.add(Metric::Dropped, 1),
            Event::Overtaken { occurrences, .. } => self.add(Metric::Skipped, occurrences),
            Event::Retried { .. } => self.add(Metric::Retried, 1),
            Event::Finished { .. } => self.add(Metric::Finished, 1),
            Event::MessageUnreadable => self.add(Metric::MessagesUnreadable, 1),
            Event::DeadLetter => self.add(Metric::DeadLetters, 1),
        }
    }
}

impl Tally {
    /// Counts.
    pub fn add(&self, metric: Metric, n: u64) {
        if let Some(count) = self.counts.get(metric as usize) {
            count.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// What was counted since this was last asked, as lines.
    #[must_use]
    pub fn take(&self, table: &str, now: DateTime<Utc>) -> Vec<String> {
        let counted = Metric::ALL.iter().zip(&self.counts).filter_map(|(metric, count)| {
            let count = count.swap(0, Ordering::Relaxed);
            (count > 0).then(|| (metric.name(), "Count", json!(count)))
        });
        let mut counted: Vec<_> = counted.collect();
        let late_ms =
            std::mem::take(&mut *self.late_ms.lock().unwrap_or_else(PoisonError::into_inner));
        let mut lines = Vec::new();
        for late_ms in late_ms.chunks(VALUES_MAX) {
            counted.push((LATE_BY, "Milliseconds", json!(late_ms)));
            lines.push(line(table, now, std::mem::take(&mut counted)));
        }
        if !counted.is_empty() {
            lines.push(line(table, now, counted));
        }
        lines
    }
}

fn line(table: &str, now: DateTime<Utc>, counted: Vec<(&str, &str, Value)>) -> String {
    let mut line = Map::new();
    let metrics: Vec<Value> =
        counted.iter().map(|(name, unit, _)| json!({"Name": name, "Unit": unit})).collect();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now.timestamp_millis(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": [[TABLE_DIMENSION]],
                "Metrics": metrics,
            }],
        }),
    );
    line.insert(TABLE_DIMENSION.to_owned(), json!(table));
    for (name, _, value) in counted {
        line.insert(name.to_owned(), value);
    }
    Value::Object(line).to_string()
}

/// Prints what was counted, on standard output. What cannot be written there is not counted.
pub fn print_metrics(tally: &Tally, table: &str, now: DateTime<Utc>) {
    let lines = tally.take(table, now);
    if lines.is_empty() {
        return;
    }
    let mut out = io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::attempt::{Attempt, Occurrence, Record};
    use domain::firing::SkipReason;
    use domain::job::JobState;
    use domain::work_item::JobRef;

    use super::*;

    fn note_all(tally: &Tally, times: usize) {
        let job =
            JobRef { uid: "u".to_owned(), collection_uid: "c".to_owned(), key: "k".to_owned() };
        let at = DateTime::UNIX_EPOCH;
        let attempt = Attempt::first(0, Occurrence::Scheduled { nominal_at: at });
        let record = |outcome| Record {
            started_at: at,
            ended_at: at,
            outcome,
            message: String::new(),
            repeat_count: 1,
        };
        let (done, failed) = (record(Outcome::Succeeded), record(Outcome::Failed));
        let late = TimeDelta::milliseconds(12);
        for _ in 0..times {
            for record in [&done, &failed] {
                tally.note(Event::Executed { job: &job, attempt: &attempt, record, late });
            }
            tally.note(Event::Retried { job: &job, attempt: &attempt });
            tally.note(Event::Dropped {
                job: &job,
                attempt: &attempt,
                why: SkipReason::CollectionOff,
            });
            tally.note(Event::Dropped { job: &job, attempt: &attempt, why: SkipReason::Gone });
            tally.note(Event::Overtaken { job: &job, occurrences: 3 });
            tally.note(Event::Finished { job: &job, state: JobState::Completed });
        }
    }

    #[test]
    fn a_line_is_in_the_embedded_format_and_holds_what_was_counted_alone() {
        let tally = Tally::default();
        note_all(&tally, 1);
        tally.add(Metric::Dispatched, 7);
        let lines = tally.take("jobs", DateTime::from_timestamp(60, 0).unwrap());
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        let line: Value = serde_json::from_str(line).unwrap();
        let metric = |name: &str, unit: &str| json!({"Name": name, "Unit": unit});
        assert_eq!(
            line,
            json!({
                "_aws": {
                    "Timestamp": 60_000,
                    "CloudWatchMetrics": [{
                        "Namespace": "Minutehand",
                        "Dimensions": [["Table"]],
                        "Metrics": [
                            metric("Fired", "Count"),
                            metric("Failed", "Count"),
                            metric("Retried", "Count"),
                            metric("Skipped", "Count"),
                            metric("Dropped", "Count"),
                            metric("Finished", "Count"),
                            metric("Dispatched", "Count"),
                            metric("LateBy", "Milliseconds"),
                        ],
                    }],
                },
                "Table": "jobs",
                "Fired": 2,
                "Failed": 1,
                "Retried": 1,
                "Skipped": 4,
                "Dropped": 1,
                "Finished": 1,
                "Dispatched": 7,
                "LateBy": [12, 12],
            })
        );
        assert!(tally.take("jobs", DateTime::UNIX_EPOCH).is_empty(), "it is counted once");
    }

    #[test]
    fn more_values_than_a_line_may_have_are_several_lines_and_counts_are_in_one() {
        let tally = Tally::default();
        note_all(&tally, 80);
        let lines = tally.take("jobs", DateTime::UNIX_EPOCH);
        let read = |line: &String| serde_json::from_str::<Value>(line).unwrap();
        let lines: Vec<Value> = lines.iter().map(read).collect();
        let late: Vec<usize> =
            lines.iter().map(|line| line["LateBy"].as_array().unwrap().len()).collect();
        assert_eq!(late, [100, 60]);
        assert_eq!(lines[0]["Fired"], 160);
        assert_eq!(lines[1]["Fired"], Value::Null);
    }

    #[test]
    fn the_list_of_metrics_is_in_the_order_of_their_places() {
        for (place, metric) in Metric::ALL.iter().enumerate() {
            assert_eq!(*metric as usize, place);
        }
    }
}
