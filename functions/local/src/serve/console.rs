//! The console, beside the API: its files are public, and hold nothing.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;

/// Answers requests for the console, and leaves all others to the API.
pub(super) fn with_console(api: Router) -> Router {
    api.layer(from_fn(answer))
}

async fn answer(request: Request, next: Next) -> Response {
    match minutehand_console::answer(request.method(), request.uri().path(), request.headers()) {
        Some(file) => file.map(Body::from),
        None => next.run(request).await,
    }
}
