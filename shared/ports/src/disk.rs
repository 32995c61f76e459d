//! Where what is kept is written.

use async_trait::async_trait;

use crate::StoreError;

/// Says whether what is answered can be kept.
///
/// `()` is the one of who keeps everything elsewhere: whether that takes writes is known when it
/// answers.
#[async_trait]
pub trait Disk: Send + Sync {
    /// Whether writes are taken now. It may try one, which changes nothing.
    async fn takes_writes(&self) -> Result<(), StoreError>;
}

#[async_trait]
impl Disk for () {
    async fn takes_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
