//! Counts the occurrences that the healer sends again, so that an alarm tells of them.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage};
use minutehand_runtime_aws::{Metric, Tally};

/// The queue as the healer sees it.
pub(crate) struct HealedQueue {
    pub(crate) queue: Arc<dyn DispatchQueue>,
    pub(crate) tally: Arc<Tally>,
}

#[async_trait]
impl DispatchQueue for HealedQueue {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        self.queue.send(messages, now).await?;
        self.tally.add(Metric::Healed, messages.len() as u64);
        Ok(())
    }
}
