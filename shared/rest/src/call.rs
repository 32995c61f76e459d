//! A request after the steps that are the same for every operation, and the functions that take it.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH, USER_AGENT};
use axum::http::request::Parts;
use minutehand_app::{Author, Condition, Etags, Manage};
use minutehand_domain::chain::{DEPTH_HEADER, Depth};
use serde_json::Value;

use crate::Rest;
use crate::access::Caller;
use crate::answer::Answer;
use crate::durations::Client;
use crate::failure::Failure;
use crate::path::Captured;
use crate::query::Query;

/// A request for an operation: routed, authenticated and read.
pub(crate) struct Call<B = Value> {
    /// The settings of this API, and its services for callers who may reach everything.
    pub(crate) rest: Arc<Rest>,
    /// The service, for what the sender may reach.
    pub(crate) manage: Manage,
    /// The request line and the headers.
    pub(crate) head: Arc<Parts>,
    /// The values of the placeholders in the route's path.
    pub(crate) path: Captured,
    /// The query parameters.
    pub(crate) query: Query,
    /// The body. As JSON it is an object, and null if the route ignores it.
    pub(crate) body: B,
    /// The sender of the request.
    pub(crate) caller: Caller,
    /// The id of the request.
    pub(crate) request_id: String,
}

impl<B> Call<B> {
    /// The service, for a change by the sender of the request.
    pub(crate) fn on_behalf_of_caller(&self, depth: Depth) -> Manage {
        let who = self.caller.principal.label().to_owned();
        let author = Author { who, request_id: self.request_id.clone() };
        self.manage.on_behalf_of(author).at_depth(depth)
    }
}

impl Call {
    /// The service, for a change on the condition that the request names.
    pub(crate) fn changing(&self) -> Result<Manage, Failure> {
        let etags = |name| etags(&self.head.headers, name);
        let condition =
            Condition { is_one_of: etags(&IF_MATCH)?, is_none_of: etags(&IF_NONE_MATCH)? };
        Ok(self.on_behalf_of_caller(depth(&self.head.headers)?).only_if(condition))
    }

    /// The client library that sent the request, if its answers have to differ.
    pub(crate) fn client(&self) -> Client {
        let sent = self.head.headers.get(USER_AGENT);
        Client::from_user_agent(sent.and_then(|sent| sent.to_str().ok()).unwrap_or_default())
    }
}

/// How deep a request is in a chain of jobs that ask for each other.
pub(crate) fn depth(headers: &HeaderMap) -> Result<Depth, Failure> {
    let sent = headers.get_all(DEPTH_HEADER).iter();
    let depths = sent.map(|value| Depth::read(value.to_str().unwrap_or_default()));
    Ok(depths.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or_default())
}

/// The versions that a header names; `None` if the request does not have it.
///
/// Proxies that compress answers make `ETags` weak, so the mark of a weak one is left out.
pub(crate) fn etags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Etags>, Failure> {
    if !headers.contains_key(name) {
        return Ok(None);
    }
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Some(Etags::Any));
        }
        for etag in text.split(',') {
            let etag = etag.trim();
            let etag = etag.strip_prefix("W/").unwrap_or(etag);
            let inner = etag.strip_prefix('"').and_then(|etag| etag.strip_suffix('"'));
            let Some(inner) = inner.filter(|inner| !inner.contains('"')) else {
                return Err(Failure::invalid(format!(
                    "The header '{name}' is not valid; use '*', or the 'ETag' of an answer with its \
                     quotation marks."
                )));
            };
            found.push(inner.to_owned());
        }
    }
    Ok(Some(Etags::OneOf(found)))
}

/// The future of an operation.
pub(crate) type Answering<E> = Pin<Box<dyn Future<Output = Result<Answer, E>> + Send>>;

/// An operation: every `async fn(Call) -> Result<Answer, Failure>` is one.
///
/// The type of such a function's future has no name, so the table of routes stores functions
/// behind this trait.
pub(crate) trait Handler<C = Call, E = Failure>: Sync {
    /// Starts the operation.
    fn call(&self, call: C) -> Answering<E>;
}

impl<C, E, F, Fut> Handler<C, E> for F
where
    F: Fn(C) -> Fut + Sync,
    Fut: Future<Output = Result<Answer, E>> + Send + 'static,
{
    fn call(&self, call: C) -> Answering<E> {
        Box::pin(self(call))
    }
}
