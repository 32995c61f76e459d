//! What fires and what does not, as numbers that a monitor collects.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use domain::attempt::Outcome;
use ports::{Event, EventSink};

/// The upper ends of the classes of lateness, in milliseconds.
const LATE_MS: [i64; 12] = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, 5_000, 60_000, 600_000];

/// Counts events.
#[derive(Debug, Default)]
pub struct Metrics {
    succeeded: AtomicU64,
    failed: AtomicU64,
    retried: AtomicU64,
    skipped: AtomicU64,
    dropped: AtomicU64,
    finished: AtomicU64,
    /// How many were so late, and not in a lower class.
    late: [AtomicU64; LATE_MS.len() + 1],
    late_ms_sum: AtomicI64,
}

impl EventSink for Metrics {
    fn note(&self, event: Event<'_>) {
        match event {
            Event::Executed { record, late, .. } => {
                let late_ms = late.num_milliseconds();
                let class = LATE_MS.partition_point(|end| *end < late_ms);
                if let Some(class) = self.late.get(class) {
                    add(class, 1);
                }
                self.late_ms_sum.fetch_add(late_ms, Ordering::Relaxed);
                match record.outcome {
                    Outcome::Succeeded => add(&self.succeeded, 1),
                    Outcome::Failed => add(&self.failed, 1),
                }
            }
            Event::Dropped { why, .. } if why.is_skip() => add(&self.skipped, 1),
            Event::Dropped { .. } => add(&self.dropped, 1),
            Event::Overtaken { occurrences, .. } => add(&self.skipped, occurrences),
            Event::Retried { .. } => add(&self.retried, 1),
            Event::Finished { .. } => add(&self.finished, 1),
            // The queue counts its dead letters, and buries unreadable messages at once.
            Event::MessageUnreadable | Event::DeadLetter => {}
        }
    }
}

impl Metrics {
    /// The numbers in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A text that is written into memory takes it.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        writeln!(text, "# HELP minutehand_executions_total Attempts that were made.")?;
        writeln!(text, "# TYPE minutehand_executions_total counter")?;
        for (outcome, count) in [("succeeded", &self.succeeded), ("failed", &self.failed)] {
            writeln!(text, "minutehand_executions_total{{outcome=\"{outcome}\"}} {}", read(count))?;
        }
        for (name, help, count) in [
            ("retries", "Attempts that will be made again.", &self.retried),
            ("skipped", "Occurrences that were not owed when their turn came.", &self.skipped),
            ("dropped", "Messages of jobs that were changed or deleted meanwhile.", &self.dropped),
            ("finished_jobs", "Jobs that are over.", &self.finished),
        ] {
            counter(text, name, help, read(count))?;
        }
        let name = "minutehand_late_seconds";
        writeln!(text, "# HELP {name} How long after it was due an attempt started.")?;
        writeln!(text, "# TYPE {name} histogram")?;
        let mut total = 0;
        let ends = LATE_MS.iter().map(|end| seconds(*end)).chain(["+Inf".to_owned()]);
        for (end, class) in ends.zip(&self.late) {
            total += read(class);
            writeln!(text, "{name}_bucket{{le=\"{end}\"}} {total}")?;
        }
        writeln!(text, "{name}_sum {}", seconds(self.late_ms_sum.load(Ordering::Relaxed)))?;
        writeln!(text, "{name}_count {total}")
    }
}

/// A number that only grows.
fn counter(text: &mut String, name: &str, help: &str, value: u64) -> fmt::Result {
    writeln!(text, "# HELP minutehand_{name}_total {help}")?;
    writeln!(text, "# TYPE minutehand_{name}_total counter")?;
    writeln!(text, "minutehand_{name}_total {value}")
}

/// Writes a number that goes up and down.
///
/// # Errors
///
/// If the text does not take it, which one in memory does.
pub fn gauge(text: &mut String, name: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(text, "# HELP minutehand_{name} {help}")?;
    writeln!(text, "# TYPE minutehand_{name} gauge")?;
    writeln!(text, "minutehand_{name} {value}")
}

/// Milliseconds as seconds, to the letter.
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
    use domain::attempt::{Attempt, Occurrence, Record};
    use domain::firing::SkipReason;
    use domain::work_item::JobRef;

    use super::*;

    #[test]
    fn each_event_is_counted_where_it_belongs() {
        let job =
            JobRef { uid: "u".to_owned(), collection_uid: "c".to_owned(), key: "k".to_owned() };
        let at = DateTime::UNIX_EPOCH;
        let attempt = Attempt::first(0, Occurrence::Scheduled { nominal_at: at });
        let metrics = Metrics::default();
        for (outcome, late) in
            [(Outcome::Succeeded, 5), (Outcome::Succeeded, 6), (Outcome::Failed, 700_000)]
        {
            let record = Record {
                started_at: at,
                ended_at: at,
                outcome,
                message: String::new(),
                repeat_count: 1,
            };
            let late = TimeDelta::milliseconds(late);
            metrics.note(Event::Executed { job: &job, attempt: &attempt, record: &record, late });
        }
        metrics.note(Event::Overtaken { job: &job, occurrences: 7 });
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
        let text = metrics.text();
        for line in [
            "minutehand_executions_total{outcome=\"succeeded\"} 2",
            "minutehand_executions_total{outcome=\"failed\"} 1",
            "minutehand_skipped_total 8",
            "minutehand_dropped_total 1",
            "minutehand_late_seconds_bucket{le=\"0.002\"} 0",
            "minutehand_late_seconds_bucket{le=\"0.005\"} 1",
            "minutehand_late_seconds_bucket{le=\"0.010\"} 2",
            "minutehand_late_seconds_bucket{le=\"600.000\"} 2",
            "minutehand_late_seconds_bucket{le=\"+Inf\"} 3",
            "minutehand_late_seconds_sum 700.011",
            "minutehand_late_seconds_count 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in:\n{text}");
        }
    }
}
