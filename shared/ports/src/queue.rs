//! Sending work items to the workers.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::work_item::WorkItem;

/// A message for the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueMessage {
    /// The work item.
    pub work_item: WorkItem,
    /// When it is due: it is not to be delivered long before.
    pub due_at: DateTime<Utc>,
}

/// A queue that delivers each message at least once, not long before it is due.
#[async_trait]
pub trait DispatchQueue: Send + Sync {
    /// Sends messages.
    ///
    /// When this returns, all messages are stored. After an error some may be, and the caller may send all
    /// of them again: a worker finds out which of a message's work is done.
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError>;
}

/// Why messages were not sent.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The queue cannot be reached, or throttles. A retry may help.
    #[error("the queue is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The queue refused a message that should have been valid.
    #[error("the queue refused a message")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl QueueError {
    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused(_) => false,
        }
    }
}
