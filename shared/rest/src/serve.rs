//! The way of a request: a route, a token, an `api-version`, a body, the route's handler.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::response::Response;
use minutehand_app::PING_PATH;
use minutehand_ports::ErrorType;
use serde_json::Value;

use crate::Rest;
use crate::access::{Caller, Principal};
use crate::answer::{Answer, guid};
use crate::call::Call;
use crate::classic;
use crate::failure::Failure;
use crate::path::Captured;
use crate::query::Query;
use crate::request::{Sent, caller, check_host, parse_object, read_beginning, read_body};
use crate::route::{self, Route, find_route};
use crate::scope::Scope;

/// Answers a request, and logs one line about it.
pub(crate) async fn serve(State(rest): State<Arc<Rest>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let (head, request_id) = (Arc::new(head), guid(&rest.ids.new_id()));
    let (method, path) = (&head.method, head.uri.path());
    let is_classic = classic::is_classic(path);
    // The classic API writes GUIDs in headers without dashes.
    let request_id = if is_classic { request_id.replace('-', "") } else { request_id };
    let sender = Arc::new(OnceLock::new());
    let sent = Sent {
        head: Arc::clone(&head),
        body,
        request_id: request_id.clone(),
        sender: Arc::clone(&sender),
    };
    let (route, answer) = if is_classic {
        let found = classic::Route::find(method, path);
        let answering = Box::pin(classic::answer(Arc::clone(&rest), found, sent));
        let answer = catch_panics(answering, &request_id).await;
        (
            classic::pattern(path),
            answer.unwrap_or_else(|fault| {
                if let classic::Fault::Shared(failure) = &fault {
                    log_cause(failure, &request_id);
                }
                fault.into()
            }),
        )
    } else {
        let found = find_route(method, path);
        let route = found.as_ref().ok().map(|(route, _)| route.path);
        let answering = Box::pin(answer(Arc::clone(&rest), found, sent));
        let answer = catch_panics(answering, &request_id).await;
        (
            route,
            answer.unwrap_or_else(|failure| {
                log_cause(&failure, &request_id);
                failure.into()
            }),
        )
    };
    if let Some(metrics) = &rest.metrics {
        metrics.count_request(method, route, answer.status());
    }
    let status = answer.status().as_u16();
    let path = loggable(path);
    // Of what only reads, the log does not say who asked.
    let caller = sender.get().filter(|_| !method.is_safe()).and_then(Principal::known);
    if is_routine(path) && answer.status().is_success() {
        tracing::debug!(%method, path, status, request.id = request_id, "answered a request");
    } else {
        tracing::info!(%method, path, status, caller, request.id = request_id, "answered a request");
    }
    answer.into_response(&request_id, &head, rest.clock.now())
}

/// A path without the key of an attempt, with which anyone could report its end.
fn loggable(path: &str) -> &str {
    match path.split_at_checked(PING_PATH.len() + 1) {
        Some((start, _)) if start.eq_ignore_ascii_case("/ping/") => "/ping/…",
        _ => path,
    }
}

/// Whether a path is that of probes and scrapes, which come thousands of times a day.
fn is_routine(path: &str) -> bool {
    ["/healthz", "/metrics"].iter().any(|routine| path.eq_ignore_ascii_case(routine))
}

/// Turns a panic into a failure of this one request, so that the process goes on serving others.
async fn catch_panics<E: From<Failure>>(
    mut answering: Pin<Box<impl Future<Output = Result<Answer, E>>>>,
    request_id: &str,
) -> Result<Answer, E> {
    poll_fn(|context| {
        // Unwind safe: after a panic the future is not polled again, so nothing sees a state that
        // it left half changed.
        catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))).unwrap_or_else(|_| {
            let error_type = ErrorType::RequestPanicked;
            tracing::error!(%error_type, request.id = request_id, "request handler panicked");
            Poll::Ready(Err(Failure::internal(None).into()))
        })
    })
    .await
}

async fn answer(
    rest: Arc<Rest>,
    found: Result<(&'static Route, Captured), Failure>,
    sent: Sent,
) -> Result<Answer, Failure> {
    let Sent { head, body, request_id, sender } = sent;
    check_host(&head)?;
    // The token is checked before an unknown path is reported: callers without a token learn
    // nothing about which paths exist.
    let caller = if found.as_ref().is_ok_and(|(route, _)| route.is_public) {
        Caller::anyone(Scope::Read)
    } else {
        caller(&rest, &head)?
    };
    let _ = sender.set(caller.principal.clone());
    let (route, path) = found?;
    caller.scope.check(route.scope())?;
    let query = Query::parse(head.uri.query());
    if route.needs_version() {
        query.check_api_version()?;
    }
    let body = match route.body {
        route::Body::Required => parse_object(&read_body(body, route.body_bytes_max).await?)?,
        route::Body::Beginning => {
            let body = read_beginning(body, route.body_bytes_max).await?;
            Value::String(String::from_utf8_lossy(&body).into_owned())
        }
        // Clients without a token could make the server wait for a body that never comes.
        route::Body::Ignored if route.is_public => Value::Null,
        route::Body::Ignored => {
            read_body(body, route.body_bytes_max).await?;
            Value::Null
        }
    };
    let manage = rest.manage.within(caller.reach.clone());
    let call = Call { rest, manage, head, path, query, body, caller, request_id };
    let answer = route.handler.call(call).await;
    // Clients of Azure know no targets.
    answer.map_err(|failure| if route.is_ours() { failure } else { failure.without_target() })
}

/// Logs the internal error of a failure, which the client does not see.
fn log_cause(failure: &Failure, request_id: &str) {
    let Some(cause) = &failure.cause else {
        return;
    };
    tracing::error!(
        error_type = %ErrorType::RequestFailed,
        code = failure.code.as_str(),
        error = minutehand_ports::chain(cause.as_ref()),
        request.id = request_id,
        "request failed"
    );
}
