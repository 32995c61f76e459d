//! AWS as a function: what a request is answered with is for the test to say.
//!
//! The SDK does everything it does on AWS up to the socket. So an adapter's batches, what it does
//! with an answer in part, and how it takes errors are seen without a service, and those that no
//! emulator makes, too.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

/// A request that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What was asked for: `SendMessageBatch`.
    pub action: String,
    /// With what.
    pub body: Value,
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is done.
    Done(Value),
    /// It failed: a status, and the code of the error.
    Failed(u16, &'static str),
    /// Nobody answers.
    Silence,
}

type Answers = dyn Fn(&Call) -> Answer + Send + Sync;

/// What stands in for AWS. Clones are the same.
#[derive(Clone)]
pub struct FakeAws {
    answers: Arc<Answers>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl fmt::Debug for FakeAws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeAws")
    }
}

impl FakeAws {
    /// It answers so.
    #[must_use]
    pub fn new(answers: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Self {
        Self { answers: Arc::new(answers), calls: Arc::default() }
    }

    /// It answers with these, one after the other, and then not at all.
    #[must_use]
    pub fn in_turn(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect::<Vec<_>>().into_iter());
        Self::new(move |_| {
            let next = answers.lock().unwrap_or_else(PoisonError::into_inner).next();
            next.unwrap_or(Answer::Silence)
        })
    }

    /// What was asked for so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let action = target.rsplit('.').next().unwrap_or_default().to_owned();
        let body = request.body().bytes().unwrap_or_default();
        let call = Call { action, body: serde_json::from_slice(body).unwrap_or(Value::Null) };
        let answer = (self.answers)(&call);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        let (status, body) = match answer {
            Answer::Done(body) => (200, body),
            Answer::Failed(status, code) => (status, json!({"__type": code, "message": code})),
            Answer::Silence => return Err(ConnectorError::timeout("nobody answers".into())),
        };
        let status = StatusCode::try_from(status)
            .map_err(|error| ConnectorError::other(error.into(), None))?;
        let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.1");
        Ok(response)
    }
}

impl HttpConnector for FakeAws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(self.answer(&request))
    }
}

impl HttpClient for FakeAws {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
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
                .http_client($aws.clone())
                .retry_config($sdk::config::retry::RetryConfig::disabled())
                .timeout_config($sdk::config::timeout::TimeoutConfig::disabled())
                .stalled_stream_protection($sdk::config::StalledStreamProtectionConfig::disabled())
                .build(),
        )
    };
}
