//! Handing work items to the workers.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::work_item::WorkItem;

/// A work item on its way to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueMessage {
    /// What is to be done.
    pub work_item: WorkItem,
    /// When, at the earliest.
    pub due_at: DateTime<Utc>,
}

/// A queue that delivers each message at least once, not long before it is due.
#[async_trait]
pub trait DispatchQueue: Send + Sync {
    /// Sends messages.
    ///
    /// When it answers, all are kept. After an error some may be, and sending all again is safe:
    /// whoever receives a message knows what of it is done.
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError>;
}

/// Why messages were not taken.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// It is not there, or asks for patience: sending again may help.
    #[error("the queue is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It refused what should have been right.
    #[error("the queue refused a message")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl QueueError {
    /// Whether sending again may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused(_) => false,
        }
    }
}
