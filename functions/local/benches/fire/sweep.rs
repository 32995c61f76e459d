//! A sweep with few and with many jobs, none of them due.
//!
//! The jobs are copies of one that was created: its items under other identities, written past the
//! services, as a million creates would take long.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{StreamExt as _, iter};
use minutehand_app::fire::{Dispatcher, Heartbeat, Sweeper};
use minutehand_domain::collection::Collection;
use minutehand_domain::document::accept_collection;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_embedded::{DataDir, Queue, Store, SyncMode};
use minutehand_ports::store::{
    CollectionRecord, JobRecord, PulseOf, ResourceGroup, SaveJob, TimerRecord,
};
use minutehand_ports::{Collections, Jobs};
use minutehand_runtime::SystemClock;
use minutehand_store_dynamodb::{DynamoStore, ensure_table};

use crate::disk::new_dir;
use crate::figures::Figures;

const TABLE: &str = "minutehand";
/// Passes, of which the best counts: the machine has other work.
const PASSES: u32 = 20;
/// Jobs of one transaction: two items each.
const JOBS_AT_ONCE: u64 = 50;
const IN_FLIGHT: usize = 4;
const SHARDS: u64 = 64;

type Item = HashMap<String, AttributeValue>;

pub(crate) async fn measure(figures: &mut Figures, many: u64) {
    for stored in [1_000, many] {
        let dir = new_dir();
        let data_dir = DataDir::open(dir.path()).expect("a new directory");
        let store = Store::open(&data_dir, SyncMode::Normal).expect("a store");
        ensure_table(&store.client(), TABLE).await.expect("a table");
        let start = Instant::now();
        fill(&store.client(), stored).await;
        eprintln!("{stored} jobs stored in {:.1?}", start.elapsed());
        let jobs = Arc::new(DynamoStore::new(store.client(), TABLE));
        let queue = Queue::in_memory(Arc::new(SystemClock)).expect("a queue");
        let (events, clock) = (Arc::new(()), Arc::new(SystemClock));
        let dispatcher =
            Dispatcher::new(jobs.clone(), jobs.clone(), Arc::new(queue), events, clock.clone());
        let heartbeat = Arc::new(Heartbeat::new(jobs.clone(), clock.clone(), PulseOf::Sweepers));
        let (mut pass, mut next) = (f64::MAX, f64::MAX);
        for n in 0..PASSES {
            // One that has read the index remembers what is due next.
            let (dispatcher, heartbeat) = (dispatcher.clone(), heartbeat.clone());
            let sweeper = Sweeper::new(jobs.clone(), dispatcher, heartbeat, clock.clone());
            let start = Instant::now();
            let found = sweeper.pass(n, pending()).await;
            pass = pass.min(start.elapsed().as_secs_f64() * 1e3);
            assert!(found.failed == 0 && found.dispatched.timers == 0, "{found:?}");
            let start = Instant::now();
            assert!(sweeper.next_due_at().await.expect("an answer").is_some(), "it is empty");
            next = next.min(start.elapsed().as_secs_f64() * 1e3);
        }
        let figure = format!("{pass:.1} ms; the next timer {next:.1} ms");
        let bar = if stored == 1_000 { "" } else { "as with 1000" };
        figures.add(&format!("a sweep, none of {stored} jobs due"), figure, bar, "");
        store.close().await;
    }
}

/// Stores jobs that are due in years.
async fn fill(client: &Client, jobs: u64) {
    let [timer, definition] = template(client).await;
    let groups = (0..jobs.div_ceil(JOBS_AT_ONCE)).map(|group| {
        let (first, end) = (group * JOBS_AT_ONCE, ((group + 1) * JOBS_AT_ONCE).min(jobs));
        let puts = (first..end).flat_map(|n| copies(&timer, &definition, n)).map(put);
        client.transact_write_items().set_transact_items(Some(puts.collect())).send()
    });
    let mut written = iter(groups).buffer_unordered(IN_FLIGHT);
    while let Some(wrote) = written.next().await {
        wrote.expect("copies of a job");
    }
}

fn put(item: Item) -> TransactWriteItem {
    let put = Put::builder().table_name(TABLE).set_item(Some(item)).build().expect("a put");
    TransactWriteItem::builder().put(put).build()
}

fn copies(timer: &Item, definition: &Item, n: u64) -> [Item; 2] {
    let uid = format!("copy{n:028x}");
    let name = format!("copy-{n}");
    let (mut timer, mut definition) = (timer.clone(), definition.clone());
    let text = |text: String| AttributeValue::S(text);
    timer.insert("pk".to_owned(), text(format!("T#{uid}")));
    timer.insert("job_key".to_owned(), text(name.clone()));
    timer.insert("due_shard".to_owned(), AttributeValue::N((n % SHARDS).to_string()));
    definition.insert("sk".to_owned(), text(format!("J#{name}")));
    definition.insert("uid".to_owned(), text(uid));
    definition.insert("name".to_owned(), text(name));
    [timer, definition]
}

/// The timer and the definition of a job.
async fn template(client: &Client) -> [Item; 2] {
    let store = DynamoStore::new(client.clone(), TABLE);
    let (collection, job) = (collection(), job());
    let _ = Collections::create(&store, &collection, None).await.expect("a collection");
    let save = SaveJob { collection: &collection, job: &job, timer_changes: true, entry: None };
    let _ =
        Jobs::create(&store, save, None, minutehand_runtime::system_now()).await.expect("a job");
    let get = async |pk: String, sk: &str| {
        let request = client.get_item().table_name(TABLE);
        let request = request.key("pk", AttributeValue::S(pk));
        let answer = request.key("sk", AttributeValue::S(sk.to_owned())).send().await;
        answer.expect("an answer").item.expect("an item")
    };
    let timer = get(format!("T#{}", job.uid), "T").await;
    let definition = get(format!("C#{}", collection.collection.uid), "J#job").await;
    [timer, definition]
}

fn collection() -> CollectionRecord {
    let segment = |text| PathSegment::new(text).expect("a segment");
    let document = serde_json::json!({"properties": {"sku": {"name": "Standard"}}});
    CollectionRecord {
        place: ResourceGroup { subscription: segment("s"), group: segment("g") },
        collection: Collection {
            uid: "0123456789abcdef0123456789abcdef".to_owned(),
            name: Name::new("jc").expect("a name"),
            definition: accept_collection(&document).expect("a collection"),
        },
        job_count: 0,
        on_since: minutehand_runtime::system_now(),
        sealed: None,
        state_since: None,
        label: None,
        version: 1,
    }
}

fn job() -> JobRecord {
    let now = minutehand_runtime::system_now();
    let due_at: DateTime<Utc> = now + TimeDelta::days(3_650);
    let timing = Timing { generation: 1, anchor: Some(now), since: now, used: 0 };
    let anchor = minutehand_recurrence::format_instant(due_at);
    let timetable = format!("1 every=1day anchor={anchor} since={}", due_at.timestamp());
    JobRecord {
        uid: "fedcba9876543210fedcba9876543210".to_owned(),
        name: Name::new("job").expect("a name"),
        document:
            r#"{"action":{"type":"Http","request":{"uri":"http://example.org/","method":"GET"}}}"#
                .to_owned(),
        sealed: None,
        version: 1,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing,
            timetable: Some(timetable),
            counters: JobCounters::default(),
            due_at: Some(due_at),
            is_spent: false,
        },
    }
}
