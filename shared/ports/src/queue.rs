//! Sending work items to the workers.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::work_item::WorkItem;

/// A message for the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueMessage {
    /// What a worker is asked to do.
    pub work_item: WorkItem,
    /// When the work may start.
    pub due_at: DateTime<Utc>,
}

/// A queue that delivers each message at least once, and not long before it is due.
#[async_trait]
pub trait DispatchQueue: Send + Sync {
    /// Sends messages.
    ///
    /// On success the queue has stored all of them. After an error it may have stored some, and the
    /// caller may send all of them again: a worker recognizes work that is already done.
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError>;
}

/// Why the queue did not accept messages.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The queue is unreachable or throttled the request. Sending again may help.
    #[error("the queue is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The queue refused a message that should have been valid.
    #[error("the queue refused a message")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl QueueError {
    /// Returns whether sending again may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}
