//! Errors of the services, independent of HTTP.

use domain::refusal::Refusal;
use ports::{QueueError, SealError, StoreError};

/// Why a service did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// There is no such collection.
    #[error("job collection '{name}' in resource group '{group}' is not there")]
    NoCollection {
        /// The group that was asked for.
        group: String,
        /// The name that was asked for.
        name: String,
    },
    /// There is no such job.
    #[error("job '{name}' is not there")]
    NoJob {
        /// The name that was asked for.
        name: String,
    },
    /// The request is refused; the message is for the client.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Concurrent changes came first, again and again.
    #[error("{what} is being changed by others")]
    Busy {
        /// What it is.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk takes no writes.
    #[error("nothing can be written")]
    NoWrites(#[source] StoreError),
    /// Secrets could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The queue did not accept a message.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A stored job cannot be read back.
    #[error("job '{name}' is kept in a form that cannot be read")]
    Unreadable {
        /// The job.
        name: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl AppError {
    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) | Self::NoWrites(error) => error.is_retryable(),
            Self::Queue(error) => error.is_retryable(),
            Self::Seal(error) => error.is_retryable(),
            Self::Busy { .. } => true,
            Self::NoCollection { .. }
            | Self::NoJob { .. }
            | Self::Refused(_)
            | Self::Unreadable { .. } => false,
        }
    }
}
