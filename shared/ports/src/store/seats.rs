use chrono::{DateTime, Utc};
use minutehand_domain::limits::Concurrent;
use minutehand_ports_macro::port;

use super::{Claim, StoreError};

/// The seats of collections that limit how many attempts run at the same time. Other collections have
/// no such item.
#[port]
pub trait Seats: Send + Sync {
    /// How many seats of a collection are taken now, on the clock of work. The answer may be a moment old.
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError>;

    /// Takes a seat for a claim for what is left of its lease now; `false` if all are taken. Taking it
    /// again changes nothing.
    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError>;

    /// Gives the seat of a claim back, if it has one.
    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError>;
}
