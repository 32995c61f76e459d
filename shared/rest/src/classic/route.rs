//! The routes: one table of paths and their operations.

use std::borrow::Cow;
use std::future::ready;

use axum::http::Method;
use percent_encoding::percent_decode_str;

use super::failure::{Code, Fault};
use super::request::Request;
use super::{cloud_services, collections, history, jobs, operations, provider};
use crate::call::Handler;
use crate::failure::{ErrorCode, Failure};
use crate::path::Captured;
use crate::scope::Scope;

/// The second segments of paths of this API.
const SECOND_SEGMENTS: [&str; 4] = ["cloudservices", "services", "resourceproviders", "operations"];
/// The first segments of other paths.
const OTHER_FIRST_SEGMENTS: [&str; 2] = ["subscriptions", "minutehand"];

/// An operation of this API: its method, the smallest scope of a token that allows it, and what carries it out.
type Operation = (Method, Scope, &'static dyn Handler<Request, Fault>);

/// A path and its operations.
type Row = (&'static str, &'static [Operation]);

/// A request's operation, and the values of the placeholders in its path.
pub(crate) struct Route {
    pattern: &'static str,
    pub(super) operation: &'static Operation,
    pub(super) path: Captured,
}

macro_rules! scheduler {
    ($rest:literal) => {
        concat!("/{subscriptionId}/cloudservices/{resourceGroupName}/resources/scheduler", $rest)
    };
}

/// All paths. Those with `~` are answered by the scheduler itself, the others by the front end.
static ROUTES: [Row; 12] = [
    (
        "/{subscriptionId}/services",
        &[(Method::PUT, Scope::All, &|request: Request| ready(provider::register(&request)))],
    ),
    (
        "/{subscriptionId}/resourceproviders/scheduler/Properties",
        &[(Method::GET, Scope::Read, &|request: Request| ready(provider::get(&request)))],
    ),
    (
        "/{subscriptionId}/operations/{operationId}",
        &[(Method::GET, Scope::Read, &|request: Request| ready(operations::get(&request)))],
    ),
    ("/{subscriptionId}/cloudservices", &[(Method::GET, Scope::Read, &cloud_services::list)]),
    (
        "/{subscriptionId}/cloudservices/{resourceGroupName}",
        &[
            (Method::PUT, Scope::All, &cloud_services::put),
            (Method::GET, Scope::Read, &cloud_services::get),
            (Method::DELETE, Scope::All, &cloud_services::delete),
        ],
    ),
    (
        scheduler!("/jobCollections"),
        &[
            (Method::GET, Scope::Read, &collections::check_name),
            (Method::POST, Scope::Read, &collections::check_name),
        ],
    ),
    (
        scheduler!("/jobCollections/{jobCollectionName}"),
        &[
            (Method::PUT, Scope::All, &collections::put),
            (Method::DELETE, Scope::All, &collections::delete),
        ],
    ),
    // Azure's documents leave the `~` out of this one, and its clients do not.
    (
        scheduler!("/jobCollections/{jobCollectionName}/jobs"),
        &[(Method::PATCH, Scope::All, &jobs::patch_all)],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}"),
        &[(Method::GET, Scope::Read, &collections::get)],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs"),
        &[
            (Method::GET, Scope::Read, &jobs::list),
            (Method::POST, Scope::All, &jobs::post),
            (Method::PATCH, Scope::All, &jobs::patch_all),
            (Method::DELETE, Scope::All, &jobs::delete_all),
        ],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs/{jobName}"),
        &[
            (Method::PUT, Scope::All, &jobs::put),
            (Method::PATCH, Scope::All, &jobs::patch),
            (Method::GET, Scope::Read, &jobs::get),
            (Method::DELETE, Scope::All, &jobs::delete),
        ],
    ),
    (
        scheduler!("/~/jobCollections/{jobCollectionName}/jobs/{jobName}/history"),
        &[(Method::GET, Scope::Read, &history::list)],
    ),
];

/// Every path and method, with the scope that its operation needs.
#[cfg(test)]
pub(crate) fn scopes() -> impl Iterator<Item = (Scope, &'static Method, &'static str)> {
    ROUTES.iter().flat_map(|(path, operations)| {
        operations.iter().map(|(method, scope, _)| (*scope, method, *path))
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
        let Some(((pattern, operations), captured)) = rows(path).next() else {
            return Err(Failure::new(ErrorCode::UnknownRoute, unknown(path)).into());
        };
        if let Some(operation) = operations.iter().find(|(known, ..)| known == method) {
            return Ok(Self { pattern, operation, path: captured });
        }
        let methods: Vec<&str> = operations.iter().map(|(method, ..)| method.as_str()).collect();
        let other = other_side(path).filter(|_| pattern.contains("{jobCollectionName}"));
        let other = other.map_or_else(String::new, |(hint, _)| format!(" {hint}"));
        let message =
            format!("This path does not support {method}; use {}.{other}", methods.join(", "));
        Err(Fault::Own(Code::Verb, message))
    }

    /// Whether the scheduler itself did it in Azure, and not the front end. It did what concerns all jobs of a
    /// collection, with `~` in the path and without.
    pub(super) fn is_scheduler(&self) -> bool {
        self.pattern.contains("/~/") || self.pattern.ends_with("/jobs")
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
