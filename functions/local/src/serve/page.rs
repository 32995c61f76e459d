//! The numbers for a monitor: what was counted, and how the queue stands.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use embedded::Queue;
use embedded::queue::QueueStats;
use ports::Clock;
use rest::{MetricsError, MetricsPage};
use runtime::{Metrics, gauge};

/// What `GET /metrics` answers.
pub(super) struct PrometheusPage {
    metrics: Arc<Metrics>,
    queue: Queue,
    clock: Arc<dyn Clock>,
}

impl PrometheusPage {
    pub(super) const fn new(metrics: Arc<Metrics>, queue: Queue, clock: Arc<dyn Clock>) -> Self {
        Self { metrics, queue, clock }
    }
}

#[async_trait]
impl MetricsPage for PrometheusPage {
    async fn text(&self) -> Result<String, MetricsError> {
        let stats = self.queue.stats().await?;
        let mut text = self.metrics.text();
        // A text in memory takes what is written.
        let _ = write_queue(&mut text, &stats, self.clock.now());
        Ok(text)
    }
}

fn write_queue(text: &mut String, stats: &QueueStats, now: DateTime<Utc>) -> fmt::Result {
    let late = stats.oldest_due_at.map_or(0, |due_at| (now - due_at).num_seconds().max(0));
    for (name, help, value) in [
        ("queue_visible", "Messages that are due and wait for a worker.", stats.visible),
        ("queue_delayed", "Messages that are not due yet.", stats.delayed),
        ("queue_hidden", "Messages that a worker has, or has put back.", stats.hidden),
        ("dead_letters", "Messages that are not delivered any more.", stats.dead_letters),
        (
            "queue_oldest_due_seconds",
            "How long ago the first message that no worker has was due.",
            late.unsigned_abs(),
        ),
    ] {
        gauge(text, name, help, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn what_is_late_is_told_and_what_is_to_come_is_not() {
        let now = DateTime::UNIX_EPOCH;
        for (late, shown) in [(90, "90"), (-90, "0")] {
            let oldest_due_at = Some(now - TimeDelta::seconds(late));
            let stats = QueueStats { visible: 7, oldest_due_at, ..QueueStats::default() };
            let mut text = String::new();
            write_queue(&mut text, &stats, now).unwrap();
            assert!(text.contains("\nminutehand_queue_visible 7\n"), "{text}");
            let line = format!("\nminutehand_queue_oldest_due_seconds {shown}\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
