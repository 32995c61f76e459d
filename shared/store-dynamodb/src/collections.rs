//! Collections: an item under its name, and a switch that snapshots read.
//!
//! The switch of a collection with limits has its plan under another name. So a worker of a version that
//! knows no limits cannot read it, and starts none of its attempts.

use async_trait::async_trait;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, Update};
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
use crate::table::item::{Item, ItemBuilder, Reader, bytes, date, key, number, text, ticks};
use crate::table::keys::Key;
use crate::table::{List, keys, transact_item as item};

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
        let page = list.page(&self.table, page).await?;
        let items = page.items.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Page { items, next: page.next })
    }

    async fn create(
        &self,
        record: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let put = Put::builder()
            .table_name(&self.table.name)
            .set_item(Some(write(record)))
            .condition_expression("attribute_not_exists(pk)")
            .build();
        let mut items = vec![
            item(|it| Ok(it.put(put?)))?,
            item(|it| Ok(it.put(switch(&self.table.name, record)?)))?,
            item(|it| Ok(it.put(registration(&self.table.name, record)?)))?,
        ];
        items.extend(journal::put(&self.table.name, &record.collection.uid, entry)?);
        self.table.save(items).await
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
        let (mut set, mut remove) = (String::new(), Vec::new());
        let mut values = Vec::new();
        for (name, value) in optional.into_iter().chain(since) {
            if let Some(value) = value {
                set.extend([", ", name, " = :", name]);
                values.push((format!(":{name}"), value));
            } else {
                remove.push(name);
            }
        }
        let remove = if remove.is_empty() {
            String::new()
        } else {
            format!(" REMOVE {}", remove.join(", "))
        };
        // The change was checked against the jobs of the collection: no job may have been added since.
        let update = Update::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(place)))
            .update_expression(format!(
                "SET document = :document, on_since = :on_since, version = :next{set}{remove}"
            ))
            .condition_expression("version = :version AND uid = :uid AND job_count = :job_count")
            .expression_attribute_values(":document", text(document))
            .expression_attribute_values(":on_since", date(record.on_since))
            .expression_attribute_values(":next", number(record.version + 1))
            .expression_attribute_values(":version", number(record.version))
            .expression_attribute_values(":uid", text(&record.collection.uid))
            .expression_attribute_values(":job_count", number(record.job_count));
        let update = values
            .into_iter()
            .fold(update, |update, (name, value)| update.expression_attribute_values(name, value));
        let update = update.build();
        let mut items = vec![
            item(|it| Ok(it.update(update?)))?,
            item(|it| Ok(it.put(switch(&self.table.name, record)?)))?,
            // Earlier versions created collections without this one.
            item(|it| Ok(it.put(registration(&self.table.name, record)?)))?,
        ];
        items.extend(journal::put(&self.table.name, &record.collection.uid, entry)?);
        self.table.save(items).await
    }

    async fn delete(
        &self,
        record: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = &record.collection.uid;
        let name = Delete::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(keys::collection(&record.place, &record.collection.name))))
            .condition_expression("version = :version AND uid = :uid")
            .expression_attribute_values(":version", number(record.version))
            .expression_attribute_values(":uid", text(uid))
            .build();
        let switch = Delete::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(keys::switch(uid))))
            .build();
        let purge = ItemBuilder::at(keys::purge(uid))
            .text("collection_uid", uid)
            .number("due_shard", keys::shard(uid))
            .set("due_at", ticks(now))
            .done();
        let purge = Put::builder().table_name(&self.table.name).set_item(Some(purge)).build();
        let mut items = vec![
            item(|it| Ok(it.delete(name?)))?,
            item(|it| Ok(it.delete(switch?)))?,
            item(|it| Ok(it.put(purge?)))?,
        ];
        items.extend(journal::put(&self.table.name, &record.collection.uid, entry)?);
        self.table.save(items).await
    }
}

fn switch(table: &str, record: &CollectionRecord) -> Result<Put, BuildError> {
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
        .text("at_sk", at.sk)
        .done();
    Put::builder().table_name(table).set_item(Some(item)).build()
}

/// The entry of a collection's subscription among the subscriptions in use.
fn registration(table: &str, record: &CollectionRecord) -> Result<Put, BuildError> {
    let subscription = &record.place.subscription;
    let item = ItemBuilder::at(keys::registration(subscription))
        .text("subscription", subscription.as_str())
        .done();
    Put::builder().table_name(table).set_item(Some(item)).build()
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

pub(crate) fn write(record: &CollectionRecord) -> Item {
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
        .done()
}

pub(crate) fn read(item: &Item) -> Result<CollectionRecord, StoreError> {
    let reader = Reader::new(item);
    let segment = |name: &str| {
        PathSegment::new(reader.text(name)?).map_err(|error| reader.corrupt(name, &error.message))
    };
    let document = serde_json::from_str(reader.text("document")?)
        .map_err(|error| reader.corrupt("document", &error.to_string()))?;
    Ok(CollectionRecord {
        place: ResourceGroup { subscription: segment("subscription")?, group: segment("group")? },
        collection: Collection {
            uid: reader.text("uid")?.to_owned(),
            name: Name::new(reader.text("name")?)
                .map_err(|error| reader.corrupt("name", &error.message))?,
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
