//! Whether the disk accepts writes.

use async_trait::async_trait;

use crate::StoreError;

/// Tells whether the disk beneath the store accepts writes.
///
/// `()` is for hosts without a local disk: there, a successful answer from the store already proves that
/// it accepts writes.
#[async_trait]
pub trait Disk: Send + Sync {
    /// Checks whether writes are accepted now. It may try a write that changes nothing.
    async fn accepts_writes(&self) -> Result<(), StoreError>;
}

#[async_trait]
impl Disk for () {
    async fn accepts_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
