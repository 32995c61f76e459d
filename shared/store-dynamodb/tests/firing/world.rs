//! A store with nothing in it, and what is put into it.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::collection::Collection;
use minutehand_domain::document::accept_collection;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Claim, ClaimRequest, Claimed, CollectionRecord, HistoryEntry, JobRecord, PageRequest, Recorded,
    ResourceGroup, SaveJob, Saved, TimerRecord,
};
use minutehand_ports::{Attempts, Collections, History, Jobs};
use minutehand_store_dynamodb::{DynamoStore, Meter, ensure_table};
use minutehand_testkit::dynamodb::LocalDynamo;
use minutehand_testkit::{TimeLimit, back_end};

/// As long as an identity is.
pub(crate) const JOB: &str = "01hzzzzzzzzzzzzzzzzzzzzzzj";
pub(crate) const COLLECTION: &str = "01hzzzzzzzzzzzzzzzzzzzzzzc";

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) store: DynamoStore,
    pub(crate) meter: Arc<Meter>,
    _limit: TimeLimit,
}

/// Runs a test through the client, and past it.
pub(crate) async fn in_both_ways(test: impl AsyncFn(World)) {
    test(World::new().await).await;
    if back_end::other().is_none() {
        let store = LocalDynamo::in_memory();
        test(World::of(store.client(), Some(store.connector())).await).await;
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        match back_end::other() {
            Some(client) => Self::of(client, None).await,
            None => Self::in_process().await,
        }
    }

    /// On the store in the process, whatever the environment names: it counts units, and cuts batches, as
    /// AWS does and emulators do not.
    pub(crate) async fn in_process() -> Self {
        Self::of(LocalDynamo::in_memory().client(), None).await
    }

    async fn of(client: Client, connector: Option<SharedHttpConnector>) -> Self {
        let table = back_end::new_table("firing");
        ensure_table(&client, &table).await.unwrap();
        let meter = Arc::new(Meter::default());
        let store = DynamoStore::new(client.clone(), &table)
            .with_connector(connector)
            .with_meter(meter.clone());
        Self { client, table, store, meter, _limit: TimeLimit::start() }
    }

    /// One with a collection and in it a job that is due.
    pub(crate) async fn with_job() -> Self {
        Self::new().await.and_job().await
    }

    /// The same, with a collection and in it a job that is due.
    pub(crate) async fn and_job(self) -> Self {
        self.put_job(&collection(), &job("Job")).await;
        self
    }

    pub(crate) async fn put_job(&self, collection: &CollectionRecord, job: &JobRecord) {
        let found = Collections::find(&self.store, &collection.place, &collection.collection.name);
        if found.await.unwrap().is_none() {
            let saved = Collections::create(&self.store, collection, None).await.unwrap();
            assert_eq!(saved, Saved::Kept);
        }
        let save = SaveJob { collection, job, timer_changes: true, entry: None };
        assert_eq!(Jobs::create(&self.store, save, None, at(0)).await.unwrap(), Saved::Kept);
    }

    pub(crate) async fn claim(&self, request: ClaimRequest) -> Claimed {
        self.store.claim(&request).await.unwrap()
    }

    pub(crate) async fn record(&self, claim: &Claim, record: Record) -> Recorded {
        self.store.record(claim, &record).await.unwrap()
    }

    /// Claims an attempt and records how it ended.
    pub(crate) async fn execute(&self, attempt: &Attempt, record: Record) {
        assert_eq!(self.claim(claim(attempt, "c")).await, Claimed::Won);
        assert_eq!(self.record(&held(attempt, "c"), record).await, Recorded::Kept);
    }

    /// The table removes what has expired by then. Returns how many items.
    pub(crate) async fn expire(&self, now: DateTime<Utc>) -> u64 {
        back_end::remove_expired(&self.client, &self.table, now).await
    }

    pub(crate) async fn history(&self) -> Vec<HistoryEntry> {
        let page = PageRequest { from: None, items_max: 1_000 };
        let page = History::list(&self.store, JOB, page).await.unwrap();
        assert_eq!(page.next, None);
        page.items
    }

    /// The items of a partition as they are stored.
    pub(crate) async fn raw(&self, pk: &str) -> Vec<HashMap<String, AttributeValue>> {
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", AttributeValue::S(pk.to_owned()));
        query.send().await.unwrap().items.unwrap_or_default()
    }
}

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

pub(crate) fn scheduled(second: i64) -> Attempt {
    Attempt::first(1, Occurrence::Scheduled { nominal_at: at(second) })
}

/// A request for a claim at second 100, with a lease of 100 seconds.
pub(crate) fn claim(attempt: &Attempt, claim_id: &str) -> ClaimRequest {
    claim_at(100, attempt, claim_id)
}

pub(crate) fn claim_at(second: i64, attempt: &Attempt, claim_id: &str) -> ClaimRequest {
    let claim = Claim { lease_until: at(second + 100), ..held(attempt, claim_id) };
    ClaimRequest { claim, now: at(second) }
}

/// A claim with a lease until second 200.
pub(crate) fn held(attempt: &Attempt, claim_id: &str) -> Claim {
    Claim {
        job: job_ref(),
        attempt: attempt.clone(),
        claim_id: claim_id.to_owned(),
        lease_until: at(200),
    }
}

pub(crate) fn record(second: i64) -> Record {
    Record {
        started_at: at(second) + TimeDelta::milliseconds(25),
        ended_at: at(second + 1),
        outcome: Outcome::Succeeded,
        message: "Http Action - Response from host 'example.org': 'OK' Response Headers: \r\n \
                  Body: "
            .to_owned(),
        repeat_count: 7,
        cause: None,
        body_bytes: 0,
        then: None,
    }
}

/// Text in which there is little to deflate: letters by xorshift, of 90.
pub(crate) fn noise(seed: u32, length: usize) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let letters = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        char::from(b'!' + u8::try_from((state >> 8) % 90).unwrap())
    });
    letters.take(length).collect()
}

pub(crate) fn job_ref() -> JobRef {
    JobRef { uid: JOB.to_owned(), collection_uid: COLLECTION.to_owned(), key: "job".to_owned() }
}

pub(crate) fn place() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("Sub"), group: segment("Group") }
}

pub(crate) fn collection() -> CollectionRecord {
    let document = serde_json::json!({"properties": {"sku": {"name": "Standard"}}});
    CollectionRecord {
        place: place(),
        collection: Collection {
            uid: COLLECTION.to_owned(),
            name: Name::new("Jc").unwrap(),
            definition: accept_collection(&document).unwrap(),
        },
        job_count: 0,
        on_since: at(-1_000),
        sealed: None,
        state_since: None,
        label: None,
        version: 1,
    }
}

/// A job that is due at second 60.
pub(crate) fn job(name: &str) -> JobRecord {
    JobRecord {
        uid: JOB.to_owned(),
        name: Name::new(name).unwrap(),
        document: "{}".to_owned(),
        sealed: Some(vec![1, 2, 3]),
        version: 1,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing: Timing { generation: 1, anchor: Some(at(0)), since: at(0), used: 0 },
            timetable: Some(
                "1 every=1minute anchor=2027-01-15T08:00:00Z since=1800000000".to_owned(),
            ),
            counters: JobCounters::default(),
            due_at: Some(at(60)),
            is_spent: false,
        },
    }
}
