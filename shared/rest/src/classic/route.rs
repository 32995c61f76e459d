//! The routes: one table of paths, methods and operations.

use std::borrow::Cow;

use axum::http::Method;
use percent_encoding::percent_decode_str;

use super::failure::{Code, Fault};
use super::request::Request;
use super::{cloud_services, collections, history, jobs, operations, provider};
use crate::answer::Answer;
use crate::failure::{ErrorCode, Failure};
use crate::path::Captured;
use crate::scope::Scope;

/// The second segments of paths of this API.
const SECOND_SEGMENTS: [&str; 4] = ["cloudservices", "services", "resourceproviders", "operations"];
/// The first segments of other paths.
const OTHER_FIRST_SEGMENTS: [&str; 2] = ["subscriptions", "minutehand"];

/// An operation of this API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    RegisterProvider,
    GetProvider,
    ListCloudServices,
    PutCloudService,
    GetCloudService,
    DeleteCloudService,
    CheckName,
    PutCollection,
    DeleteCollection,
    GetCollection,
    ListJobs,
    PostJob,
    PatchAllJobs,
    DeleteAllJobs,
    PutJob,
    PatchJob,
    GetJob,
    DeleteJob,
    ListHistory,
    GetOutcome,
}

/// A request's operation, and the values of the placeholders in its path.
#[derive(Debug)]
pub(crate) struct Route {
    pub(super) operation: Operation,
    pub(super) path: Captured,
}

/// A path and what its methods do.
type Row = (&'static str, &'static [(Method, Operation)]);

macro_rules! scheduler {
    ($rest:literal) => {
        concat!("/{subscriptionId}/cloudservices/{resourceGroupName}/resources/scheduler", $rest)
    };
}

/// All paths. Those with `~` are answered by the scheduler itself, the others by the front end.
static ROUTES: [Row; 12] = [
    ("/{subscriptionId}/services", &[(Method::PUT, Operation::RegisterProvider)]),
    (
        "/{subscriptionId}/resourceproviders/scheduler/Properties",
        &[(Method::GET, Operation::GetProvider)],
    ),
    ("/{subscriptionId}/operations/{operationId}", &[(Method::GET, Operation::GetOutcome)]),
    ("/{subscriptionId}/cloudservices", &[(Method::GET, Operation::ListCloudServices)]),
    (
        "/{subscriptionId}/cloudservices/{resourceGroupName}",
        &[
            (Method::PUT, Operation::PutCloudService),
            (Method::GET, Operation::GetCloudService),
            (Method::DELETE, Operation::DeleteCloudService),
        ],
    ),
    (
        scheduler!("/jobCollections"),
        &[(Method::GET, Operation::CheckName), (Method::POST, Operation::CheckName)],
    ),
    (
        scheduler!("/jobCollections/{jobCollectionName}"),
        &[(Method::PUT, Operation::PutCollection), (Method::DELETE, Operation::DeleteCollection)],
    ),
    // Azure's documents leave the `~` out of this one, and its clients do not.
    (
        scheduler!("/jobCollections/{jobCollectionName}/jobs"),
        &[(Method::PATCH, Operation::PatchAllJobs)],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}"),
        &[(Method::GET, Operation::GetCollection)],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs"),
        &[
            (Method::GET, Operation::ListJobs),
            (Method::POST, Operation::PostJob),
            (Method::PATCH, Operation::PatchAllJobs),
            (Method::DELETE, Operation::DeleteAllJobs),
        ],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs/{jobName}"),
        &[
            (Method::PUT, Operation::PutJob),
            (Method::PATCH, Operation::PatchJob),
            (Method::GET, Operation::GetJob),
            (Method::DELETE, Operation::DeleteJob),
        ],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs/{jobName}/history"),
        &[(Method::GET, Operation::ListHistory)],
    ),
];

/// Every path and method, with the scope that its operation needs.
#[cfg(test)]
pub(crate) fn scopes() -> impl Iterator<Item = (Scope, &'static Method, &'static str)> {
    ROUTES.iter().flat_map(|(path, methods)| {
        methods.iter().map(|(method, operation)| (operation.scope(), method, *path))
    })
}

/// Whether a path is one of this API. Its first segment is a subscription.
pub(crate) fn is_classic(path: &str) -> bool {
    let is_in =
        |names: &[&str], segment: &str| names.iter().any(|name| name.eq_ignore_ascii_case(segment));
    let mut segments = path.split('/').skip(1);
    let (first, second) = (segments.next().unwrap_or_default(), segments.next());
    !is_in(&OTHER_FIRST_SEGMENTS, first)
        && second.is_some_and(|second| is_in(&SECOND_SEGMENTS, second))
}

/// The subscription in a path: its first segment.
pub(super) fn subscription(path: &str) -> Cow<'_, str> {
    let first = path.split('/').nth(1).unwrap_or_default();
    percent_decode_str(first).decode_utf8_lossy()
}

/// The path of the route of a request, with its placeholders.
pub(crate) fn pattern(path: &str) -> Option<&'static str> {
    rows(path).next().map(|((pattern, _), _)| *pattern)
}

/// The rows that have a path. A slash at its end does not count: some clients send one.
fn rows(path: &str) -> impl Iterator<Item = (&'static Row, Captured)> {
    let path = path.strip_suffix('/').unwrap_or(path);
    ROUTES.iter().filter_map(move |row| Some((row, Captured::from_path(row.0, path)?)))
}

impl Route {
    /// Finds the route of a request.
    pub(crate) fn find(method: &Method, path: &str) -> Result<Self, Fault> {
        let Some(((pattern, methods), captured)) = rows(path).next() else {
            return Err(Failure::new(ErrorCode::UnknownRoute, unknown(path)).into());
        };
        if let Some((_, operation)) = methods.iter().find(|(known, _)| known == method) {
            return Ok(Self { operation: *operation, path: captured });
        }
        let methods: Vec<&str> = methods.iter().map(|(method, _)| method.as_str()).collect();
        let other = other_side(path).filter(|_| pattern.contains("{jobCollectionName}"));
        let other = other.map_or_else(String::new, |(hint, _)| format!(" {hint}"));
        let message =
            format!("This path does not support {method}; use {}.{other}", methods.join(", "));
        Err(Fault::Own(Code::Verb, message))
    }
}

fn unknown(path: &str) -> String {
    let known = "The specified resource does not exist.";
    match other_side(path) {
        Some((hint, other)) if rows(&other).next().is_some() => format!("{known} {hint}"),
        Some(_) | None => known.to_owned(),
    }
}

/// The path with or without its `~`, and a hint at it.
fn other_side(path: &str) -> Option<(&'static str, String)> {
    let at =
        path.to_ascii_lowercase().find("/resources/scheduler/")? + "/resources/scheduler".len();
    let (before, after) = path.split_at_checked(at)?;
    if let Some(after) = after.strip_prefix("/~") {
        let hint = "The front end does this, on the path without '~'.";
        return Some((hint, format!("{before}{after}")));
    }
    let hint = "The scheduler itself does this, on the path with '/~' behind 'scheduler'.";
    Some((hint, format!("{before}/~{after}")))
}

impl Operation {
    /// The smallest scope of a token that allows the operation.
    pub(super) const fn scope(self) -> Scope {
        match self {
            Self::GetProvider
            | Self::ListCloudServices
            | Self::GetCloudService
            | Self::CheckName
            | Self::GetCollection
            | Self::ListJobs
            | Self::GetJob
            | Self::ListHistory
            | Self::GetOutcome => Scope::Read,
            Self::RegisterProvider
            | Self::PutCloudService
            | Self::DeleteCloudService
            | Self::PutCollection
            | Self::DeleteCollection
            | Self::PostJob
            | Self::PatchAllJobs
            | Self::DeleteAllJobs
            | Self::PutJob
            | Self::PatchJob
            | Self::DeleteJob => Scope::All,
        }
    }

    /// Whether the scheduler itself did it in Azure, and not the front end.
    pub(super) const fn is_scheduler(self) -> bool {
        match self {
            Self::GetCollection
            | Self::ListJobs
            | Self::PostJob
            | Self::PatchAllJobs
            | Self::DeleteAllJobs
            | Self::PutJob
            | Self::PatchJob
            | Self::GetJob
            | Self::DeleteJob
            | Self::ListHistory => true,
            Self::RegisterProvider
            | Self::GetProvider
            | Self::ListCloudServices
            | Self::PutCloudService
            | Self::GetCloudService
            | Self::DeleteCloudService
            | Self::CheckName
            | Self::PutCollection
            | Self::DeleteCollection
            | Self::GetOutcome => false,
        }
    }

    pub(super) async fn carry_out(self, request: Request) -> Result<Answer, Fault> {
        match self {
            Self::RegisterProvider => provider::register(&request),
            Self::GetProvider => provider::get(&request),
            Self::ListCloudServices => cloud_services::list(&request).await,
            Self::PutCloudService => cloud_services::put(&request).await,
            Self::GetCloudService => cloud_services::get(&request).await,
            Self::DeleteCloudService => cloud_services::delete(&request).await,
            Self::CheckName => collections::check_name(&request).await,
            Self::PutCollection => collections::put(&request).await,
            Self::DeleteCollection => collections::delete(&request).await,
            Self::GetCollection => collections::get(&request).await,
            Self::ListJobs => jobs::list(&request).await,
            Self::PostJob => jobs::post(&request).await,
            Self::PatchAllJobs => jobs::patch_all(&request).await,
            Self::DeleteAllJobs => jobs::delete_all(&request).await,
            Self::PutJob => jobs::put(&request).await,
            Self::PatchJob => jobs::patch(&request).await,
            Self::GetJob => jobs::get(&request).await,
            Self::DeleteJob => jobs::delete(&request).await,
            Self::ListHistory => history::list(&request).await,
            Self::GetOutcome => operations::get(&request),
        }
    }
}
