//! The bodies with which targets answered failures, kept beside the history.

use async_trait::async_trait;
pub use bytes::Bytes;
use minutehand_domain::history_name::HistoryName;

use super::StoreError;

/// Keeps bodies of failures.
#[async_trait]
pub trait FailureBodies: Send + Sync {
    /// Keeps the body of an attempt, in the place of one that is kept already.
    async fn put(&self, job_uid: &str, name: HistoryName, body: Bytes) -> Result<(), StoreError>;

    /// The body of an attempt; `None` if none is kept.
    async fn get(&self, job_uid: &str, name: HistoryName) -> Result<Option<Vec<u8>>, StoreError>;
}
