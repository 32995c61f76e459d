//! What an export of an installation carries: its collections with their jobs, its cloud services, and the
//! retries that wait.
//!
//! A line of an export is the items of one thing, as JSON. They are written and read by the same code as
//! the items of the table. What follows from something else is not carried: the switch of a collection,
//! the subscriptions in use, and what the index of timers has. Nor are attempts, journals, and what only
//! the processes of the source know: claims, turns, slots and seats.
//!
//! The walk lists subscriptions, collections and jobs, and reads the retries from the index of timers, so
//! it costs what there is of these, however long the history is. It is not of one moment: of what changes
//! meanwhile, each item is as it was when it was read.
//!
//! A cloud service is found with the collections of its subscription. If that never had one, it is not
//! found.
//!
//! To bring something again changes nothing:
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | begin an import | none is under way, or it is the same one | a table that says which import goes on |
//! | bring a cloud service | it does not exist | it |
//! | bring a collection, which is off | it does not exist | a collection whose jobs do not fire, and that counts more jobs than it has |
//! | bring a job | neither its definition nor its timer exists | the job |
//! | bring a retry | it does not exist | its timer, which fires only if its collection is on when it is due |
//! | end an import | it is the same one | nothing |

use std::collections::VecDeque;

use aws_sdk_dynamodb::types::Put;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use minutehand_archive::{BackupEntry, BackupLine};
use minutehand_domain::attempt::{Attempt, Then};
use minutehand_domain::firing::limits::LOOK_AGAIN;
use minutehand_domain::name::PathSegment;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CloudServiceRecord, CollectionRecord, DueTimer, HistoryEntry, JobRecord, LongRetry,
    PageRequest, Saved,
};
use minutehand_ports::{Collections, History, RetryTimers, StoreError};

use crate::browse::read_subscription;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, text};
use crate::table::keys::{
    self, CLOUD_SERVICES, COLLECTIONS, JOBS, REGISTRY, RETRIES, SHARDS, TIMERS,
};
use crate::table::{
    Consistency, JsonItem, List, MeteredCall, Write, WriteOutcome, transact_item as item,
};
use crate::timers::read_job;
use crate::{cloud_services, collections, jobs, retries};

/// The kinds of what is carried, in the order in which they are brought.
pub const CARRIED_KINDS: [&str; 4] = ["cloud-services", "collections", "jobs", "retries"];

/// Items that one request lists.
const PAGE_ITEMS: u32 = 100;
/// The newest attempts of a job that are looked at for a retry that waits in the queue.
const ATTEMPTS: u32 = 100;
/// How long after the beginning of an attempt its retry may wait in the queue: as long as a message may be
/// delayed, and some time for the attempt itself.
const WAITS_MAX: TimeDelta = LOOK_AGAIN;

/// Of an import: which export it brings.
const EXPORT: &str = "export_id";

/// Something that an export carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// A cloud service.
    CloudService(CloudServiceRecord),
    /// A collection.
    Collection(Box<CollectionRecord>),
    /// A job with its timer.
    Job {
        /// Its collection.
        collection_uid: String,
        /// The job.
        job: Box<JobRecord>,
    },
    /// A retry that waits, in a timer or in the queue.
    Retry(LongRetry),
}

/// Something that a walk has found.
#[derive(Debug)]
pub enum Found {
    /// It can be carried.
    Carried(Carried),
    /// It cannot be read. The text names its item.
    Unreadable(String),
}

/// What became of something that was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Brought {
    /// It is there now.
    Kept,
    /// It was there already.
    Already,
    /// Something else has its name. Nothing is changed.
    Taken,
}

/// What is there in the place of a collection that is to be brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionStanding {
    /// Nothing.
    Free,
    /// The collection itself.
    Same,
    /// Another collection of this name, or the collection itself under another name: at this path.
    Taken(String),
    /// The collection was deleted, and its jobs are still being removed.
    BeingRemoved,
}

impl Carried {
    /// Its kind, which is one of [`CARRIED_KINDS`].
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        let [services, collections, jobs, retries] = CARRIED_KINDS;
        match self {
            Self::CloudService(_) => services,
            Self::Collection(_) => collections,
            Self::Job { .. } => jobs,
            Self::Retry(_) => retries,
        }
    }

    /// Its secrets, sealed, if it has any, with the id for which they are sealed.
    #[must_use]
    pub fn sealed(&mut self) -> Option<(&str, &mut Vec<u8>)> {
        match self {
            Self::Collection(record) => {
                let CollectionRecord { collection, sealed, .. } = record.as_mut();
                Some((&collection.uid, sealed.as_mut()?))
            }
            Self::Job { job, .. } => {
                let JobRecord { uid, sealed, .. } = job.as_mut();
                Some((uid, sealed.as_mut()?))
            }
            Self::CloudService(_) | Self::Retry(_) => None,
        }
    }

    /// As a line of an export. The same thing makes the same line.
    ///
    /// # Errors
    ///
    /// If an attribute of an item is of a type that cannot be written as JSON.
    pub fn to_line(&self) -> Result<String, StoreError> {
        let items = match self {
            Self::CloudService(service) => vec![cloud_services::write(service)],
            Self::Collection(record) => vec![collections::write(record)],
            Self::Job { collection_uid, job } => {
                vec![jobs::definition(collection_uid, job), jobs::timer(collection_uid, job)]
            }
            Self::Retry(retry) => vec![retries::timer(retry).done()],
        };
        let items: Vec<JsonItem> = items.iter().map(JsonItem::of).collect::<Result<_, _>>()?;
        serde_json::to_string(&items).map_err(|error| StoreError::Refused(Box::new(error)))
    }

    /// As a line of a backup, with its secrets sealed as they are.
    ///
    /// # Errors
    ///
    /// As of [`to_line`](Self::to_line).
    pub fn to_backup_line(&mut self) -> Result<BackupLine, StoreError> {
        let has_secret = self.sealed().is_some();
        Ok(BackupLine { kind: self.kind(), text: self.to_line()?, has_secret })
    }

    /// Reads a line of an export, of one of the [kinds](CARRIED_KINDS).
    ///
    /// # Errors
    ///
    /// If it is none, or is damaged.
    pub fn read(kind: &str, line: &str) -> Result<Self, StoreError> {
        let refused = |why: &str| StoreError::Refused(why.into());
        let items: Vec<JsonItem> =
            serde_json::from_str(line).map_err(|error| StoreError::Refused(Box::new(error)))?;
        let items: Vec<Item> = items.iter().map(JsonItem::item).collect::<Result<_, _>>()?;
        let carried = match items.as_slice() {
            [definition, timer] => read_carried_job(definition, timer)?,
            [item] => {
                let reader = Reader::new(item);
                let (pk, sk) = (reader.text("pk")?, reader.text("sk")?);
                if pk.starts_with(TIMERS) && sk.starts_with(RETRIES) {
                    let (job, attempt) = (read_job(&reader)?, retries::read_retry(&reader)?);
                    Self::Retry(LongRetry { job, attempt })
                } else if sk.starts_with(CLOUD_SERVICES) {
                    Self::CloudService(cloud_services::read(item)?)
                } else {
                    Self::Collection(Box::new(collections::read(item)?))
                }
            }
            _ => return Err(refused("a line has one item or two")),
        };
        if carried.kind() == kind { Ok(carried) } else { Err(refused("it is of another kind")) }
    }
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

impl DynamoStore {
    /// Walks over everything that an export carries: first all collections, then all jobs, and then the
    /// retries. What has expired is left out.
    #[must_use]
    pub fn carried(&self, now: DateTime<Utc>) -> BoxStream<'_, Result<Found, StoreError>> {
        let walk = Walk {
            store: self,
            now,
            steps: VecDeque::from([Step::Subscriptions(None)]),
            shards: 0..SHARDS,
        };
        let pages = stream::try_unfold(walk, async |mut walk| {
            let page = walk.next_page().await?;
            Ok::<_, StoreError>(page.map(|page| (stream::iter(page.into_iter().map(Ok)), walk)))
        });
        pages.try_flatten().boxed()
    }

    /// The entries of a backup of all that is carried, with its secrets sealed as they are. What cannot be
    /// read is in the log.
    #[must_use]
    pub fn backup_entries(
        &self,
        now: DateTime<Utc>,
    ) -> BoxStream<'_, Result<BackupEntry, StoreError>> {
        let entries = self.carried(now).map(|found| match found? {
            Found::Carried(mut carried) => carried.to_backup_line().map(BackupEntry::Line),
            Found::Unreadable(_) => Ok(BackupEntry::Unreadable),
        });
        entries.boxed()
    }

    /// Whether there is any collection.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn has_collections(&self) -> Result<bool, StoreError> {
        let list = List::new(REGISTRY.to_owned(), "");
        let mut from = None;
        // Bounded by the subscriptions.
        loop {
            let request = PageRequest { from, items_max: PAGE_ITEMS };
            let page = list.page(&self.table, request).await?;
            for item in &page.items {
                let one = PageRequest { from: None, items_max: 1 };
                let subscription = read_subscription(item)?;
                if !Collections::list(self, &subscription, None, one).await?.items.is_empty() {
                    return Ok(true);
                }
            }
            from = page.next;
            if from.is_none() {
                return Ok(false);
            }
        }
    }

    /// What is there in the place of a collection.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn standing(
        &self,
        record: &CollectionRecord,
    ) -> Result<CollectionStanding, StoreError> {
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

    /// Brings something into this table.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn bring(&self, carried: &Carried) -> Result<Brought, StoreError> {
        match carried {
            Carried::CloudService(service) => {
                let place = &service.place;
                let put = self.put_new(cloud_services::write(service));
                let put = item(|it| Ok(it.put(put.build()?)))?;
                if self.table.transact(vec![put]).await?.is_none() {
                    return Ok(Brought::Kept);
                }
                let found = minutehand_ports::CloudServices::find(self, place).await?;
                let is_same = found.is_some_and(|found| found.uid == service.uid);
                Ok(if is_same { Brought::Already } else { Brought::Taken })
            }
            Carried::Collection(record) => match Collections::create(self, record, None).await? {
                Saved::Kept => Ok(Brought::Kept),
                Saved::Stale | Saved::Full => Ok(match self.standing(record).await? {
                    CollectionStanding::Same => Brought::Already,
                    _ => Brought::Taken,
                }),
            },
            Carried::Job { collection_uid, job } => self.bring_job(collection_uid, job).await,
            Carried::Retry(retry) => {
                RetryTimers::keep(self, retry).await?;
                Ok(Brought::Kept)
            }
        }
    }

    async fn bring_job(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Brought, StoreError> {
        let definition = self.put_new(jobs::definition(collection_uid, job));
        let timer = self.put_new(jobs::timer(collection_uid, job));
        let items = vec![
            item(|it| Ok(it.put(definition.build()?)))?,
            item(|it| Ok(it.put(timer.build()?)))?,
        ];
        if self.table.transact(items).await?.is_none() {
            return Ok(Brought::Kept);
        }
        let found = self.table.get(keys::job(collection_uid, &job.name)).await?;
        let uid = found.as_ref().map(|found| Reader::new(found).text("uid")).transpose()?;
        Ok(if uid == Some(&job.uid) { Brought::Already } else { Brought::Taken })
    }

    /// The put of an item that must not exist.
    fn put_new(&self, item: Item) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        Put::builder()
            .table_name(&self.table.name)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(pk)")
    }

    /// The export whose import is under way, if one is.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn import_under_way(&self) -> Result<Option<String>, StoreError> {
        let found = self.table.get(keys::import()).await?;
        found.map(|found| Reader::new(&found).text(EXPORT).map(str::to_owned)).transpose()
    }

    /// Notes that the import of an export has begun. `in_place` says that it takes the place of another one
    /// that never ended; otherwise the answer is then `false`.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn begin_import(&self, export_id: &str, in_place: bool) -> Result<bool, StoreError> {
        let item = ItemBuilder::at(keys::import()).text(EXPORT, export_id);
        let mut write = Write::put(keys::import(), item);
        if !in_place {
            write = write
                .when(format!("attribute_not_exists(pk) OR {EXPORT} = :export"))
                .with(":export", text(export_id));
        }
        let outcome = self.table.write(MeteredCall::Change, write).await?;
        Ok(matches!(outcome, WriteOutcome::Done))
    }

    /// Notes that the import of an export has ended.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn end_import(&self, export_id: &str) -> Result<(), StoreError> {
        let write = Write::delete(keys::import())
            .when(format!("{EXPORT} = :export"))
            .with(":export", text(export_id));
        self.table.write(MeteredCall::Change, write).await.map(drop)
    }
}

/// A walk over what is carried.
struct Walk<'a> {
    store: &'a DynamoStore,
    now: DateTime<Utc>,
    /// What is to be listed. Collections come before the jobs of any.
    steps: VecDeque<Step>,
    /// The shards of the index whose retries are still to be read, when all else is done.
    shards: std::ops::Range<u32>,
}

/// A page that is to be listed, from a position on.
enum Step {
    Subscriptions(Option<String>),
    CloudServices(PathSegment, Option<String>),
    Collections(PathSegment, Option<String>),
    Jobs(String, Option<String>),
    Retries(u32, Option<String>),
}

impl Walk<'_> {
    /// The next page, which may be empty; `None` at the end.
    async fn next_page(&mut self) -> Result<Option<Vec<Found>>, StoreError> {
        let next = self.steps.pop_front();
        let Some(step) = next.or_else(|| self.shards.next().map(|it| Step::Retries(it, None)))
        else {
            return Ok(None);
        };
        let mut found = Vec::new();
        match step {
            Step::Subscriptions(from) => {
                let (items, next) = self.list(REGISTRY.to_owned(), "", from).await?;
                if let Some(next) = next {
                    self.steps.push_front(Step::Subscriptions(Some(next)));
                }
                for item in &items {
                    let subscription = read_subscription(item)?;
                    self.steps.push_back(Step::CloudServices(subscription.clone(), None));
                    self.steps.push_back(Step::Collections(subscription, None));
                }
            }
            Step::CloudServices(subscription, from) => {
                let pk = keys::subscription(&subscription);
                let (items, next) = self.list(pk, CLOUD_SERVICES, from).await?;
                for item in &items {
                    let read = cloud_services::read(item).map(Carried::CloudService);
                    found.push(read_or_name(read, item));
                }
                if let Some(next) = next {
                    self.steps.push_front(Step::CloudServices(subscription, Some(next)));
                }
            }
            Step::Collections(subscription, from) => {
                let pk = keys::subscription(&subscription);
                let (items, next) = self.list(pk, COLLECTIONS, from).await?;
                for item in &items {
                    let read = collections::read(item);
                    if let Ok(record) = &read {
                        let uid = record.collection.uid.clone();
                        self.steps.push_back(Step::Jobs(uid, None));
                    }
                    found
                        .push(read_or_name(read.map(|it| Carried::Collection(Box::new(it))), item));
                }
                if let Some(next) = next {
                    self.steps.push_front(Step::Collections(subscription, Some(next)));
                }
            }
            Step::Jobs(collection_uid, from) => {
                let next = self.jobs(&collection_uid, from, &mut found).await?;
                if let Some(next) = next {
                    self.steps.push_front(Step::Jobs(collection_uid, Some(next)));
                }
            }
            Step::Retries(shard, from) => {
                let request = PageRequest { from, items_max: PAGE_ITEMS };
                let until = DateTime::<Utc>::MAX_UTC;
                let page = self.store.due_timers(MeteredCall::Due, shard, until, request).await?;
                for due in page.items {
                    if let DueTimer::Retry { job, attempt } = due.what {
                        found.push(Found::Carried(Carried::Retry(LongRetry { job, attempt })));
                    }
                }
                if let Some(next) = page.next {
                    self.steps.push_front(Step::Retries(shard, Some(next)));
                }
            }
        }
        Ok(Some(found))
    }

    async fn list(
        &self,
        pk: String,
        prefix: &'static str,
        from: Option<String>,
    ) -> Result<(Vec<Item>, Option<String>), StoreError> {
        let alive_at = Some(number(self.now.timestamp()));
        let list = List { alive_at, ..List::new(pk, prefix) };
        let page =
            list.page(&self.store.table, PageRequest { from, items_max: PAGE_ITEMS }).await?;
        Ok((page.items, page.next))
    }

    /// Reads a page of the jobs of a collection, with their timers and with the retries that wait in the
    /// queue. Returns where the next page begins.
    async fn jobs(
        &self,
        collection_uid: &str,
        from: Option<String>,
        found: &mut Vec<Found>,
    ) -> Result<Option<String>, StoreError> {
        let (definitions, next) = self.list(keys::inside(collection_uid), JOBS, from).await?;
        let uids = definitions.iter().filter_map(|it| Reader::new(it).text("uid").ok());
        let wanted: Vec<_> = uids.map(keys::timer).collect();
        let table = &self.store.table;
        let timers = table.get_many(None, Consistency::Strong, wanted).await?;
        for definition in &definitions {
            let timer =
                Reader::new(definition).text("uid").map(|uid| timers.get(&keys::timer(uid)));
            let read = match timer {
                // A job whose timer is gone was deleted between the two reads.
                Ok(None) => continue,
                Ok(Some(timer)) => read_carried_job(definition, timer),
                Err(error) => Err(error),
            };
            let mut retries = Vec::new();
            if let Ok(Carried::Job { job, .. }) = &read {
                retries = self.retries_in_queue(collection_uid, job).await?;
            }
            found.push(read_or_name(read, definition));
            found.extend(retries.into_iter().map(|it| Found::Carried(Carried::Retry(it))));
        }
        Ok(next)
    }

    /// The retries of a job that wait in the queue: only their records tell of them.
    async fn retries_in_queue(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Vec<LongRetry>, StoreError> {
        let counters = &job.timer.counters;
        let is_recent = |at: DateTime<Utc>| self.now.signed_duration_since(at) <= WAITS_MAX;
        if counters.failures == 0 || !counters.last_execution_at.is_some_and(is_recent) {
            return Ok(Vec::new());
        }
        let request = PageRequest { from: None, items_max: ATTEMPTS };
        let entries = History::list(self.store, &job.uid, request).await?.items;
        let line = job.timer.timetable.as_deref();
        let schedule = line.and_then(|line| Schedule::read(line, &job.document).ok());
        let job = JobRef {
            uid: job.uid.clone(),
            collection_uid: collection_uid.to_owned(),
            key: job.name.key(),
        };
        let retry = |attempt: Attempt| {
            let under_policy = schedule.as_ref().is_some_and(Schedule::is_guarded);
            let takes_turn = schedule.as_ref().is_some_and(|it| it.policies.takes_turns());
            let attempt = Attempt { under_policy, takes_turn, ..attempt };
            LongRetry { job: job.clone(), attempt }
        };
        Ok(waiting(&entries, self.now).into_iter().map(retry).collect())
    }
}

/// The attempts that follow others as short retries, and that no worker has claimed. One that is due by now
/// is not carried: it would find that its collection was off.
fn waiting(entries: &[HistoryEntry], now: DateTime<Utc>) -> Vec<Attempt> {
    let follows = |entry: &HistoryEntry| {
        let Some(Then::Retry { due_at, is_long: false }) = entry.record.as_ref()?.then else {
            return None;
        };
        let number = entry.attempt.number.saturating_add(1);
        let (sent_late_at, waited) = (None, None);
        let attempt = entry.attempt.clone();
        let next = Attempt { number, due_at, is_long: true, sent_late_at, waited, ..attempt };
        (due_at > now).then_some(next)
    };
    let is_new = |next: &Attempt| !entries.iter().any(|entry| entry.attempt.is_same(next));
    entries.iter().filter_map(follows).filter(is_new).collect()
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

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::{Occurrence, Outcome, Record};

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    /// An attempt at the occurrence of this minute, and what its record says of the next one; without it,
    /// it is under way.
    fn entry(minute: i64, number: u32, then: Option<Then>) -> HistoryEntry {
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at(minute) });
        let record = then.map(|then| Record {
            started_at: at(minute),
            ended_at: at(minute),
            outcome: Outcome::Failed,
            message: String::new(),
            body_bytes: 0,
            repeat_count: 1,
            then: Some(then),
        });
        HistoryEntry { attempt: Attempt { number, ..first }, record, waits: false }
    }

    #[test]
    fn a_short_retry_waits_if_it_is_due_later_and_no_worker_has_claimed_it() {
        let retry = |minute| Some(Then::Retry { due_at: at(minute), is_long: false });
        let long = Some(Then::Retry { due_at: at(99), is_long: true });
        for (entries, expected) in [
            (vec![entry(10, 0, retry(15))], vec![(10, 1, 15)]),
            (vec![entry(10, 2, retry(15)), entry(9, 0, retry(14))], vec![(10, 3, 15), (9, 1, 14)]),
            // Due already, claimed, recorded, in a timer, the last one.
            (vec![entry(10, 0, retry(12))], vec![]),
            (vec![entry(10, 1, None), entry(10, 0, retry(15))], vec![]),
            (vec![entry(10, 1, Some(Then::Nothing)), entry(10, 0, retry(15))], vec![]),
            (vec![entry(10, 0, long)], vec![]),
            (vec![entry(10, 4, Some(Then::ErrorAction))], vec![]),
            (vec![], vec![]),
        ] {
            let found: Vec<_> = waiting(&entries, at(12))
                .into_iter()
                .map(|it| {
                    assert!(it.is_long && it.generation == 3);
                    let minute = |at: DateTime<Utc>| at.timestamp() / 60;
                    (minute(it.occurrence.nominal_at()), it.number, minute(it.due_at))
                })
                .collect();
            assert_eq!(found, expected, "{entries:?}");
        }
    }
}
