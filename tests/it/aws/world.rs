//! The functions, and what they stand on.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_actions::TargetPolicy;
use minutehand_archive_objects::Objects;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_ports::{ActionSender, Clock};
use minutehand_queue_sqs::Batch;
use minutehand_rest::{Access, Token};
use minutehand_runtime::SystemClock;
use minutehand_runtime_aws::{BatchAnswer, Tally};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use minutehand_testkit::dynamodb::LocalDynamo;
use minutehand_testkit::{SetClock, TimeLimit, fake_client};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::target::Target;

const TABLE: &str = "jobs";
pub(super) const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/1/q";
const REGION: &str = "eu-west-1";
pub(super) const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc";
/// A data key, 32 bytes in Base64.
pub(super) const DATA_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// A schedule that the test moves, and work that takes its time.
#[derive(Clone)]
pub(super) struct TestClock(pub(super) SetClock);

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.0.wait_until(at).await;
    }

    async fn wait(&self, work: Duration) {
        SystemClock.wait(work).await;
    }
}

/// The sweeper's clock, on which a wait of a second or more does not end: the sweeper waits so long only
/// for shards that are slow, and here none is.
struct SweeperClock(TestClock);

#[async_trait]
impl Clock for SweeperClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        if at - self.now() >= TimeDelta::seconds(1) {
            std::future::pending::<()>().await;
        }
        self.0.wait_until(at).await;
    }

    async fn wait(&self, work: Duration) {
        self.0.wait(work).await;
    }
}

/// An item of the table.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A message in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) body: String,
    pub(super) delay: i64,
}

pub(super) struct World {
    pub(super) clock: TestClock,
    pub(super) target: Target,
    pub(super) sqs: FakeAws,
    pub(super) kms: FakeAws,
    pub(super) bus: FakeAws,
    /// While it is set, these services answer with it.
    pub(super) trouble: Arc<Mutex<Trouble>>,
    pub(super) api: minutehand_api::Function,
    pub(super) sweeper: minutehand_sweeper::Function,
    pub(super) executor: minutehand_executor::Function,
    /// The archiver, if there is an archive.
    pub(super) archiver: Option<minutehand_archiver::Function>,
    pub(super) jobs: DynamoStore,
    pub(super) dynamodb: aws_sdk_dynamodb::Client,
    taken: usize,
    _limit: TimeLimit,
}

/// Which services fail, and how.
#[derive(Default)]
pub(super) struct Trouble {
    pub(super) sqs: Option<AwsAnswer>,
    pub(super) kms: Option<AwsAnswer>,
    pub(super) bus: Option<AwsAnswer>,
}

impl World {
    /// One with a collection `jc`.
    pub(super) async fn new() -> Self {
        let store = LocalDynamo::in_memory();
        ensure_table(&store.client(), TABLE).await.unwrap();
        let world = Self::on(store.client());
        assert_eq!(world.put("", &json!({})).await, 201);
        world
    }

    /// One with an archive, and a collection `jc`.
    pub(super) async fn with_archive(archive: Objects) -> Self {
        let world = Self::without_collection(archive).await;
        assert_eq!(world.put("", &json!({})).await, 201);
        world
    }

    /// One with an archive, and nothing else.
    pub(super) async fn without_collection(archive: Objects) -> Self {
        let store = LocalDynamo::in_memory();
        ensure_table(&store.client(), TABLE).await.unwrap();
        Self::over(store.client(), Some(archive))
    }

    /// One on a store that may not be well.
    pub(super) fn on(dynamodb: aws_sdk_dynamodb::Client) -> Self {
        Self::over(dynamodb, None)
    }

    fn over(dynamodb: aws_sdk_dynamodb::Client, archive: Option<Objects>) -> Self {
        let trouble: Arc<Mutex<Trouble>> = Arc::default();
        let clock = TestClock(SetClock::at(instant("2030-01-01T00:00:00Z")));
        let failing = |which: fn(&Trouble) -> &Option<AwsAnswer>,
                       well: fn(&AwsCall) -> AwsAnswer| {
            let trouble = trouble.clone();
            FakeAws::new(move |call| {
                which(&trouble.lock().unwrap()).clone().unwrap_or_else(|| well(call))
            })
        };
        let sqs = failing(|trouble| &trouble.sqs, all_of_it);
        let kms = failing(|trouble| &trouble.kms, data_key);
        let bus = failing(|trouble| &trouble.bus, all_of_it);
        let clients = minutehand_api::ApiClients {
            dynamodb: dynamodb.clone().into(),
            sqs: fake_client!(aws_sdk_sqs, sqs),
            kms: fake_client!(aws_sdk_kms, kms),
        };
        let settings = minutehand_api::ApiSettings {
            table: TABLE.to_owned(),
            history: HistoryDays::default(),
            queue_url: QUEUE.to_owned(),
            dead_letters_url: None,
            key_id: "key".to_owned(),
            own: own_resources(),
            has_aws: true,
            public_url: Some("https://jobs.example.org".to_owned()),
            access: Access::Tokens(vec![Token::with_all_rights(
                Sha256::digest("open-sesame").into(),
            )]),
            plan_limits: PlanLimits::On,
            sign_in: None,
            archive: archive.clone(),
        };
        let api = minutehand_api::Function::new(settings, REGION, clients, Arc::new(clock.clone()));
        let clients = minutehand_sweeper::SweeperClients {
            dynamodb: dynamodb.clone().into(),
            sqs: fake_client!(aws_sdk_sqs, sqs),
            eventbridge: fake_client!(aws_sdk_eventbridge, bus),
        };
        let patient = Arc::new(SweeperClock(clock.clone()));
        let settings = sweeper_settings(None);
        let sweeper = minutehand_sweeper::Function::new(&settings, clients, patient);
        let executor = executor_on(dynamodb.clone(), [&sqs, &kms, &bus], &clock, archive.clone());
        let jobs = DynamoStore::new(dynamodb.clone(), TABLE);
        let target = Target::start();
        Self {
            target,
            sqs,
            kms,
            bus,
            trouble,
            api,
            sweeper,
            executor,
            archiver: archive.map(|objects| {
                let clock = Arc::new(clock.clone());
                minutehand_archiver::Function::new(TABLE.to_owned(), objects, &dynamodb, clock)
            }),
            clock,
            jobs,
            dynamodb,
            taken: 0,
            _limit: TimeLimit::start(),
        }
    }

    /// Another process of the executor.
    pub(super) fn other_executor(&self) -> minutehand_executor::Function {
        executor_on(self.dynamodb.clone(), [&self.sqs, &self.kms, &self.bus], &self.clock, None)
    }

    /// Another process of the executor, whose table throttles each request.
    pub(super) fn throttled_executor(&self) -> minutehand_executor::Function {
        let throttled = AwsAnswer::Failed(400, "ThrottlingException");
        let table = FakeAws::new(move |_| throttled.clone());
        let table = fake_client!(aws_sdk_dynamodb, table);
        executor_on(table, [&self.sqs, &self.kms, &self.bus], &self.clock, None)
    }

    /// Another process of the executor, with a sender of its own.
    pub(super) fn executor_with(
        &self,
        sender: Arc<dyn ActionSender>,
    ) -> minutehand_executor::Function {
        let (clients, settings) =
            executor_parts(self.dynamodb.clone(), [&self.sqs, &self.kms, &self.bus]);
        let clock = Arc::new(self.clock.clone());
        minutehand_executor::Function::with_sender(&settings, REGION, clients, clock, sender)
    }

    /// A sweeper that pings the target as its watcher.
    pub(super) fn pinging_sweeper(&self) -> minutehand_sweeper::Function {
        let clients = minutehand_sweeper::SweeperClients {
            dynamodb: self.dynamodb.clone().into(),
            sqs: fake_client!(aws_sdk_sqs, self.sqs),
            eventbridge: fake_client!(aws_sdk_eventbridge, self.bus),
        };
        let settings = sweeper_settings(Some(&self.target.url()));
        let patient = Arc::new(SweeperClock(self.clock.clone()));
        minutehand_sweeper::Function::new(&settings, clients, patient)
    }

    /// Puts the collection, or what is below it.
    pub(super) async fn put(&self, path: &str, body: &Value) -> u16 {
        self.call("PUT", &format!("{COLLECTION}{path}"), &body.to_string()).await.0
    }

    /// Puts a job that calls the target.
    pub(super) async fn put_job(&self, name: &str, more: Value) {
        let mut properties = json!({
            "action": {
                "type": "http",
                "request": {"method": "GET", "uri": self.target.url()},
                "retryPolicy": {"retryType": "none"},
            },
        });
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({"properties": properties});
        assert_eq!(self.put(&format!("/jobs/{name}"), &body).await, 201);
    }

    pub(super) async fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let event = json!({
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "api-version=2016-03-01",
            "headers": {"authorization": "Bearer open-sesame"},
            "body": body,
            "requestContext": {
                "domainName": "jobs.example",
                "stage": "$default",
                "http": {"method": method},
            },
        });
        self.event(event).await
    }

    /// The answer of the API's function to an event, as the gateway gets it.
    pub(super) async fn answer(&self, event: Value) -> Value {
        let answer = self.api.answer(serde_json::from_value(event).unwrap()).await.unwrap();
        serde_json::to_value(answer).unwrap()
    }

    /// The API's answer to an event: status and document.
    pub(super) async fn event(&self, event: Value) -> (u16, Value) {
        let answer = self.answer(event).await;
        let body = answer["body"].as_str().unwrap_or_default();
        let status = answer["statusCode"].as_u64().unwrap();
        (u16::try_from(status).unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub(super) async fn history(&self, name: &str) -> Vec<Value> {
        let (_, history) = self.call("GET", &format!("{COLLECTION}/jobs/{name}/history"), "").await;
        history["value"].as_array().unwrap().clone()
    }

    /// All items of the table, by their keys.
    pub(super) async fn items(&self) -> BTreeMap<(String, String), Item> {
        let (mut items, mut start) = (BTreeMap::new(), None);
        loop {
            let scan = self.dynamodb.scan().table_name(TABLE).set_exclusive_start_key(start);
            let page = scan.send().await.unwrap();
            let key = |item: &Item, name: &str| item[name].as_s().unwrap().clone();
            let found = page.items.unwrap_or_default().into_iter();
            items.extend(found.map(|item| ((key(&item, "pk"), key(&item, "sk")), item)));
            start = page.last_evaluated_key;
            if start.is_none() {
                return items;
            }
        }
    }

    /// The messages sent to the queue since the last call.
    pub(super) fn sent(&mut self) -> Vec<Sent> {
        let calls = self.sqs.calls();
        let new = calls.iter().skip(self.taken);
        let sent = new.filter(|call| call.action == "SendMessageBatch").flat_map(|call| {
            call.body["Entries"].as_array().unwrap().iter().map(|entry| Sent {
                body: entry["MessageBody"].as_str().unwrap().to_owned(),
                delay: entry["DelaySeconds"].as_i64().unwrap(),
            })
        });
        let sent = sent.collect();
        self.taken = calls.len();
        sent
    }

    /// The receipts that were put back, and for how many seconds.
    pub(super) fn put_back(&self) -> Vec<(String, i64)> {
        let calls = self.sqs.calls();
        let back = calls.iter().filter(|call| call.action == "ChangeMessageVisibilityBatch");
        back.flat_map(|call| call.body["Entries"].as_array().unwrap().iter())
            .map(|entry| {
                let receipt = entry["ReceiptHandle"].as_str().unwrap().to_owned();
                (receipt, entry["VisibilityTimeout"].as_i64().unwrap())
            })
            .collect()
    }

    /// Hands messages to the executor, as the queue would when they are due.
    pub(super) async fn deliver(&self, messages: &[Sent]) -> Vec<String> {
        let mut failed = Vec::new();
        for batch in messages.chunks(10) {
            let answer = self.executor.perform(batch_of(batch, 1), self.ends_at()).await;
            failed.extend(failures(&answer));
        }
        failed
    }

    /// When an invocation that begins now ends.
    pub(super) fn ends_at(&self) -> DateTime<Utc> {
        self.clock.work_now() + minutehand_domain::firing::limits::FUNCTION
    }

    /// The counts of a function, by the names of its metrics.
    pub(super) fn counted(&self, tally: &Tally) -> Value {
        let lines = tally.take(TABLE, self.clock.work_now());
        lines.first().map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.clock.0.advance(TimeDelta::seconds(seconds));
    }
}

/// Messages as Lambda hands them over, delivered so often.
pub(super) fn batch_of(messages: &[Sent], receives: u32) -> Batch {
    let records = messages.iter().enumerate().map(|(n, message)| {
        json!({
            "messageId": format!("m{n}"),
            "receiptHandle": format!("r{n}"),
            "body": message.body,
            "attributes": {"ApproximateReceiveCount": receives.to_string()},
        })
    });
    serde_json::from_value(json!({"Records": records.collect::<Vec<_>>()})).unwrap()
}

/// The messages that come back.
pub(super) fn failures(answer: &BatchAnswer) -> Vec<String> {
    let answer = serde_json::to_value(answer).unwrap();
    let failures = answer["batchItemFailures"].as_array().unwrap();
    failures.iter().map(|it| it["itemIdentifier"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn instant(text: &str) -> DateTime<Utc> {
    minutehand_recurrence::WrittenDate::parse(text).unwrap().instant(None).unwrap()
}

/// The queue of [`QUEUE`].
fn own_resources() -> OwnResources {
    let mut own = OwnResources::default();
    assert!(own.add("arn:aws:sqs:eu-west-1:1:q"));
    own
}

fn executor_on(
    dynamodb: aws_sdk_dynamodb::Client,
    services: [&FakeAws; 3],
    clock: &TestClock,
    bodies: Option<Objects>,
) -> minutehand_executor::Function {
    let (clients, settings) = executor_parts(dynamodb, services);
    let settings = minutehand_executor::ExecutorSettings { bodies, ..settings };
    let aws = minutehand_actions::Aws::with_keys(None, REGION, "AKIDEXAMPLE", "secret", None);
    minutehand_executor::Function::new(&settings, aws, clients, Arc::new(clock.clone())).unwrap()
}

fn sweeper_settings(watcher: Option<&str>) -> minutehand_sweeper::SweeperSettings {
    minutehand_sweeper::SweeperSettings {
        table: TABLE.to_owned(),
        history: HistoryDays::default(),
        queue_url: QUEUE.to_owned(),
        event_bus: Some("bus".to_owned()),
        heartbeat: watcher.map(|url| url.parse().unwrap()),
    }
}

fn executor_parts(
    dynamodb: aws_sdk_dynamodb::Client,
    [sqs, kms, bus]: [&FakeAws; 3],
) -> (minutehand_executor::ExecutorClients, minutehand_executor::ExecutorSettings) {
    let clients = minutehand_executor::ExecutorClients {
        dynamodb: dynamodb.into(),
        sqs: fake_client!(aws_sdk_sqs, sqs),
        kms: fake_client!(aws_sdk_kms, kms),
        eventbridge: fake_client!(aws_sdk_eventbridge, bus),
    };
    let settings = minutehand_executor::ExecutorSettings {
        table: TABLE.to_owned(),
        history: HistoryDays::default(),
        queue_url: QUEUE.to_owned(),
        event_bus: Some("bus".to_owned()),
        key_id: "key".to_owned(),
        own: own_resources(),
        actions_role: None,
        targets: TargetPolicy::AllowPrivate,
        public_url: Some("https://jobs.example.org".to_owned()),
        authority: minutehand_actions::AUTHORITY.to_owned(),
        bodies: None,
    };
    (clients, settings)
}

/// Everything that is asked for in a batch is done.
pub(super) fn all_of_it(call: &AwsCall) -> AwsAnswer {
    let entries = call.body["Entries"].as_array().unwrap();
    let done: Vec<Value> = entries
        .iter()
        .map(|entry| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "", "EventId": "e"}))
        .collect();
    AwsAnswer::Done(
        json!({"Successful": done, "Failed": [], "FailedEntryCount": 0, "Entries": done}),
    )
}

fn data_key(_: &AwsCall) -> AwsAnswer {
    AwsAnswer::Done(json!({"KeyId": "key", "Plaintext": DATA_KEY, "CiphertextBlob": "c2VhbGVk"}))
}
