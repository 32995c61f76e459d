//! What the functions call: a store with its table, a queue that notes what is sent, a key, a bus, all
//! over TLS; and the target of jobs, over plain HTTP.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use minutehand_store_dynamodb::ensure_table;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::http::{self, Answer, Request};
use crate::throttle::{self, Throttle};
use crate::tls::{self, Tls};

pub(crate) const TABLE: &str = "jobs";
const TABLE_URL: &str = "AWS_ENDPOINT_URL_DYNAMODB";

pub(crate) struct Services {
    environment: Vec<(&'static str, String)>,
    pub(crate) target: SocketAddr,
    /// How often the target was called.
    pub(crate) called: Arc<AtomicUsize>,
    /// The messages that were sent, and are not yet taken.
    pub(crate) sent: Arc<Mutex<Vec<String>>>,
    /// How many objects the archive took, and their bytes.
    pub(crate) stored_objects: Arc<AtomicUsize>,
    pub(crate) stored_bytes: Arc<AtomicUsize>,
    /// Whether the queue takes nothing.
    pub(crate) refuses: Arc<AtomicBool>,
    /// Where the table is, without TLS.
    table: SocketAddr,
    /// The table, without TLS.
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) system: Runtime,
    pub(crate) tls: Tls,
}

impl Services {
    pub(crate) fn start() -> Self {
        let system = Runtime::new().expect("there are threads");
        let table = system.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("it has an address");
            let database = dynoxide::Database::memory().expect("there is memory");
            tokio::spawn(dynoxide::server::serve_on(listener, database));
            address
        });
        let sent: Arc<Mutex<Vec<String>>> = Arc::default();
        let refuses: Arc<AtomicBool> = Arc::default();
        let (noted, is_down) = (sent.clone(), refuses.clone());
        let (stored_objects, stored_bytes) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (objects, bytes) = (stored_objects.clone(), stored_bytes.clone());
        let others = http::serve(move |request| {
            if is_down.load(Ordering::Acquire) {
                let body = json!({"__type": "AccessDenied"}).to_string();
                return Answer { status: 400, ..Answer::from(body) };
            }
            if request.path.starts_with("/archive/") {
                objects.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(request.body.len(), Ordering::Relaxed);
                return Answer::from(String::new());
            }
            answer(&request, &noted)
        });
        let called: Arc<AtomicUsize> = Arc::default();
        let noted = called.clone();
        let target = http::serve(move |_| {
            noted.fetch_add(1, Ordering::Relaxed);
            Answer::from("done".to_owned())
        });
        let plain = |address| format!("http://{address}");
        let dynamodb = dynamodb_client(environment([plain(table), plain(others)]));
        system.block_on(ensure_table(&dynamodb, TABLE)).expect("the table is made");
        let tls = Tls::new();
        let urls = [table, others].map(|server| {
            let front = system.block_on(tls.before(server));
            format!("https://{}:{}", tls::NAME, front.port())
        });
        let mut environment = environment(urls);
        environment.push(("SSL_CERT_FILE", tls.authorities().display().to_string()));
        Self {
            environment,
            target,
            called,
            sent,
            stored_objects,
            stored_bytes,
            refuses,
            table,
            dynamodb,
            system,
            tls,
        }
    }

    /// The environment that Lambda and the template give.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        self.environment.clone()
    }

    /// The same with a table that refuses one of so many calls.
    pub(crate) fn throttled_environment(&self, one_in: u32) -> Vec<(&'static str, String)> {
        let throttle = Arc::new(Throttle::default());
        throttle.refuse(one_in);
        let front = throttle::before(self.table, throttle);
        let front = self.system.block_on(self.tls.before(front));
        let mut environment = self.environment();
        environment.retain(|(name, _)| *name != TABLE_URL);
        environment.push((TABLE_URL, format!("https://{}:{}", tls::NAME, front.port())));
        environment
    }

    /// The environment of the archiver.
    pub(crate) fn archiver_environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.environment();
        environment.push(("MINUTEHAND_ARCHIVE", "s3://archive".to_owned()));
        environment
    }
}

fn dynamodb_client(environment: Vec<(&'static str, String)>) -> aws_sdk_dynamodb::Client {
    let mut variables = minutehand_runtime_aws::Variables::of(environment);
    let aws = minutehand_runtime_aws::AwsSettings::read(&mut variables);
    aws_sdk_dynamodb::Client::new(&aws.config().expect("TLS is set up"))
}

fn environment([dynamodb, others]: [String; 2]) -> Vec<(&'static str, String)> {
    [
        ("AWS_REGION", "eu-west-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("MINUTEHAND_QUEUE_URL", format!("{others}/1/q")),
        ("AWS_ENDPOINT_URL", others),
        (TABLE_URL, dynamodb),
        ("AWS_LAMBDA_FUNCTION_NAME", "bench".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256".to_owned()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1".to_owned()),
        ("MINUTEHAND_TABLE", TABLE.to_owned()),
        ("MINUTEHAND_KEY_ID", "key".to_owned()),
        ("MINUTEHAND_OWN_ARNS", "arn:aws:sqs:eu-west-1:1:q".to_owned()),
        ("MINUTEHAND_AUTH", "iam".to_owned()),
        ("MINUTEHAND_TARGETS", "private".to_owned()),
        ("MINUTEHAND_LOG_LEVEL", "error".to_owned()),
    ]
    .to_vec()
}

/// Everything that is asked for in a batch is done.
fn answer(request: &Request, sent: &Mutex<Vec<String>>) -> Answer {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if request.action == "SendMessageBatch" {
        let bodies = entries(&body).filter_map(|entry| entry["MessageBody"].as_str());
        sent.lock().expect("nobody trips").extend(bodies.map(str::to_owned));
    }
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let answer = json!({
        "Successful": done(&body),
        "Failed": [],
        "KeyId": "key",
        "Plaintext": key,
        "CiphertextBlob": "c2VhbGVk",
    });
    Answer::from(answer.to_string())
}

/// What is asked for in a batch.
fn entries(batch: &Value) -> impl Iterator<Item = &Value> {
    batch["Entries"].as_array().into_iter().flatten()
}

/// What the queue says of a batch of which everything is done.
pub(crate) fn done(batch: &Value) -> Vec<Value> {
    entries(batch)
        .map(|entry| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": ""}))
        .collect()
}
