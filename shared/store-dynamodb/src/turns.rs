//! Turns: one item for each job that lets no attempts overlap, with the attempt that has the turn and
//! those that wait. Other jobs have none.
//!
//! An attempt that ends does not change the item, so a firing writes it once. Whether the attempt with
//! the turn has ended is in that attempt's own item. It is read after the order: of what was read before
//! the order, the order could be newer.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | take the turn | the order has the number that was read | a turn that ends with its lease |
//! | get or keep a place | the same | a place that is given up after some minutes |
//! | leave an occurrence out, with its row | the same | the row, from which every worker knows it |
//! | give a turn back | the claim has it | nothing |
//!

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{LeftOutReason, TurnHolder, TurnOrder, Waiter};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::tick::{from_ticks, ticks as to_ticks};
use minutehand_ports::store::{Claim, OwnAttempt, TurnsRead, TurnsWrite};
use minutehand_ports::{StoreError, Turns};

use crate::attempts;
use crate::left_out;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::table::keys::{self, Key};
use crate::table::{Consistency, MeteredCall, Write};
use minutehand_domain::attempt_key::{attempt_key, read_attempt};

/// The number of the order.
const NUMBER: &str = "turns";
/// The attempt that has the turn.
const TURN: &str = "turn";
/// Those that wait: of each the instant until which it keeps its place, a space, and the attempt.
const WAITING: &str = "waiting";

#[async_trait]
impl Turns for DynamoStore {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        let call = Some(MeteredCall::ReadTurns);
        let stored = self.table.get_for(call, keys::turns(job_uid)).await?;
        let (number, mut order) = stored.as_ref().map(read).transpose()?.unwrap_or_default();
        let holder = order.holder.as_ref().map(|holder| keys::execution(job_uid, &holder.attempt));
        let (own, row) = (keys::execution(job_uid, attempt), row(job_uid, attempt));
        let wanted = [Some(own.clone()), Some(row.clone()), holder.clone()];
        let wanted = wanted.into_iter().flatten();
        let items = self.table.get_many(call, Consistency::Strong, wanted).await?;
        if let Some(Some(item)) = holder.map(|key| items.get(&key))
            && attempts::read(item)?.record.is_some()
        {
            order.holder = None;
        }
        let own = match items.get(&own).map(attempts::read).transpose()? {
            // No worker has it, so it is as it was before.
            Some(entry) if entry.waits => OwnAttempt::New,
            Some(entry) => entry.record.map_or(OwnAttempt::Begun, OwnAttempt::Ended),
            None if items.contains_key(&row) => OwnAttempt::LeftOut,
            None => OwnAttempt::New,
        };
        Ok(TurnsRead { number, order, own })
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        let put = self.put(write);
        if let Some(left_out) = &write.left_out {
            let writes = vec![put, left_out::write(&write.job_uid, left_out, self.history)];
            return self.table.write_together(MeteredCall::Turns, writes).await;
        }
        self.table.does(MeteredCall::Turns, put).await
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        let write = Write::update(
            keys::turns(&claim.job.uid),
            format!("SET {NUMBER} = {NUMBER} + :one REMOVE {TURN}, claim_id"),
        )
        .when("claim_id = :mine")
        .with(":one", number(1))
        .with(":mine", text(&claim.claim_id));
        // A turn that the caller no longer has need not be given back.
        self.table.write(MeteredCall::Turns, write).await.map(drop)
    }
}

/// Keeps the turn of an attempt that is left open. What was decided on the order before it is decided anew.
pub(crate) fn keep(claim: &Claim, until: DateTime<Utc>, history: HistoryDays) -> Write {
    Write::update(
        keys::turns(&claim.job.uid),
        format!("SET {NUMBER} = {NUMBER} + :one, lease_until = :until, expires_at = :expires"),
    )
    .when("claim_id = :mine")
    .with(":one", number(1))
    .with(":mine", text(&claim.claim_id))
    .with(":until", ticks(until))
    .with(":expires", attempts::expiry(until, history))
}

impl DynamoStore {
    fn put(&self, write: &TurnsWrite) -> Write {
        let TurnsWrite { job_uid, as_read, order: TurnOrder { holder, waiting }, .. } = write;
        let ends = holder.iter().map(|holder| holder.lease_until);
        let ends = ends.chain(waiting.iter().map(|waiter| waiter.until));
        let ends = ends.max().unwrap_or(DateTime::UNIX_EPOCH);
        let expires_at = self.history.kept_until(ends);
        let mut item = ItemBuilder::at(keys::turns(job_uid))
            .number(NUMBER, as_read.saturating_add(1))
            // Leases are on the clock of work, and so the item expires on that clock.
            .set("lease_until", ticks(ends))
            .number("expires_at", expires_at.timestamp());
        if let Some(TurnHolder { attempt, claim_id, lease_until }) = holder {
            item = item
                .text(TURN, attempt_key(attempt))
                .text("claim_id", claim_id)
                .set("lease_until", ticks(*lease_until));
        }
        if !waiting.is_empty() {
            item = item.set(WAITING, AttributeValue::L(waiting.iter().map(write_waiter).collect()));
        }
        Write::put(item).when_as_read(NUMBER, *as_read)
    }
}

/// The row that says that the occurrence of an attempt was left out for another one.
fn row(job_uid: &str, attempt: &Attempt) -> Key {
    let nominal_at = attempt.occurrence.nominal_at();
    keys::left_out(job_uid, nominal_at, attempt.generation, LeftOutReason::Overlap)
}

fn read(item: &Item) -> Result<(u64, TurnOrder), StoreError> {
    let reader = Reader::new(item);
    let holder = reader.optional_text(TURN)?.map(|turn| {
        let attempt = read_attempt(turn, None);
        Ok(TurnHolder {
            attempt: attempt.ok_or_else(|| reader.corrupt(TURN, "it is not an attempt"))?,
            claim_id: reader.text("claim_id")?.to_owned(),
            lease_until: reader.ticks("lease_until")?,
        })
    });
    let waiting = match reader.value(WAITING) {
        None => Some(Vec::new()),
        Some(AttributeValue::L(waiting)) => waiting.iter().map(read_waiter).collect(),
        Some(_) => None,
    };
    let waiting = waiting.ok_or_else(|| reader.corrupt(WAITING, "they are not attempts"))?;
    Ok((reader.number(NUMBER)?, TurnOrder { holder: holder.transpose()?, waiting }))
}

fn write_waiter(Waiter { attempt, until }: &Waiter) -> AttributeValue {
    text(format!("{} {}", to_ticks(*until), attempt_key(attempt)))
}

fn read_waiter(value: &AttributeValue) -> Option<Waiter> {
    let (until, attempt) = value.as_s().ok()?.split_once(' ')?;
    let until = from_ticks(until.parse().ok()?)?;
    Some(Waiter { attempt: read_attempt(attempt, None)?, until })
}
