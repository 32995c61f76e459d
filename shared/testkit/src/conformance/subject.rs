//! A store under test, as behaviours use it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{
    CollectionRecord, Due, DueTimer, JobRecord, Page, PageRequest, Recount, SaveJob, Saved,
};
use minutehand_ports::{
    ApiSigns, Brakes, Browse, CloudServices, Collections, HangingOrigins, Installation, Jobs,
    Pings, StoreError,
};
use tokio::task::JoinSet;

use super::back_end::{CoreStore, OpenedStore, SpoiledRow, StorePorts};
use super::records::{collection, job, now};
use crate::TimeLimit;

/// The most times that a store that is busy is asked; one that still is then will stay so.
const ASKED_MAX: usize = 1_000;

/// A store under test, with nothing in it at first.
#[derive(Clone)]
pub struct Subject {
    pub(crate) store: Arc<dyn CoreStore>,
    ports: StorePorts,
    opened: Arc<dyn OpenedStore>,
    _limit: TimeLimit,
}

impl Subject {
    /// The store as a first process has it.
    #[must_use]
    pub fn new(opened: Arc<dyn OpenedStore>) -> Self {
        let ports = opened.ports();
        Self { store: ports.store.clone(), ports, opened, _limit: TimeLimit::start() }
    }

    /// The store as the next process has it, after this one died.
    pub(crate) fn next_process(&self) -> Self {
        Self::new(self.opened.clone())
    }

    /// Makes a row unreadable.
    pub(crate) async fn spoil(&self, row: SpoiledRow<'_>) {
        self.opened.spoil(row).await;
    }

    /// Removes what has expired.
    pub(crate) async fn remove_expired(&self, now: DateTime<Utc>) {
        self.opened.remove_expired(now).await;
    }

    /// Closes the store after a test that succeeded.
    pub async fn close(self) {
        self.opened.close().await;
    }

    /// The reads for people.
    pub(crate) fn browse(&self) -> &dyn Browse {
        self.ports.browse.as_ref()
    }

    /// The store of cloud services.
    pub(crate) fn cloud_services(&self) -> &dyn CloudServices {
        self.ports.cloud_services.as_ref()
    }

    /// The pings of jobs.
    pub(crate) fn pings(&self) -> Arc<dyn Pings> {
        self.ports.pings.clone()
    }

    /// The signs of those who take pings.
    pub(crate) fn signs(&self) -> Arc<dyn ApiSigns> {
        self.ports.signs.clone().unwrap()
    }

    /// The brakes of origins.
    pub(crate) fn brakes(&self) -> Arc<dyn Brakes> {
        self.ports.brakes.clone().unwrap()
    }

    /// Which origins hang.
    pub(crate) fn hanging(&self) -> Arc<dyn HangingOrigins> {
        self.ports.hanging.clone().unwrap()
    }

    /// What moves an installation.
    pub(crate) fn installation(&self) -> &dyn Installation {
        self.ports.installation.as_ref()
    }

    /// A collection that is there.
    pub async fn collection(&self, name: &str) -> CollectionRecord {
        self.with_collection(&collection(name)).await
    }

    /// This collection, which is there.
    pub async fn with_collection(&self, record: &CollectionRecord) -> CollectionRecord {
        assert_eq!(self.create_collection(record).await, Saved::Kept);
        self.find_collection(record).await.unwrap()
    }

    /// A job that is there.
    pub async fn job(&self, inside: &CollectionRecord, name: &str) -> JobRecord {
        self.with_job(inside, &job(name)).await
    }

    /// This job, which is there.
    pub async fn with_job(&self, inside: &CollectionRecord, record: &JobRecord) -> JobRecord {
        assert_eq!(self.create_job(inside, record, None).await, Saved::Kept);
        self.find_job(inside, &record.name).await.unwrap()
    }

    /// A collection with a job, which are there.
    pub(crate) async fn collection_and_job(&self) -> (CollectionRecord, JobRecord) {
        let inside = self.collection("jc").await;
        let job = self.job(&inside, "j").await;
        (inside, job)
    }

    /// A collection with jobs of these names, which are there.
    pub(crate) async fn collection_with(&self, names: &[impl AsRef<str>]) -> CollectionRecord {
        let inside = self.collection("jc").await;
        for name in names {
            self.job(&inside, name.as_ref()).await;
        }
        inside
    }

    /// Creates a collection.
    pub async fn create_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| Collections::create(&*self.store, record, None)).await
    }

    /// Replaces a collection.
    pub async fn replace_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| Collections::replace(&*self.store, record, None)).await
    }

    /// Deletes a collection.
    pub async fn delete_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| Collections::delete(&*self.store, record, now(), None)).await
    }

    /// The items below this collection.
    pub async fn find_collection(&self, record: &CollectionRecord) -> Option<CollectionRecord> {
        Collections::find(&*self.store, &record.place, &record.collection.name).await.unwrap()
    }

    /// The collection of this name, or the error of the store.
    pub(crate) async fn try_find_collection(
        &self,
        record: &CollectionRecord,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Collections::find(&*self.store, &record.place, &record.collection.name).await
    }

    /// The collection with this id, as workers read it.
    pub(crate) async fn read_collection(&self, uid: &str) -> Option<CollectionRecord> {
        self.store.read_collection(uid).await.unwrap()
    }

    /// Creates a job.
    pub async fn create_job(
        &self,
        inside: &CollectionRecord,
        job: &JobRecord,
        jobs_max: Option<u32>,
    ) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: true, entry: None };
        patient(|| Jobs::create(&*self.store, save(), jobs_max, now())).await
    }

    /// Replaces a job's definition, and leaves its timer alone.
    pub async fn replace_definition(&self, inside: &CollectionRecord, job: &JobRecord) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: false, entry: None };
        patient(|| Jobs::replace(&*self.store, save())).await
    }

    /// Replaces a job's definition and timing.
    pub(crate) async fn replace_timing(&self, inside: &CollectionRecord, job: &JobRecord) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: true, entry: None };
        patient(|| Jobs::replace(&*self.store, save())).await
    }

    /// Deletes a job.
    pub async fn delete_job(&self, inside: &CollectionRecord, job: &JobRecord) -> Saved {
        patient(|| Jobs::delete(&*self.store, inside, job, None)).await
    }

    /// The job of this name.
    pub async fn find_job(&self, inside: &CollectionRecord, name: &Name) -> Option<JobRecord> {
        self.try_find_job(inside, name).await.unwrap()
    }

    /// The job of this name, or the error of the store.
    pub async fn try_find_job(
        &self,
        inside: &CollectionRecord,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        Jobs::find(&*self.store, &inside.collection.uid, name).await
    }

    /// Counts the jobs of a collection one by one.
    pub(crate) async fn count(&self, inside: &CollectionRecord) -> Option<Recount> {
        Jobs::count(&*self.store, inside, now()).await.unwrap()
    }

    pub(crate) async fn correct_count(&self, inside: &CollectionRecord, recount: Recount) -> Saved {
        Jobs::correct_count(&*self.store, inside, recount).await.unwrap()
    }

    /// How many jobs a collection says it holds, which has to be how many it lists.
    pub(crate) async fn job_count(&self, inside: &CollectionRecord) -> u32 {
        let count = self.find_collection(inside).await.unwrap().job_count;
        let listed = self.job_names(inside, 100).await.len();
        assert_eq!(u32::try_from(listed).unwrap(), count, "what is counted is what is there");
        count
    }

    /// Lists a page of collections.
    pub async fn collections_page(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        Collections::list(&*self.store, subscription, group, page).await
    }

    /// Lists a page of jobs.
    pub async fn jobs_page(
        &self,
        inside: &CollectionRecord,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        Jobs::list(&*self.store, &inside.collection.uid, now(), page).await
    }

    /// The names of all jobs of a collection, in the order of the list, read in pages.
    pub(crate) async fn job_names(&self, inside: &CollectionRecord, items_max: u32) -> Vec<String> {
        let page = async |page| self.jobs_page(inside, page).await;
        let jobs = whole_list(items_max, page).await;
        jobs.iter().map(|job| job.name.as_str().to_owned()).collect()
    }

    /// The names of all collections of a subscription or a group, read in pages.
    pub async fn collection_names(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        items_max: u32,
    ) -> Vec<String> {
        let page = async |page| self.collections_page(subscription, group, page).await;
        let collections = whole_list(items_max, page).await;
        collections.iter().map(|record| record.collection.name.as_str().to_owned()).collect()
    }

    /// All timers that the index shows, by shard.
    pub(crate) async fn due_index(&self) -> Vec<(u32, Due)> {
        self.due_until(DateTime::<Utc>::MAX_UTC).await
    }

    /// The timers that the index shows as due by an instant, by shard.
    pub(crate) async fn due_until(&self, until: DateTime<Utc>) -> Vec<(u32, Due)> {
        let mut found = Vec::new();
        for shard in 0..self.store.shards() {
            let page = async |page| self.store.due(shard, until, page).await;
            found.extend(whole_list(100, page).await.into_iter().map(|due| (shard, due)));
        }
        found
    }

    /// The shard and the timer of a job, if the index shows it.
    pub(crate) async fn in_index(&self, job: &JobRecord) -> Option<(u32, Due)> {
        let is_of_job =
            |due: &Due| matches!(&due.what, DueTimer::Job(timer) if timer.job.uid == job.uid);
        self.due_index().await.into_iter().find(|(_, due)| is_of_job(due))
    }
}

/// Asks again while the store is busy: others were in the way, and nothing was kept.
async fn patient<F>(ask: impl Fn() -> F) -> Saved
where
    F: Future<Output = Result<Saved, StoreError>>,
{
    for _ in 0..ASKED_MAX {
        match ask().await {
            Err(StoreError::Throttled(_)) => tokio::task::yield_now().await,
            answer => return answer.unwrap(),
        }
    }
    panic!("the store is still busy when asked for the {ASKED_MAX}th time");
}

/// Reads all pages of a list.
pub async fn whole_list<T>(
    items_max: u32,
    page: impl AsyncFn(PageRequest) -> Result<Page<T>, StoreError>,
) -> Vec<T> {
    let mut items = Vec::new();
    let mut from = None;
    loop {
        let found = page(PageRequest { from, items_max }).await.unwrap();
        assert!(found.items.len() <= usize::try_from(items_max).unwrap(), "no more than asked for");
        items.extend(found.items);
        from = found.next;
        if from.is_none() {
            return items;
        }
    }
}

/// Does the same many times at once, each with a clone of what is given, and gives what came out in no
/// particular order.
pub async fn at_once<S, T, F>(count: u32, with: S, each: impl Fn(S, u32) -> F) -> Vec<T>
where
    S: Clone,
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    (0..count).map(|n| each(with.clone(), n)).collect::<JoinSet<_>>().join_all().await
}

/// The first page of a list.
pub(crate) const fn first_page(items_max: u32) -> PageRequest {
    PageRequest { from: None, items_max }
}
