//! Sealing secrets, so that they are never plain where they are kept.

use async_trait::async_trait;

/// Seals and opens secrets. The key may be far away.
#[async_trait]
pub trait Sealer: Send + Sync {
    /// Seals a text for one place; it cannot be opened as if it were from another.
    ///
    /// # Errors
    ///
    /// If the key is not to be had.
    async fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError>;

    /// Opens what was sealed for this place.
    ///
    /// # Errors
    ///
    /// If the key is not to be had, or is not the one, or the sealed text is damaged.
    async fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError>;
}

/// Why secrets could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// What was sealed was not sealed here, with this key, for this place.
    #[error("sealed secrets cannot be opened: another key, another place, or damaged")]
    NotOurs,
    /// The key is not to be had.
    #[error("the key that seals secrets is not to be had")]
    NoKey(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl SealError {
    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::NoKey(_) => true,
            Self::NotOurs => false,
        }
    }
}
