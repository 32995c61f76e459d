//! Measures conditional puts and batch reads per second. Prints one table.
//!
//! The bench compares the connector with the way that it replaces: HTTP over loopback to dynoxide's own
//! server, with the same SDK on the same runtime. It prints the cost of one `fsync` on this machine
//! first, because the mode `full` waits for one.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench stops at an unexpected result")]

mod disk;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, KeysAndAttributes, Projection, ProjectionType, ScalarAttributeType,
};
use disk::{fsync_micros, new_dir};
use dynoxide::Database;
use minutehand_embedded::{DataDir, Store, SyncMode};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The duration of one measurement.
const ROUND: Duration = Duration::from_millis(700);
/// Numbers of concurrent requests.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];
/// Items of a batch read: as many as the executor has messages in a batch.
const BATCH: u64 = 10;
/// Items that batch reads choose from.
const N_STORED: u64 = 1_000;
/// Bytes of an item beside its keys: about as many as a timer has.
const PAYLOAD_BYTES: usize = 400;
const TABLE: &str = "bench";

/// A client to measure, and the directory of its store.
struct Subject {
    name: &'static str,
    client: Client,
    _dir: TempDir,
}

#[tokio::main]
async fn main() {
    let dir = new_dir();
    let (median, p99) = fsync_micros(dir.path());
    println!("one fsync of an appended page: median {median} us, p99 {p99} us");
    println!("an item has {PAYLOAD_BYTES} bytes and is in one index; a batch reads {BATCH}\n");
    println!("{:<24} | {:^26} | {:^26}", "", "conditional puts/s", "batch reads/s");
    print!("{:<24}", "in flight");
    for _ in 0..2 {
        print!(" |");
        for in_flight in IN_FLIGHT {
            print!(" {in_flight:>8}");
        }
    }
    println!();
    for subject in subjects().await {
        create_table(&subject.client).await;
        print!("{:<24}", subject.name);
        let ids = Arc::new(AtomicU64::new(0));
        while ids.fetch_add(1, Ordering::Relaxed) < N_STORED {
            put(subject.client.clone(), ids.load(Ordering::Relaxed)).await;
        }
        print!(" |");
        for in_flight in IN_FLIGHT {
            print!(" {:>8.0}", rate(&subject.client, &ids, in_flight, put).await);
        }
        print!(" |");
        for in_flight in IN_FLIGHT {
            print!(" {:>8.0}", rate(&subject.client, &ids, in_flight, read_batch).await);
        }
        println!();
    }
}

async fn subjects() -> Vec<Subject> {
    let memory = Store::in_memory().expect("a store in memory");
    let mut subjects =
        vec![Subject { name: "memory, connector", client: memory.client(), _dir: new_dir() }];
    for (name, sync) in
        [("normal, connector", SyncMode::Normal), ("full, connector", SyncMode::Full)]
    {
        let dir = new_dir();
        let data_dir = DataDir::open(dir.path()).expect("a new directory");
        let store = Store::open(&data_dir, sync).expect("a new store");
        subjects.push(Subject { name, client: store.client(), _dir: dir });
    }
    for (name, on_file, is_full) in [
        ("memory, loopback", false, false),
        ("normal, loopback", true, false),
        ("full, loopback", true, true),
    ] {
        let dir = new_dir();
        let path = dir.path().join("store.db");
        let database = if on_file {
            Database::new(path.to_str().expect("a path in UTF-8"))
        } else {
            Database::memory()
        };
        let database = database.expect("a new database");
        if !is_full {
            // dynoxide has no other way to set `synchronous = NORMAL`; it does so after bulk loads.
            database.disable_bulk_loading().expect("a setting");
        }
        subjects.push(Subject { name, client: loopback(database).await, _dir: dir });
    }
    subjects
}

async fn loopback(database: Database) -> Client {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(format!("http://{address}"))
        .region(Region::from_static("local"))
        .credentials_provider(Credentials::new("bench", "bench", None, None, "bench"))
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

/// Requests answered in a second, with this many concurrent requests.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    client: &Client,
    ids: &Arc<AtomicU64>,
    in_flight: usize,
    request: fn(Client, u64) -> F,
) -> f64 {
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..in_flight {
        let (client, ids) = (client.clone(), Arc::clone(ids));
        callers.spawn(async move {
            let mut n_answered = 0_u32;
            while start.elapsed() < ROUND {
                request(client.clone(), ids.fetch_add(1, Ordering::Relaxed)).await;
                n_answered += 1;
            }
            n_answered
        });
    }
    let n_answered: u32 = callers.join_all().await.into_iter().sum();
    f64::from(n_answered) / start.elapsed().as_secs_f64()
}

async fn put(client: Client, id: u64) {
    client
        .put_item()
        .table_name(TABLE)
        .item("pk", key(id))
        .item("sk", text("T"))
        .item("due_shard", text((id % 64).to_string()))
        .item("due_at", text("2027-01-01T00:00:00Z"))
        .item("payload", text("x".repeat(PAYLOAD_BYTES)))
        .condition_expression("attribute_not_exists(pk)")
        .send()
        .await
        .expect("a put of a new item");
}

async fn read_batch(client: Client, id: u64) {
    let keys = (0..BATCH)
        .map(|n| {
            let id = 1 + (id * BATCH + n) % N_STORED;
            [("pk".to_owned(), key(id)), ("sk".to_owned(), text("T"))].into()
        })
        .collect();
    let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
    let answer = client
        .batch_get_item()
        .request_items(TABLE, wanted.expect("a batch"))
        .send()
        .await
        .expect("a batch read");
    let n_items = answer.responses().and_then(|tables| tables.get(TABLE)).map_or(0, Vec::len);
    assert_eq!(n_items, 10, "a batch has all its items");
}

async fn create_table(client: &Client) {
    let attribute = |name: &str| {
        let definition = AttributeDefinition::builder().attribute_name(name);
        definition.attribute_type(ScalarAttributeType::S).build().expect("an attribute")
    };
    let part = |name: &str, kind| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("a key")
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name("due")
        .key_schema(part("due_shard", KeyType::Hash))
        .key_schema(part("due_at", KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(
            ["pk", "sk", "due_shard", "due_at"].into_iter().map(attribute).collect(),
        ))
        .key_schema(part("pk", KeyType::Hash))
        .key_schema(part("sk", KeyType::Range))
        .global_secondary_indexes(index.build().expect("an index"))
        .send()
        .await
        .expect("a new table");
}

fn key(id: u64) -> AttributeValue {
    text(format!("T#{id}"))
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}
