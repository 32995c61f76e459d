//! The classic API: the interface of Azure Scheduler before the Resource Manager, api-version
//! 2014-04-01.
//!
//! It has the same collections and jobs as the rest of this crate, and the same services carry out
//! its operations. A cloud service is a resource group under another name.
//!
//! Cloud services and collections are XML, jobs and their history JSON. In Azure, paths without `~`
//! were answered by a front end that worked on after its answer, 202, and had an operation for its
//! clients to ask about. Here all work is done before the answer, so that every operation has
//! succeeded, and none needs to be stored.

mod cloud_services;
mod collections;
mod failure;
mod history;
mod jobs;
mod operations;
mod provider;
mod request;
mod route;
#[cfg(test)]
mod tests;
mod xml;

use std::sync::{Arc, PoisonError};

use axum::http::HeaderValue;
use axum::http::header::{EXPIRES, PRAGMA};
use axum::http::request::Parts;

use crate::Rest;
use crate::access::Caller;
use crate::answer::Answer;
use crate::call::Call;
use crate::certificates::certified;
use crate::failure::Failure;
use crate::query::Query;
use crate::request::{self as sent, Sent, check_host, read_body};

pub(crate) use failure::Fault;
use request::{check_api_version, check_version};
#[cfg(test)]
pub(crate) use route::scopes;
use route::subscription;
pub(crate) use route::{Route, is_classic, pattern};

/// The maximum size of the body of a request.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Answers a request: a token, a route, a version, a body, the operation.
pub(crate) async fn answer(
    rest: Arc<Rest>,
    found: Result<Route, Fault>,
    sent: Sent,
) -> Result<Answer, Fault> {
    let Sent { head, body, request_id, sender } = sent;
    check_host(&head)?;
    // The token is checked before an unknown path is reported: callers without a token learn
    // nothing about which paths exist.
    let caller = caller(&rest, &head)?;
    let _ = sender.set(caller.principal.clone());
    let route = found?;
    let (_, scope, handler) = route.operation;
    caller.scope.check(*scope)?;
    check_version(&head.headers)?;
    let query = Query::parse(head.uri.query());
    let is_scheduler = route.is_scheduler();
    if is_scheduler {
        check_api_version(&query)?;
    }
    let body = read_body(body, BODY_BYTES_MAX).await?;
    let manage = rest.manage.within(caller.reach.clone());
    let path = route.path;
    let answer =
        handler.call(Call { rest, manage, head, path, query, body, caller, request_id }).await?;
    if !is_scheduler {
        return Ok(answer);
    }
    let expires = HeaderValue::from_static("-1");
    Ok(answer.with(EXPIRES, expires).with(PRAGMA, HeaderValue::from_static("no-cache")))
}

/// The sender of a request, who is known by a token or by a client certificate.
fn caller(rest: &Rest, head: &Parts) -> Result<Caller, Failure> {
    sent::caller(rest, head).or_else(|without| {
        let known = rest.certificates.read().unwrap_or_else(PoisonError::into_inner);
        let by_certificate = certified(&known, head, &subscription(head.uri.path()));
        by_certificate.unwrap_or(Err(without))
    })
}
