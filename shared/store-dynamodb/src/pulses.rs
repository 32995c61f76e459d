//! The pulses: one item with the last beat and the outages of sweepers and of workers.
//!
//! An outage is two instants in seconds with a slash between them. A space separates outages. Forty of
//! them fit into one write unit.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::{Outage, Pulse};
use minutehand_domain::history_days::HistoryPast;
use minutehand_ports::store::{PulseOf, PulseRecord};
use minutehand_ports::{Pulses, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, Reader, text, ticks};
use crate::table::{MeteredCall, Write, keys};

/// Until when workers kept history for a shorter time.
const HISTORY: &str = "workers_history";

/// The attributes of one pulse that have its last beat, and its outages.
const fn names(of: PulseOf) -> [&'static str; 2] {
    match of {
        PulseOf::Sweepers => ["sweepers_at", "sweepers_outages"],
        PulseOf::Workers => ["workers_at", "workers_outages"],
    }
}

#[async_trait]
impl Pulses for DynamoStore {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        let Some(item) = self.table.get(keys::pulse()).await? else {
            return Ok(PulseRecord::default());
        };
        read_both(&item)
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        let [beat_at, outages] = names(of);
        let now = pulse.beat_at.map_or(AttributeValue::Null(true), ticks);
        let set = format!("SET {beat_at} = :now, {outages} = :outages");
        let past = Some(pulse.history.to_string()).filter(|past| !past.is_empty());
        let history = (of == PulseOf::Workers).then(|| (HISTORY, past.map(text)));
        let write = Write::update_with(keys::pulse(), &set, history)
            .with(":now", now)
            .with(":outages", text(write(&pulse.outages)));
        let write = match as_read {
            Some(seen) => write.when(format!("{beat_at} = :seen")).with(":seen", ticks(seen)),
            None => write.when(format!("attribute_not_exists({beat_at})")),
        };
        self.table.does(MeteredCall::Beat, write).await
    }
}

/// Reads both pulses.
pub(crate) fn read_both(item: &Item) -> Result<PulseRecord, StoreError> {
    let reader = Reader::new(item);
    Ok(PulseRecord {
        sweepers: read(&reader, PulseOf::Sweepers)?,
        workers: read(&reader, PulseOf::Workers)?,
    })
}

fn read(reader: &Reader<'_>, of: PulseOf) -> Result<Pulse, StoreError> {
    let [beat_at, outages] = names(of);
    let written = reader.optional_text(outages)?.unwrap_or_default().split_whitespace();
    let instant = |text: &str| DateTime::from_timestamp(text.parse().ok()?, 0);
    let outage = |text: &str| {
        let (from, until) = text.rsplit_once('/')?;
        Some(Outage { from: instant(from)?, until: instant(until)? })
    };
    let known: Option<Vec<Outage>> = written.map(outage).collect();
    Ok(Pulse {
        beat_at: reader.optional_ticks(beat_at)?,
        outages: known.ok_or_else(|| reader.corrupt(outages, "it is not a list of outages"))?,
        history: match of {
            PulseOf::Sweepers => HistoryPast::default(),
            PulseOf::Workers => reader
                .optional_text(HISTORY)?
                .unwrap_or_default()
                .parse()
                .map_err(|_| reader.corrupt(HISTORY, "it is not a list of settings"))?,
        },
    })
}

fn write(outages: &[Outage]) -> String {
    let written = outages
        .iter()
        .map(|Outage { from, until }| format!("{}/{}", from.timestamp(), until.timestamp()));
    written.collect::<Vec<_>>().join(" ")
}
