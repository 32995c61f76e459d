//! Brakes: one item for each origin whose last call had no answer. Others have none.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | count a call without an answer | there is no item, or it is not forgotten | a count |
//! | begin to count anew | none: what was there is forgotten | the same |
//! | take a call | it is due | a call that nothing makes; the next one is due half a minute later |
//! | release the brake | none | nothing |
//!
//! All items are in one partition, so that a process reads them with one request. An item expires when it is
//! forgotten.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::SharedBrake;
use minutehand_ports::store::PageRequest;
use minutehand_ports::{Brakes, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, Reader, number, ticks};
use crate::table::{Consistency, List, MeteredCall, Write, WriteOutcome, keys};

/// How many calls in a row had no answer.
const UNANSWERED: &str = "unanswered";
/// When the next call is due.
const NEXT: &str = "next_at";
/// When the item is forgotten.
const UNTIL: &str = "forgotten_at";
/// The most origins that are read.
const READ_MAX: u32 = 1_000;

#[async_trait]
impl Brakes for DynamoStore {
    async fn read_brakes(&self) -> Result<Vec<(String, SharedBrake)>, StoreError> {
        let list = List {
            call: Some(MeteredCall::ReadBrakes),
            consistency: Consistency::Eventual,
            ..List::new(keys::BRAKES.to_owned(), "")
        };
        let page = PageRequest { from: None, items_max: READ_MAX };
        let page = list.page(&self.table, page).await?;
        let read = |item: &Item| Ok((Reader::new(item).text("sk")?.to_owned(), read(item)?));
        page.items.iter().map(read).collect()
    }

    async fn count_unanswered(
        &self,
        origin: &str,
        now: DateTime<Utc>,
    ) -> Result<SharedBrake, StoreError> {
        let first = SharedBrake::first(now);
        let one_more = format!("if_not_exists({UNANSWERED}, :none) + :one");
        let set = |counted: &str, next: &str| {
            let set = format!("SET {UNANSWERED} = {counted}, {NEXT} = {next}, {UNTIL} = :until");
            Write::update(keys::brake(origin), format!("{set}, expires_at = :expires"))
                .with(":one", number(1))
                .with(":next", ticks(first.next_at))
                .with(":until", ticks(first.until))
                .with(":expires", number(first.until.timestamp()))
        };
        let count = set(&one_more, &format!("if_not_exists({NEXT}, :next)"))
            .when(format!("attribute_not_exists(pk) OR {UNTIL} >= :now"))
            .with(":none", number(0))
            .with(":now", ticks(now));
        if let Some(item) = self.table.update_returning(MeteredCall::Brakes, count).await? {
            return read(&item);
        }
        self.table.write(MeteredCall::Brakes, set(":one", ":next")).await?;
        Ok(first)
    }

    async fn take_call(&self, origin: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let next_at = SharedBrake::first(now).called(now).next_at;
        let write = Write::update(keys::brake(origin), format!("SET {NEXT} = :next"))
            .when(format!("{NEXT} <= :now"))
            .with(":next", ticks(next_at))
            .with(":now", ticks(now));
        let outcome = self.table.write(MeteredCall::Brakes, write).await?;
        // Without an item, the origin has answered.
        Ok(matches!(outcome, WriteOutcome::Done | WriteOutcome::ConditionFailed(None)))
    }

    async fn release_brake(&self, origin: &str) -> Result<(), StoreError> {
        let write = Write::delete(keys::brake(origin));
        self.table.write(MeteredCall::Brakes, write).await.map(drop)
    }
}

fn read(item: &Item) -> Result<SharedBrake, StoreError> {
    let reader = Reader::new(item);
    Ok(SharedBrake {
        unanswered: reader.number(UNANSWERED)?,
        next_at: reader.ticks(NEXT)?,
        until: reader.ticks(UNTIL)?,
    })
}
