//! The tools of `minutehand mcp`, beside the API: an assistant on another machine calls them with a token.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse as _;
use http_body_util::{BodyExt as _, Collected};
use minutehand_cli::{Environment, LocalServer, McpEndpoint};
use minutehand_rest::is_of_foreign_page;
use minutehand_runtime::system_now;
use tower::ServiceExt as _;

/// What the tools take from the process: no variable, so that none is shown to an assistant.
const ENVIRONMENT: Environment = Environment { variable: |_| None, now: system_now };

/// The path of the tools.
const PATH: &str = "/mcp";

/// What a page in a browser is told.
const FOREIGN: &str =
    "Assistants are programs: this server does not answer pages of other origins at /mcp.";

/// Answers assistants, and leaves all other requests to the API.
pub(super) fn with_tools(api: Router) -> Router {
    let endpoint = McpEndpoint::new(within(api.clone()), ENVIRONMENT);
    api.layer(from_fn_with_state(endpoint, answer))
}

async fn answer(
    State(endpoint): State<McpEndpoint>,
    request: Request,
    next: Next,
) -> axum::response::Response {
    if request.uri().path().trim_end_matches('/') != PATH {
        return next.run(request).await;
    }
    if is_of_foreign_page(request.headers()) {
        return (StatusCode::FORBIDDEN, FOREIGN).into_response();
    }
    endpoint.answer(request).await.map(Body::from)
}

/// The API, asked in this process.
fn within(api: Router) -> LocalServer {
    Arc::new(move |request| {
        let api = api.clone();
        Box::pin(async move {
            // The router answers every request.
            let Ok(answer) = api.oneshot(request.map(Body::from)).await;
            let (head, body) = answer.into_parts();
            let body = body.collect().await.map(Collected::to_bytes);
            Response::from_parts(head, body.unwrap_or_else(|_| Bytes::new()))
        })
    })
}
