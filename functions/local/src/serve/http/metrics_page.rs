//! The page that `GET /metrics` returns: the counters of this process and the state of the queue.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use embedded::Queue;
use embedded::queue::QueueStats;
use ports::Clock;
use rest::{MetricsError, MetricsPage};
use runtime::{Metrics, gauge};

/// Renders `GET /metrics` in the text format of Prometheus.
pub(in crate::serve) struct PrometheusPage {
    metrics: Arc<Metrics>,
    queue: Queue,
    clock: Arc<dyn Clock>,
}

impl PrometheusPage {
    pub(in crate::serve) const fn new(
        metrics: Arc<Metrics>,
        queue: Queue,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { metrics, queue, clock }
    }
}

#[async_trait]
impl MetricsPage for PrometheusPage {
    async fn text(&self) -> Result<String, MetricsError> {
        let stats = self.queue.stats().await?;
        let mut text = self.metrics.text();
        // Writing to a string does not fail.
        let _ = write_queue(&mut text, &stats, self.clock.now());
        Ok(text)
    }
}

fn write_queue(text: &mut String, stats: &QueueStats, now: DateTime<Utc>) -> fmt::Result {
    let late = stats.oldest_due_at.map_or(0, |due_at| (now - due_at).num_seconds().max(0));
    for (name, help, value) in [
        ("queue_visible", "Messages that are due and waiting for a worker.", stats.visible),
        ("queue_delayed", "Messages that are not due yet.", stats.delayed),
        ("queue_hidden", "Messages being processed or waiting for another try.", stats.hidden),
        ("dead_letters", "Messages that will not be delivered again.", stats.dead_letters),
        (
            "queue_oldest_due_seconds",
            "How long the oldest message waiting for a worker has been due.",
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
    fn only_a_message_that_is_overdue_counts_as_late() {
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
