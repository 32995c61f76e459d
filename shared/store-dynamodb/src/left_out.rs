//! Occurrences that were left out: one item for all that an outage cost a job, or for one that the
//! job's policies cost.
//!
//! Every process that leaves one of them out writes the item, under the first of them, unless another
//! one has written that more were left out. It is an update, so that a sweeper needs no other
//! permission than for moving timers.

use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::StoreError;

use crate::table::item::{Item, Reader, number, text, ticks};
use crate::table::{Write, keys};

pub(crate) fn write(job_uid: &str, left_out: &LeftOut, history: HistoryDays) -> Write {
    let LeftOut { generation, first, last, occurrences, reason, at } = left_out;
    let why = match reason {
        LeftOutReason::Outage(_) => "outage_from = :from, outage_until = :until",
        LeftOutReason::TooLate | LeftOutReason::Overlap | LeftOutReason::NotWatched => {
            "left_for = :reason"
        }
    };
    let set = format!(
        "SET generation = :generation, left_first = :first, left_last = :last, \
         occurrences = :occurrences, left_at = :at, expires_at = :expires, {why}"
    );
    let outage = reason.outage();
    Write::update(keys::left_out(job_uid, *first, *generation, *reason), set)
        .when("attribute_not_exists(pk) OR left_last < :last")
        .with(":generation", number(*generation))
        .with(":first", ticks(*first))
        .with(":last", ticks(*last))
        .with(":occurrences", number(*occurrences))
        .with(":at", ticks(*at))
        .with(":expires", number(history.kept_until(*at).timestamp()))
        .maybe(":from", outage.map(|outage| number(outage.from.timestamp())))
        .maybe(":until", outage.map(|outage| number(outage.until.timestamp())))
        .maybe(":reason", outage.is_none().then(|| text(reason.name())))
}

pub(crate) fn read(item: &Item) -> Result<LeftOut, StoreError> {
    let reader = Reader::new(item);
    Ok(LeftOut {
        generation: reader.number("generation")?,
        first: reader.ticks("left_first")?,
        last: reader.ticks("left_last")?,
        occurrences: reader.number("occurrences")?,
        reason: match reader.optional_text("left_for")? {
            None => LeftOutReason::Outage(Outage {
                from: reader.second("outage_from")?,
                until: reader.second("outage_until")?,
            }),
            Some(name) => LeftOutReason::named(name)
                .ok_or_else(|| reader.corrupt("left_for", "it is not a known reason"))?,
        },
        at: reader.ticks("left_at")?,
    })
}
