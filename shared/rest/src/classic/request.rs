//! A request for an operation, and the headers and bodies that operations have in common.

use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use minutehand_app::{Condition, Etag, Etags, Manage};
use serde_json::Value;

use super::failure::{Code, Fault};
use super::xml::{self, Element};
use crate::answer::guid;
use crate::call::{Call, depth};
use crate::query::Query;
use crate::request::parse_object;

/// The version of the paths below `~`.
const API_VERSION: &str = "2014-04-01";
/// The oldest version of the front end that Azure's documents allowed.
const OLDEST_VERSION: &str = "2012-03-01";

/// A request for an operation: routed, authenticated and read.
pub(super) type Request = Call<Vec<u8>>;

impl Request {
    /// The service, for a change by the sender of the request. What is not readable in the header of the depth
    /// counts as none: clients of this API never send it.
    pub(super) fn writing(&self) -> Manage {
        self.on_behalf_of_caller(depth(&self.head.headers).unwrap_or_default())
    }

    /// Whether the request is a change on a condition.
    pub(super) fn is_conditional(&self) -> bool {
        self.head.headers.contains_key(IF_MATCH)
    }

    /// The service, for a change that expects the versions in `If-Match`, where `current` is the
    /// version that there is now.
    ///
    /// An `ETag` of this API cannot be turned back into a version. If it is that of the current
    /// version, the change requires that version, and otherwise one that no resource ever has.
    pub(super) fn changing(&self, current: Option<&Etag>) -> Manage {
        if !self.is_conditional() {
            return self.writing();
        }
        let values = self
            .head
            .headers
            .get_all(IF_MATCH)
            .iter()
            .map(|value| value.to_str().unwrap_or_default());
        let mut named = values.flat_map(|value| value.split(',')).map(str::trim);
        let shown = current.map(shown_etag);
        let is_current = |named: &str| {
            named == "*"
                || shown.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(unquoted(named)))
        };
        let expected = current.filter(|_| named.any(is_current)).map(Etag::inner);
        let is_one_of = Some(Etags::OneOf(expected.map(str::to_owned).into_iter().collect()));
        self.writing().only_if(Condition { is_one_of, ..Condition::default() })
    }

    /// The body as XML with this root.
    pub(super) fn xml(&self, root: &str) -> Result<Element, Fault> {
        Ok(xml::read(&self.body)?.named(root)?)
    }

    /// The body as a JSON object.
    pub(super) fn json(&self) -> Result<Value, Fault> {
        Ok(parse_object(&self.body)?)
    }
}

/// The `ETag` of a version as this API writes it: a GUID without quotation marks.
pub(super) fn shown_etag(etag: &Etag) -> String {
    guid(etag.inner())
}

fn unquoted(etag: &str) -> &str {
    let etag = etag.strip_prefix("W/").unwrap_or(etag);
    etag.strip_prefix('"').and_then(|etag| etag.strip_suffix('"')).unwrap_or(etag)
}

/// Checks that the request names a version of the front end. All behave the same.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), Fault> {
    let sent = headers.get("x-ms-version").and_then(|value| value.to_str().ok());
    let is_date = |text: &str| {
        let expected = OLDEST_VERSION.bytes();
        text.len() == OLDEST_VERSION.len()
            && text.bytes().zip(expected).all(|(sent, known)| match known {
                b'-' => sent == b'-',
                _ => sent.is_ascii_digit(),
            })
    };
    if sent.is_some_and(|sent| is_date(sent) && sent >= OLDEST_VERSION) {
        return Ok(());
    }
    let message = format!(
        "The versioning header is not specified or was specified incorrectly. Send 'x-ms-version: \
         2014-10-01', or another date that is not before {OLDEST_VERSION}."
    );
    Err(Fault::Own(Code::Version, message))
}

/// Checks that the query names the version of the scheduler, or none.
pub(super) fn check_api_version(query: &Query) -> Result<(), Fault> {
    match query.get("api-version") {
        None => Ok(()),
        Some(sent) if sent == API_VERSION => Ok(()),
        Some(_) => Err(Fault::query(format!(
            "The 'api-version' is not served here; use {API_VERSION}, or leave it out."
        ))),
    }
}
