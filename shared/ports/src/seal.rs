//! Sealing secrets, so that they are never stored as plain text.

use async_trait::async_trait;
use zeroize::Zeroizing;

use crate::store::StoreError;

/// Seals and opens secrets. The key may be in another service.
#[async_trait]
pub trait Sealer: Send + Sync {
    /// Seals a text for one place. Sealed text of another place cannot be opened there.
    ///
    /// # Errors
    ///
    /// If the key is not available.
    async fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError>;

    /// Opens a text that was sealed for this place.
    ///
    /// # Errors
    ///
    /// If the key is not available, or is another one, or the sealed text is damaged.
    async fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError>;
}

/// The key of an installation for one purpose, from which it makes what strangers are given.
#[async_trait]
pub trait PurposeKey: Send + Sync {
    /// The key, the same at each call and in each process.
    ///
    /// # Errors
    ///
    /// If the place where it is kept fails.
    async fn key(&self) -> Result<Zeroizing<Vec<u8>>, PurposeKeyError>;
}

/// Data keys that processes share, encrypted, each by a name.
#[async_trait]
pub trait DataKeys: Send + Sync {
    /// The key of this name, if there is one.
    ///
    /// # Errors
    ///
    /// If the place where it is kept fails.
    async fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps this key, if there is none of this name. Returns whether it is kept.
    ///
    /// # Errors
    ///
    /// If the place where it is kept fails.
    async fn keep(&self, name: &str, encrypted: &[u8]) -> Result<bool, StoreError>;
}

/// A key that the process has already.
pub struct GivenKey(pub Zeroizing<Vec<u8>>);

#[async_trait]
impl PurposeKey for GivenKey {
    async fn key(&self) -> Result<Zeroizing<Vec<u8>>, PurposeKeyError> {
        Ok(self.0.clone())
    }
}

/// Why a key for a purpose is not known.
#[derive(Debug, thiserror::Error)]
pub enum PurposeKeyError {
    /// The store that keeps it fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Why secrets could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The text was sealed with another key or for another place, or is damaged.
    #[error("sealed secrets cannot be opened: another key, another place, or damaged")]
    NotOurs,
    /// The key is not available.
    #[error("the key that seals secrets is unavailable")]
    NoKey(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl SealError {
    /// Whether a retry may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::NoKey(_))
    }
}
