//! Metrics as log lines in CloudWatch's embedded metric format.
//!
//! Such a line costs as much as any log line and needs no request. The counts of one invocation are
//! printed in one line at its end; an invocation that counted nothing prints nothing.
//!
//! A metric costs by the month, so what needs an operator is one metric, `Trouble`. The line says of
//! what kind it is, in fields that are not metrics. For the same reason the metric `Failed` has no
//! dimension for the causes: the field `Causes` counts them by kind.
//!
//! The only dimension is the table, which distinguishes the installations in one account. Each metric is
//! therefore one time series, whichever function counts it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use minutehand_domain::cause::CauseKind;
use minutehand_domain::named;
use minutehand_ports::{Event, EventSink};
use minutehand_runtime::Counter;
use serde_json::{Map, Value, json};

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Minutehand";
/// The dimension of all metrics.
pub const TABLE_DIMENSION: &str = "Table";
/// The metric for the delay of each attempt, in milliseconds.
const LATE_BY: &str = "LateBy";
/// The metric for everything that needs an operator.
const TROUBLE: &str = "Trouble";
/// The field with the kinds of causes of `Failed`.
const CAUSES: &str = "Causes";
/// Limit of values per metric in one line, set by the format.
const VALUES_MAX: usize = 100;

named! {
    /// What is counted: a metric in CloudWatch, or a kind of trouble. Its name stands in the log.
    pub enum Metric {
        /// Attempts that ended, including retries and error actions.
        Fired,
        /// Attempts that failed.
        Failed,
        /// Failed attempts that will be retried.
        Retried,
        /// Runs skipped because the collection was disabled or a later run was already due.
        Skipped,
        /// Queued runs discarded because the job was changed, disabled or deleted.
        Dropped,
        /// Jobs that completed or faulted.
        Finished,
        /// Sweeps that read all shards.
        Swept,
        /// Sweeps that failed to read a shard. A kind of trouble.
        SweepsFailed,
        /// Timers that sweeps found due.
        Timers,
        /// Messages that sweeps sent to the queue.
        Dispatched,
        /// Timers with an unreadable timetable. A kind of trouble.
        TimersUnreadable,
        /// Occurrences that left no trace and were sent again. A kind of trouble.
        Healed,
        /// Messages that could not be read. A kind of trouble.
        MessagesUnreadable,
        /// Alerts of collections that did not arrive. A kind of trouble.
        AlertsLost,
        /// Messages that were delivered for the last time and go to the dead-letter queue.
        DeadLetters,
        /// Events that could not be sent to the event bus. A kind of trouble.
        EventsLost,
        /// Requests that the table or its index refused as too many, with all their tries. Eight of them are
        /// a trouble.
        Throttled,
        /// Batches that could not be archived, and come again. A kind of trouble.
        ArchivesFailed,
        /// Records of the table that the archiver could not read, and set aside. A kind of trouble.
        RecordsUnreadable,
        /// Backups that could not be written, or old ones that could not be deleted. A kind of trouble.
        BackupsFailed,
    }
}

impl Metric {
    /// Whether it is a part of the metric `Trouble`, and no metric of its own.
    const fn is_trouble(self) -> bool {
        matches!(
            self,
            Self::SweepsFailed
                | Self::TimersUnreadable
                | Self::Healed
                | Self::MessagesUnreadable
                | Self::EventsLost
                | Self::AlertsLost
                | Self::Throttled
                | Self::ArchivesFailed
                | Self::RecordsUnreadable
                | Self::BackupsFailed
        )
    }

    /// How many eighths of a trouble one of it is. The alarm rings for a whole one in a minute.
    const fn eighths(self) -> u64 {
        if matches!(self, Self::Throttled) { 1 } else { 8 }
    }

    /// The names of all metrics in CloudWatch.
    pub fn published() -> impl Iterator<Item = &'static str> {
        let own = Self::ALL.into_iter().filter(|metric| !metric.is_trouble());
        own.map(Self::name).chain([LATE_BY, TROUBLE])
    }
}

/// The counts of one invocation.
#[derive(Debug, Default)]
pub struct Tally {
    counts: [AtomicU64; Metric::ALL.len()],
    late_ms: Mutex<Vec<i64>>,
    /// Failed attempts by the kind of their cause, in the order of all kinds.
    causes: [AtomicU64; CauseKind::ALL.len()],
}

impl EventSink for Tally {
    fn note(&self, event: Event<'_>) {
        if let Event::Executed { record, .. } = event {
            let kind = record.cause.as_ref().map(|cause| cause.kind as usize);
            if let Some(count) = kind.and_then(|kind| self.causes.get(kind)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        // When it starts, and not when it ends: a slow target must not hide that it was late.
        if let Event::Started { late, .. } = event {
            let mut late_ms = self.late_ms.lock().unwrap_or_else(PoisonError::into_inner);
            late_ms.push(late.num_milliseconds());
        }
        let Some((counter, n)) = Counter::of(&event) else { return };
        match counter {
            Counter::Succeeded => self.add(Metric::Fired, n),
            Counter::Failed => {
                self.add(Metric::Fired, n);
                self.add(Metric::Failed, n);
            }
            Counter::Retried => self.add(Metric::Retried, n),
            Counter::Skipped => self.add(Metric::Skipped, n),
            Counter::Dropped => self.add(Metric::Dropped, n),
            Counter::Finished => self.add(Metric::Finished, n),
            Counter::MessagesUnreadable => self.add(Metric::MessagesUnreadable, n),
            Counter::AlertsLost => self.add(Metric::AlertsLost, n),
            Counter::DeadLetters => self.add(Metric::DeadLetters, n),
        }
    }
}

impl Tally {
    /// Adds `n` to a metric.
    pub fn add(&self, metric: Metric, n: u64) {
        if let Some(count) = self.counts.get(metric as usize) {
            count.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Returns the lines with everything counted since the last call, and starts again at zero.
    #[must_use]
    pub fn take(&self, table: &str, now: DateTime<Utc>) -> Vec<String> {
        let (mut counted, mut kinds, mut eighths) = (Vec::new(), Vec::new(), 0_u64);
        for (metric, count) in Metric::ALL.into_iter().zip(&self.counts) {
            let count = count.swap(0, Ordering::Relaxed);
            if count == 0 {
                continue;
            }
            if metric.is_trouble() {
                kinds.push((metric.name(), json!(count)));
                eighths += metric.eighths() * count;
            } else {
                counted.push((metric.name(), "Count", json!(count)));
            }
        }
        if eighths > 0 {
            let parts = f64::from(u32::try_from(eighths).unwrap_or(u32::MAX)) / 8.0;
            let whole = (eighths % 8 == 0).then_some(eighths / 8);
            counted.push((TROUBLE, "Count", whole.map_or_else(|| json!(parts), Value::from)));
        }
        let causes = CauseKind::ALL.into_iter().zip(&self.causes);
        let causes: Map<String, Value> = causes
            .map(|(kind, count)| (kind, count.swap(0, Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.name().to_owned(), count.into()))
            .collect();
        if !causes.is_empty() {
            kinds.push((CAUSES, causes.into()));
        }
        let late_ms =
            std::mem::take(&mut *self.late_ms.lock().unwrap_or_else(PoisonError::into_inner));
        let mut lines = Vec::new();
        for late_ms in late_ms.chunks(VALUES_MAX) {
            counted.push((LATE_BY, "Milliseconds", json!(late_ms)));
            let (counted, kinds) = (std::mem::take(&mut counted), std::mem::take(&mut kinds));
            lines.push(line(table, now, counted, kinds));
        }
        if !counted.is_empty() {
            lines.push(line(table, now, counted, kinds));
        }
        lines
    }
}

/// A line with metrics, and with fields that are none.
fn line(
    table: &str,
    now: DateTime<Utc>,
    counted: Vec<(&str, &str, Value)>,
    fields: Vec<(&str, Value)>,
) -> String {
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
    let counted = counted.into_iter().map(|(name, _, value)| (name, value));
    line.extend(counted.chain(fields).map(|(name, value)| (name.to_owned(), value)));
    Value::Object(line).to_string()
}

/// Prints the counts to standard output. If that fails, they are lost.
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
    use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
    use minutehand_domain::cause::Cause;
    use minutehand_domain::firing::SkipReason;
    use minutehand_domain::job::JobState;
    use minutehand_domain::work_item::JobRef;

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
            cause: None,
            body_bytes: 0,
            then: None,
        };
        let done = record(Outcome::Succeeded);
        let failed = Record { cause: Some(Cause::http(500)), ..record(Outcome::Failed) };
        let late = TimeDelta::milliseconds(12);
        for _ in 0..times {
            for record in [&done, &failed] {
                tally.note(Event::Started { job: &job, attempt: &attempt, late });
                tally.note(Event::Executed {
                    job: &job,
                    collection_path: None,
                    attempt: &attempt,
                    record,
                    late,
                });
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
    fn a_line_in_the_embedded_format_contains_only_metrics_that_were_counted() {
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
                "Causes": {"httpStatus": 1},
            })
        );
        assert!(tally.take("jobs", DateTime::UNIX_EPOCH).is_empty(), "each count is printed once");
    }

    #[test]
    fn every_kind_of_trouble_is_counted_in_one_metric_and_named_in_its_line() {
        let tally = Tally::default();
        let kinds = [
            (Metric::SweepsFailed, 1),
            (Metric::TimersUnreadable, 2),
            (Metric::MessagesUnreadable, 3),
            (Metric::EventsLost, 4),
            (Metric::Throttled, 5),
            (Metric::ArchivesFailed, 6),
            (Metric::RecordsUnreadable, 7),
            (Metric::BackupsFailed, 8),
            (Metric::Healed, 9),
        ];
        for (kind, n) in kinds {
            tally.add(kind, n);
        }
        let lines = tally.take("jobs", DateTime::UNIX_EPOCH);
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        let line: Value = serde_json::from_str(line).unwrap();
        let metrics = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(*metrics, json!([{"Name": "Trouble", "Unit": "Count"}]));
        assert_eq!(line["Trouble"], 40.625);
        for (kind, n) in kinds {
            assert_eq!(line[kind.name()], n, "{kind:?}");
            assert!(!Metric::published().any(|name| name == kind.name()), "{kind:?}");
        }
    }

    #[test]
    fn more_values_than_a_line_may_have_give_several_lines_with_the_counts_in_the_first() {
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
    fn all_metrics_are_listed_in_the_order_of_the_enum() {
        for (place, metric) in Metric::ALL.iter().enumerate() {
            assert_eq!(*metric as usize, place);
        }
    }
}
