//! The last look before attempts start: the timer, the definition and the collection's switch, as
//! they are now.
//!
//! The three are read one by one, and not as of one instant. What is changed together still cannot
//! be mistaken: an attempt of a new generation is sent after that change was committed, and so it
//! is looked at after that.

use std::collections::HashMap;

use domain::errand::JobRef;
use domain::name::Name;
use domain::plan::Plan;
use domain::settled::Settled;
use ports::StoreError;
use ports::firing::{Mark, Sight};

use crate::DynamoJobStore;
use crate::item::{Item, Reader};
use crate::jobs::read_timer;
use crate::keys::{self, Key};
use crate::meter::Call;

pub(crate) async fn look(
    store: &DynamoJobStore,
    jobs: &[JobRef],
) -> Result<Vec<Option<Sight>>, StoreError> {
    let items = store.get_many(Some(Call::Look), jobs.iter().flat_map(keys_of)).await?;
    jobs.iter().map(|job| sight(job, &items)).collect()
}

/// Whether what was read of a job after a mark is still so.
pub(crate) fn stands(store: &DynamoJobStore, job: &JobRef, since: Mark) -> bool {
    store.changes.as_ref().is_some_and(|changes| changes.none_since(since, &keys_of(job)))
}

fn keys_of(job: &JobRef) -> [Key; 3] {
    [
        keys::timer(&job.uid),
        keys::job_of_key(&job.collection_uid, &job.key),
        keys::switch(&job.collection_uid),
    ]
}

fn read_plan(switch: &Reader<'_>) -> Result<Plan, StoreError> {
    let plan = Plan::read(switch.text("plan")?);
    plan.ok_or_else(|| switch.corrupt("plan", "there is none of this name"))
}

fn sight(job: &JobRef, items: &HashMap<Key, Item>) -> Result<Option<Sight>, StoreError> {
    let [timer, definition, switch] = keys_of(job).map(|key| items.get(&key).map(Reader::of));
    let (Some(timer), Some(definition), Some(switch)) = (timer, definition, switch) else {
        return Ok(None);
    };
    // Another job has the name now.
    if definition.text("uid")? != job.uid {
        return Ok(None);
    }
    let record = read_timer(&timer)?;
    let settled = Settled::from_bytes(&timer.optional_bytes("settled")?.unwrap_or_default());
    let on_since = switch.date("on_since")?;
    Ok(Some(Sight {
        name: Name::new(definition.text("name")?)
            .map_err(|error| definition.corrupt("name", &error.message))?,
        document: definition.text("document")?.to_owned(),
        sealed: definition.optional_bytes("sealed")?,
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
