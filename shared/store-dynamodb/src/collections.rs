//! Collections: an item under its name, and a switch that snapshots read.
//!
//! The switch of a collection with limits has its plan under another name. So a worker of a version that
//! knows no limits cannot read it, and starts none of its attempts.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::collection::Collection;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::document::{load_collection_shown, write_collection};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::limits::{CollectionLimits, Concurrent, PerSecond};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::plan::Plan;
use minutehand_ports::store::{CollectionRecord, Page, PageRequest, ResourceGroup, Saved};
use minutehand_ports::{Collections, StoreError};

use crate::journal;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, bytes, date, number, text, ticks};
use crate::table::keys::Key;
use crate::table::{List, Write, keys, read_page};

/// The path of a collection, in its switch and in items of its jobs.
pub(crate) const PATH: &str = "path";
/// Of a switch: the collection has an action for occurrences that fail for good.
pub(crate) const FAILURE_ACTION: &str = "failure_action";
/// Of a switch: whether that action has a format or rules.
pub(crate) const ALERT_USE: &str = "alert_use";
/// Of a switch: the plan.
const PLAN: &str = "plan";
/// Of a switch: the plan of a collection with limits.
const LIMITED_PLAN: &str = "limited_plan";
/// Of a switch: how many attempts may start in a second.
const PER_SECOND: &str = "per_second";
/// Of a switch: how many attempts may run at the same time.
const CONCURRENT: &str = "concurrent";
/// Of a collection: the label of the classic API. `label` alone may become a word of DynamoDB's.
const LABEL: &str = "classic_label";

impl DynamoStore {
    /// Reads a collection by its id, as it is now. Its switch knows where it is.
    pub(crate) async fn collection_of_uid(
        &self,
        uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let Some(switch) = self.table.get(keys::switch(uid)).await? else {
            return Ok(None);
        };
        let switch = Reader::new(&switch);
        let at = Key { pk: switch.text("at_pk")?.to_owned(), sk: switch.text("at_sk")?.to_owned() };
        let record = self.table.get(at).await?.as_ref().map(read).transpose()?;
        // Another collection may have the name by now.
        Ok(record.filter(|record| record.collection.uid == uid))
    }
}

#[async_trait]
impl Collections for DynamoStore {
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let found = self.table.get(keys::collection(place, name)).await?;
        found.as_ref().map(read).transpose()
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let list = List {
            only: group.map(|group| ("group_key", text(group.key()))),
            ..List::new(keys::subscription(subscription), keys::COLLECTIONS)
        };
        read_page(list.page(&self.table, page).await?, read)
    }

    async fn create(
        &self,
        record: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let mut writes = vec![
            Write::put(write(record)).when("attribute_not_exists(pk)"),
            switch(record),
            registration(record),
        ];
        writes.extend(entry.map(|entry| journal::write(&record.collection.uid, entry)));
        self.table.save(writes).await
    }

    async fn replace(
        &self,
        record: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let place = keys::collection(&record.place, &record.collection.name);
        let document = write_collection(&record.collection.definition).to_string();
        // What a collection may have or lack.
        let optional = [
            ("sealed", record.sealed.as_deref().map(bytes)),
            (LABEL, record.label.as_deref().map(text)),
        ];
        let since = record.state_since.map(|since| ("state_since", Some(date(since))));
        let set = "SET document = :document, on_since = :on_since, version = :next";
        // The change was checked against the jobs of the collection: no job may have been added since.
        let update = Write::update_with(place, set, optional.into_iter().chain(since))
            .when("version = :version AND uid = :uid AND job_count = :job_count")
            .with(":document", text(document))
            .with(":on_since", date(record.on_since))
            .with(":next", number(record.version + 1))
            .with(":version", number(record.version))
            .with(":uid", text(&record.collection.uid))
            .with(":job_count", number(record.job_count));
        // Earlier versions created collections without a registration.
        let mut writes = vec![update, switch(record), registration(record)];
        writes.extend(entry.map(|entry| journal::write(&record.collection.uid, entry)));
        self.table.save(writes).await
    }

    async fn delete(
        &self,
        record: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = &record.collection.uid;
        let name = Write::delete(keys::collection(&record.place, &record.collection.name))
            .when("version = :version AND uid = :uid")
            .with(":version", number(record.version))
            .with(":uid", text(uid));
        let purge = ItemBuilder::at(keys::purge(uid))
            .text("collection_uid", uid)
            .number("due_shard", keys::shard(uid))
            .set("due_at", ticks(now));
        let mut writes = vec![name, Write::delete(keys::switch(uid)), Write::put(purge)];
        writes.extend(entry.map(|entry| journal::write(uid, entry)));
        self.table.save(writes).await
    }
}

fn switch(record: &CollectionRecord) -> Write {
    let on = record.collection.definition.state.is_on();
    let has_failure_action = record.collection.definition.on_failure().is_some();
    let limits = record.collection.definition.limits();
    let plan = if limits == CollectionLimits::NONE { PLAN } else { LIMITED_PLAN };
    // The key of the item that counts the jobs.
    let at = keys::collection(&record.place, &record.collection.name);
    let item = ItemBuilder::at(keys::switch(&record.collection.uid))
        .text(PATH, record.place.collection_path(&record.collection.name).as_str())
        .set("on", AttributeValue::Bool(on))
        .maybe(FAILURE_ACTION, has_failure_action.then_some(AttributeValue::Bool(true)))
        .maybe(ALERT_USE, record.collection.definition.alert_use().to_number().map(number))
        .date("on_since", record.on_since)
        .text(plan, record.collection.definition.plan.name())
        .maybe(PER_SECOND, limits.per_second.map(|limit| number(limit.get())))
        .maybe(CONCURRENT, limits.concurrent.map(|limit| number(limit.get())))
        .text("at_pk", at.pk)
        .text("at_sk", at.sk);
    Write::put(item)
}

/// The entry of a collection's subscription among the subscriptions in use.
fn registration(record: &CollectionRecord) -> Write {
    let subscription = &record.place.subscription;
    let item = ItemBuilder::at(keys::registration(subscription));
    Write::put(item.text("subscription", subscription.as_str()))
}

/// The plan of a collection, by its switch.
pub(crate) fn read_plan(switch: &Reader<'_>) -> Result<Plan, StoreError> {
    let name = if switch.value(LIMITED_PLAN).is_some() { LIMITED_PLAN } else { PLAN };
    let plan = Plan::read(switch.text(name)?);
    plan.ok_or_else(|| switch.corrupt(name, "there is none of this name"))
}

/// The limits of a collection, by its switch.
pub(crate) fn read_limits(switch: &Reader<'_>) -> Result<CollectionLimits, StoreError> {
    Ok(CollectionLimits {
        per_second: switch.optional_number(PER_SECOND)?.and_then(PerSecond::new),
        concurrent: switch.optional_number(CONCURRENT)?.and_then(Concurrent::new),
    })
}

/// The path of a collection, by its switch. Earlier versions stored only its key, in lower case.
pub(crate) fn collection_path(switch: &Reader<'_>) -> Result<CollectionPlace, StoreError> {
    if switch.optional_text(PATH)?.is_some() {
        return read_path(switch);
    }
    let path = keys::collection_path(switch.text("at_pk")?, switch.text("at_sk")?);
    path.ok_or_else(|| switch.corrupt("at_sk", "it is not a key of a collection"))
}

/// The path of a collection that an item has.
pub(crate) fn read_path(item: &Reader<'_>) -> Result<CollectionPlace, StoreError> {
    let path = CollectionPlace::read(item.text(PATH)?);
    path.ok_or_else(|| item.corrupt(PATH, "it is not a path of a collection"))
}

pub(crate) fn write(record: &CollectionRecord) -> ItemBuilder {
    let collection = &record.collection;
    ItemBuilder::at(keys::collection(&record.place, &collection.name))
        .text("uid", &collection.uid)
        .text("subscription", record.place.subscription.as_str())
        .text("group", record.place.group.as_str())
        .text("group_key", record.place.group.key())
        .text("name", collection.name.as_str())
        .text("document", write_collection(&collection.definition).to_string())
        .maybe("sealed", record.sealed.as_deref().map(bytes))
        .number("job_count", record.job_count)
        .date("on_since", record.on_since)
        .maybe("state_since", record.state_since.map(date))
        .maybe(LABEL, record.label.as_deref().map(text))
        .number("version", record.version)
}

pub(crate) fn read(item: &Item) -> Result<CollectionRecord, StoreError> {
    let reader = Reader::new(item);
    let document = serde_json::from_str(reader.text("document")?)
        .map_err(|error| reader.corrupt("document", &error.to_string()))?;
    Ok(CollectionRecord {
        place: reader.resource_group()?,
        collection: Collection {
            uid: reader.text("uid")?.to_owned(),
            name: reader.name("name")?,
            definition: load_collection_shown(&document)
                .map_err(|error| reader.corrupt("document", &error.message))?,
        },
        job_count: reader.number("job_count")?,
        on_since: reader.date("on_since")?,
        sealed: reader.optional_bytes("sealed")?,
        state_since: reader.optional_date("state_since")?,
        label: reader.optional_text(LABEL)?.map(str::to_owned),
        version: reader.number("version")?,
    })
}
