//! Slots: one item for each collection that limits its starts, with the next one. Other collections have
//! none.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | open a book | it is the one that was read | an unused slot |
//! | take the next slot | the limit is the same, and the slot is in the time that is asked for | the same |
//!
//! To take a slot adds to a number, so attempts that take theirs at one instant do not disturb each
//! other. The item expires a day after it was last written, and begins anew then.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::{Slot, SlotBook};
use minutehand_domain::limits::PerSecond;
use minutehand_domain::tick::{from_ticks, ticks as to_ticks};
use minutehand_ports::store::SlotRequest;
use minutehand_ports::{Slots, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, ticks};
use crate::table::{MeteredCall, Write, keys};

/// The next slot.
const NEXT: &str = "next_at";
/// The number of the book.
const BOOK: &str = "book";
/// The limit.
const PER_SECOND: &str = "per_second";
/// How long after its last slot or seat the item may be removed.
const KEPT_FOR: TimeDelta = TimeDelta::days(1);

#[async_trait]
impl Slots for DynamoStore {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        let call = Some(MeteredCall::ReadSlots);
        let stored = self.table.get_for(call, keys::slots(collection_uid)).await?;
        stored.as_ref().map(read).transpose()
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError> {
        let item = ItemBuilder::at(keys::slots(collection_uid))
            .set(NEXT, ticks(book.next_at))
            .number(BOOK, book.number)
            .number(PER_SECOND, book.per_second.get())
            .set("expires_at", expiry(book.next_at));
        let put = Write::put(item);
        let put = match as_read {
            None => put.when("attribute_not_exists(pk)"),
            Some(SlotBook { number: book, next_at, .. }) => put
                .when(format!("{NEXT} = :next AND {BOOK} = :book"))
                .with(":next", ticks(next_at))
                .with(":book", number(book)),
        };
        self.table.does(MeteredCall::Slots, put).await
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        let SlotRequest { collection_uid, per_second, not_before, not_after } = request;
        let gap = per_second.gap_ticks();
        let write = Write::update(
            keys::slots(collection_uid),
            format!("SET {NEXT} = {NEXT} + :gap, expires_at = :expires"),
        )
        .when(format!("{PER_SECOND} = :limit AND {NEXT} BETWEEN :from AND :until"))
        .with(":gap", number(gap))
        .with(":expires", expiry(not_after))
        .with(":limit", number(per_second.get()))
        .with(":from", ticks(not_before))
        .with(":until", ticks(not_after));
        let Some(item) = self.table.update_returning(MeteredCall::Slots, write).await? else {
            return Ok(None);
        };
        let reader = Reader::new(&item);
        let taken = from_ticks(to_ticks(reader.ticks(NEXT)?).saturating_sub(gap));
        let at = taken.ok_or_else(|| reader.corrupt(NEXT, "it is not an instant"))?;
        Ok(Some(Slot { at, book: reader.number(BOOK)? }))
    }
}

fn read(item: &Item) -> Result<SlotBook, StoreError> {
    let reader = Reader::new(item);
    let per_second = PerSecond::new(reader.number(PER_SECOND)?);
    Ok(SlotBook {
        number: reader.number(BOOK)?,
        per_second: per_second.ok_or_else(|| reader.corrupt(PER_SECOND, "it is not a limit"))?,
        next_at: reader.ticks(NEXT)?,
    })
}

/// When the item of a slot or seat that ends at an instant may be removed.
pub(crate) fn expiry(from: DateTime<Utc>) -> AttributeValue {
    let at = from.checked_add_signed(KEPT_FOR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    number(at.timestamp())
}
