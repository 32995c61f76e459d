/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached, or did not answer in time. A retry may help.
    #[error("the store is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store throttles. A retry may help.
    #[error("the store asks to slow down")]
    Throttled(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stored item cannot be read back.
    #[error("item {key} is corrupt: {what}")]
    Corrupt {
        /// The item's key.
        key: String,
        /// What is wrong with the item.
        what: String,
    },
    /// The store refused a request that should have been valid.
    #[error("the store refused a request")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A position that a list does not have: a client made it up, or has it from another list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no position in this list")]
struct NoPosition;

impl StoreError {
    /// A list does not have the position that was asked for.
    #[must_use]
    pub fn no_position() -> Self {
        Self::Refused(Box::new(NoPosition))
    }

    /// Whether a list does not have the position that was asked for.
    #[must_use]
    pub fn is_no_position(&self) -> bool {
        matches!(self, Self::Refused(source) if source.is::<NoPosition>())
    }

    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Throttled(_))
    }
}
