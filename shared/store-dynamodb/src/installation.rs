//! What moves an installation: lists of what it has, and what comes from another one.
//!
//! See `carry` for the order in which things are brought, and for what a crash leaves.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::name::PathSegment;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Brought, Carried, CloudServiceRecord, CollectionRecord, CollectionStanding, DueTimer, Found,
    JobRecord, LongRetry, Page, PageRequest, Part,
};
use minutehand_ports::{Collections, Installation, StoreError};

use crate::browse::read_subscription;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, text};
use crate::table::keys::{self, CLOUD_SERVICES, COLLECTIONS, JOBS, REGISTRY, SHARDS};
use crate::table::{Consistency, List, MeteredCall, Write, read_page};
use crate::timers::read_job;
use crate::{cloud_services, collections, jobs};

/// Of an import: which export it brings.
const EXPORT: &str = "export_id";

#[async_trait]
impl Installation for DynamoStore {
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        let list = List::new(REGISTRY.to_owned(), "");
        read_page(list.page(&self.table, page).await?, read_subscription)
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
        let list =
            |pk, prefix| List { alive_at: Some(number(now.timestamp())), ..List::new(pk, prefix) };
        let (items, next) = match part {
            Part::CloudServices(subscription) => {
                let list = list(keys::subscription(subscription), CLOUD_SERVICES);
                let page = list.page(&self.table, page).await?;
                let read = |item| {
                    read_or_name(cloud_services::read(item).map(Carried::CloudService), item)
                };
                (page.items.iter().map(read).collect(), page.next)
            }
            Part::Collections(subscription) => {
                let list = list(keys::subscription(subscription), COLLECTIONS);
                let page = list.page(&self.table, page).await?;
                let carried = |record| Carried::Collection(Box::new(record));
                let read = |item| read_or_name(collections::read(item).map(carried), item);
                (page.items.iter().map(read).collect(), page.next)
            }
            Part::Jobs(collection_uid) => {
                let list = list(keys::inside(collection_uid), JOBS);
                let page = list.page(&self.table, page).await?;
                (self.found_jobs(&page.items).await?, page.next)
            }
            Part::Retries(shard) => {
                let until = DateTime::<Utc>::MAX_UTC;
                let page = self.due_timers(MeteredCall::Due, *shard, until, page).await?;
                let retries = page.items.into_iter().filter_map(|due| match due.what {
                    DueTimer::Retry { job, attempt } => {
                        Some(Found::Carried(Carried::Retry(LongRetry { job, attempt })))
                    }
                    DueTimer::Job(_) | DueTimer::Purge { .. } => None,
                });
                (retries.collect(), page.next)
            }
        };
        Ok(Page { items, next })
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
        let purge = self.table.get(keys::purge(uid)).await?;
        Ok(purge.map_or(CollectionStanding::Free, |_| CollectionStanding::BeingRemoved))
    }

    async fn bring_cloud_service(
        &self,
        service: &CloudServiceRecord,
    ) -> Result<Brought, StoreError> {
        let put = put_new(cloud_services::write(service));
        if self.table.write_together(MeteredCall::Change, vec![put]).await? {
            return Ok(Brought::Kept);
        }
        let found = minutehand_ports::CloudServices::find(self, &service.place).await?;
        let is_same = found.is_some_and(|found| found.uid == service.uid);
        Ok(if is_same { Brought::Already } else { Brought::Taken })
    }

    async fn bring_job(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Brought, StoreError> {
        let puts = [jobs::definition(collection_uid, job), jobs::timer(collection_uid, job)];
        let puts = puts.map(put_new).into();
        if self.table.write_together(MeteredCall::Change, puts).await? {
            return Ok(Brought::Kept);
        }
        let found = self.table.get(keys::job(collection_uid, &job.name)).await?;
        let uid = found.as_ref().map(|found| Reader::new(found).text("uid")).transpose()?;
        Ok(if uid == Some(&job.uid) { Brought::Already } else { Brought::Taken })
    }

    async fn import_under_way(&self) -> Result<Option<String>, StoreError> {
        let found = self.table.get(keys::import()).await?;
        found.map(|found| Reader::new(&found).text(EXPORT).map(str::to_owned)).transpose()
    }

    async fn begin_import(&self, export_id: &str, in_place: bool) -> Result<bool, StoreError> {
        let mut write = Write::put(ItemBuilder::at(keys::import()).text(EXPORT, export_id));
        if !in_place {
            write = write
                .when(format!("attribute_not_exists(pk) OR {EXPORT} = :export"))
                .with(":export", text(export_id));
        }
        self.table.does(MeteredCall::Change, write).await
    }

    async fn end_import(&self, export_id: &str) -> Result<(), StoreError> {
        let write = Write::delete(keys::import())
            .when(format!("{EXPORT} = :export"))
            .with(":export", text(export_id));
        self.table.write(MeteredCall::Change, write).await.map(drop)
    }
}

impl DynamoStore {
    /// Jobs with their timers.
    async fn found_jobs(&self, definitions: &[Item]) -> Result<Vec<Found>, StoreError> {
        let uids = definitions.iter().filter_map(|it| Reader::new(it).text("uid").ok());
        let wanted: Vec<_> = uids.map(keys::timer).collect();
        let timers = self.table.get_many(None, Consistency::Strong, wanted).await?;
        let read = |definition: &Item| {
            let read = match Reader::new(definition).text("uid") {
                // A job whose timer is gone was deleted between the two reads.
                Ok(uid) => read_carried_job(definition, timers.get(&keys::timer(uid))?),
                Err(error) => Err(error),
            };
            Some(read_or_name(read, definition))
        };
        Ok(definitions.iter().filter_map(read).collect())
    }
}

/// The put of an item that must not exist.
fn put_new(item: ItemBuilder) -> Write {
    Write::put(item).when("attribute_not_exists(pk)")
}

fn read_carried_job(definition: &Item, timer: &Item) -> Result<Carried, StoreError> {
    let job = Box::new(jobs::read(definition, timer)?);
    let reader = Reader::new(timer);
    let JobRef { uid, collection_uid, key } = read_job(&reader)?;
    if uid != job.uid || key != job.name.key() {
        return Err(reader.corrupt("pk", "it is the timer of another job"));
    }
    Ok(Carried::Job { collection_uid, job })
}

fn read_or_name(read: Result<Carried, StoreError>, item: &Item) -> Found {
    read.map_or_else(
        |error| {
            let part = |name| Reader::new(item).text(name).unwrap_or("?").to_owned();
            let key = format!("{} / {}", part("pk"), part("sk"));
            tracing::error!(%error, "an item cannot be read, and is not exported");
            Found::Unreadable(key)
        },
        Found::Carried,
    )
}
