//! Sends requests: their heads, answers, and repetition.

use std::time::Duration;

use bytes::Bytes;
pub use http::Method;
use http::StatusCode;
use http::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH,
    IF_NONE_MATCH, RETRY_AFTER, USER_AGENT,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::answer::Answer;
use crate::arm::Precondition;
use crate::error::{Error, ServerRefusal};
use crate::options::{Limits, Options};
use crate::retry::{self, Ended};
use crate::server_url::ServerUrl;
use crate::way::{LocalServer, Way};

const REQUEST_ID: &str = "x-ms-request-id";

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    server: ServerUrl,
    authorization: Option<HeaderValue>,
    limits: Limits,
    way: Way,
}

/// A request, before it is sent.
pub(crate) struct Request {
    method: Method,
    /// The path and query, from a slash on.
    path: String,
    body: Option<Bytes>,
    headers: HeaderMap,
    repeatable: bool,
}

/// An answer that is not a failure.
pub(crate) struct Received {
    pub(crate) body: Bytes,
    pub(crate) etag: Option<String>,
    /// The clock of the server, in the words of HTTP.
    pub(crate) date: Option<String>,
}

/// The header that names a request which is to be done once.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl Request {
    pub(crate) fn new(method: Method, path: String) -> Self {
        let repeatable = method.is_idempotent() || method == Method::PATCH;
        Self { method, path, body: None, headers: HeaderMap::new(), repeatable }
    }

    pub(crate) fn with_body(mut self, body: &Value) -> Self {
        self.body = Some(Bytes::from(body.to_string()));
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self
    }

    /// Makes the request for a version only. If the answer to such a request is lost, its repetition
    /// would find the version that the request itself has made.
    pub(crate) fn on(mut self, condition: Precondition<'_>) -> Self {
        let (name, value) = match condition {
            Precondition::Always => return self,
            Precondition::New => (IF_NONE_MATCH, Ok(HeaderValue::from_static("*"))),
            Precondition::Unchanged(etag) => (IF_MATCH, HeaderValue::from_str(etag)),
        };
        // An ETag came out of a header, so it fits into one; else no version matches.
        self.headers.insert(name, value.unwrap_or(HeaderValue::from_static("\"\"")));
        self.repeatable = false;
        self
    }

    /// Names the request, so that it is done once, and may be sent again.
    pub(crate) fn once(mut self, key: Option<&str>) -> Self {
        let Some(key) = key else { return self };
        // The server refuses an empty key, as it refuses one that is not allowed in a header.
        let value = HeaderValue::from_str(key).unwrap_or(HeaderValue::from_static(""));
        self.headers.insert(IDEMPOTENCY_KEY, value);
        self.repeatable()
    }

    /// Marks a POST that has the same effect if it is sent twice.
    pub(crate) fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }
}

impl Client {
    /// Sets up a client. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] if the token or the certificates cannot be used.
    pub fn new(server: ServerUrl, options: &Options) -> Result<Self, Error> {
        let authorization =
            options.token.as_deref().map(|token| authorization(token)).transpose()?;
        let way = Way::over_the_network(&server, options)?;
        Ok(Self { server, authorization, limits: options.limits, way })
    }

    /// Sets up a client of a server in this process, whose address is only shown. It has no token.
    #[must_use]
    pub fn within(server: ServerUrl, answering: LocalServer) -> Self {
        let way = Way::Within(answering);
        Self { server, authorization: None, limits: Limits::default(), way }
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// Sends any request: the method, a path with its query from a slash on, and a body.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String, Error> {
        let request = Request::new(method, path.to_owned());
        let request = match body {
            Some(body) => request.with_body(body),
            None => request,
        };
        let received = self.send(&request).await?;
        self.text(&received)
    }

    /// The body of an answer, which has to be text.
    pub(crate) fn text(&self, received: &Received) -> Result<String, Error> {
        let text = String::from_utf8(received.body.to_vec());
        text.map_err(|_| self.not_understood("it is not text".to_owned()))
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: String) -> Result<Answer<T>, Error> {
        self.read(&Request::new(Method::GET, path)).await
    }

    pub(crate) async fn done(&self, request: Request) -> Result<(), Error> {
        self.send(&request).await.map(|_| ())
    }

    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        request: &Request,
    ) -> Result<Answer<T>, Error> {
        let received = self.send(request).await?;
        let (text, etag) = (self.text(&received)?, received.etag);
        let value = serde_json::from_str(&text);
        let value = value.map_err(|error| self.not_understood(error.to_string()))?;
        Ok(Answer { value, text, etag })
    }

    /// Sends a request, and sends it again as [`retry`] says.
    pub(crate) async fn send(&self, request: &Request) -> Result<Received, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (ended, result) = self.send_once(request).await;
            match retry::pause(ended, request.repeatable, tries) {
                Some(pause) => wait(pause).await,
                None => return result,
            }
        }
    }

    async fn send_once(&self, request: &Request) -> (Ended, Result<Received, Error>) {
        let prepared = match self.prepared(request) {
            Ok(prepared) => prepared,
            Err(error) => return (Ended::Finally, Err(error)),
        };
        let answer = match self.exchange(prepared).await {
            Ok(answer) => answer,
            Err(error @ Error::Broken { .. }) => return (Ended::Broken, Err(error)),
            // A person waits no longer than the limit.
            Err(error) => return (Ended::Finally, Err(error)),
        };
        let (ended, mut received) = self.received(answer);
        if let Err(Error::Refused(refusal)) = &mut received {
            refusal.path = request.path.as_str().into();
        }
        (ended, received)
    }

    fn prepared(&self, request: &Request) -> Result<http::Request<Bytes>, Error> {
        let prepared = http::Request::builder()
            .method(request.method.clone())
            .uri(self.server.join(&request.path))
            .body(request.body.clone().unwrap_or_default());
        let mut prepared =
            prepared.map_err(|error| Error::Setup(format!("{}: {error}", request.path)))?;
        *prepared.headers_mut() = request.headers.clone();
        Ok(prepared)
    }

    /// Sends a request with the token of this client, once.
    pub(crate) async fn exchange(
        &self,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, Error> {
        let agent = concat!("minutehand-client/", env!("CARGO_PKG_VERSION"));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        self.way.exchange(&self.server, request, self.limits.answer).await
    }

    fn received(&self, answer: http::Response<Bytes>) -> (Ended, Result<Received, Error>) {
        let (head, body) = answer.into_parts();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        if head.status.is_success() {
            let etag = header(ETAG.as_str()).map(ToOwned::to_owned);
            let date = header(DATE.as_str()).map(ToOwned::to_owned);
            return (Ended::Finally, Ok(Received { body, etag, date }));
        }
        let ended = match head.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let seconds = header(RETRY_AFTER.as_str()).and_then(|value| value.parse().ok());
                Ended::Busy(seconds.map(Duration::from_secs))
            }
            _ => Ended::Finally,
        };
        let request_id = header(REQUEST_ID).map(ToOwned::to_owned);
        let text = String::from_utf8_lossy(&body);
        (ended, Err(self.refused(head.status, &text, request_id)))
    }

    fn refused(&self, status: StatusCode, text: &str, request_id: Option<String>) -> Error {
        let document: Value = serde_json::from_str(text).unwrap_or_default();
        let part = |name| document.pointer(name).and_then(Value::as_str).map(ToOwned::to_owned);
        match (part("/error/code"), part("/error/message")) {
            (Some(code), Some(message)) => {
                let target = part("/error/target");
                let path = Box::default();
                Error::Refused(ServerRefusal { status, code, message, target, path, request_id })
            }
            _ => self.not_understood(format!("it answered {status}")),
        }
    }

    pub(crate) fn not_understood(&self, why: String) -> Error {
        Error::NotUnderstood { server: self.server.to_string(), why }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server named the pause, and there is no signal that ends it; tests pause the clock"
)]
async fn wait(pause: Duration) {
    tokio::time::sleep(pause).await;
}

fn authorization(token: &str) -> Result<HeaderValue, Error> {
    let value = Zeroizing::new(format!("Bearer {token}"));
    let value = HeaderValue::from_str(&value).ok().filter(|_| !token.trim().is_empty());
    let mut value = value.ok_or_else(|| {
        Error::Setup("the token has to be text without spaces or line breaks".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}
