//! What moves an installation: lists of what it has, and what comes from another one.
//!
//! See `carry` for the order in which things are brought, and for what a crash leaves. Lists are read
//! beside the writes, and an import waits for everything else.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::ids::{hex, unhex};
use minutehand_domain::name::PathSegment;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Brought, Carried, CloudServiceRecord, CollectionRecord, CollectionStanding, Found, JobRecord,
    LongRetry, Page, PageRequest, Part,
};
use minutehand_ports::{Browse, CloudServices, Collections, Installation, Jobs, StoreError};

use crate::script::{Row, Statement, Value};
use crate::sql::{jobs as sql, other};
use crate::store::{SqlStore, background, changes, page_of, rows_of};
use crate::timers::{SHARDS, read_retry};
use crate::value::{Columns, id, params};
use crate::{collections, jobs, other as services};

#[async_trait]
impl Installation for SqlStore {
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        Browse::subscriptions(self, page).await
    }

    fn timer_shards(&self) -> u32 {
        SHARDS
    }

    async fn part(
        &self,
        part: &Part,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Found>, StoreError> {
        let items_max = page.items_max;
        Ok(match part {
            Part::CloudServices(subscription) => {
                let rows = self.service_rows(subscription, page).await?;
                let read = |row| services::read_service(row).map(Carried::CloudService);
                found(rows, items_max, services::position, read)
            }
            Part::Collections(subscription) => {
                let rows = self.collection_rows(subscription, None, page).await?;
                let carried = |record| Carried::Collection(Box::new(record));
                found(rows, items_max, collections::position, |row| {
                    collections::read(row).map(carried)
                })
            }
            Part::Jobs(collection_uid) => {
                let rows = self.job_rows(collection_uid, "", now, page).await?;
                found(rows, items_max, jobs::position, |row| {
                    let job = Box::new(jobs::read(&mut Columns::new("jobs", row))?);
                    Ok(Carried::Job { collection_uid: collection_uid.clone(), job })
                })
            }
            Part::Retries(_) => {
                let from = page.from.unwrap_or_default();
                let behind = read_position(&from).ok_or_else(StoreError::no_position)?;
                let parameters = params![..behind, rows_of(items_max)];
                let rows = self.read(sql::ALL_RETRIES, parameters).await?;
                found(rows, items_max, write_position, |row| read_long(row).map(Carried::Retry))
            }
        })
    }

    async fn standing(&self, record: &CollectionRecord) -> Result<CollectionStanding, StoreError> {
        let uid = &record.collection.uid;
        let path = |it: &CollectionRecord| it.place.collection_path(&it.collection.name);
        let named = Collections::find(self, &record.place, &record.collection.name).await?;
        if let Some(named) = named {
            return Ok(if named.collection.uid == *uid {
                CollectionStanding::Same
            } else {
                CollectionStanding::Taken(path(&named).to_string())
            });
        }
        if let Some(elsewhere) = self.collection_of_uid(uid).await? {
            return Ok(CollectionStanding::Taken(path(&elsewhere).to_string()));
        }
        let purge = self.read_one(sql::PURGE, params![id(uid)]).await?;
        Ok(purge.map_or(CollectionStanding::Free, |_| CollectionStanding::BeingRemoved))
    }

    async fn bring_cloud_service(
        &self,
        service: &CloudServiceRecord,
    ) -> Result<Brought, StoreError> {
        let create = changes(other::CREATE_SERVICE, services::write_service(service));
        if self.does(background(vec![create])).await? {
            return Ok(Brought::Kept);
        }
        let found = CloudServices::find(self, &service.place).await?;
        let is_same = found.is_some_and(|found| found.uid == service.uid);
        Ok(if is_same { Brought::Already } else { Brought::Taken })
    }

    async fn bring_job(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Brought, StoreError> {
        let statements = vec![
            changes(sql::CREATE_JOB, jobs::definition(collection_uid, job)),
            changes(sql::CREATE_TIMER, jobs::timer(collection_uid, job)),
        ];
        if self.does(background(statements)).await? {
            return Ok(Brought::Kept);
        }
        let found = Jobs::find(self, collection_uid, &job.name).await?;
        let is_same = found.is_some_and(|found| found.uid == job.uid);
        Ok(if is_same { Brought::Already } else { Brought::Taken })
    }

    async fn import_under_way(&self) -> Result<Option<String>, StoreError> {
        let row = self.read_one(other::IMPORT, Vec::new()).await?;
        row.map(|row| Columns::new("imports", row).next()).transpose()
    }

    async fn begin_import(&self, export_id: &str, in_place: bool) -> Result<bool, StoreError> {
        let begin = changes(other::BEGIN_IMPORT, params![export_id, in_place]);
        self.does(background(vec![begin])).await
    }

    async fn end_import(&self, export_id: &str) -> Result<(), StoreError> {
        let end = Statement::new(other::END_IMPORT, params![export_id]);
        self.perform(background(vec![end])).await.map(drop)
    }
}

/// A page of what was found. What cannot be read is named, and does not hide the rest.
fn found(
    rows: Vec<Row>,
    items_max: u32,
    position: fn(&[Value]) -> String,
    read: impl Fn(Row) -> Result<Carried, StoreError>,
) -> Page<Found> {
    let found = |row: Row| {
        let position = position(&row);
        let found = read(row).map_or_else(
            |error| {
                tracing::error!(%error, "a row cannot be read, and is not exported");
                Found::Unreadable(match error {
                    StoreError::Corrupt { key, .. } => key,
                    other => other.to_string(),
                })
            },
            Found::Carried,
        );
        (position, found)
    };
    let page = page_of(rows.into_iter().map(found).collect(), items_max, |(position, _)| {
        String::clone(position)
    });
    Page { items: page.items.into_iter().map(|(_, found)| found).collect(), next: page.next }
}

fn read_long(row: Row) -> Result<LongRetry, StoreError> {
    let mut row = Columns::new("retries", row);
    let (uid, key): (_, String) = (row.id()?, row.next()?);
    let (due_at, policy, asked_by) = (row.next()?, row.next()?, row.next()?);
    let job = JobRef { uid, collection_uid: row.id()?, key: row.next()? };
    let attempt = read_retry(&key, due_at, (policy, asked_by));
    Ok(LongRetry { job, attempt: attempt.ok_or_else(|| row.corrupt("it is not an attempt"))? })
}

/// The position of a retry: the id of its job, and its attempt.
fn write_position(row: &[Value]) -> String {
    match row {
        [Value::Bytes(uid), Value::Text(attempt), ..] => format!("{} {attempt}", hex(uid)),
        _ => String::new(),
    }
}

fn read_position(text: &str) -> Option<Vec<Value>> {
    if text.is_empty() {
        return Some(params![Vec::new(), ""]);
    }
    let (uid, attempt) = text.split_once(' ')?;
    Some(params![unhex(uid)?, attempt])
}
