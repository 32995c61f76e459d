//! Seats: one item for each collection that limits how many attempts run at the same time, with their
//! claims and the ends of their leases. Other collections have none.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | take the first seat | there is no item | a seat that is free again when the lease is over |
//! | take a seat | fewer are taken than the limit says | the same |
//! | take a seat in place of some whose leases are over | these are there, and fewer others than the limit says | the same |
//! | give a seat back | the claim has it | nothing |
//!
//! No claim takes a seat again once its lease is over, so what was seen to be over stays so.
//!
//! The item expires a day after a seat was last taken, and begins anew then. Its `lease_until` says that
//! this is by the clock of work.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::limits::Concurrent;
use minutehand_domain::tick::from_ticks;
use minutehand_ports::store::Claim;
use minutehand_ports::{Seats, StoreError};

use crate::slots::expiry;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, ticks};
use crate::table::{MeteredCall, Write, WriteOutcome, keys};

/// The claims that have seats: a map to the ends of their leases.
const TAKEN: &str = "taken";
/// How many seats of leases that are over are removed at once: an expression has room for them.
const REMOVED_MAX: usize = 20;
/// How often a seat is tried again at once, because others came first.
const ROUNDS_MAX: usize = 5;

#[async_trait]
impl Seats for DynamoStore {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        let call = Some(MeteredCall::ReadSeats);
        let stored = self.table.get_for(call, keys::seats(collection_uid)).await?;
        let Some(item) = stored else { return Ok(0) };
        let seats = read(&item)?;
        let taken = seats.iter().filter(|seat| seat.lease_until >= now).count();
        Ok(u32::try_from(taken).unwrap_or(u32::MAX))
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let mut over = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let write = take(claim, limit, &over);
            match self.table.write(MeteredCall::Seats, write).await? {
                WriteOutcome::Done => return Ok(true),
                WriteOutcome::ConditionFailed(None) => {
                    if self.table.does(MeteredCall::Seats, first(claim)).await? {
                        return Ok(true);
                    }
                    over.clear();
                }
                WriteOutcome::ConditionFailed(Some(item)) => {
                    let seats = read(&item)?;
                    if seats.iter().any(|seat| seat.claim_id == claim.claim_id) {
                        return Ok(true);
                    }
                    let (lapsed, taken): (Vec<_>, Vec<_>) =
                        seats.into_iter().partition(|seat| seat.lease_until < now);
                    if taken.len() >= limit.get() as usize {
                        return Ok(false);
                    }
                    over = lapsed.into_iter().map(|seat| seat.claim_id.to_owned()).collect();
                    over.truncate(REMOVED_MAX);
                }
            }
        }
        // Others take seats all the time: none is free for long.
        Ok(false)
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        let write = Write::update(seats_of(claim), format!("REMOVE {TAKEN}.#mine"))
            .when(format!("attribute_exists({TAKEN}.#mine)"))
            .naming("#mine", &claim.claim_id);
        // A seat that the caller no longer has need not be given back.
        self.table.write(MeteredCall::Seats, write).await.map(drop)
    }
}

/// Takes a seat in place of those whose leases are over.
fn take(claim: &Claim, limit: Concurrent, over: &[String]) -> Write {
    let places: Vec<_> = (0..over.len()).map(|n| format!("{TAKEN}.#over{n}")).collect();
    let set = format!("SET {TAKEN}.#mine = :lease, lease_until = :lease, expires_at = :expires");
    let update = if over.is_empty() { set } else { format!("{set} REMOVE {}", places.join(", ")) };
    let are_there = places.iter().map(|place| format!(" AND attribute_exists({place})"));
    let condition = format!("size({TAKEN}) < :limit{}", are_there.collect::<String>());
    let limit = limit.get() as usize + over.len();
    let write = Write::update(seats_of(claim), update)
        .when(condition)
        .naming("#mine", &claim.claim_id)
        .with(":lease", ticks(claim.lease_until))
        .with(":expires", expiry(claim.lease_until))
        .with(":limit", number(limit));
    over.iter()
        .enumerate()
        .fold(write, |write, (n, claim_id)| write.naming(&format!("#over{n}"), claim_id))
}

/// Takes the first seat.
fn first(claim: &Claim) -> Write {
    let taken =
        AttributeValue::M(HashMap::from([(claim.claim_id.clone(), ticks(claim.lease_until))]));
    let item = ItemBuilder::at(seats_of(claim))
        .set(TAKEN, taken)
        .set("lease_until", ticks(claim.lease_until))
        .set("expires_at", expiry(claim.lease_until));
    Write::put(item).when("attribute_not_exists(pk)")
}

/// Keeps the seat of an attempt that is left open.
pub(crate) fn keep(claim: &Claim, until: DateTime<Utc>) -> Write {
    Write::update(seats_of(claim), format!("SET {TAKEN}.#mine = :until"))
        .when(format!("attribute_exists({TAKEN}.#mine)"))
        .naming("#mine", &claim.claim_id)
        .with(":until", ticks(until))
}

/// A seat that was taken.
struct Seat<'a> {
    claim_id: &'a str,
    lease_until: DateTime<Utc>,
}

fn seats_of(claim: &Claim) -> keys::Key {
    keys::seats(&claim.job.collection_uid)
}

fn read(item: &Item) -> Result<Vec<Seat<'_>>, StoreError> {
    let reader = Reader::new(item);
    let corrupt = || reader.corrupt(TAKEN, "they are not claims");
    let taken = reader.value(TAKEN).and_then(|taken| taken.as_m().ok()).ok_or_else(corrupt)?;
    let seats = taken.iter().map(|(claim_id, until)| {
        let until = until.as_n().ok().and_then(|until| until.parse().ok()).and_then(from_ticks);
        Ok(Seat { claim_id, lease_until: until.ok_or_else(corrupt)? })
    });
    seats.collect()
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::{Attempt, Occurrence};
    use minutehand_domain::work_item::JobRef;
    use minutehand_testkit::dynamodb::LocalDynamo;

    use super::*;
    use crate::ensure_table;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn until(id: &str, lease: i64) -> Claim {
        let text = str::to_owned;
        Claim {
            job: JobRef { uid: text("job"), collection_uid: text("collection"), key: text("key") },
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) }),
            claim_id: text(id),
            lease_until: at(lease),
        }
    }

    /// Between the reading and the write, another claim takes the seat that was free: its worker knows a
    /// higher limit.
    #[tokio::test]
    async fn a_seat_in_place_of_lapsed_ones_is_within_the_limit_when_it_is_written() {
        let dynamodb = LocalDynamo::in_memory();
        ensure_table(&dynamodb.client(), "table").await.unwrap();
        let store = DynamoStore::new(dynamodb.client(), "table");
        let limit = |n| Concurrent::new(n).unwrap();
        for claim in [until("lapsed", 100), until("a", 200), until("b", 200)] {
            assert!(store.take_seat(&claim, limit(3), at(60)).await.unwrap());
        }
        let late = until("late", 200);
        let in_place = async || {
            let write = take(&late, limit(3), &["lapsed".to_owned()]);
            store.table.write(MeteredCall::Seats, write).await.unwrap()
        };
        assert!(store.take_seat(&until("c", 200), limit(4), at(60)).await.unwrap());
        assert!(matches!(in_place().await, WriteOutcome::ConditionFailed(Some(_))));
        store.give_back_seat(&until("c", 200)).await.unwrap();
        assert!(matches!(in_place().await, WriteOutcome::Done));
        assert_eq!(store.taken_seats("collection", at(150)).await.unwrap(), 3);
    }
}
