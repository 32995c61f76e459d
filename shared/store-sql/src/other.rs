//! Cloud services, pulses, the test of the disk, and the removal of the jobs of deleted collections.
//!
//! A purge does nothing while the collection is there, which is so only if another program sent the
//! message. Each script of a purge removes some jobs with their timers; the row that asks for the purge
//! goes with the last of them. Retry timers and claims find their job gone when they are due. History
//! expires by itself.
//!
//! An outage is two instants in seconds with a slash between them. A space separates outages.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::{Outage, Pulse};
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::{
    CloudServiceRecord, Page, PageRequest, PulseOf, PulseRecord, ResourceGroup, Saved,
};
use minutehand_ports::{CloudServices, Disk, Pulses, Removal, StoreError};

use crate::database::DatabaseError;
use crate::script::{Need, Row, ScriptOutcome, Statement, Value};
use crate::sql::{jobs, other as sql, pings};
use crate::store::{SqlStore, background, changes, page_of, rest, rows_of};
use crate::value::{Columns, id, params};

/// The jobs that one call purges.
const PURGED_MAX: u32 = 100;

#[async_trait]
impl CloudServices for SqlStore {
    async fn find(&self, place: &ResourceGroup) -> Result<Option<CloudServiceRecord>, StoreError> {
        let parameters = params![place.subscription.key(), place.group.key()];
        self.read_one(sql::SERVICE, parameters).await?.map(read_service).transpose()
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CloudServiceRecord>, StoreError> {
        let items_max = page.items_max;
        let rows = self.service_rows(subscription, page).await?;
        let items = rows.into_iter().map(read_service).collect::<Result<_, _>>()?;
        Ok(page_of(items, items_max, |last: &CloudServiceRecord| last.place.group.key()))
    }

    async fn save(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let text = if service.version <= 1 { sql::CREATE_SERVICE } else { sql::REPLACE_SERVICE };
        self.saves(rest("", vec![changes(text, write_service(service))])).await
    }

    async fn delete(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let CloudServiceRecord { place, uid, version, .. } = service;
        let parameters = params![place.subscription.key(), place.group.key(), id(uid), *version];
        self.saves(rest("", vec![changes(sql::DELETE_SERVICE, parameters)])).await
    }
}

impl SqlStore {
    /// A page of the cloud services of a subscription, as rows, and one more.
    pub(crate) async fn service_rows(
        &self,
        subscription: &PathSegment,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Vec<Row>, StoreError> {
        let parameters = params![subscription.key(), from.unwrap_or_default(), rows_of(items_max)];
        self.read(sql::SERVICES, parameters).await
    }
}

pub(crate) fn write_service(service: &CloudServiceRecord) -> Vec<Value> {
    let CloudServiceRecord { place, uid, label, description, region, version } = service;
    params![
        place.subscription.key(),
        place.group.key(),
        id(uid),
        place.subscription.as_str(),
        place.group.as_str(),
        label.as_str(),
        description.as_str(),
        region.as_str(),
        *version,
    ]
}

/// The position of a cloud service in a list: its first column.
pub(crate) fn position(row: &[Value]) -> String {
    if let [Value::Text(group_key), ..] = row { group_key.clone() } else { String::new() }
}

pub(crate) fn read_service(row: Row) -> Result<CloudServiceRecord, StoreError> {
    let mut row = Columns::new("cloud_services", row);
    let _group_key: String = row.next()?;
    Ok(CloudServiceRecord {
        uid: row.id()?,
        place: row.resource_group()?,
        label: row.next()?,
        description: row.next()?,
        region: row.next()?,
        version: row.next()?,
    })
}

#[async_trait]
impl Pulses for SqlStore {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        let mut pulses = PulseRecord::default();
        for row in self.read(sql::PULSES, Vec::new()).await? {
            let mut row = Columns::new("pulses", row);
            let of: String = row.next()?;
            let pulse = read_pulse(&mut row)?;
            if of == name_of(PulseOf::Sweepers) {
                pulses.sweepers = pulse;
            } else {
                pulses.workers = pulse;
            }
        }
        Ok(pulses)
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        let outage = |it: &Outage| format!("{}/{}", it.from.timestamp(), it.until.timestamp());
        let outages: Vec<_> = pulse.outages.iter().map(outage).collect();
        let parameters =
            params![name_of(of), pulse.beat_at, outages.join(" "), pulse.history.to_string()];
        let beat = match as_read {
            Some(seen) => changes(sql::BEAT, params![..parameters, seen]),
            None => changes(sql::FIRST_BEAT, parameters),
        };
        self.does(rest("", vec![beat])).await
    }
}

const fn name_of(of: PulseOf) -> &'static str {
    match of {
        PulseOf::Sweepers => "sweepers",
        PulseOf::Workers => "workers",
    }
}

fn read_pulse(row: &mut Columns) -> Result<Pulse, StoreError> {
    let instant = |text: &str| DateTime::from_timestamp(text.parse().ok()?, 0);
    let outage = |text: &str| {
        let (from, until) = text.rsplit_once('/')?;
        Some(Outage { from: instant(from)?, until: instant(until)? })
    };
    Ok(Pulse {
        beat_at: row.next()?,
        outages: row
            .named("list of outages", |text| text.split_whitespace().map(outage).collect())?,
        history: row.named("list of settings", |text| text.parse().ok())?,
    })
}

/// The disk is full or read-only.
#[derive(Debug, thiserror::Error)]
#[error("the disk refuses a write")]
struct NoWrites(#[source] DatabaseError);

/// A commit that changes nothing: a full or read-only disk refuses it, and still answers reads.
#[async_trait]
impl Disk for SqlStore {
    async fn accepts_writes(&self) -> Result<(), StoreError> {
        let write = Statement::new(sql::WRITE_AGAIN, Vec::new());
        match self.database().perform(background(vec![write])).await {
            Ok(_) => Ok(()),
            Err(error) => Err(StoreError::Unavailable(Box::new(NoWrites(error)))),
        }
    }
}

#[async_trait]
impl Removal for SqlStore {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        let uid = || id(collection_uid);
        let is_there = Statement::new(jobs::COLLECTION_PATH, params![uid()]).needs(Need::NoRow);
        let statements = vec![
            is_there,
            Statement::new(pings::PURGE_PING_KEYS, params![uid(), PURGED_MAX]),
            Statement::new(jobs::PURGE_TIMERS, params![uid(), PURGED_MAX]),
            Statement::new(jobs::PURGE_JOBS, params![uid(), PURGED_MAX]),
            Statement::new(jobs::END_PURGE, params![uid()]),
            Statement::new(jobs::ANY_JOB, params![uid()]),
        ];
        match self.perform(background(statements)).await? {
            ScriptOutcome::Done(rows) => Ok(rows.last().is_none_or(Vec::is_empty)),
            ScriptOutcome::Unmet { .. } => {
                tracing::warn!(
                    collection_uid,
                    "a collection that is there was to be purged; it stays"
                );
                Ok(true)
            }
        }
    }
}
