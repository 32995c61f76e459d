//! A store under test, and what lies under it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{
    CollectionRecord, JobRecord, Page, PageRequest, Recount, SaveJob, Saved,
};
use minutehand_ports::{CloudServices, Collections, Jobs, Snapshots, StoreError};
use tokio::task::JoinSet;

use super::records::{collection, job, now};
use super::requests::Requests;

/// The index of timers.
const DUE_INDEX: &str = "due";
/// The shards of that index.
const SHARDS: u32 = 64;
/// The most times that a store that is busy is asked; one that still is then will stay so.
const ASKED_MAX: usize = 1_000;

/// An item as it is in the table.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// A store under test, with a table of its own.
#[derive(Clone)]
pub struct Subject {
    collections: Arc<dyn Collections>,
    cloud_services: Arc<dyn CloudServices>,
    jobs: Arc<dyn Jobs>,
    snapshots: Arc<dyn Snapshots>,
    /// The table itself: for what the port does not show, and for damage.
    client: Client,
    table: String,
    /// The requests of the store, without those that tests send through `client`.
    requests: Requests,
}

impl Subject {
    /// A store on a table that exists and is empty; `open` makes it from a client and that table.
    pub fn new<S: Collections + CloudServices + Jobs + Snapshots + 'static>(
        client: &Client,
        table: &str,
        open: impl FnOnce(Client, String) -> S,
    ) -> Self {
        let requests = Requests::default();
        let counted = client.config().to_builder().interceptor(requests.clone()).build();
        let store = Arc::new(open(Client::from_conf(counted), table.to_owned()));
        Self {
            collections: store.clone(),
            cloud_services: store.clone(),
            jobs: store.clone(),
            snapshots: store,
            client: client.clone(),
            table: table.to_owned(),
            requests,
        }
    }

    /// Deletes the table. A test that fails leaves it to be looked at.
    pub async fn close(self) {
        self.client.delete_table().table_name(self.table).send().await.unwrap();
    }

    /// The store of cloud services.
    pub(crate) fn cloud_services(&self) -> &dyn CloudServices {
        self.cloud_services.as_ref()
    }

    /// A collection that is there.
    pub(crate) async fn collection(&self, name: &str) -> CollectionRecord {
        self.with_collection(&collection(name)).await
    }

    /// This collection, which is there.
    pub(crate) async fn with_collection(&self, record: &CollectionRecord) -> CollectionRecord {
        assert_eq!(self.create_collection(record).await, Saved::Kept);
        self.find_collection(record).await.unwrap()
    }

    /// A job that is there.
    pub(crate) async fn job(&self, inside: &CollectionRecord, name: &str) -> JobRecord {
        self.with_job(inside, &job(name)).await
    }

    /// This job, which is there.
    pub(crate) async fn with_job(
        &self,
        inside: &CollectionRecord,
        record: &JobRecord,
    ) -> JobRecord {
        assert_eq!(self.create_job(inside, record, None).await, Saved::Kept);
        self.find_job(inside, &record.name).await.unwrap()
    }

    pub(crate) async fn create_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| self.collections.create(record, None)).await
    }

    pub(crate) async fn replace_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| self.collections.replace(record, None)).await
    }

    pub(crate) async fn delete_collection(&self, record: &CollectionRecord) -> Saved {
        patient(|| self.collections.delete(record, now(), None)).await
    }

    /// The items below this collection.
    pub(crate) async fn find_collection(
        &self,
        record: &CollectionRecord,
    ) -> Option<CollectionRecord> {
        self.collections.find(&record.place, &record.collection.name).await.unwrap()
    }

    /// The collection with this id, as workers read it.
    pub(crate) async fn read_collection(&self, uid: &str) -> Option<CollectionRecord> {
        self.snapshots.read_collection(uid).await.unwrap()
    }

    pub(crate) async fn create_job(
        &self,
        inside: &CollectionRecord,
        job: &JobRecord,
        jobs_max: Option<u32>,
    ) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: true, entry: None };
        patient(|| self.jobs.create(save(), jobs_max, now())).await
    }

    /// Replaces a job's definition, and leaves its timer alone.
    pub(crate) async fn replace_definition(
        &self,
        inside: &CollectionRecord,
        job: &JobRecord,
    ) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: false, entry: None };
        patient(|| self.jobs.replace(save())).await
    }

    /// Replaces a job's definition and timing.
    pub(crate) async fn replace_timing(&self, inside: &CollectionRecord, job: &JobRecord) -> Saved {
        let save = || SaveJob { collection: inside, job, timer_changes: true, entry: None };
        patient(|| self.jobs.replace(save())).await
    }

    pub(crate) async fn delete_job(&self, inside: &CollectionRecord, job: &JobRecord) -> Saved {
        patient(|| self.jobs.delete(inside, job, None)).await
    }

    pub(crate) async fn find_job(
        &self,
        inside: &CollectionRecord,
        name: &Name,
    ) -> Option<JobRecord> {
        self.try_find_job(inside, name).await.unwrap()
    }

    pub(crate) async fn try_find_job(
        &self,
        inside: &CollectionRecord,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        self.jobs.find(&inside.collection.uid, name).await
    }

    /// Counts the jobs of a collection one by one.
    pub(crate) async fn count(&self, inside: &CollectionRecord) -> Option<Recount> {
        self.jobs.count(inside, now()).await.unwrap()
    }

    pub(crate) async fn correct_count(&self, inside: &CollectionRecord, recount: Recount) -> Saved {
        self.jobs.correct_count(inside, recount).await.unwrap()
    }

    /// How many jobs a collection says it holds, which has to be how many it lists.
    pub(crate) async fn job_count(&self, inside: &CollectionRecord) -> u32 {
        let count = self.find_collection(inside).await.unwrap().job_count;
        let listed = self.job_names(inside, 100).await.len();
        assert_eq!(u32::try_from(listed).unwrap(), count, "what is counted is what is there");
        count
    }

    pub(crate) async fn collections_page(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        self.collections.list(subscription, group, page).await
    }

    pub(crate) async fn jobs_page(
        &self,
        inside: &CollectionRecord,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.jobs.list(&inside.collection.uid, now(), page).await
    }

    /// The names of all jobs of a collection, in the order of the list, read in pages.
    pub(crate) async fn job_names(&self, inside: &CollectionRecord, items_max: u32) -> Vec<String> {
        let page = async |page| self.jobs_page(inside, page).await;
        let jobs = whole_list(items_max, page).await;
        jobs.iter().map(|job| job.name.as_str().to_owned()).collect()
    }

    /// The names of all collections of a subscription or a group, read in pages.
    pub(crate) async fn collection_names(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        items_max: u32,
    ) -> Vec<String> {
        let page = async |page| self.collections_page(subscription, group, page).await;
        let collections = whole_list(items_max, page).await;
        collections.iter().map(|record| record.collection.name.as_str().to_owned()).collect()
    }

    /// The requests of the store to its back end since the last call.
    pub(crate) fn requests(&self) -> BTreeMap<String, u32> {
        self.requests.taken()
    }

    /// All items of the table that have this attribute with this value.
    pub(crate) async fn items(&self, attribute: &str, value: AttributeValue) -> Vec<Item> {
        let everything = all(self.client.scan().table_name(&self.table).consistent_read(true));
        let items = everything.await.into_iter();
        items.filter(|item| item.get(attribute) == Some(&value)).collect()
    }

    /// The only item of the table that has this attribute with this value.
    pub(crate) async fn item(&self, attribute: &str, value: AttributeValue) -> Item {
        let mut items = self.items(attribute, value).await;
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    /// The timer of a job.
    pub(crate) async fn timer(&self, job: &JobRecord) -> Item {
        self.item("pk", text(&timers_of(job))).await
    }

    /// The index of what is due.
    pub(crate) async fn due_index(&self) -> Vec<Item> {
        all(self.client.scan().table_name(&self.table).index_name(DUE_INDEX)).await
    }

    /// The jobs that a sweep finds due by a tick, shard after shard, by the keys of their names.
    pub(crate) async fn due_by(&self, ticks: i64) -> Vec<String> {
        let mut due = Vec::new();
        for shard in 0..SHARDS {
            let query = self.client.query().table_name(&self.table).index_name(DUE_INDEX);
            let query = query
                .key_condition_expression("due_shard = :shard AND due_at <= :ticks")
                .expression_attribute_values(":shard", AttributeValue::N(shard.to_string()))
                .expression_attribute_values(":ticks", AttributeValue::N(ticks.to_string()));
            for item in query.send().await.unwrap().items() {
                due.push(item.get("job_key").unwrap().as_s().unwrap().clone());
            }
        }
        due
    }

    /// Keeps an item as it is given, whatever was under its key.
    pub(crate) async fn put(&self, item: Item) {
        let put = self.client.put_item().table_name(&self.table).set_item(Some(item));
        put.send().await.unwrap();
    }

    /// Deletes an item.
    pub(crate) async fn delete(&self, item: &Item) {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item.get(name).unwrap().clone()));
        let delete = self.client.delete_item().table_name(&self.table);
        delete.set_key(Some(HashMap::from(key))).send().await.unwrap();
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
pub(crate) async fn whole_list<T>(
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

/// Does the same many times at once, and gives what came out in no particular order.
pub(crate) async fn at_once<T, F>(count: u32, each: impl Fn(u32) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    (0..count).map(each).collect::<JoinSet<_>>().join_all().await
}

async fn all(scan: ScanFluentBuilder) -> Vec<Item> {
    let mut items = Vec::new();
    let mut from = None;
    loop {
        let page = scan.clone().set_exclusive_start_key(from).send().await.unwrap();
        items.extend(page.items.unwrap_or_default());
        from = page.last_evaluated_key;
        if from.is_none() {
            return items;
        }
    }
}

/// A text as an attribute has it.
pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// Where the timers of a job are: its own, and those of retries that are far away.
pub(crate) fn timers_of(job: &JobRecord) -> String {
    format!("T#{}", job.uid)
}
