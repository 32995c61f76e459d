//! The way of a request: a route, a token, an `api-version`, a body, an operation.

use std::error::Error;
use std::future::poll_fn;
use std::iter::successors;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::Poll;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use domain::collection::CollectionState;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ports::ErrorType;
use serde_json::{Value, json};

use crate::answer::{Answer, guid};
use crate::durations::Client;
use crate::failure::{ErrorCode, Failure};
use crate::path::Captured;
use crate::query::Query;
use crate::route::{Operation, find_route};
use crate::{Rest, arm, collections, history, jobs, metrics, openapi};

/// The most bytes of a request's body.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request for an operation, after all that is the same for each of them.
pub(crate) struct Call<'a> {
    /// What we stand on.
    pub(crate) rest: &'a Rest,
    /// The head of the request.
    pub(crate) head: &'a Parts,
    /// What stands in its path.
    pub(crate) path: Captured,
    /// What stands in its query.
    pub(crate) query: Query,
    /// The JSON object that it carries; null for an operation that takes none.
    pub(crate) body: Value,
}

impl Call<'_> {
    /// Who calls, as far as it makes a difference.
    pub(crate) fn client(&self) -> Client {
        let sent = self.head.headers.get(USER_AGENT);
        Client::from_user_agent(sent.and_then(|sent| sent.to_str().ok()).unwrap_or_default())
    }
}

/// Answers a request, and writes one line about it.
pub(crate) async fn serve(State(rest): State<Arc<Rest>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let request_id = guid(&rest.ids.new_id());
    let answer = match guard(Box::pin(answer(&rest, &head, body)), &request_id).await {
        Ok(answer) => answer,
        Err(failure) => {
            report(&failure, &request_id);
            Answer::from(failure)
        }
    };
    let (method, path) = (&head.method, head.uri.path());
    let status = answer.status().as_u16();
    tracing::info!(%method, path, status, request.id = request_id, "answered a request");
    answer.into_response(&request_id, &head.headers, rest.clock.now())
}

/// A request that trips over itself is one failed request, and no more.
async fn guard(
    mut answer: Pin<Box<impl Future<Output = Result<Answer, Failure>>>>,
    request_id: &str,
) -> Result<Answer, Failure> {
    poll_fn(|context| {
        // It is not polled again, so nobody sees what it left half done.
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))).unwrap_or_else(|_| {
            let error_type = ErrorType::RequestPanicked;
            tracing::error!(%error_type, request.id = request_id, "a request tripped over itself");
            Poll::Ready(Err(Failure::internal(None)))
        })
    })
    .await
}

async fn answer(rest: &Rest, head: &Parts, body: Body) -> Result<Answer, Failure> {
    let found = find_route(&head.method, head.uri.path());
    // What is there and what is not is for those who may call.
    if !found.as_ref().is_ok_and(|(route, _)| route.operation.is_public()) {
        let access = rest.access.read().unwrap_or_else(PoisonError::into_inner);
        access.check(&head.headers)?;
    }
    let (route, path) = found?;
    let operation = route.operation;
    let query = Query::read(head.uri.query());
    if operation.is_versioned() {
        query.check_api_version()?;
    }
    let body = read_body(body).await?;
    let body = if operation.has_body() { read_object(&body)? } else { Value::Null };
    operate(operation, Call { rest, head, path, query, body }).await
}

async fn operate(operation: Operation, call: Call<'_>) -> Result<Answer, Failure> {
    match operation {
        Operation::Health => health(call.rest).await,
        Operation::OpenApi => Ok(Answer::text(StatusCode::OK, openapi::OPENAPI.to_owned())),
        Operation::Metrics => metrics::get(call.rest.metrics.as_deref()).await,
        Operation::CheckGroup => arm::check_group(&call),
        Operation::GetProvider | Operation::RegisterProvider => arm::get_provider(&call),
        Operation::ListCollectionsOfSubscription => collections::list(call, None).await,
        Operation::ListCollectionsOfGroup => {
            let group = call.path.place()?.group;
            collections::list(call, Some(group)).await
        }
        Operation::GetCollection => collections::get(call).await,
        Operation::PutCollection => collections::put(call).await,
        Operation::PatchCollection => collections::patch(call).await,
        Operation::DeleteCollection => collections::delete(call).await,
        Operation::EnableCollection => collections::switch(call, CollectionState::Enabled).await,
        Operation::DisableCollection => collections::switch(call, CollectionState::Disabled).await,
        Operation::ListJobs => jobs::list(call).await,
        Operation::GetJob => jobs::get(call).await,
        Operation::PutJob => jobs::put(call).await,
        Operation::PatchJob => jobs::patch(call).await,
        Operation::DeleteJob => jobs::delete(call).await,
        Operation::RunJob => jobs::run(call).await,
        Operation::ListJobHistory => history::list(call).await,
    }
}

async fn health(rest: &Rest) -> Result<Answer, Failure> {
    rest.manage.look_at_store().await?;
    let build = &rest.build;
    let document = json!({
        "status": "ready",
        "version": build.version,
        "commit": build.commit,
        "store": build.store,
        "timeZones": build.time_zones,
    });
    Ok(Answer::json(StatusCode::OK, &document))
}

async fn read_body(body: Body) -> Result<Vec<u8>, Failure> {
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::new(
            ErrorCode::RequestEntityTooLarge,
            format!("The body is longer than {BODY_BYTES_MAX} bytes."),
        )),
        Err(_) => {
            Err(Failure::new(ErrorCode::InvalidRequestContent, "The body ended before its end."))
        }
    }
}

/// Reads strict JSON, whatever its content type is said to be.
fn read_object(body: &[u8]) -> Result<Value, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidRequestContent, message);
    if body.trim_ascii().is_empty() {
        return Err(invalid("The body is empty; send a JSON object.".to_owned()));
    }
    let document: Value = serde_json::from_slice(body)
        // Says what is wrong, and the line and the column; never what stands there.
        .map_err(|error| invalid(format!("The body is not JSON: {error}.")))?;
    if document.is_object() {
        return Ok(document);
    }
    Err(invalid("The body is JSON, but not an object; send '{…}'.".to_owned()))
}

/// Logs what a client is not told.
fn report(failure: &Failure, request_id: &str) {
    let Some(inside) = &failure.inside else {
        return;
    };
    let first: &dyn Error = inside;
    let chain: Vec<String> =
        successors(Some(first), |error| (*error).source()).map(ToString::to_string).collect();
    tracing::error!(
        error_type = %ErrorType::RequestFailed,
        code = failure.code.as_str(),
        error = chain.join(": "),
        request.id = request_id,
        "a request failed for a reason of ours"
    );
}
