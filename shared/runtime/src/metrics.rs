//! The counters of what fires, and the page on which Prometheus reads them.
//!
//! [`Counter`] says how events are counted. Both kinds of hosts use it: [`Metrics`] keeps totals for
//! Prometheus, and `runtime-aws` prints the counts of each invocation for CloudWatch. The two differ in
//! everything else: names, units, and whether a number is a total or starts again at zero.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::CauseKind;
use minutehand_ports::{Event, EventSink};

/// The upper bounds of the histogram of delays, in milliseconds.
const LATE_MS: [i64; 18] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000,
    300_000, 600_000,
];

/// The upper bounds of the histograms of how long actions take, in milliseconds. There are few, because each
/// collection has a histogram.
const TOOK_MS: [i64; 8] = [100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// The most collections whose failures and times are counted one by one. Each is a series in Prometheus.
const COLLECTIONS_MAX: usize = 100;
/// What counts the failures of all other collections. It is not a path of a collection.
const OTHER_COLLECTIONS: &str = "other";

/// What an event counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Attempts that succeeded.
    Succeeded,
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
    /// Alerts that failed for good.
    AlertsLost,
    /// Messages that cannot be read.
    MessagesUnreadable,
    /// Messages that were delivered for the last time without success.
    DeadLetters,
}

impl Counter {
    /// The number of counters.
    const COUNT: usize = Self::DeadLetters as usize + 1;

    /// The counter that an event increases, and by how much; `None` if it is not counted.
    #[must_use]
    pub const fn of(event: &Event<'_>) -> Option<(Self, u64)> {
        Some(match event {
            // A job that is paused says so in the log.
            Event::Started { .. } | Event::Paused { .. } => return None,
            Event::Executed { record, .. } => match record.outcome {
                Outcome::Succeeded => (Self::Succeeded, 1),
                Outcome::Failed => (Self::Failed, 1),
            },
            Event::Dropped { why, .. } if why.is_skip() => (Self::Skipped, 1),
            Event::Dropped { .. } => (Self::Dropped, 1),
            Event::Overtaken { occurrences, .. } => (Self::Skipped, *occurrences),
            Event::Retried { .. } => (Self::Retried, 1),
            Event::Finished { .. } => (Self::Finished, 1),
            Event::AlertLost { .. } => (Self::AlertsLost, 1),
            Event::MessageUnreadable => (Self::MessagesUnreadable, 1),
            Event::DeadLetter => (Self::DeadLetters, 1),
        })
    }
}

/// Counts the events of this process.
#[derive(Debug, Default)]
pub struct Metrics {
    counts: [AtomicU64; Counter::COUNT],
    /// The attempts in each class of delay, without those of lower classes.
    late: [AtomicU64; LATE_MS.len() + 1],
    late_ms_sum: AtomicI64,
    failures: Mutex<ByCollection<u64>>,
    times: Mutex<ByCollection<Times>>,
    /// Failed attempts by the kind of their cause, in the order of all kinds.
    causes: [AtomicU64; CauseKind::ALL.len()],
}

/// What is counted by collection.
#[derive(Debug, Default)]
struct ByCollection<T> {
    /// By the path of the collection, for the first collections.
    by_path: BTreeMap<String, T>,
    /// Of all other collections.
    other: T,
}

impl<T: Default> ByCollection<T> {
    /// What is counted of a collection.
    fn of(&mut self, collection_path: Option<&str>) -> &mut T {
        let Some(path) = collection_path else { return &mut self.other };
        let is_known = self.by_path.contains_key(path);
        if is_known || self.by_path.len() < COLLECTIONS_MAX {
            return self.by_path.entry(path.to_owned()).or_default();
        }
        &mut self.other
    }

    /// What is counted, with the label of each collection.
    fn all(&self) -> impl Iterator<Item = (Cow<'_, str>, &T)> {
        let known = self.by_path.iter().map(|(path, counted)| (label_value(path), counted));
        known.chain([(Cow::Borrowed(OTHER_COLLECTIONS), &self.other)])
    }
}

/// How long the actions of a collection took.
#[derive(Debug, Default)]
struct Times {
    /// The attempts in each class, without those of lower classes.
    classes: [u64; TOOK_MS.len() + 1],
    ms_sum: i64,
}

impl Times {
    fn note(&mut self, took_ms: i64) {
        let class = TOOK_MS.partition_point(|end| *end < took_ms);
        if let Some(class) = self.classes.get_mut(class) {
            *class += 1;
        }
        self.ms_sum = self.ms_sum.saturating_add(took_ms);
    }
}

impl EventSink for Metrics {
    fn note(&self, event: Event<'_>) {
        if let Some((counter, n)) = Counter::of(&event)
            && let Some(count) = self.counts.get(counter as usize)
        {
            add(count, n);
        }
        // When it starts, and not when it ends: a slow target must not hide that it was late.
        if let Event::Started { late, .. } = event {
            let late_ms = late.num_milliseconds();
            let class = LATE_MS.partition_point(|end| *end < late_ms);
            if let Some(class) = self.late.get(class) {
                add(class, 1);
            }
            self.late_ms_sum.fetch_add(late_ms, Ordering::Relaxed);
        }
        let Event::Executed { record, collection_path, .. } = event else { return };
        let took = record.ended_at - record.started_at;
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.of(collection_path).note(took.num_milliseconds());
        drop(times);
        if record.outcome == Outcome::Failed {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            *failures.of(collection_path) += 1;
            let kind = record.cause.as_ref().map(|cause| cause.kind as usize);
            if let Some(count) = kind.and_then(|kind| self.causes.get(kind)) {
                add(count, 1);
            }
        }
    }
}

impl Metrics {
    /// Renders all metrics in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write_failures(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_failed_executions_total";
        let help =
            "Attempts that failed, by collection; collections beyond the first 100 together.";
        head(text, name, "counter", help)?;
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        for (collection, n) in failures.all() {
            writeln!(text, "{name}{{collection=\"{collection}\"}} {n}")?;
        }
        Ok(())
    }

    fn write_times(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_action_seconds";
        let help =
            "How long actions took, by collection; collections beyond the first 100 together.";
        head(text, name, "histogram", help)?;
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        for (collection, Times { classes, ms_sum }) in times.all() {
            let label = format!("collection=\"{collection}\"");
            let mut total = 0;
            let ends = TOOK_MS.iter().map(|end| seconds(*end)).chain(["+Inf".to_owned()]);
            for (end, class) in ends.zip(classes) {
                total += class;
                writeln!(text, "{name}_bucket{{{label},le=\"{end}\"}} {total}")?;
            }
            writeln!(text, "{name}_sum{{{label}}} {}", seconds(*ms_sum))?;
            writeln!(text, "{name}_count{{{label}}} {total}")?;
        }
        Ok(())
    }

    fn write_causes(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_failure_causes_total";
        head(text, name, "counter", "Attempts that failed, by the kind of their cause.")?;
        for (kind, count) in CauseKind::ALL.iter().zip(&self.causes) {
            let (kind, count) = (kind.name(), count.load(Ordering::Relaxed));
            writeln!(text, "{name}{{cause=\"{kind}\"}} {count}")?;
        }
        Ok(())
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_executions_total";
        let help = "Attempts that ended, including retries and error actions.";
        head(text, name, "counter", help)?;
        for (outcome, counter) in [("succeeded", Counter::Succeeded), ("failed", Counter::Failed)] {
            writeln!(text, "{name}{{outcome=\"{outcome}\"}} {}", self.count(counter))?;
        }
        self.write_failures(text)?;
        self.write_causes(text)?;
        for (name, help, of) in [
            ("retries", "Failed attempts that will be retried.", Counter::Retried),
            (
                "skipped",
                "Runs skipped because the collection was disabled or a later run was already due.",
                Counter::Skipped,
            ),
            (
                "dropped",
                "Queued runs discarded because the job was changed, disabled or deleted.",
                Counter::Dropped,
            ),
            ("finished_jobs", "Jobs that completed or faulted.", Counter::Finished),
            (
                "alerts_lost",
                "Alerts of collections that did not arrive, after their last retry.",
                Counter::AlertsLost,
            ),
        ] {
            counter(text, &format!("minutehand_{name}_total"), help, self.count(of))?;
        }
        self.write_times(text)?;
        self.write_histogram(text)
    }

    fn write_histogram(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_late_seconds";
        let help = "Delay between the due time of an attempt and its start.";
        head(text, name, "histogram", help)?;
        let mut total = 0;
        let ends = LATE_MS.iter().map(|end| seconds(*end)).chain(["+Inf".to_owned()]);
        for (end, class) in ends.zip(&self.late) {
            total += class.load(Ordering::Relaxed);
            writeln!(text, "{name}_bucket{{le=\"{end}\"}} {total}")?;
        }
        writeln!(text, "{name}_sum {}", seconds(self.late_ms_sum.load(Ordering::Relaxed)))?;
        writeln!(text, "{name}_count {total}")
    }

    fn count(&self, counter: Counter) -> u64 {
        self.counts.get(counter as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

/// Writes a metric that only grows, with its unit in its name.
///
/// # Errors
///
/// As [`gauge`].
pub fn counter(text: &mut String, name: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
    head(text, name, "counter", help)?;
    writeln!(text, "{name} {value}")
}

/// Writes the head of a metric with labels; its lines follow.
///
/// # Errors
///
/// As [`gauge`].
pub fn head(text: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(text, "# HELP {name} {help}")?;
    writeln!(text, "# TYPE {name} {kind}")
}

/// Writes a metric that can go up and down.
///
/// # Errors
///
/// If `text` cannot be written to, which does not happen with a string.
pub fn gauge(text: &mut String, name: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
    let name =
        if name.starts_with("process_") { name.to_owned() } else { format!("minutehand_{name}") };
    head(text, &name, "gauge", help)?;
    writeln!(text, "{name} {value}")
}

/// A text as the value of a label, in which three characters are escaped.
fn label_value(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Formats milliseconds as seconds, without rounding.
fn seconds(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let ms = ms.unsigned_abs();
    format!("{sign}{}.{:03}", ms / 1_000, ms % 1_000)
}

fn add(to: &AtomicU64, n: u64) {
    to.fetch_add(n, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use minutehand_domain::attempt::{Attempt, Occurrence, Record};
    use minutehand_domain::firing::SkipReason;
    use minutehand_domain::work_item::JobRef;

    use super::*;

    #[test]
    fn each_event_increases_its_counter_and_attempts_the_histogram() {
        let job =
            JobRef { uid: "u".to_owned(), collection_uid: "c".to_owned(), key: "k".to_owned() };
        let at = DateTime::UNIX_EPOCH;
        let attempt = Attempt::first(0, Occurrence::Scheduled { nominal_at: at });
        let metrics = Metrics::default();
        for (outcome, late, took) in [
            (Outcome::Succeeded, 5, 100),
            (Outcome::Succeeded, 6, 101),
            (Outcome::Failed, 700_000, 60_001),
        ] {
            let record = Record {
                started_at: at,
                ended_at: at + TimeDelta::milliseconds(took),
                outcome,
                message: String::new(),
                repeat_count: 1,
                cause: None,
                body_bytes: 0,
                then: None,
            };
            let late = TimeDelta::milliseconds(late);
            metrics.note(Event::Started { job: &job, attempt: &attempt, late });
            metrics.note(Event::Executed {
                job: &job,
                collection_path: Some("s/g/c"),
                attempt: &attempt,
                record: &record,
                late,
            });
        }
        metrics.note(Event::Overtaken { job: &job, occurrences: 7 });
        metrics.note(Event::AlertLost { job: &job });
        metrics.note(Event::Dropped {
            job: &job,
            attempt: &attempt,
            why: SkipReason::CollectionOff,
        });
        metrics.note(Event::Dropped {
            job: &job,
            attempt: &attempt,
            why: SkipReason::TimingChanged,
        });
        // It has started, and not ended.
        metrics.note(Event::Started { job: &job, attempt: &attempt, late: TimeDelta::zero() });
        let text = metrics.text();
        for line in [
            "minutehand_executions_total{outcome=\"succeeded\"} 2",
            "minutehand_executions_total{outcome=\"failed\"} 1",
            "minutehand_failed_executions_total{collection=\"s/g/c\"} 1",
            "minutehand_action_seconds_bucket{collection=\"s/g/c\",le=\"0.100\"} 1",
            "minutehand_action_seconds_bucket{collection=\"s/g/c\",le=\"0.500\"} 2",
            "minutehand_action_seconds_bucket{collection=\"s/g/c\",le=\"60.000\"} 2",
            "minutehand_action_seconds_bucket{collection=\"s/g/c\",le=\"+Inf\"} 3",
            "minutehand_action_seconds_sum{collection=\"s/g/c\"} 60.202",
            "minutehand_action_seconds_count{collection=\"s/g/c\"} 3",
            "minutehand_action_seconds_count{collection=\"other\"} 0",
            "minutehand_skipped_total 8",
            "minutehand_dropped_total 1",
            "minutehand_alerts_lost_total 1",
            "minutehand_late_seconds_bucket{le=\"0.002\"} 1",
            "minutehand_late_seconds_bucket{le=\"0.005\"} 2",
            "minutehand_late_seconds_bucket{le=\"0.010\"} 3",
            "minutehand_late_seconds_bucket{le=\"600.000\"} 3",
            "minutehand_late_seconds_bucket{le=\"+Inf\"} 4",
            "minutehand_late_seconds_sum 700.011",
            "minutehand_late_seconds_count 4",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn failures_are_counted_for_a_bounded_number_of_collections() {
        let metrics = Metrics::default();
        let note = |path: Option<&str>| *metrics.failures.lock().unwrap().of(path) += 1;
        for _ in 0..2 {
            note(None);
            for n in 0..2 * COLLECTIONS_MAX {
                note(Some(&format!("s/g/c{n:03}")));
            }
        }
        note(Some("s/g/c000"));
        let text = metrics.text();
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("minutehand_failed_executions")).collect();
        assert_eq!(lines.len(), COLLECTIONS_MAX + 1, "{text}");
        assert_eq!(lines[0], "minutehand_failed_executions_total{collection=\"s/g/c000\"} 3");
        assert_eq!(lines[99], "minutehand_failed_executions_total{collection=\"s/g/c099\"} 2");
        // An attempt without a collection, and 100 of 200 collections, twice.
        assert_eq!(lines[100], "minutehand_failed_executions_total{collection=\"other\"} 202");
    }

    #[test]
    fn the_value_of_a_label_is_escaped() {
        assert_eq!(label_value("sub/group/collection"), "sub/group/collection");
        assert_eq!(label_value("a\\b\"c\nd"), r#"a\\b\"c\nd"#);
    }
}
