//! The last look before attempts start: the timer, the definition and the collection's switch, as
//! they are now.
//!
//! The three are read one by one, and not as of one instant. What is changed together still cannot
//! be mistaken: an attempt of a new generation is sent after that change was committed, and so it
//! is looked at after that.
//!
//! Timers and switches are read consistently. A definition is not, or comes from memory, as that
//! costs half or nothing: the timer says which version it has to be at least, and if it is older, or
//! another job's, it is read once more, consistently.

use std::collections::HashMap;
use std::sync::Arc;

use domain::pricing_tier::PricingTier;
use domain::recently_counted::RecentlyCounted;
use domain::work_item::JobRef;
use futures_util::future::try_join;
use ports::StoreError;
use ports::firing::{JobSnapshot, Mark};

use crate::DynamoStore;
use crate::batch::Reads;
use crate::definitions::Definition;
use crate::item::{Item, Reader};
use crate::jobs::read_timer;
use crate::keys::{self, Key};
use crate::meter::MeteredCall;

/// Definitions, by their keys.
type Found = HashMap<Key, Arc<Definition>>;

pub(crate) async fn look(
    store: &DynamoStore,
    jobs: &[JobRef],
) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
    let mut definitions = Found::new();
    let mut unknown = Vec::new();
    for key in jobs.iter().map(definition_key) {
        match store.definitions.find(&key) {
            Some(known) => drop(definitions.insert(key, known)),
            None => unknown.push(key),
        }
    }
    let deciding =
        jobs.iter().flat_map(|job| [keys::timer(&job.uid), keys::switch(&job.collection_uid)]);
    let (items, ()) = try_join(
        store.get_many(Some(MeteredCall::Look), Reads::Now, deciding),
        read(store, Reads::Lately, unknown, &mut definitions),
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
        read(store, Reads::Now, outdated, &mut definitions).await?;
    }
    jobs.iter().map(|job| sight(job, &items, &definitions)).collect()
}

/// Whether what was read of a job after a mark is still so.
pub(crate) fn stands(store: &DynamoStore, job: &JobRef, since: Mark) -> bool {
    let keys = [keys::timer(&job.uid), keys::switch(&job.collection_uid), definition_key(job)];
    store.changes.as_ref().is_some_and(|changes| changes.none_since(since, &keys))
}

fn definition_key(job: &JobRef) -> Key {
    keys::job_of_key(&job.collection_uid, &job.key)
}

/// Reads definitions, and remembers them.
async fn read(
    store: &DynamoStore,
    reads: Reads,
    wanted: Vec<Key>,
    definitions: &mut Found,
) -> Result<(), StoreError> {
    for (key, item) in store.get_many(Some(MeteredCall::Look), reads, wanted).await? {
        let definition = Arc::new(Definition::read(&Reader::of(&item))?);
        store.definitions.keep(key.clone(), definition.clone());
        definitions.insert(key, definition);
    }
    Ok(())
}

/// Whether the definition of a job that is there is not the one that its timer means.
fn is_outdated(
    job: &JobRef,
    items: &HashMap<Key, Item>,
    definitions: &Found,
) -> Result<bool, StoreError> {
    let Some(timer) = items.get(&keys::timer(&job.uid)) else {
        return Ok(false);
    };
    // Builds before this did not write it: then only a look at the definition tells.
    let Some(meant) = Reader::of(timer).optional_number("version")? else {
        return Ok(true);
    };
    let found = definitions.get(&definition_key(job));
    Ok(found.is_none_or(|found| found.uid != job.uid || found.version < meant))
}

fn read_plan(switch: &Reader<'_>) -> Result<PricingTier, StoreError> {
    let plan = PricingTier::read(switch.text("plan")?);
    plan.ok_or_else(|| switch.corrupt("plan", "there is none of this name"))
}

fn sight(
    job: &JobRef,
    items: &HashMap<Key, Item>,
    definitions: &Found,
) -> Result<Option<JobSnapshot>, StoreError> {
    let item = |key| items.get(&key).map(Reader::of);
    let (timer, switch) = (item(keys::timer(&job.uid)), item(keys::switch(&job.collection_uid)));
    // Another job may have the name now.
    let definition = definitions.get(&definition_key(job)).filter(|it| it.uid == job.uid);
    let (Some(timer), Some(definition), Some(switch)) = (timer, definition, switch) else {
        return Ok(None);
    };
    let record = read_timer(&timer)?;
    let settled =
        RecentlyCounted::from_bytes(&timer.optional_bytes("settled")?.unwrap_or_default());
    let on_since = switch.date("on_since")?;
    Ok(Some(JobSnapshot {
        name: definition.name.clone(),
        document: definition.document.clone(),
        sealed: definition.sealed.clone(),
        state: record.state,
        timing: record.timing,
        rule: record.rule,
        counters: record.counters,
        settled: settled.ok_or_else(|| timer.corrupt("settled", "it is damaged"))?,
        is_spent: record.is_spent,
        plan: read_plan(&switch)?,
        collection_on_since: switch.is_set("on")?.then_some(on_since),
    }))
}
