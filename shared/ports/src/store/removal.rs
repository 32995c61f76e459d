use super::StoreError;
use minutehand_ports_macro::port;

/// Removes what is over.
#[port]
pub trait Removal: Send + Sync {
    /// Deletes some of the jobs of a deleted collection; `true` when none is left. The timer that
    /// asks for the purge is then gone, too. A collection that is there keeps its jobs: only a forged
    /// message asks to purge it.
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError>;
}
