//! AWS as a function: what a request is answered with is for the test to say.
//!
//! The SDK does everything it does on AWS up to the socket. So an adapter's batches, what it does
//! with an answer in part, and how it takes errors are seen without a service, and those that no
//! emulator makes, too.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A request that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsCall {
    /// The operation, such as `SendMessageBatch`.
    pub action: String,
    /// With what.
    pub body: Value,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum AwsAnswer {
    /// It is done.
    Done(Value),
    /// It failed: a status, and the code of the error.
    Failed(u16, &'static str),
    /// It failed: a status, and the document of the error with its `__type`.
    FailedWith(u16, Value),
    /// There is no answer.
    Silence,
}

type Answers = dyn Fn(&AwsCall) -> AwsAnswer + Send + Sync;

/// A stand-in for AWS. Clones share their state.
#[derive(Clone)]
pub struct FakeAws {
    answers: Arc<Answers>,
    calls: Arc<Mutex<Vec<AwsCall>>>,
}

impl fmt::Debug for FakeAws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeAws")
    }
}

impl FakeAws {
    /// It answers so.
    #[must_use]
    pub fn new(answers: impl Fn(&AwsCall) -> AwsAnswer + Send + Sync + 'static) -> Self {
        Self { answers: Arc::new(answers), calls: Arc::default() }
    }

    /// It answers with these, one after the other, and then not at all.
    #[must_use]
    pub fn in_turn(answers: impl IntoIterator<Item = AwsAnswer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect::<Vec<_>>().into_iter());
        Self::new(move |_| {
            let next = answers.lock().unwrap_or_else(PoisonError::into_inner).next();
            next.unwrap_or(AwsAnswer::Silence)
        })
    }

    /// The requests so far.
    #[must_use]
    pub fn calls(&self) -> Vec<AwsCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, call: AwsCall) -> Result<HttpResponse, ConnectorError> {
        let answer = (self.answers)(&call);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        let (status, body) = match answer {
            AwsAnswer::Done(body) => (200, body),
            AwsAnswer::Failed(status, code) => (status, json!({"__type": code, "message": code})),
            AwsAnswer::FailedWith(status, body) => (status, body),
            AwsAnswer::Silence => return Err(ConnectorError::timeout("no answer".into())),
        };
        let status = StatusCode::try_from(status)
            .map_err(|error| ConnectorError::other(error.into(), None))?;
        let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.1");
        Ok(response)
    }
}

impl AwsCall {
    /// What a request asks for.
    ///
    /// # Panics
    ///
    /// When the request is not of the JSON protocol of AWS.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test says what it expects by panicking")]
    pub fn of(request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").expect("it names its operation");
        let (_, action) = target.rsplit_once('.').expect("a service and an operation");
        let body = request.body().bytes().expect("it is not a stream");
        let body = serde_json::from_slice(body).expect("it is JSON");
        Self { action: action.to_owned(), body }
    }
}

impl HttpConnector for FakeAws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(self.answer(AwsCall::of(&request)))
    }
}

/// AWS that takes its time: it has requests under way until the test lets it answer.
#[derive(Clone)]
pub struct SlowAws {
    aws: FakeAws,
    under_way: Arc<Mutex<UnderWay>>,
}

#[derive(Default)]
struct UnderWay {
    requests: Vec<(AwsCall, oneshot::Sender<()>)>,
    most: usize,
    /// The number of requests that are answered at the same time.
    quick: Option<Box<Choice>>,
}

type Choice = dyn Fn(&AwsCall) -> bool + Send;

impl fmt::Debug for SlowAws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlowAws")
    }
}

impl SlowAws {
    /// It answers as that one does, when it is let.
    #[must_use]
    pub fn new(aws: FakeAws) -> Self {
        Self { aws, under_way: Arc::default() }
    }

    /// The requests that wait for their answers.
    #[must_use]
    pub fn under_way(&self) -> Vec<AwsCall> {
        self.waiting().requests.iter().map(|(call, _)| call.clone()).collect()
    }

    /// The most that ever did at once.
    #[must_use]
    pub fn most(&self) -> usize {
        self.waiting().most
    }

    /// Lets it answer the oldest request.
    pub fn answer_one(&self) {
        let mut waiting = self.waiting();
        if !waiting.requests.is_empty() {
            let _ = waiting.requests.remove(0).1.send(());
        }
    }

    /// Lets it answer these requests from now on, and those that wait, too.
    pub fn answer_all(&self, of: impl Fn(&AwsCall) -> bool + Send + 'static) {
        let mut waiting = self.waiting();
        for (call, go) in std::mem::take(&mut waiting.requests) {
            if of(&call) {
                let _ = go.send(());
            } else {
                waiting.requests.push((call, go));
            }
        }
        waiting.quick = Some(Box::new(of));
    }

    fn waiting(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnector for SlowAws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let call = AwsCall::of(&request);
        let mut waiting = self.waiting();
        if waiting.quick.as_ref().is_some_and(|is_quick| is_quick(&call)) {
            return HttpConnectorFuture::ready(self.aws.answer(call));
        }
        let (go, gone) = oneshot::channel();
        waiting.requests.push((call.clone(), go));
        waiting.most = waiting.most.max(waiting.requests.len());
        let aws = self.aws.clone();
        HttpConnectorFuture::new(async move {
            // A test that is over lets everything go.
            let _ = gone.await;
            aws.answer(call)
        })
    }
}

/// An HTTP client that connects only to this address.
pub fn leading_to(aws: impl HttpConnector + 'static) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(aws);
    http_client_fn(move |_, _| connector.clone())
}

/// A client of `$sdk` that asks this, tries nothing twice and has no credentials.
#[macro_export]
macro_rules! fake_client {
    ($sdk:ident, $aws:expr) => {
        $sdk::Client::from_conf(
            $sdk::Config::builder()
                .behavior_version($sdk::config::BehaviorVersion::latest())
                .region($sdk::config::Region::from_static("eu-west-1"))
                .allow_no_auth()
                .identity_cache($sdk::config::IdentityCache::no_cache())
                .http_client($crate::aws::leading_to($aws.clone()))
                .retry_config($sdk::config::retry::RetryConfig::disabled())
                .timeout_config($sdk::config::timeout::TimeoutConfig::disabled())
                .stalled_stream_protection($sdk::config::StalledStreamProtectionConfig::disabled())
                .build(),
        )
    };
}
