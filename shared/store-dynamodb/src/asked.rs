//! Runs that were asked for under a key: an item each, in the partition of the job's timer.

use minutehand_ports::StoreError;
use minutehand_ports::store::AskedRun;

use crate::attributes::{ASKED_BY, EXPIRES_AT};
use crate::table::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::table::{Write, keys};

/// Keeps a run, unless another one is kept that has not expired.
pub(crate) fn keep(job_uid: &str, asked: &AskedRun, instead_of: Option<&str>, now: i64) -> Write {
    let AskedRun { key, generation, asked_at, run_id, asked_by, expires_at } = asked;
    let item = ItemBuilder::at(keys::asked(job_uid, key))
        .text("asked_key", key)
        .number("generation", generation)
        .set("asked_at", ticks(*asked_at))
        .text("run_id", run_id)
        .maybe(ASKED_BY, asked_by.as_deref().map(text))
        .number(EXPIRES_AT, expires_at.timestamp());
    let condition =
        "attribute_not_exists(pk) OR expires_at <= :now OR run_id = :instead OR run_id = :run";
    Write::put(item)
        .when(condition)
        .with(":now", number(now))
        .with(":run", text(run_id))
        .with(":instead", text(instead_of.unwrap_or(run_id)))
}

pub(crate) fn read(item: &Item) -> Result<AskedRun, StoreError> {
    let reader = Reader::new(item);
    Ok(AskedRun {
        key: reader.text("asked_key")?.to_owned(),
        generation: reader.number("generation")?,
        asked_at: reader.ticks("asked_at")?,
        run_id: reader.text("run_id")?.to_owned(),
        asked_by: reader.optional_text(ASKED_BY)?.map(str::to_owned),
        expires_at: reader.second(EXPIRES_AT)?,
    })
}
