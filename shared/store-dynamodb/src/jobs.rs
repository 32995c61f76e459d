//! Jobs: a definition in the collection, and a timer of its own.

use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, Update};
use domain::job::{Counters, JobState};
use domain::name::Name;
use domain::timing::Timing;
use ports::StoreError;
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, SaveJob, Saved, TimerRecord};

use crate::DynamoStore;
use crate::batch::Reads;
use crate::item::{Item, ItemBuilder, Reader, bytes, key, number, text, ticks};
use crate::keys;
use crate::list::List;
use crate::timers::read_state;
use crate::transaction::item;

pub(crate) async fn find(
    store: &DynamoStore,
    collection_uid: &str,
    name: &Name,
) -> Result<Option<JobRecord>, StoreError> {
    let Some(definition) = store.get(keys::job(collection_uid, name)).await? else {
        return Ok(None);
    };
    let uid = Reader::of(&definition).text("uid")?;
    match store.get(keys::timer(uid)).await? {
        Some(timer) => read(&definition, &timer).map(Some),
        // It was deleted between the two reads.
        None => Ok(None),
    }
}

pub(crate) async fn list(
    store: &DynamoStore,
    collection_uid: &str,
    page: PageRequest,
) -> Result<Page<JobRecord>, StoreError> {
    let list = List::of(keys::inside(collection_uid), keys::JOBS);
    let page = list.page(store, page).await?;
    let definitions = page.items;
    let uids = definitions.iter().map(|definition| Reader::of(definition).text("uid"));
    let wanted: Result<Vec<_>, _> = uids.map(|uid| uid.map(keys::timer)).collect();
    let timers = store.get_many(None, Reads::Now, wanted?).await?;
    let mut items = Vec::new();
    for definition in &definitions {
        // One whose timer is gone was deleted in between.
        if let Some(timer) = timers.get(&keys::timer(Reader::of(definition).text("uid")?)) {
            items.push(read(definition, timer)?);
        }
    }
    Ok(Page { items, next: page.next })
}

pub(crate) async fn create(
    store: &DynamoStore,
    save: SaveJob<'_>,
    jobs_max: Option<u32>,
) -> Result<Saved, StoreError> {
    let put = |item: Item| Put::builder().table_name(&store.table).set_item(Some(item));
    let definition =
        put(definition(&save)).condition_expression("attribute_not_exists(pk)").build();
    let timer = put(timer(&save)).build();
    // A plan or a quota that changed since it was read would be another limit.
    let condition = "uid = :uid AND version = :version AND job_count < :max";
    let count = count(store, save.collection, 1, condition)
        .expression_attribute_values(":version", number(save.collection.version))
        .expression_attribute_values(":max", number(jobs_max.unwrap_or(u32::MAX)))
        .build();
    let items = vec![
        item(|it| Ok(it.update(count?)))?,
        item(|it| Ok(it.put(definition?)))?,
        item(|it| Ok(it.put(timer?)))?,
    ];
    let Some(failed) = store.transact(items).await? else {
        return Ok(Saved::Kept);
    };
    // Full, unless it was something else that changed: then the caller reads again anyway.
    let exists = failed.get(1).copied().unwrap_or(false);
    if exists || failed.first() != Some(&true) {
        return Ok(Saved::Stale);
    }
    let record = &save.collection;
    let now = crate::collections::find(store, &record.place, &record.collection.name).await?;
    let full = now.zip(jobs_max).is_some_and(|(now, max)| {
        let as_read = now.version == record.version && now.collection.uid == record.collection.uid;
        as_read && now.job_count >= max
    });
    Ok(if full { Saved::Full } else { Saved::Stale })
}

pub(crate) async fn replace(
    store: &DynamoStore,
    save: SaveJob<'_>,
) -> Result<Saved, StoreError> {
    let job = save.job;
    let definition = Put::builder()
        .table_name(&store.table)
        .set_item(Some(definition(&SaveJob {
            job: &JobRecord { version: job.version + 1, ..job.clone() },
            ..save
        })))
        .condition_expression("uid = :uid AND version = :version")
        .expression_attribute_values(":uid", text(&job.uid))
        .expression_attribute_values(":version", number(job.version))
        .build();
    let timer =
        if save.timer_changes { timing_update(store, &save) } else { version_update(store, job) }?;
    store.save(vec![item(|it| Ok(it.put(definition?)))?, item(|it| Ok(it.update(timer)))?]).await
}

pub(crate) async fn delete(
    store: &DynamoStore,
    collection: &CollectionRecord,
    job: &JobRecord,
) -> Result<Saved, StoreError> {
    let definition = Delete::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::job(&collection.collection.uid, &job.name))))
        .condition_expression("uid = :uid AND version = :version")
        .expression_attribute_values(":uid", text(&job.uid))
        .expression_attribute_values(":version", number(job.version))
        .build();
    let timer = Delete::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::timer(&job.uid))))
        .build();
    let count = count(store, collection, -1, "uid = :uid").build();
    let items = vec![
        item(|it| Ok(it.delete(definition?)))?,
        item(|it| Ok(it.delete(timer?)))?,
        item(|it| Ok(it.update(count?)))?,
    ];
    store.save(items).await
}

/// Counts a job on or off.
fn count(
    store: &DynamoStore,
    collection: &CollectionRecord,
    by: i32,
    condition: &str,
) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
    let at = keys::collection(&collection.place, &collection.collection.name);
    Update::builder()
        .table_name(&store.table)
        .set_key(Some(key(at)))
        .update_expression("SET job_count = job_count + :by")
        .condition_expression(condition)
        .expression_attribute_values(":by", number(by))
        .expression_attribute_values(":uid", text(&collection.collection.uid))
}

/// Another version of the definition, of a job that is there.
fn version_update(store: &DynamoStore, job: &JobRecord) -> Result<Update, StoreError> {
    Update::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::timer(&job.uid))))
        .update_expression("SET version = :version")
        .condition_expression("attribute_exists(pk)")
        .expression_attribute_values(":version", number(job.version + 1))
        .build()
        .map_err(|error| StoreError::Refused(Box::new(error)))
}

/// Another timing, if the one that was read still holds; what a firing counts stays.
fn timing_update(store: &DynamoStore, save: &SaveJob<'_>) -> Result<Update, StoreError> {
    let timer = &save.job.timer;
    let mut values = ItemBuilder::default()
        .text(":state", timer.state.name())
        .number(":generation", timer.timing.generation)
        .set(":since", ticks(timer.timing.since))
        .number(":used", timer.timing.used)
        .number(":version", save.job.version + 1)
        .number(":before", timer.timing.generation.saturating_sub(1))
        .text(":completed", JobState::Completed.name())
        .text(":faulted", JobState::Faulted.name());
    let mut set =
        "SET #state = :state, generation = :generation, since = :since, used = :used, version = :version".to_owned();
    let mut remove = String::new();
    let optional = [
        ("anchor", timer.timing.anchor.map(ticks)),
        ("timetable", timer.rule.clone().map(text)),
        ("due_at", timer.due_at.map(ticks)),
        ("due_shard", timer.due_at.map(|_| number(keys::shard(&save.job.uid)))),
        ("spent", timer.is_spent.then_some(AttributeValue::Bool(true))),
    ];
    for (name, value) in optional {
        match value {
            Some(value) => {
                set.extend([", ", name, " = :", name]);
                values = values.set(&format!(":{name}"), value);
            }
            None => remove.extend([if remove.is_empty() { " REMOVE " } else { ", " }, name]),
        }
    }
    let (expression, values) = (set + &remove, values.done());
    Update::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::timer(&save.job.uid))))
        .update_expression(expression)
        .condition_expression("generation = :before AND NOT #state IN (:completed, :faulted)")
        .expression_attribute_names("#state", "state")
        .set_expression_attribute_values(Some(values))
        .build()
        .map_err(|error| StoreError::Refused(Box::new(error)))
}

fn definition(save: &SaveJob<'_>) -> Item {
    let job = save.job;
    ItemBuilder::at(keys::job(&save.collection.collection.uid, &job.name))
        .text("uid", &job.uid)
        .text("name", job.name.as_str())
        .text("document", &job.document)
        .maybe("sealed", job.sealed.as_deref().map(bytes))
        .number("version", job.version)
        .done()
}

/// A timer stays below a kilobyte, which is one write unit, so its instants are numbers.
fn timer(save: &SaveJob<'_>) -> Item {
    let (job, timer) = (save.job, &save.job.timer);
    let counters = &timer.counters;
    ItemBuilder::at(keys::timer(&job.uid))
        .text("collection_uid", &save.collection.collection.uid)
        .text("job_key", job.name.key())
        .number("version", job.version)
        .text("state", timer.state.name())
        .number("generation", timer.timing.generation)
        .maybe("anchor", timer.timing.anchor.map(ticks))
        .set("since", ticks(timer.timing.since))
        .number("used", timer.timing.used)
        .maybe("timetable", timer.rule.clone().map(text))
        .maybe("due_at", timer.due_at.map(ticks))
        .maybe("due_shard", timer.due_at.map(|_| number(keys::shard(&job.uid))))
        .number("executions", counters.executions)
        .number("failures", counters.failures)
        .number("faulted", counters.faulted)
        .maybe("skipped", Some(counters.skipped).filter(|n| *n > 0).map(number))
        .maybe("last_at", counters.last_execution_at.map(ticks))
        .maybe("spent", timer.is_spent.then_some(AttributeValue::Bool(true)))
        .done()
}

fn read(definition: &Item, timer: &Item) -> Result<JobRecord, StoreError> {
    let reader = Reader::of(definition);
    Ok(JobRecord {
        uid: reader.text("uid")?.to_owned(),
        name: Name::new(reader.text("name")?)
            .map_err(|error| reader.corrupt("name", &error.message))?,
        document: reader.text("document")?.to_owned(),
        sealed: reader.optional_bytes("sealed")?,
        version: reader.number("version")?,
        timer: read_timer(&Reader::of(timer))?,
    })
}

pub(crate) fn read_timer(reader: &Reader<'_>) -> Result<TimerRecord, StoreError> {
    Ok(TimerRecord {
        state: read_state(reader)?,
        timing: Timing {
            generation: reader.number("generation")?,
            anchor: reader.optional_ticks("anchor")?,
            since: reader.ticks("since")?,
            used: reader.number("used")?,
        },
        rule: reader.optional_text("timetable")?.map(str::to_owned),
        counters: Counters {
            executions: reader.number("executions")?,
            failures: reader.number("failures")?,
            faulted: reader.number("faulted")?,
            skipped: reader.optional_number("skipped")?.unwrap_or(0),
            // Builds before this wrote the longer name, which the next execution replaces.
            last_execution_at: match reader.optional_ticks("last_at")? {
                None => reader.optional_ticks("last_execution_at")?,
                last_at => last_at,
            },
        },
        due_at: reader.optional_ticks("due_at")?,
        is_spent: reader.is_set("spent")?,
    })
}
