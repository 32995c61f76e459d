//! The HTTP API, as the original service spoke it: requests read into calls of the services, and
//! what they answer written.
//!
//! It knows HTTP and neither sockets nor Lambda; the time and new identities come through ports. A
//! request takes one way: a route, a token, an `api-version`, a body, an operation.
//! Whatever stops it is a `Failure`, and every failure has the same shape and a
//! code of one table, `ERRORS.md`.
//!
//! Paths match without regard to case, which `axum`'s own router does not do; so it has one
//! handler, and the routes are a table, [`ROUTES`].

#![warn(clippy::wildcard_enum_match_arm)]

mod access;
mod answer;
mod arm;
mod collections;
mod durations;
mod failure;
mod history;
mod jobs;
mod list;
mod metrics;
mod openapi;
mod path;
mod query;
mod route;
mod serve;
mod wire;

use std::sync::{Arc, RwLock};

use app::Manage;
use axum::Router;
use ports::{Clock, IdSource};

pub use access::Access;
pub use failure::ErrorCode;
pub use list::Scheme;
pub use metrics::{MetricsError, MetricsPage};
pub use openapi::OPENAPI;
pub use route::{Operation, ROUTES, Route};

/// What the API stands on.
#[derive(Clone)]
pub struct Rest {
    /// The services.
    pub manage: Manage,
    /// The time that answers name in `Date`.
    pub clock: Arc<dyn Clock>,
    /// What the ids of requests are made from.
    pub ids: Arc<dyn IdSource>,
    /// Who may call. It is exchanged when tokens are, without a restart.
    pub access: Arc<RwLock<Access>>,
    /// How clients reach us, if a proxy does not say it: what links in answers begin with.
    pub scheme: Scheme,
    /// What runs here.
    pub build: BuildInfo,
    /// What monitors read; `None` where they read it elsewhere.
    pub metrics: Option<Arc<dyn MetricsPage>>,
}

/// What `/healthz` says of this build.
#[derive(Debug, Clone)]
pub struct BuildInfo {
    /// The version.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
    /// The version of the store.
    pub store: String,
    /// The release of the time-zone data.
    pub time_zones: String,
}

/// The API.
pub fn router(rest: Rest) -> Router {
    Router::new().fallback(serve::serve).with_state(Arc::new(rest))
}
