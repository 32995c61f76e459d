//! Answers: a status and headers, with a JSON body or without a body.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, DATE, ETAG, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use chrono::{DateTime, Utc};
use minutehand_app::Etag;
use minutehand_domain::ids;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::failure::{ErrorCode, Failure};
use crate::fixes::fixes;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const XML: HeaderValue = HeaderValue::from_static("application/xml; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
/// What nginx and others read.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-ms-correlation-request-id");
const CLIENT_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
/// The maximum length of a client's request id that is echoed.
const CLIENT_ID_BYTES_MAX: usize = 128;
/// How long clients should wait after a 503, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// The answer of an operation.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    body: Option<Vec<u8>>,
    /// Events, in place of a body.
    events: Option<Body>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// An answer without a body.
    pub(crate) const fn empty(status: StatusCode) -> Self {
        Self { status, body: None, events: None, headers: Vec::new() }
    }

    /// An answer with a document, as compact JSON.
    pub(crate) fn json(status: StatusCode, document: &Value) -> Self {
        Self::text(status, document.to_string())
    }

    /// An answer with a document that is already JSON text.
    pub(crate) fn text(status: StatusCode, body: String) -> Self {
        Self { body: Some(body.into_bytes()), ..Self::empty(status) }
    }

    /// A file that a target wrote. A browser saves it, and neither shows nor runs it.
    pub(crate) fn download(body: Vec<u8>) -> Self {
        let (content_type, disposition) = match str::from_utf8(&body) {
            Ok(_) => ("text/plain; charset=utf-8", "attachment; filename=\"body.txt\""),
            Err(_) => ("application/octet-stream", "attachment; filename=\"body.bin\""),
        };
        let headers = [
            (CONTENT_TYPE, content_type),
            (CONTENT_DISPOSITION, disposition),
            (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        ];
        let headers =
            headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value)));
        Self { body: Some(body), headers: headers.collect(), ..Self::empty(StatusCode::OK) }
    }

    /// An answer with a metrics page, which is plain text.
    pub(crate) fn metrics(page: String) -> Self {
        Self::text(StatusCode::OK, page).with(CONTENT_TYPE, METRICS)
    }

    /// An answer with a few words.
    pub(crate) fn plain(words: &str) -> Self {
        Self::text(StatusCode::OK, words.to_owned()).with(CONTENT_TYPE, PLAIN)
    }

    /// A stream of events, which a proxy is asked to pass on at once.
    pub(crate) fn events(events: Body) -> Self {
        let headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (UNBUFFERED, HeaderValue::from_static("no")),
        ];
        Self { events: Some(events), headers, ..Self::empty(StatusCode::OK) }
    }

    /// An answer with an XML document.
    pub(crate) fn xml(status: StatusCode, body: String) -> Self {
        Self::text(status, body).with(CONTENT_TYPE, XML)
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds an `ETag` of the content: a hash of the body.
    pub(crate) fn with_content_tag(self) -> Self {
        let hash: [u8; 32] = Sha256::digest(self.body.as_deref().unwrap_or_default()).into();
        let tag = format!("\"{}\"", ids::hex(hash.get(..16).unwrap_or_default()));
        // Hexadecimal digits and quotation marks are valid in a header.
        self.with_tag(&tag)
    }

    /// The `ETag` of the answer, if it has one.
    pub(crate) fn content_tag(&self) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(name, _)| *name == ETAG)?;
        value.to_str().ok()
    }

    /// The answer for a client that has its content: the headers without the body.
    pub(crate) fn not_modified(self) -> Self {
        Self { status: StatusCode::NOT_MODIFIED, body: None, ..self }
    }

    /// Adds the version of the resource that the answer contains.
    pub(crate) fn with_etag(self, etag: &Etag) -> Self {
        self.with_tag(&etag.to_string())
    }

    /// The answer with this `ETag`, which is visible ASCII.
    pub(crate) fn with_tag(mut self, tag: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(tag).ok().map(|it| (ETAG, it)));
        self
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Adds the headers that every answer has. The answer to a HEAD is that to a GET without its
    /// body.
    pub(crate) fn into_response(
        self,
        request_id: &str,
        request: &Parts,
        now: DateTime<Utc>,
    ) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        // These values are visible ASCII, so that none of them is invalid in a header.
        for (name, value) in
            [(REQUEST_ID, request_id), (CORRELATION_ID, request_id), (DATE, &http_date(now))]
        {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        if let Some(id) = request.headers.get(CLIENT_ID).filter(|id| is_echoed(id.as_bytes())) {
            headers.insert(CLIENT_ID, id.clone());
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        if let Some(events) = self.events {
            *response.body_mut() = events;
        }
        match self.body {
            Some(body) if request.method == Method::HEAD => {
                response.headers_mut().insert(CONTENT_LENGTH, body.len().into());
            }
            Some(body) => *response.body_mut() = Body::from(body),
            None => {}
        }
        response
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, target, fixes: known, allow, cause: _ } = failure;
        let mut document = json!({"error": {"code": code.as_str(), "message": message}});
        if let (Some(target), Some(error)) = (target, document.get_mut("error")) {
            let fixes = fixes(&known, Some(&target), &Value::Null);
            if !fixes.is_empty() {
                error["fixes"] = fixes.into();
            }
            error["target"] = target.into();
        }
        let mut answer = Self::json(code.status(), &document);
        if matches!(code, ErrorCode::AuthenticationFailed | ErrorCode::InvalidAuthenticationToken) {
            answer.headers.push((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }
        if code == ErrorCode::ServiceUnavailable {
            answer.headers.push((RETRY_AFTER, RETRY_AFTER_SECONDS));
        }
        let methods = allow.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
        if let Some(value) = HeaderValue::from_str(&methods).ok().filter(|_| !allow.is_empty()) {
            answer.headers.push((ALLOW, value));
        }
        answer
    }
}

/// Derives a GUID from an id, as clients expect request ids to be GUIDs.
pub(crate) fn guid(id: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(id).into();
    let bits = hash.into_iter().take(16).fold(0_u128, |bits, byte| bits << 8 | u128::from(byte));
    ids::guid(bits)
}

/// Formats an instant for the `Date` header.
fn http_date(instant: DateTime<Utc>) -> String {
    instant.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Whether a client's request id is echoed: it has to be visible ASCII, and not too long.
fn is_echoed(id: &[u8]) -> bool {
    (1..=CLIENT_ID_BYTES_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ids_have_equal_and_well_formed_guids() {
        assert_eq!(guid("id1"), guid("id1"));
        assert_ne!(guid("id1"), guid("id2"));
        let lengths: Vec<usize> = guid("id1").split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(guid("id1").split('-').nth(2).unwrap().starts_with('8'));
        assert!(guid("id1").split('-').nth(3).unwrap().starts_with(['8', '9', 'a', 'b']));
    }

    #[test]
    fn dates_have_the_format_of_http() {
        let instant = DateTime::from_timestamp(784_111_777, 999).unwrap();
        assert_eq!(http_date(instant), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn client_ids_are_echoed_if_they_are_short_and_visible() {
        assert!(is_echoed(b"c0ffee-1"));
        assert!(is_echoed(&[b'x'; 128]));
        for id in [&b""[..], b"a b", "ä".as_bytes(), &[b'x'; 129]] {
            assert!(!is_echoed(id), "{id:?}");
        }
    }
}
