//! Asks of every occurrence of a run what became of it, as `GET J/why` does.
//!
//! What is asked is the service that answers people, with the content of the store. The judge compares
//! the answers with what it knows: see [`judge::why`](super::judge).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, Why};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, CountedQuarters, Due, HistoryEntry, JobRecord, Page, PageRequest,
    PresentAttempt, PresentAttempts, PulseRecord, ResourceGroup,
};
use minutehand_ports::{Browse, Collections, History, Jobs, Pulses, StoreError};
use minutehand_testkit::SetClock;
use minutehand_testkit::services::{NothingToBrowse, manage_ports};

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

#[async_trait]
impl Browse for Reader {
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        NothingToBrowse.subscriptions(page).await
    }

    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Collections::find(self.memory.as_ref(), place, name).await
    }

    async fn collection_path(&self, uid: &str) -> Result<Option<CollectionPlace>, StoreError> {
        Browse::collection_path(&NothingToBrowse, uid).await
    }

    async fn job(&self, uid: &str, name: &Name) -> Result<Option<JobRecord>, StoreError> {
        Jobs::find(self.memory.as_ref(), uid, name).await
    }

    async fn jobs(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        NothingToBrowse.jobs(collection_uid, prefix, now, page).await
    }

    async fn attempts(
        &self,
        job_uid: &str,
        nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let found = self.attempts.get(&(job_uid.to_owned(), micros(nominal_at)));
        Ok(found.cloned().unwrap_or_default())
    }

    async fn attempts_before(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        NothingToBrowse.attempts_before(job_uid, before, items_max).await
    }

    async fn job_names(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Name>, StoreError> {
        NothingToBrowse.job_names(collection_uid, prefix, now, page).await
    }

    fn names_max(&self) -> usize {
        0
    }

    async fn present(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Option<PresentAttempts>, StoreError> {
        NothingToBrowse.present(now, work_now).await
    }

    async fn present_of(
        &self,
        job: &JobRef,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Vec<PresentAttempt>, StoreError> {
        NothingToBrowse.present_of(job, now, work_now).await
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

    async fn failures(
        &self,
        subscription: &PathSegment,
        day: NaiveDate,
        page: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError> {
        NothingToBrowse.failures(subscription, day, page).await
    }

    async fn quarters(
        &self,
        collection_uid: &str,
        between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        Ok(self.memory.read_quarters(collection_uid, between))
    }

    async fn collections(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        NothingToBrowse.collections(subscription, page).await
    }

    fn timer_shards(&self) -> u32 {
        0
    }

    async fn timers(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        NothingToBrowse.timers(shard, until, page).await
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        self.memory.read_pulses().await
    }

    async fn journal(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError> {
        NothingToBrowse.journal(collection_uid, page).await
    }
}
