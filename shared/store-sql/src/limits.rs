//! Slots and seats: rows of collections that limit their attempts. Other collections have none.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | open a book of slots | it is the one that was read | an unused slot |
//! | take the next slot | the limit is the same, and the slot is in the time that is asked for | the same |
//! | take a seat | fewer are taken than the limit says | a seat that is free again when the lease is over |
//! | give a seat back | the claim has it | nothing |
//!
//! No claim takes a seat again once its lease is over, so what was seen to be over stays so. Where one
//! process is alone on the database, the seats of an earlier process are void, as its claims are; among many
//! processes, those of one that died are removed.
//!
//! A book of slots expires a day after its last slot, and begins anew then.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::{Slot, SlotBook};
use minutehand_domain::limits::{Concurrent, PerSecond};
use minutehand_ports::store::{Claim, SlotRequest};
use minutehand_ports::{Seats, Slots, StoreError};

use crate::script::{ScriptOutcome, Statement, Value};
use crate::sql::attempts as sql;
use crate::store::{SqlStore, changes, start};
use crate::value::{Columns, id, params, second};

/// How long after its last slot a book may be removed.
const KEPT_FOR: TimeDelta = TimeDelta::days(1);

#[async_trait]
impl Slots for SqlStore {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        let row = self.read_now(collection_uid, sql::SLOTS, params![id(collection_uid)]).await?;
        let Some(row) = row else { return Ok(None) };
        let mut row = Columns::after_id("slots", row)?;
        let (next_at, number, per_second) = (row.next()?, row.next()?, row.next()?);
        let per_second =
            PerSecond::new(per_second).ok_or_else(|| row.corrupt("its limit is none"))?;
        Ok(Some(SlotBook { number, per_second, next_at }))
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        SlotBook { number, per_second, next_at }: SlotBook,
    ) -> Result<bool, StoreError> {
        let parameters =
            params![id(collection_uid), next_at, number, per_second.get(), expiry(next_at)];
        let open = match as_read {
            None => changes(sql::FIRST_SLOTS, parameters),
            Some(seen) => {
                changes(sql::NEXT_SLOTS, params![..parameters, seen.next_at, seen.number])
            }
        };
        self.does(start(collection_uid, vec![open])).await
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        let SlotRequest { collection_uid, per_second, not_before, not_after } = request;
        let parameters = params![
            id(collection_uid),
            per_second.gap_ticks(),
            expiry(not_after),
            per_second.get(),
            not_before,
            not_after,
        ];
        let take = changes(sql::TAKE_SLOT, parameters);
        let rows = match self.perform(start(collection_uid, vec![take])).await? {
            ScriptOutcome::Done(rows) => rows,
            ScriptOutcome::Unmet { .. } => return Ok(None),
        };
        let row = rows.into_iter().flatten().next().unwrap_or_default();
        let mut row = Columns::after_id("slots", row)?;
        Ok(Some(Slot { at: row.next()?, book: row.next()? }))
    }
}

#[async_trait]
impl Seats for SqlStore {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        let parameters = params![id(collection_uid), now, self.taker()];
        let row = self.read_now(collection_uid, sql::TAKEN_SEATS, parameters).await?;
        Columns::new("seats", row.unwrap_or_default()).next()
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let uid = &claim.job.collection_uid;
        let free = params![id(uid), now, self.taker(), id(&claim.claim_id)];
        let take = params![..self.seat(claim), claim.lease_until, limit.get()];
        let statements = vec![Statement::new(sql::FREE_SEATS, free), changes(sql::TAKE_SEAT, take)];
        // A limit that has sunk takes no seat away.
        let script = start(uid, statements).alone().or_read(sql::OWN_SEAT, self.seat(claim));
        Ok(self.unmet(script).await?.is_none_or(|own| !own.is_empty()))
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        // A seat that the caller no longer has need not be given back.
        let give_back = Statement::new(sql::GIVE_BACK_SEAT, self.seat(claim));
        self.perform(start(&claim.job.collection_uid, vec![give_back])).await.map(drop)
    }
}

impl SqlStore {
    pub(crate) fn seat(&self, claim: &Claim) -> Vec<Value> {
        params![id(&claim.job.collection_uid), self.taker(), id(&claim.claim_id)]
    }
}

fn expiry(from: DateTime<Utc>) -> DateTime<Utc> {
    second(from.checked_add_signed(KEPT_FOR).unwrap_or(DateTime::<Utc>::MAX_UTC))
}
