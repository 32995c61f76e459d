use chrono::{DateTime, Utc};
use minutehand_domain::firing::{Slot, SlotBook};
use minutehand_domain::limits::PerSecond;
use minutehand_ports_macro::port;

use super::StoreError;

/// The next slot of a collection is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotRequest<'a> {
    /// The collection.
    pub collection_uid: &'a str,
    /// Its limit.
    pub per_second: PerSecond,
    /// The slot may not be before this instant.
    pub not_before: DateTime<Utc>,
    /// Nor after this one.
    pub not_after: DateTime<Utc>,
}

/// The slots of collections that limit their starts. Other collections have no such item.
///
/// A slot whose answer was lost is lost: a caller that asks again gets a later one.
#[port]
pub trait Slots: Send + Sync {
    /// Reads which slot is the next; `None` if none was ever taken.
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError>;

    /// Stores a book in place of the one that was read; `false` if that has changed.
    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError>;

    /// Takes the next slot; `None` if it is not in the time that was asked for, or under another limit.
    /// Calls at the same time do not disturb each other.
    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError>;
}
