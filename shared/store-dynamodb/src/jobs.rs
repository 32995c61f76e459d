//! Jobs: a definition in the partition of the collection, and a timer in a partition of its own.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::missed::Latest;
use minutehand_domain::name::Name;
use minutehand_domain::recent::{LastSkip, Recent};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{
    AskedRun, CollectionRecord, JobRecord, Page, PageRequest, Recount, SaveJob, Saved, TimerRecord,
};
use minutehand_ports::{Collections, Jobs, StoreError};

use crate::asked;
use crate::attributes::{EXPIRES_AT, TIMINGS};
use crate::counters::{LAST_SKIP, LATEST, RECENT};
use crate::journal;
use crate::ping_keys;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, bytes, number, text, texts, ticks};
use crate::table::{Consistency, List, MeteredCall, Write, WriteOutcome, keys};
use crate::timers::read_state;

/// Changes the number of jobs of a collection. It is never too low. Jobs that expire are not taken
/// off, so it may be too high; it is corrected when the collection is full.
const COUNT_BY: &str = "SET job_count = job_count + :by";

/// Of a collection: how many jobs were created in it. If one was created while the jobs were counted,
/// the result is not used, even if another one was deleted and the count is the same again.
const CREATIONS: &str = "creations";

#[async_trait]
impl Jobs for DynamoStore {
    async fn keep_asked(
        &self,
        job_uid: &str,
        asked: &AskedRun,
        instead_of: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Option<AskedRun>, StoreError> {
        let keep = asked::keep(job_uid, asked, instead_of, now.timestamp());
        match self.table.write(MeteredCall::Change, keep).await? {
            WriteOutcome::Done => Ok(None),
            WriteOutcome::ConditionFailed(Some(other)) => asked::read(&other).map(Some),
            WriteOutcome::ConditionFailed(None) => {
                Err(StoreError::Throttled("the item of a run is gone".into()))
            }
        }
    }

    async fn note(&self, collection_uid: &str, entry: &JournalEntry) -> Result<(), StoreError> {
        let write = journal::write(collection_uid, entry);
        self.table.write(MeteredCall::Change, write).await.map(drop)
    }

    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        let Some(definition) = self.table.get(keys::job(collection_uid, name)).await? else {
            return Ok(None);
        };
        let uid = Reader::new(&definition).text("uid")?;
        match self.table.get(keys::timer(uid)).await? {
            Some(timer) => read(&definition, &timer).map(Some),
            // The job was deleted between the two reads.
            None => Ok(None),
        }
    }

    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        let alive_at = Some(number(now.timestamp()));
        let list = List { alive_at, ..List::new(keys::inside(collection_uid), keys::JOBS) };
        self.with_timers(list.page(&self.table, page).await?, Consistency::Strong).await
    }

    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let uid = &save.collection.collection.uid;
        let set = format!("{COUNT_BY}, {CREATIONS} = if_not_exists({CREATIONS}, :none) + :by");
        // If the plan or the quota changed since it was read, `jobs_max` is another number.
        let count = count(save.collection, set, 1)
            .when("uid = :uid AND version = :version AND job_count < :max")
            .with(":none", number(0))
            .with(":version", number(save.collection.version))
            .with(":max", number(jobs_max.unwrap_or(u32::MAX)));
        let definition = Write::put(definition(uid, save.job))
            .when("attribute_not_exists(pk) OR expires_at <= :now")
            .with(":now", number(now.timestamp()));
        let mut writes = vec![count, definition, Write::put(timer(uid, save.job))];
        writes.extend(save.entry.map(|entry| journal::write(uid, entry)));
        let Some(failed) = self.table.write_all(MeteredCall::Change, writes).await? else {
            return Ok(Saved::Kept);
        };
        // The collection is full, or something else changed: then the caller reads again anyway.
        let exists = failed.get(1).copied().unwrap_or(false);
        if exists || failed.first() != Some(&true) {
            return Ok(Saved::Stale);
        }
        let record = &save.collection;
        let now = Collections::find(self, &record.place, &record.collection.name).await?;
        let full = now.zip(jobs_max).is_some_and(|(now, max)| {
            let as_read =
                now.version == record.version && now.collection.uid == record.collection.uid;
            as_read && now.job_count >= max
        });
        Ok(if full { Saved::Full } else { Saved::Stale })
    }

    async fn count(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError> {
        let (place, uid) = (&collection.place, &collection.collection.uid);
        // The count is read before the jobs are, so that a job that is created meanwhile is noticed.
        let at = keys::collection(place, &collection.collection.name);
        let Some(item) = self.table.get(at).await? else { return Ok(None) };
        let reader = Reader::new(&item);
        if reader.text("uid")? != uid {
            return Ok(None);
        }
        let as_read = reader.number("job_count")?;
        let creations = reader.optional_number(CREATIONS)?.unwrap_or(0);
        let alive_at = Some(number(now.timestamp()));
        let list = List { alive_at, ..List::new(keys::inside(uid), keys::JOBS) };
        let jobs = list.count(&self.table).await?;
        Ok(Some(Recount { as_read, creations, jobs }))
    }

    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        Recount { as_read, creations, jobs }: Recount,
    ) -> Result<Saved, StoreError> {
        let uid = &collection.collection.uid;
        let none_yet = if creations == 0 { " OR attribute_not_exists(creations)" } else { "" };
        let at = keys::collection(&collection.place, &collection.collection.name);
        let write = Write::update(at, "SET job_count = :jobs")
            .when(format!(
                "uid = :uid AND job_count = :as_read AND ({CREATIONS} = :creations{none_yet})"
            ))
            .with(":jobs", number(jobs))
            .with(":uid", text(uid))
            .with(":as_read", number(as_read))
            .with(":creations", number(creations));
        let is_kept = self.table.does(MeteredCall::Recount, write).await?;
        Ok(if is_kept { Saved::Kept } else { Saved::Stale })
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let job = save.job;
        let uid = &save.collection.collection.uid;
        let next = JobRecord { version: job.version + 1, ..job.clone() };
        let definition = as_read(Write::put(definition(uid, &next)), job);
        let timer = if save.timer_changes { timing_update(&save) } else { version_update(job) };
        let mut writes = vec![definition, timer];
        writes.extend(save.entry.map(|entry| journal::write(uid, entry)));
        self.table.save(writes).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = &collection.collection.uid;
        let mut writes = vec![
            as_read(Write::delete(keys::job(uid, &job.name)), job),
            Write::delete(keys::timer(&job.uid)),
            count(collection, COUNT_BY, -1).when("uid = :uid"),
        ];
        writes.extend(entry.map(|entry| journal::write(uid, entry)));
        if let Some(key) = self.table.get(keys::ping_key(&job.uid)).await? {
            writes.extend(ping_keys::forget(&job.uid, &key)?);
        }
        self.table.save(writes).await
    }
}

impl DynamoStore {
    /// The jobs of a page of definitions, with their timers.
    pub(crate) async fn with_timers(
        &self,
        page: Page<Item>,
        consistency: Consistency,
    ) -> Result<Page<JobRecord>, StoreError> {
        let definitions = page.items;
        let uids = definitions.iter().map(|definition| Reader::new(definition).text("uid"));
        let wanted: Result<Vec<_>, _> = uids.map(|uid| uid.map(keys::timer)).collect();
        let call = (consistency == Consistency::Eventual).then_some(MeteredCall::Browse);
        let timers = self.table.get_many(call, consistency, wanted?).await?;
        let mut items = Vec::new();
        for definition in &definitions {
            // A job whose timer is gone was deleted between the two reads.
            if let Some(timer) = timers.get(&keys::timer(Reader::new(definition).text("uid")?)) {
                items.push(read(definition, timer)?);
            }
        }
        Ok(Page { items, next: page.next })
    }
}

/// A write of a definition, if it is the one that was read.
fn as_read(write: Write, job: &JobRecord) -> Write {
    write
        .when("uid = :uid AND version = :version")
        .with(":uid", text(&job.uid))
        .with(":version", number(job.version))
}

/// Adds to the number of jobs of a collection.
fn count(collection: &CollectionRecord, set: impl Into<String>, by: i32) -> Write {
    let at = keys::collection(&collection.place, &collection.collection.name);
    let uid = text(&collection.collection.uid);
    Write::update(at, set).with(":by", number(by)).with(":uid", uid)
}

/// Gives an existing timer the version of a new definition, and the policies in the line of its
/// timetable, unless the job has finished: the definition says then when it expires, which the new one
/// does not know.
fn version_update(job: &JobRecord) -> Write {
    // An attribute of the index that does not change costs nothing there.
    let line = job.timer.timetable.as_ref();
    let and_line = if line.is_some() { ", timetable = :timetable" } else { "" };
    Write::update(keys::timer(&job.uid), format!("SET version = :version{and_line}"))
        .when("attribute_exists(pk) AND NOT #state IN (:completed, :faulted)")
        .naming("#state", "state")
        .maybe(":timetable", line.map(text))
        .with(":version", number(job.version + 1))
        .with(":completed", text(JobState::Completed.name()))
        .with(":faulted", text(JobState::Faulted.name()))
}

/// Gives a timer another timing, if it still has the one that was read. The counters stay.
fn timing_update(SaveJob { job, .. }: &SaveJob<'_>) -> Write {
    let timer = &job.timer;
    let set = "SET #state = :state, generation = :generation, since = :since, used = :used, version = :version";
    let optional = [
        ("anchor", timer.timing.anchor.map(ticks)),
        ("timetable", timer.timetable.clone().map(text)),
        ("due_at", timer.due_at.map(ticks)),
        ("due_shard", timer.due_at.map(|_| number(keys::shard(&job.uid)))),
        ("spent", timer.is_spent.then_some(AttributeValue::Bool(true))),
        (EXPIRES_AT, job.expires_at.map(seconds)),
    ];
    Write::update_with(keys::timer(&job.uid), set, optional)
        .when("generation = :before AND NOT #state IN (:completed, :faulted)")
        .naming("#state", "state")
        .with(":state", text(timer.state.name()))
        .with(":generation", number(timer.timing.generation))
        .with(":since", ticks(timer.timing.since))
        .with(":used", number(timer.timing.used))
        .with(":version", number(job.version + 1))
        .with(":before", number(timer.timing.generation.saturating_sub(1)))
        .with(":completed", text(JobState::Completed.name()))
        .with(":faulted", text(JobState::Faulted.name()))
}

pub(crate) fn definition(collection_uid: &str, job: &JobRecord) -> ItemBuilder {
    ItemBuilder::at(keys::job(collection_uid, &job.name))
        .text("uid", &job.uid)
        .text("name", job.name.as_str())
        .text("document", &job.document)
        .maybe("sealed", job.sealed.as_deref().map(bytes))
        .maybe(TIMINGS, (!job.earlier.is_empty()).then(|| texts(&job.earlier)))
        .number("version", job.version)
        .maybe(EXPIRES_AT, job.expires_at.map(seconds))
}

fn seconds(at: DateTime<Utc>) -> AttributeValue {
    number(at.timestamp())
}

/// A timer stays below a kilobyte, which is one write unit, so its instants are numbers.
pub(crate) fn timer(collection_uid: &str, job: &JobRecord) -> ItemBuilder {
    let timer = &job.timer;
    let counters = &timer.counters;
    ItemBuilder::at(keys::timer(&job.uid))
        .text("collection_uid", collection_uid)
        .text("job_key", job.name.key())
        .number("version", job.version)
        .text("state", timer.state.name())
        .number("generation", timer.timing.generation)
        .maybe("anchor", timer.timing.anchor.map(ticks))
        .set("since", ticks(timer.timing.since))
        .number("used", timer.timing.used)
        .maybe("timetable", timer.timetable.clone().map(text))
        .maybe("due_at", timer.due_at.map(ticks))
        .maybe("due_shard", timer.due_at.map(|_| number(keys::shard(&job.uid))))
        .number("executions", counters.executions)
        .number("failures", counters.failures)
        .number("faulted", counters.faulted)
        .maybe("skipped", Some(counters.skipped).filter(|n| *n > 0).map(number))
        .maybe("last_at", counters.last_execution_at.map(ticks))
        .set(RECENT, bytes(&counters.recent.to_bytes()))
        .maybe(LAST_SKIP, counters.last_skip.map(|skip| bytes(&skip.to_bytes())))
        .maybe(LATEST, counters.latest.map(|it| bytes(&it.to_bytes())))
        .maybe("spent", timer.is_spent.then_some(AttributeValue::Bool(true)))
        .maybe(EXPIRES_AT, job.expires_at.map(seconds))
}

pub(crate) fn read(definition: &Item, timer: &Item) -> Result<JobRecord, StoreError> {
    let reader = Reader::new(definition);
    Ok(JobRecord {
        uid: reader.text("uid")?.to_owned(),
        name: reader.name("name")?,
        document: reader.text("document")?.to_owned(),
        sealed: reader.optional_bytes("sealed")?,
        version: reader.number("version")?,
        expires_at: read_expiry(&reader)?,
        earlier: reader.texts(TIMINGS)?,
        timer: read_timer(&Reader::new(timer))?,
    })
}

/// When a definition or a timer expires.
pub(crate) fn read_expiry(reader: &Reader<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    let seconds = reader.optional_number(EXPIRES_AT)?;
    Ok(seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)))
}

pub(crate) fn read_timer(reader: &Reader<'_>) -> Result<TimerRecord, StoreError> {
    let skipped = reader.optional_number("skipped")?.unwrap_or(0);
    let recent = match reader.optional_bytes(RECENT)? {
        Some(bytes) => {
            Recent::from_bytes(&bytes).ok_or_else(|| reader.corrupt(RECENT, "it is damaged"))?
        }
        // An earlier build wrote the timer.
        None => Recent::without_skips_until(skipped),
    };
    let last_skip = reader.optional_bytes(LAST_SKIP)?;
    let latest = reader.optional_bytes(LATEST)?;
    Ok(TimerRecord {
        state: read_state(reader)?,
        timing: Timing {
            generation: reader.number("generation")?,
            anchor: reader.optional_ticks("anchor")?,
            since: reader.ticks("since")?,
            used: reader.number("used")?,
        },
        timetable: reader.optional_text("timetable")?.map(str::to_owned),
        counters: JobCounters {
            executions: reader.number("executions")?,
            failures: reader.number("failures")?,
            faulted: reader.number("faulted")?,
            skipped,
            // Builds before this wrote the longer name, which the next execution replaces.
            last_execution_at: match reader.optional_ticks("last_at")? {
                None => reader.optional_ticks("last_execution_at")?,
                last_at => last_at,
            },
            recent,
            last_skip: last_skip.and_then(|bytes| LastSkip::from_bytes(&bytes)),
            latest: latest.and_then(|bytes| Latest::from_bytes(&bytes)),
        },
        due_at: reader.optional_ticks("due_at")?,
        is_spent: reader.is_set("spent")?,
    })
}
