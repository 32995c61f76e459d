//! A request after the steps that are the same for every operation, and the functions that take it.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use serde_json::Value;

use crate::Rest;
use crate::answer::Answer;
use crate::durations::Client;
use crate::failure::Failure;
use crate::path::Captured;
use crate::query::Query;

/// A request for an operation: routed, authenticated and parsed.
pub(crate) struct Call {
    /// The services and settings of this API.
    pub(crate) rest: Arc<Rest>,
    /// The request line and the headers.
    pub(crate) head: Arc<Parts>,
    /// The values of the placeholders in the route's path.
    pub(crate) path: Captured,
    /// The query parameters.
    pub(crate) query: Query,
    /// The JSON object in the body; null if the route ignores the body.
    pub(crate) body: Value,
}

impl Call {
    /// The client library that sent the request, if its answers have to differ.
    pub(crate) fn client(&self) -> Client {
        let sent = self.head.headers.get(USER_AGENT);
        Client::from_user_agent(sent.and_then(|sent| sent.to_str().ok()).unwrap_or_default())
    }
}

/// The future of an operation.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

/// An operation: every `async fn(Call) -> Result<Answer, Failure>` is one.
///
/// The type of such a function's future has no name, so the table of routes stores functions
/// behind this trait.
pub(crate) trait Handler: Sync {
    /// Starts the operation.
    fn call(&self, call: Call) -> Answering;
}

impl<F, Fut> Handler for F
where
    F: Fn(Call) -> Fut + Sync,
    Fut: Future<Output = Result<Answer, Failure>> + Send + 'static,
{
    fn call(&self, call: Call) -> Answering {
        Box::pin(self(call))
    }
}
