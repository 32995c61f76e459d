//! Brings something into an installation.

use minutehand_ports::store::{Brought, Carried, CollectionStanding, PageRequest, Saved};
use minutehand_ports::{Collections, Installation, Pings, RetryTimers, StoreError};

use crate::store::StoreOfMoves;

/// Subscriptions that one request lists.
const PAGE_ITEMS: u32 = 100;

/// Brings something.
///
/// # Errors
///
/// If the store does not answer.
pub async fn bring(store: &dyn StoreOfMoves, carried: &Carried) -> Result<Brought, StoreError> {
    match carried {
        Carried::CloudService(service) => store.bring_cloud_service(service).await,
        Carried::Collection(record) => match Collections::create(store, record, None).await? {
            Saved::Kept => Ok(Brought::Kept),
            Saved::Stale | Saved::Full => Ok(match store.standing(record).await? {
                CollectionStanding::Same => Brought::Already,
                CollectionStanding::Free
                | CollectionStanding::Taken(_)
                | CollectionStanding::BeingRemoved => Brought::Taken,
            }),
        },
        Carried::Job { collection_uid, job } => store.bring_job(collection_uid, job).await,
        Carried::PingKey { job, key } => {
            if Pings::set_ping_key(store, job, key, None).await? {
                return Ok(Brought::Kept);
            }
            let found = Pings::ping_key(store, &job.uid).await?;
            let is_same = found.is_some_and(|found| found.hash == key.hash);
            Ok(if is_same { Brought::Already } else { Brought::Taken })
        }
        Carried::Retry(retry) => {
            RetryTimers::keep(store, retry).await?;
            Ok(Brought::Kept)
        }
    }
}

/// Whether an installation has any collection.
///
/// # Errors
///
/// If the store does not answer.
pub(crate) async fn has_collections(store: &dyn StoreOfMoves) -> Result<bool, StoreError> {
    let mut from = None;
    // Bounded by the subscriptions.
    loop {
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = Installation::subscriptions(store, request).await?;
        for subscription in &page.items {
            let one = PageRequest { from: None, items_max: 1 };
            if !Collections::list(store, subscription, None, one).await?.items.is_empty() {
                return Ok(true);
            }
        }
        from = page.next;
        if from.is_none() {
            return Ok(false);
        }
    }
}
