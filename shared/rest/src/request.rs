//! A request as it was sent: who sent it, to which host, and its body.

use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock, PoisonError};

use axum::body::Body;
use axum::http::Version as HttpVersion;
use axum::http::header::HOST;
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use minutehand_recurrence::nearest;
use serde_json::{Map, Value};

use crate::Rest;
use crate::access::{Caller, Principal};
use crate::failure::{ErrorCode, Failure};
use crate::unique::Unique;

/// The maximum size of the body of a request, unless its route says more.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// The most bytes that are read of a body of which only the beginning counts.
const IGNORED_BYTES_MAX: usize = 1024 * 1024;
/// The most characters of an unknown name that a message repeats.
const NAME_CHARS_MAX: usize = 60;

/// A request as it was sent, and its id.
pub(crate) struct Sent {
    pub(crate) head: Arc<Parts>,
    pub(crate) body: Body,
    pub(crate) request_id: String,
    /// The sender, once it is known, for the line of the log about the request.
    pub(crate) sender: Arc<OnceLock<Principal>>,
}

/// The sender of a request, who has to be known.
pub(crate) fn caller(rest: &Rest, head: &Parts) -> Result<Caller, Failure> {
    let access = rest.access.read().unwrap_or_else(PoisonError::into_inner);
    let caller = access.check(&head.headers)?;
    // A gateway that has checked the sender names it.
    let principal = head.extensions.get::<Principal>().cloned().unwrap_or(caller.principal);
    Ok(Caller { principal, ..caller })
}

/// Refuses a request without exactly one `Host`: a proxy in front may route it by another name.
pub(crate) fn check_host(head: &Parts) -> Result<(), Failure> {
    let mut hosts = head.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), None) => Ok(()),
        (Some(_), Some(_)) => {
            Err(Failure::invalid("The request has several 'Host' headers; send one."))
        }
        // HTTP/1.0 does not have the header.
        (None, _) if head.version < HttpVersion::HTTP_11 => Ok(()),
        (None, _) => Err(Failure::invalid("The request has no 'Host' header; send one.")),
    }
}

pub(crate) async fn read_body(body: Body, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::new(
            ErrorCode::RequestEntityTooLarge,
            format!("The body is longer than {bytes_max} bytes."),
        )),
        Err(error) => Err(incomplete(&*error)),
    }
}

/// The beginning of a body. Something more of it is read, so that most clients can send it to the end.
pub(crate) async fn read_beginning(mut body: Body, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut beginning = Vec::new();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| incomplete(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        bytes += data.len();
        let room = bytes_max.saturating_sub(beginning.len()).min(data.len());
        beginning.extend(data.get(..room).unwrap_or_default());
        if bytes > IGNORED_BYTES_MAX {
            break;
        }
    }
    Ok(beginning)
}

/// A body that did not arrive as a whole.
fn incomplete(error: &(dyn Error + 'static)) -> Failure {
    let message = if has_timed_out(error) {
        "The body did not arrive in time. Send the request again."
    } else {
        "The connection was closed before the body was complete."
    };
    Failure::new(ErrorCode::InvalidRequestContent, message)
}

/// Whether an error, or one of its causes, is a timeout.
fn has_timed_out(error: &(dyn Error + 'static)) -> bool {
    let is_timeout = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    error.downcast_ref().is_some_and(is_timeout) || error.source().is_some_and(has_timed_out)
}

/// Parses strict JSON. The content type does not matter: some clients send none, or another one.
pub(crate) fn parse_object(body: &[u8]) -> Result<Value, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidRequestContent, message);
    if body.trim_ascii().is_empty() {
        return Err(invalid("The body is empty; send a JSON object.".to_owned()));
    }
    let Unique(document) = serde_json::from_slice(body)
        // The error names the problem and its position, and quotes nothing but a repeated name.
        .map_err(|error| invalid(format!("The body is not valid JSON: {error}.")))?;
    if document.is_object() {
        return Ok(document);
    }
    Err(invalid("The body is valid JSON, but not an object; send '{…}'.".to_owned()))
}

/// A property of a body that an operation does not have, as messages name it, and what is meant.
pub(crate) fn unknown_property(
    body: &Map<String, Value>,
    known: &[&str],
) -> Option<(String, String)> {
    let unknown = body.keys().find(|name| !known.contains(&name.as_str()))?;
    let hint = match nearest(unknown, known.iter().copied()) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("use {}.", known.join(", ")),
    };
    let shown = unknown.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    Some((shown, hint))
}
