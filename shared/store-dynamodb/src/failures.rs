//! Occurrences that failed for good: one item for each, in the partition of its subscription and the day
//! of its end, so that a list reads only days.
//!
//! The executor puts the item after the record of the last attempt. The key is made from the record, so
//! to put it again changes nothing. A crash in between leaves no item, until the message is delivered
//! again.

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::cause::Cause;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::StoreError;

use crate::collections::{PATH, read_path};
use crate::table::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::table::{Write, keys};

pub(crate) fn write(failed: &FailedOccurrence, history: HistoryDays) -> Write {
    let FailedOccurrence { job_uid, collection_path, nominal_at, ended_at, .. } = failed;
    let at = keys::failure(collection_path.subscription(), [*ended_at, *nominal_at], job_uid);
    let item = ItemBuilder::at(at)
        .text("job_uid", job_uid)
        .text(PATH, collection_path.as_str())
        .text("name", &failed.job)
        .set("nominal_at", ticks(*nominal_at))
        .maybe("run", failed.is_run.then_some(AttributeValue::Bool(true)))
        .number("attempts", failed.attempts)
        .set("ended_at", ticks(*ended_at))
        .text("message", &failed.message)
        .maybe("target", failed.target.as_ref().map(text))
        .maybe("cause", failed.cause.as_ref().map(|cause| text(cause.to_stored())))
        .maybe("said", failed.said.as_ref().map(text))
        .set("expires_at", number(history.kept_until(*ended_at).timestamp()));
    Write::put(item)
}

pub(crate) fn read(item: &Item) -> Result<FailedOccurrence, StoreError> {
    let reader = Reader::new(item);
    let owned = |name: &str| reader.text(name).map(str::to_owned);
    Ok(FailedOccurrence {
        job_uid: owned("job_uid")?,
        collection_path: read_path(&reader)?,
        job: owned("name")?,
        nominal_at: reader.ticks("nominal_at")?,
        is_run: reader.is_set("run")?,
        attempts: reader.number("attempts")?,
        ended_at: reader.ticks("ended_at")?,
        cause: reader.optional_text("cause")?.and_then(Cause::read_stored),
        said: reader.optional_text("said")?.map(str::to_owned),
        message: owned("message")?,
        target: reader.optional_text("target")?.map(str::to_owned),
    })
}
