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

impl StoreError {
    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Throttled(_) => true,
            Self::Corrupt { .. } | Self::Refused(_) => false,
        }
    }
}
