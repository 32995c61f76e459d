//! Snapshots of jobs: the timer, the definition and the collection's switch.
//!
//! The three items are read one by one, and not as of one instant. Still, a combined change cannot
//! be misread: an attempt of a new generation is sent after that change was committed, and its
//! snapshot is read after that.
//!
//! Timers and switches are read consistently. A definition is read eventually consistently, at half
//! the price, or comes from the cache. The timer tells which version the definition must have at
//! least. An older definition, or the definition of another job, is read once more, consistently.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::try_join;
use minutehand_domain::alert::AlertUse;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{CollectionRecord, JobSnapshot};
use minutehand_ports::{Snapshots, StoreError};

use crate::attributes::MOVED_AT;
use crate::collections::{ALERT_USE, FAILURE_ACTION, collection_path, read_limits, read_plan};
use crate::counters::{CHECKSUM, LIST};
use crate::definitions::Definition;
use crate::jobs::read_timer;
use crate::store::DynamoStore;
use crate::table::item::{Item, Reader};
use crate::table::keys::{self, Key};
use crate::table::{Consistency, MeteredCall};

/// Definitions, by their keys.
type Found = HashMap<Key, Arc<Definition>>;

#[async_trait]
impl Snapshots for DynamoStore {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        Ok(self.read_all(std::slice::from_ref(job)).await?.into_iter().next().flatten())
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.collection_of_uid(collection_uid).await
    }
}

impl DynamoStore {
    /// Reads jobs as they are now. The answers are in the order of the jobs.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or an item is corrupt.
    pub async fn read_all(
        &self,
        jobs: &[JobRef],
    ) -> Result<Vec<Option<Arc<JobSnapshot>>>, StoreError> {
        let mut definitions = Found::new();
        let mut unknown = Vec::new();
        for key in jobs.iter().map(definition_key) {
            match self.definitions.find(&key) {
                Some(known) => drop(definitions.insert(key, known)),
                None => unknown.push(key),
            }
        }
        let deciding =
            jobs.iter().flat_map(|job| [keys::timer(&job.uid), keys::switch(&job.collection_uid)]);
        let (items, ()) = try_join(
            self.table.get_many(Some(MeteredCall::Snapshot), Consistency::Strong, deciding),
            read_definitions(self, Consistency::Eventual, unknown, &mut definitions),
        )
        .await?;
        let mut outdated = Vec::new();
        for job in jobs {
            if is_outdated(job, &items, &definitions)? {
                outdated.push(definition_key(job));
            }
        }
        if !outdated.is_empty() {
            for key in &outdated {
                definitions.remove(key);
            }
            read_definitions(self, Consistency::Strong, outdated, &mut definitions).await?;
        }
        jobs.iter().map(|job| snapshot(job, &items, &definitions)).collect()
    }
}

fn definition_key(job: &JobRef) -> Key {
    keys::job_of_key(&job.collection_uid, &job.key)
}

/// Reads definitions into the cache.
async fn read_definitions(
    store: &DynamoStore,
    consistency: Consistency,
    wanted: Vec<Key>,
    definitions: &mut Found,
) -> Result<(), StoreError> {
    for (key, item) in
        store.table.get_many(Some(MeteredCall::Snapshot), consistency, wanted).await?
    {
        let definition = Arc::new(Definition::read(&Reader::new(&item))?);
        store.definitions.keep(key.clone(), definition.clone());
        definitions.insert(key, definition);
    }
    Ok(())
}

/// Whether the definition that was found is older than the one that the job's timer means.
fn is_outdated(
    job: &JobRef,
    items: &HashMap<Key, Item>,
    definitions: &Found,
) -> Result<bool, StoreError> {
    let Some(timer) = items.get(&keys::timer(&job.uid)) else {
        return Ok(false);
    };
    // Earlier builds did not store the version in the timer, so the definition must be read.
    let Some(meant) = Reader::new(timer).optional_number("version")? else {
        return Ok(true);
    };
    let found = definitions.get(&definition_key(job));
    Ok(found.is_none_or(|found| found.uid != job.uid || found.version < meant))
}

fn snapshot(
    job: &JobRef,
    items: &HashMap<Key, Item>,
    definitions: &Found,
) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
    let item = |key| items.get(&key).map(Reader::new);
    let (timer, switch) = (item(keys::timer(&job.uid)), item(keys::switch(&job.collection_uid)));
    // Another job may have the name by now.
    let definition = definitions.get(&definition_key(job)).filter(|it| it.uid == job.uid);
    let (Some(timer), Some(definition), Some(switch)) = (timer, definition, switch) else {
        return Ok(None);
    };
    let record = read_timer(&timer)?;
    let (list, checksum) = (timer.optional_bytes(LIST)?, timer.optional_bytes(CHECKSUM)?);
    let recently_counted =
        RecentlyCounted::from_bytes(&list.unwrap_or_default(), checksum.as_deref());
    let has_policies = record.timetable.as_deref().is_some_and(Schedule::has_policies);
    let recently_counted = if has_policies {
        recently_counted.map(RecentlyCounted::beside_policies)
    } else {
        recently_counted
    };
    let on_since = switch.date("on_since")?;
    Ok(Some(Arc::new(JobSnapshot {
        name: definition.name.clone(),
        version: definition.version,
        collection_path: collection_path(&switch)?,
        document: definition.document.clone(),
        sealed: definition.sealed.clone(),
        state: record.state,
        timing: record.timing,
        timetable: record.timetable,
        counters: record.counters,
        recently_counted: recently_counted.ok_or_else(|| timer.corrupt(LIST, "it is damaged"))?,
        is_spent: record.is_spent,
        moved_at: timer.optional_ticks(MOVED_AT)?,
        plan: read_plan(&switch)?,
        collection_on_since: switch.is_set("on")?.then_some(on_since),
        has_failure_action: switch.value(FAILURE_ACTION).is_some(),
        alert_use: AlertUse::from_number(switch.optional_number(ALERT_USE)?),
        limits: read_limits(&switch)?,
    })))
}
