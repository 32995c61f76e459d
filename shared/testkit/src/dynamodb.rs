//! A DynamoDB in the process: [dynoxide], which requests of the SDK reach without a socket.
//!
//! It does not throttle, its indexes are never stale, its transactions never conflict, and its items do not
//! expire by themselves. Tests of those cases use fakes of the ports.

#![expect(clippy::expect_used, reason = "a test says what it expects by panicking")]

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use dynoxide::DynoxideError;
use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use dynoxide::actions::{
    batch_get_item, batch_write_item, create_table, delete_item, delete_table, describe_table,
    describe_time_to_live, get_item, list_tables, put_item, query, scan, transact_get_items,
    transact_write_items, update_item, update_table, update_time_to_live,
};
use dynoxide::storage::Storage;
use futures_util::FutureExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use crate::fake_client;

/// A DynamoDB that runs until it and every client of it are dropped.
#[derive(Debug)]
pub struct LocalDynamo {
    connector: Connector,
}

/// The SDK's HTTP client, without HTTP. The SDK serializes, signs and addresses a request; only the
/// operation's name and the body matter here.
#[derive(Debug, Clone)]
struct Connector(Sender<Request>);

struct Request {
    operation: String,
    body: SdkBody,
    reply: oneshot::Sender<Answer>,
}

/// A status and a body.
type Answer = (u16, Vec<u8>);

impl LocalDynamo {
    /// One without a table, in memory.
    ///
    /// # Panics
    ///
    /// If there is not enough memory, or if its thread cannot be started.
    #[must_use]
    pub fn in_memory() -> Self {
        let (sender, requests) = channel();
        // A thread of its own, so that requests of concurrent callers meet as they do elsewhere.
        std::thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || serve(&requests))
            .expect("a thread starts");
        Self { connector: Connector(sender) }
    }

    /// A client, which never retries and has no timeouts. A request that was sent is performed even if its
    /// caller is cancelled.
    #[must_use]
    pub fn client(&self) -> Client {
        fake_client!(aws_sdk_dynamodb, self.connector)
    }

    /// The connector of [`client`](Self::client), for requests that go past the client.
    #[must_use]
    pub fn connector(&self) -> SharedHttpConnector {
        SharedHttpConnector::new(self.connector.clone())
    }
}

impl Connector {
    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|it| it.rsplit_once('.'));
        let (_, operation) =
            target.ok_or_else(|| ConnectorError::user("a request without an operation".into()))?;
        let operation = operation.to_owned();
        let (reply, answer) = oneshot::channel();
        let request = Request { operation, body: request.into_body(), reply };
        self.0.send(request).map_err(|_| ended())?;
        let (status, body) = answer.await.map_err(|_| ended())?;
        let status = StatusCode::try_from(status)
            .map_err(|error| ConnectorError::other(error.into(), None))?;
        Ok(HttpResponse::new(status, SdkBody::from(body)))
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().answer(request))
    }
}

fn ended() -> ConnectorError {
    ConnectorError::io(io::Error::new(io::ErrorKind::BrokenPipe, "its thread has ended").into())
}

fn serve(requests: &Receiver<Request>) {
    let storage = Storage::memory().expect("there is memory");
    let vectors = VectorIndexLifecycle::new();
    for Request { operation, body, reply } in requests {
        let body = body.bytes().unwrap_or_default();
        // The caller may have gone: its answer is lost, as on the way from AWS.
        let _ = reply.send(perform(&storage, &vectors, &operation, body));
    }
}

/// Performs an operation. dynoxide's server has such a table, too, but it is private and needs a socket.
fn perform(
    storage: &Storage,
    vectors: &VectorIndexLifecycle,
    operation: &str,
    body: &[u8],
) -> Answer {
    let s = storage;
    match operation {
        "BatchGetItem" => run(body, |request| batch_get_item::execute(s, request)),
        "BatchWriteItem" => run(body, |request| batch_write_item::execute(s, request)),
        "CreateTable" => run(body, |request| create_table::execute(s, request)),
        "DeleteItem" => run(body, |request| delete_item::execute(s, request)),
        "DeleteTable" => run(body, |request| delete_table::execute(s, request, vectors)),
        "DescribeTable" => run(body, |request| describe_table::execute(s, request, vectors)),
        "DescribeTimeToLive" => run(body, |request| describe_time_to_live::execute(s, request)),
        "GetItem" => run(body, |request| get_item::execute(s, request)),
        "ListTables" => run(body, |request| list_tables::execute(s, request)),
        "PutItem" => run(body, |request| put_item::execute(s, request)),
        "Query" => run(body, |request| query::execute(s, request)),
        "Scan" => run(body, |request| scan::execute(s, request)),
        "TransactGetItems" => run(body, |request| transact_get_items::execute(s, request)),
        // The idempotency token is ignored: dynoxide would scan its list of them for each further one, and
        // nothing is repeated here.
        "TransactWriteItems" => run(body, |request| transact_write_items::execute(s, request)),
        "UpdateItem" => run(body, |request| update_item::execute(s, request)),
        "UpdateTable" => run(body, |request| update_table::execute(s, request, vectors)),
        "UpdateTimeToLive" => run(body, |request| update_time_to_live::execute(s, request)),
        _ => refusal(&DynoxideError::ValidationException(format!("{operation} is not offered"))),
    }
}

fn run<Q, A, F>(body: &[u8], execute: impl FnOnce(Q) -> F) -> Answer
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = dynoxide::Result<A>>,
{
    let request = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => {
            return refusal(&DynoxideError::SerializationException(error.to_string()));
        }
    };
    // On SQLite these futures never wait.
    match execute(request).now_or_never().expect("it does not wait") {
        Ok(answer) => (200, serde_json::to_vec(&answer).expect("an answer is JSON")),
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &DynoxideError) -> Answer {
    (error.status_code(), error.to_json().into_bytes())
}
