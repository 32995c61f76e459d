//! Asks of every occurrence of a run what became of it, as `GET J/why` does.
//!
//! What is asked is the service that answers people, with the content of the store. The judge compares
//! the answers with what it knows: see [`judge::why`](super::judge).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::firing::{LeftOut, Why};
use minutehand_domain::name::Name;
use minutehand_ports::store::{
    BrowseLayer, CollectionRecord, CountedQuarters, HistoryEntry, JobRecord, Layer, PageRequest,
    PulseRecord, ResourceGroup,
};
use minutehand_ports::{Browse, Collections, History, Jobs, Pulses, StoreError};
use minutehand_testkit::SetClock;
use minutehand_testkit::services::{Unused, manage_ports};

use super::judge::{Question, Run};
use super::memory::Memory;
use super::time::{instant, micros};
use super::world::{World, manage_settings};

/// What the service says of an instant of a job.
#[derive(Debug, Clone)]
pub(super) struct Explained {
    pub(super) of: Question,
    pub(super) why: Why,
}

/// Asks the questions of the judge, as the store is now.
pub(super) fn ask(world: &Arc<World>, run: &Run) -> Vec<Explained> {
    let memory = world.memory.clone();
    let skew = run.lives.last().map_or(0, |life| life.skew);
    let clock = Arc::new(SetClock::at(instant(world.time.now() + skew)));
    let ports = ManagePorts {
        browse: Arc::new(Reader::new(&memory)),
        ..manage_ports(memory.clone(), world.queue_of_keeper(), clock)
    };
    let manage = Manage::new(ports, manage_settings());
    let names = names(&memory);
    let mut explained = Vec::new();
    for of in run.questions() {
        // A job that is deleted is not explained.
        let Some((place, collection, job)) = names.get(&of.uid) else { continue };
        let asked = manage.explain((place, collection, job), instant(of.at));
        // Nothing waits: the store is in memory.
        let why = pollster::block_on(asked).unwrap().why;
        explained.push(Explained { of, why });
    }
    explained
}

/// Where each job is, by its uid.
fn names(memory: &Memory) -> BTreeMap<String, (ResourceGroup, Name, Name)> {
    let tables = memory.tables();
    let of = |uid: &str| tables.collections.values().find(|it| it.collection.uid == uid);
    let jobs = tables.jobs.iter().filter_map(|((collection, key), job)| {
        let found = of(collection)?;
        let name = Name::new(key).unwrap();
        Some((job.uid.clone(), (found.place.clone(), found.collection.name.clone(), name)))
    });
    jobs.collect()
}

/// Reads for people, of a store that changes no more.
pub(super) struct Reader {
    memory: Arc<Memory>,
    /// The attempts at each instant of a job.
    attempts: BTreeMap<(String, i64), Vec<HistoryEntry>>,
}

impl Reader {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        let mut attempts: BTreeMap<_, Vec<HistoryEntry>> = BTreeMap::new();
        for (uid, of_job) in &memory.tables().executions {
            for item in of_job.values() {
                let at = micros(item.attempt.occurrence.nominal_at());
                let entry = HistoryEntry {
                    attempt: item.attempt.clone(),
                    record: item.record.clone(),
                    waits: item.waits(),
                };
                attempts.entry((uid.clone(), at)).or_default().push(entry);
            }
        }
        Self { memory: memory.clone(), attempts }
    }
}

impl Layer for Reader {
    type Inner = Unused<dyn Browse>;

    fn inner(&self) -> Arc<Unused<dyn Browse>> {
        Arc::default()
    }
}

#[async_trait]
impl BrowseLayer for Reader {
    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Collections::find(self.memory.as_ref(), place, name).await
    }

    async fn job(&self, uid: &str, name: &Name) -> Result<Option<JobRecord>, StoreError> {
        Jobs::find(self.memory.as_ref(), uid, name).await
    }

    async fn attempts(
        &self,
        job_uid: &str,
        nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let found = self.attempts.get(&(job_uid.to_owned(), micros(nominal_at)));
        Ok(found.cloned().unwrap_or_default())
    }

    async fn left_out(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError> {
        // The memory answers all of them.
        let all = self.memory.list_left_out(job_uid, PageRequest { from: None, items_max }).await?;
        let rows = all.items.into_iter().filter(|it| before.is_none_or(|at| it.first < at));
        Ok(rows.take(usize::try_from(items_max).unwrap()).collect())
    }

    async fn quarters(
        &self,
        collection_uid: &str,
        between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        Ok(self.memory.read_quarters(collection_uid, between))
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        self.memory.read_pulses().await
    }
}
