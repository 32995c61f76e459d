//! What the jobs of the demo call: a server that does what the path says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::any;
use minutehand_ports::Clock as _;
use minutehand_runtime::SystemClock;
use tokio::net::TcpListener;

use crate::serve::http::listen;
use crate::serve::tasks::Stop;

/// How long a slow answer takes, in real time.
const SLOW: Duration = Duration::from_secs(5);
/// Of so many requests to a flaky path, one is answered.
const FLAKY_EVERY: u64 = 3;
/// More connections than thirty jobs open.
const CONNECTIONS_MAX: usize = 256;

/// Answers until it is dropped.
pub(super) async fn answer(listener: TcpListener) {
    listen(listener, None, paths(), CONNECTIONS_MAX, Stop::never()).await;
}

fn paths() -> Router {
    let asked = Arc::new(AtomicU64::new(0));
    let flaky = move || {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let is_well = number % FLAKY_EVERY == FLAKY_EVERY - 1;
        std::future::ready(if is_well {
            (StatusCode::OK, "done, this time")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "busy, try again")
        })
    };
    let slow = || async {
        SystemClock.wait(SLOW).await;
        "done, at last"
    };
    Router::new()
        .route("/ok", any(|| std::future::ready("done")))
        .route(
            "/fail",
            any(|| std::future::ready((StatusCode::INTERNAL_SERVER_ERROR, "out of paper"))),
        )
        .route("/flaky", any(flaky))
        .route("/slow", any(slow))
}
