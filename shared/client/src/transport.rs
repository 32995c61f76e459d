//! Sends requests: connections, TLS, limits, and repetition.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use http::Method;
use http::StatusCode;
use http::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH,
    IF_NONE_MATCH, RETRY_AFTER, USER_AGENT,
};
use http_body_util::{BodyExt as _, Collected, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::answer::Answer;
use crate::arm::Precondition;
use crate::error::{Error, ServerRefusal, causes};
use crate::retry::{self, Ended};
use crate::server_url::ServerUrl;

/// The most bytes of an answer. The server's answers are at most 4 MB.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 << 20;

const REQUEST_ID: &str = "x-ms-request-id";

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To open a connection, without TLS.
    pub connect: Duration,
    /// From the request to the end of its answer, connection included. Each repetition has it anew.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), answer: Duration::from_mins(1) }
    }
}

/// How a client is set up.
#[derive(Default)]
pub struct Options {
    /// The token; without one, requests have no `Authorization`.
    pub token: Option<Zeroizing<String>>,
    /// The only certificates to trust, as PEM; without it, the system's.
    pub ca: Option<PathBuf>,
    /// How long things may take.
    pub limits: Limits,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, ca, limits } = self;
        let has_token = token.is_some();
        f.debug_struct("Options")
            .field("has_token", &has_token)
            .field("ca", ca)
            .field("limits", limits)
            .finish()
    }
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    server: ServerUrl,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) limits: Limits,
    pub(crate) http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
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
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(options.limits.connect));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(&server, options)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let http = legacy::Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { server, authorization, limits: options.limits, http })
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
        if let Ok((ended, mut received)) =
            timeout(self.limits.answer, self.exchange(prepared)).await
        {
            if let Err(Error::Refused(refusal)) = &mut received {
                refusal.path = request.path.as_str().into();
            }
            return (ended, received);
        }
        let (server, after) = (self.server.to_string(), self.limits.answer);
        // The time that a person waits has been used up.
        (Ended::Finally, Err(Error::TimedOut { server, after }))
    }

    fn prepared(&self, request: &Request) -> Result<http::Request<Full<Bytes>>, Error> {
        let body = Full::new(request.body.clone().unwrap_or_default());
        let prepared = http::Request::builder()
            .method(request.method.clone())
            .uri(self.server.join(&request.path))
            .body(body);
        let mut prepared =
            prepared.map_err(|error| Error::Setup(format!("{}: {error}", request.path)))?;
        let headers = prepared.headers_mut();
        headers.extend(request.headers.clone());
        let agent = concat!("minutehand-client/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(prepared)
    }

    async fn exchange(
        &self,
        request: http::Request<Full<Bytes>>,
    ) -> (Ended, Result<Received, Error>) {
        let server = || self.server.to_string();
        let answer = match self.http.request(request).await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => {
                let why = causes(&error);
                return (Ended::Finally, Err(Error::NotReached { server: server(), why }));
            }
            Err(error) => {
                let why = causes(&error);
                return (Ended::Broken, Err(Error::Broken { server: server(), why }));
            }
        };
        let (head, body) = answer.into_parts();
        let body = match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
            Ok(body) => Collected::to_bytes(body),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
                return (Ended::Finally, Err(self.not_understood(why)));
            }
            Err(error) => {
                let why = causes(error.as_ref());
                return (Ended::Broken, Err(Error::Broken { server: server(), why }));
            }
        };
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

fn tls(server: &ServerUrl, options: &Options) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(setup)?;
    // The system's certificates are read only where they are needed: that takes time.
    let roots = RootCertStore::empty();
    if !server.is_https() {
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    let verifier: Arc<dyn ServerCertVerifier> = match &options.ca {
        Some(path) => {
            let roots = Arc::new(roots_of(path)?);
            WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(setup)?
        }
        None => Arc::new(Verifier::new(provider).map_err(setup)?),
    };
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn roots_of(path: &std::path::Path) -> Result<RootCertStore, Error> {
    let at = path.display();
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates = certificates
        .map_err(|error| Error::Setup(format!("cannot read certificates in {at}: {error}")))?;
    if certificates.is_empty() {
        return Err(Error::Setup(format!(
            "{at} holds no certificate as PEM: it has to contain -----BEGIN CERTIFICATE-----"
        )));
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate).map_err(|error| {
            Error::Setup(format!("cannot trust a certificate in {at}: {error}"))
        })?;
    }
    Ok(roots)
}

fn setup(error: impl std::error::Error) -> Error {
    Error::Setup(format!("cannot set up TLS: {}", causes(&error)))
}
