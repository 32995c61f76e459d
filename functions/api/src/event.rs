//! Requests and responses in the format of API Gateway's HTTP APIs, payload version 2.0.
//!
//! This module replaces `lambda_http`, which would misread some paths. HTTP APIs decode the path before
//! they pass it on, and `lambda_http` parses it as a URL again: a `?` in a name would begin a query, and
//! `..` would lead to another path. Here, characters that are invalid in a path are encoded again and
//! nothing else changes, so a path that is still encoded, as from an emulator, stays the same.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{HOST, HeaderName, HeaderValue};
use axum::http::{Method, Request, Response, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::ready;
use futures_util::stream::once;
use http_body_util::BodyExt;
use minutehand_rest::Principal;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use serde::{Deserialize, Serialize};

/// The payload version that this module reads.
const VERSION: &str = "2.0";
/// The stage whose name is not part of paths.
const DEFAULT_STAGE: &str = "$default";
/// The header that tells the API the prefix of its paths.
const FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
/// From this length on, the body is written as text or as Base64, whichever is shorter.
const LONG_BODY: usize = 1_000_000;

/// Characters to encode in a path. A `%` is treated separately: it stays before two hex digits.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// Characters to encode in a query.
const NOT_IN_QUERIES: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// A request as API Gateway sends it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpEvent {
    version: String,
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    request_context: RequestContext,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    domain_name: Option<String>,
    stage: Option<String>,
    /// What the gateway found out about the sender.
    authorizer: Option<Authorizer>,
    http: HttpContext,
}

#[derive(Deserialize)]
struct HttpContext {
    method: String,
}

#[derive(Deserialize)]
struct Authorizer {
    jwt: Option<Jwt>,
    iam: Option<Iam>,
}

#[derive(Deserialize)]
struct Jwt {
    #[serde(default)]
    claims: Claims,
}

#[derive(Deserialize, Default)]
struct Claims {
    sub: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Iam {
    user_arn: Option<String>,
}

impl Authorizer {
    /// The sender, if the gateway names it.
    fn principal(self) -> Option<Principal> {
        let subject = self.jwt.and_then(|jwt| jwt.claims.sub);
        let subject = subject.as_deref().map(Principal::jwt);
        subject.or_else(|| Some(Principal::iam(&self.iam?.user_arn?)))
    }
}

/// A response as API Gateway expects it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAnswer {
    status_code: u16,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
    is_base64_encoded: bool,
}

/// Why an event is not an HTTP request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARequest {
    /// It has another payload version.
    #[error(
        "the payload has version {0}: set PayloadFormatVersion of the integration to {VERSION}"
    )]
    Version(String),
    /// A part of it is invalid.
    #[error("the event has an invalid {0}")]
    Part(&'static str),
}

/// A body that is not valid Base64.
#[derive(Debug, thiserror::Error)]
#[error("the body is not Base64")]
struct DamagedBody;

impl HttpEvent {
    /// Converts the event into a request.
    ///
    /// # Errors
    ///
    /// If it has another payload version, or an invalid method or path.
    pub fn into_request(self) -> Result<Request<Body>, NotARequest> {
        if self.version != VERSION {
            return Err(NotARequest::Version(self.version));
        }
        let RequestContext { domain_name, stage, authorizer, http } = self.request_context;
        let method = Method::from_bytes(http.method.as_bytes());
        let (prefix, path) = split_stage(&self.raw_path, stage.as_deref());
        let mut request = Request::new(body(self.body, self.is_base64_encoded));
        *request.method_mut() = method.map_err(|_| NotARequest::Part("method"))?;
        *request.uri_mut() = uri(path, &self.raw_query_string)?;
        if let Some(principal) = authorizer.and_then(Authorizer::principal) {
            request.extensions_mut().insert(principal);
        }
        let headers = request.headers_mut();
        for (name, value) in self.headers {
            // A header that is invalid in HTTP is not one that the API reads.
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                headers.append(name, value);
            }
        }
        if let Some(Ok(domain)) = domain_name.map(HeaderValue::try_from)
            && !headers.contains_key(HOST)
        {
            headers.insert(HOST, domain);
        }
        // Only the gateway knows the prefix: a value sent by the client is discarded.
        headers.remove(FORWARDED_PREFIX);
        if let Some(Ok(prefix)) = prefix.map(HeaderValue::try_from) {
            headers.insert(FORWARDED_PREFIX, prefix);
        }
        Ok(request)
    }
}

/// Splits the stage from a path: returns `/stage`, and the rest of the path.
fn split_stage<'a>(path: &'a str, stage: Option<&str>) -> (Option<String>, &'a str) {
    let Some(stage) = stage.filter(|stage| !stage.is_empty() && *stage != DEFAULT_STAGE) else {
        return (None, path);
    };
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(stage));
    match rest {
        Some("") => (Some(format!("/{stage}")), "/"),
        Some(rest) if rest.starts_with('/') => (Some(format!("/{stage}")), rest),
        _ => (None, path),
    }
}

fn uri(path: &str, query: &str) -> Result<Uri, NotARequest> {
    let mut uri = encoded_path(path);
    if !uri.starts_with('/') {
        uri.insert(0, '/');
    }
    if !query.is_empty() {
        uri.push('?');
        uri.extend(percent_encode(query.as_bytes(), NOT_IN_QUERIES));
    }
    Uri::builder().path_and_query(uri).build().map_err(|_| NotARequest::Part("path"))
}

/// Encodes the characters that are invalid in a path.
///
/// API Gateway hands a path over decoded, so an escape that is left was encoded twice by the client. It
/// is read as an escape: of all names only those of subscriptions and resource groups could have it.
fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        encoded.extend(percent_encode(before.as_bytes(), NOT_IN_PATHS));
        let is_escape = matches!(
            after.as_bytes(),
            [one, two, ..] if one.is_ascii_hexdigit() && two.is_ascii_hexdigit()
        );
        encoded.push_str(if is_escape { "%" } else { "%25" });
        rest = after;
    }
    encoded.extend(percent_encode(rest.as_bytes(), NOT_IN_PATHS));
    encoded
}

/// Decodes the body. Invalid Base64 becomes an error when the router reads the body, which rejects it
/// like any unreadable body.
fn body(text: Option<String>, is_base64: bool) -> Body {
    match text {
        None => Body::empty(),
        Some(text) if !is_base64 => Body::from(text),
        Some(text) => match BASE64.decode(text) {
            Ok(bytes) => Body::from(bytes),
            Err(_) => Body::from_stream(once(ready(Err::<Vec<u8>, _>(DamagedBody)))),
        },
    }
}

impl HttpAnswer {
    /// Converts a response.
    ///
    /// # Errors
    ///
    /// If its body cannot be read to its end.
    pub async fn from_response(response: Response<Body>) -> Result<Self, axum::Error> {
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &head.headers {
            let Ok(value) = value.to_str() else { continue };
            let known = headers.entry(name.as_str().to_owned()).or_default();
            if !known.is_empty() {
                known.push_str(", ");
            }
            known.push_str(value);
        }
        let (body, is_base64_encoded) = match String::from_utf8(body.into()) {
            Ok(text) if !is_shorter_in_base64(&text) => (text, false),
            Ok(text) => (BASE64.encode(text), true),
            Err(bytes) => (BASE64.encode(bytes.as_bytes()), true),
        };
        Ok(Self { status_code: head.status.as_u16(), headers, body, is_base64_encoded })
    }
}

/// Whether a long text is shorter in Base64 than as a JSON string.
///
/// Lambda limits a response to 6 MB. A list of 4 MB with many quotes would exceed that as a JSON string,
/// where each quote takes two bytes.
fn is_shorter_in_base64(text: &str) -> bool {
    if text.len() < LONG_BODY {
        return false;
    }
    let as_string: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum();
    as_string > text.len().div_ceil(3) * 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(name: &str) -> HttpEvent {
        let path = format!("{}/../../tests/events/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).unwrap()
    }

    fn request(name: &str) -> Request<Body> {
        event(name).into_request().unwrap()
    }

    fn header(request: &Request<Body>, name: HeaderName) -> &str {
        request.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn a_request_keeps_method_path_query_and_headers() {
        let request = request("api-put-collection");
        assert_eq!(request.method(), Method::PUT);
        assert_eq!(
            request.uri(),
            "/subscriptions/me/resourceGroups/dev/providers/Microsoft.Scheduler/jobCollections/\
             first?api-version=2016-03-01"
        );
        assert_eq!(header(&request, HOST), "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com");
        assert_eq!(header(&request, axum::http::header::AUTHORIZATION), "Bearer open-sesame");
    }

    #[test]
    fn the_sender_is_the_one_that_the_gateway_names() {
        let sender = |authorizer: serde_json::Value| {
            let event = json!({
                "version": "2.0",
                "rawPath": "/",
                "requestContext": {"http": {"method": "GET"}, "authorizer": authorizer},
            });
            let event: HttpEvent = serde_json::from_value(event).unwrap();
            event.into_request().unwrap().extensions().get::<Principal>().cloned()
        };
        let claims = json!({"jwt": {"claims": {"sub": "ann", "aud": "x"}, "scopes": null}});
        assert_eq!(sender(claims), Some(Principal::jwt("ann")));
        let arn = "arn:aws:iam::123456789012:user/ann";
        assert_eq!(sender(json!({"iam": {"userArn": arn}})), Some(Principal::iam(arn)));
        assert_eq!(sender(json!(null)), None);
        assert_eq!(sender(json!({"jwt": {"claims": {}}})), None);
    }

    #[test]
    fn a_decoded_and_an_encoded_path_give_the_same_request() {
        assert_eq!(request("api-path-decoded").uri(), request("api-path-encoded").uri());
    }

    #[test]
    fn invalid_characters_in_a_path_are_encoded_and_dots_are_kept() {
        let request = request("api-path-odd");
        assert_eq!(request.uri().path(), "//subscriptions/../me%5C%25zz%3Fx%23y/100%25");
        assert_eq!(request.uri().query(), Some("api-version=2016-03-01&x=%zz"));
        for (path, expected) in [
            ("", "/"),
            ("/", "/"),
            ("*", "/*"),
            ("/a%2Fb", "/a%2Fb"),
            ("/50%", "/50%25"),
            ("/%4", "/%254"),
            ("/a b\u{7f}\n", "/a%20b%7F%0A"),
            ("/日本", "/%E6%97%A5%E6%9C%AC"),
            ("http://elsewhere/x", "/http://elsewhere/x"),
        ] {
            assert_eq!(uri(path, "").unwrap(), expected, "{path:?}");
        }
    }

    #[test]
    fn a_named_stage_becomes_the_forwarded_prefix() {
        let request = request("api-stage");
        assert!(request.uri().path().starts_with("/subscriptions/"));
        assert_eq!(header(&request, FORWARDED_PREFIX), "/prod");
        for (path, stage, expected) in [
            ("/prod", Some("prod"), (Some("/prod".to_owned()), "/")),
            ("/product", Some("prod"), (None, "/product")),
            ("/x", Some("prod"), (None, "/x")),
            ("/x", Some("$default"), (None, "/x")),
            ("/x", None, (None, "/x")),
        ] {
            assert_eq!(split_stage(path, stage), expected);
        }
    }

    #[test]
    fn a_request_without_a_host_gets_the_gateways_domain() {
        let request = request("api-no-host");
        assert_eq!(header(&request, HOST), "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com");
    }

    #[tokio::test]
    async fn a_base64_body_is_decoded_and_invalid_base64_fails_when_it_is_read() {
        let body = request("api-put-job-base64").into_body().collect().await.unwrap();
        let text = String::from_utf8(body.to_bytes().into()).unwrap();
        assert!(text.contains("grüße"), "{text}");
        assert!(request("api-base64-damaged").into_body().collect().await.is_err());
    }

    #[test]
    fn an_event_that_is_not_a_request_says_what_is_invalid() {
        let with = |path: &str, value: serde_json::Value| {
            let mut event = json!({
                "version": "2.0",
                "rawPath": "/",
                "requestContext": {"http": {"method": "GET"}},
            });
            *event.pointer_mut(path).unwrap() = value;
            serde_json::from_value::<HttpEvent>(event).unwrap().into_request().unwrap_err()
        };
        assert_eq!(with("/version", json!("1.0")), NotARequest::Version("1.0".to_owned()));
        let method = with("/requestContext/http/method", json!("GE T"));
        assert_eq!(method, NotARequest::Part("method"));
    }

    #[tokio::test]
    async fn a_text_response_is_returned_as_text_with_joined_headers() {
        let response = Response::builder()
            .status(201)
            .header("content-type", "application/json")
            .header("vary", "a")
            .header("vary", "b")
            .body(Body::from(r#"{"x":"ü"}"#))
            .unwrap();
        let answer = HttpAnswer::from_response(response).await.unwrap();
        assert_eq!(
            serde_json::to_value(&answer).unwrap(),
            json!({
                "statusCode": 201,
                "headers": {"content-type": "application/json", "vary": "a, b"},
                "body": r#"{"x":"ü"}"#,
                "isBase64Encoded": false,
            })
        );
    }

    /// The longest list, with the characters that take the most space.
    #[tokio::test]
    async fn a_long_response_stays_below_six_megabytes() {
        for text in ["\\\"".repeat(2_000_000), "x".repeat(4_000_000), "\u{1}".repeat(4_000_000)] {
            let answer =
                HttpAnswer::from_response(Response::new(Body::from(text.clone()))).await.unwrap();
            assert!(serde_json::to_vec(&answer).unwrap().len() < 6_000_000);
            if answer.is_base64_encoded {
                assert_eq!(BASE64.decode(&answer.body).unwrap(), text.as_bytes());
            }
        }
    }
}
