//! The HTTP API: the REST interface of Azure Scheduler.
//!
//! The API's function and the program for one machine call it with requests, which it parses into calls
//! of the services in `app`. It knows HTTP, and never sockets, Lambda or a store; time and new ids come
//! through ports.
//!
//! Every request takes the same steps: a route, a token, an `api-version`, a body, the handler of
//! the route. Each step can end the request with a `Failure`. All failures have the same shape, and
//! a code from one table, `ERRORS.md`.
//!
//! Paths match without regard to case, which `axum`'s router does not support. The crate therefore
//! registers one handler with `axum` and has a table of routes of its own, in `route.rs`.

#![warn(clippy::wildcard_enum_match_arm)]

mod access;
mod answer;
mod arm;
mod call;
mod certificates;
mod classic;
mod collections;
mod convert;
mod durations;
mod failure;
mod fixes;
mod health;
mod history;
mod jobs;
mod list;
mod live;
mod metrics;
mod near;
mod openapi;
mod path;
mod ping;
mod query;
mod request;
mod route;
mod scope;
mod serve;
mod token;
mod unique;
mod v1;
mod wire;

use std::sync::{Arc, RwLock};

use axum::Router;
use chrono::NaiveDate;
use minutehand_app::Manage;
use minutehand_ports::{Clock, IdSource};

pub use access::{Access, Principal, is_of_foreign_page};
pub use certificates::{ManagementCertificate, PresentedCertificate, Thumbprint};
pub use failure::ErrorCode;
pub use health::{DatabaseNote, HealthNote, Peers, ProcessNote, Readiness};
pub use list::Scheme;
pub use live::{Happened, Live, LiveCollection, LiveEvent};
pub use metrics::{MetricsError, MetricsPage};
pub use openapi::OPENAPI;
pub use scope::Scope;
pub use token::{InvalidToken, Token};

/// The services and settings that the API needs.
#[derive(Clone)]
pub struct Rest {
    /// The services that carry out the operations.
    pub manage: Manage,
    /// The clock of the `Date` header.
    pub clock: Arc<dyn Clock>,
    /// The source of request ids.
    pub ids: Arc<dyn IdSource>,
    /// The callers that are allowed. The lock lets a process replace tokens without a restart.
    pub access: Arc<RwLock<Access>>,
    /// The certificates that open the classic API beside the tokens. They are replaced as tokens are.
    pub certificates: Arc<RwLock<Vec<ManagementCertificate>>>,
    /// The scheme of links in answers, unless a proxy names another in `X-Forwarded-Proto`.
    pub scheme: Scheme,
    /// The build that `/healthz` reports.
    pub build: BuildInfo,
    /// What `/healthz` asks beside the store.
    pub readiness: Arc<dyn Readiness>,
    /// The metrics page; `None` if monitors read the metrics elsewhere.
    pub metrics: Option<Arc<dyn MetricsPage>>,
    /// The events that streams send; `None` if there are no streams.
    pub live: Option<Arc<Live>>,
    /// Where the installation runs.
    pub home: Home,
}

/// Where an installation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// On one machine, as one binary.
    Machine,
    /// On AWS, as functions.
    Aws,
}

/// The build that `/healthz` reports.
#[derive(Debug, Clone)]
pub struct BuildInfo {
    /// The version of the program.
    pub version: String,
    /// The commit that it was built from.
    pub commit: String,
    /// The version of the store's data format.
    pub store: String,
    /// The release of the time zone data.
    pub time_zones: String,
    /// The day on which it was published; `None` if it is not known.
    pub time_zones_date: Option<NaiveDate>,
}

/// Creates the API.
pub fn router(rest: Rest) -> Router {
    Router::new().fallback(serve::serve).with_state(Arc::new(rest))
}
