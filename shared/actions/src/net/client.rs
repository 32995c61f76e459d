//! HTTP clients, and the connections that they keep open.
//!
//! A connection belongs to one identity: a connection that was opened with a client certificate must
//! not carry the request of another job. All requests without a certificate share one client, and
//! each certificate has a client of its own. The most recently used clients are kept.
//!
//! A client follows no redirects, and uses no proxy: both depend on the policy for addresses and on
//! the credentials of the job. It repeats a request only if nothing of it was sent.
//!
//! Some servers close a connection after an answer without announcing it. A request that follows an
//! answer at once would often be sent just then, and could not be repeated. Such a request gets a new
//! connection.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{Either, select};
use http::header::ACCEPT;
use http::uri::Scheme;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use minutehand_domain::action::ClientCertificate;
use rustls::ClientConfig;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, OnceCell};

use super::dial::{DialError, Dialer, Stream};
use super::lookup::Lookups;
use super::policy::TargetPolicy;
use super::resolve::Resolver;
use super::tls::{NetError, Roots, Tls};
use crate::lru::LruCache;

/// How long a connection stays open without a request.
///
/// Many servers close idle connections after a minute, and many jobs run once a minute. If
/// connections were kept for a minute, a request would often be sent just when the server closes the
/// connection. Jobs that are due at the same time share connections anyway.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// The maximum number of certificates whose clients are kept.
const CERTIFICATES_MAX: usize = 64;

/// The maximum number of interim answers (1xx) before an answer. Servers send one or two.
pub(crate) const INTERIM_ANSWERS_MAX: usize = 32;

/// The settings of connections.
pub(crate) struct NetSettings<'a> {
    /// The addresses that jobs may reach.
    pub(crate) targets: TargetPolicy,
    /// The certificate authorities that are trusted.
    pub(crate) roots: &'a Roots,
    /// The time limit for opening one connection to a known address.
    pub(crate) connect_time_max: Duration,
    /// The maximum number of idle connections for each target.
    pub(crate) idle_max: usize,
}

/// A client certificate that cannot be used. The text gives the reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error("The client certificate cannot be used: {0}.")]
pub(crate) struct UnusableCertificate(String);

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The URL is not one of HTTP.
    #[error("the URL cannot be requested")]
    Url,
    /// The server sends interim answers without end.
    #[error("too many interim answers")]
    InterimAnswers,
    /// No connection could be opened, or it broke.
    #[error(transparent)]
    Request(#[from] legacy::Error),
    /// The connection broke within the body of the answer.
    #[error(transparent)]
    Body(#[from] hyper::Error),
}

/// The connection that a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// An idle one, or a new one.
    Any,
    /// A new one, which serves this request only.
    New,
}

/// Sends requests. Clones share their connections.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pooled: legacy::Client<Connector, Full<Bytes>>,
    unpooled: legacy::Client<Connector, Full<Bytes>>,
}

impl HttpClient {
    fn new(dialer: &Dialer, idle_max: usize) -> Self {
        let client = |idle_max| {
            legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE_TIME_MAX)
                .pool_max_idle_per_host(idle_max)
                // Some servers compare header names case-sensitively, in the usual spelling.
                .http1_title_case_headers(true)
                .build(Connector(dialer.clone()))
        };
        Self { pooled: client(idle_max), unpooled: client(0) }
    }

    /// Sends a request to a URL, and returns the head of the answer.
    pub(crate) async fn send(
        &self,
        url: &url::Url,
        mut request: Request<Full<Bytes>>,
        connection: ConnectionUse,
    ) -> Result<Response<Incoming>, HttpError> {
        let client = match connection {
            ConnectionUse::Any => &self.pooled,
            ConnectionUse::New => &self.unpooled,
        };
        *request.uri_mut() = url.as_str().parse().map_err(|_| HttpError::Url)?;
        request.headers_mut().entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        let interim = Arc::new(InterimAnswers::default());
        let counter = Arc::clone(&interim);
        hyper::ext::on_informational(&mut request, move |_| counter.count());
        let too_many = pin!(interim.too_many.notified());
        match select(pin!(client.request(request)), too_many).await {
            // The answer may come in the same packet as the last interim one.
            Either::Left((answer, _)) if !interim.are_too_many() => Ok(answer?),
            // Without the request, the client closes the connection.
            Either::Left(_) | Either::Right(_) => Err(HttpError::InterimAnswers),
        }
    }
}

/// Counts the interim answers of one request.
#[derive(Default)]
struct InterimAnswers {
    n: AtomicUsize,
    too_many: Notify,
}

impl InterimAnswers {
    fn count(&self) {
        if self.n.fetch_add(1, Ordering::Relaxed) == INTERIM_ANSWERS_MAX {
            self.too_many.notify_one();
        }
    }

    fn are_too_many(&self) -> bool {
        self.n.load(Ordering::Relaxed) > INTERIM_ANSWERS_MAX
    }
}

/// Opens the connections of a client.
#[derive(Clone)]
struct Connector(Dialer);

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let dialer = self.0.clone();
        Box::pin(async move {
            let is_tls = to.scheme() == Some(&Scheme::HTTPS);
            let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
            let stream = dialer.open(to.host().unwrap_or_default(), port, is_tls).await?;
            Ok(TokioIo::new(stream))
        })
    }
}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// The client of one certificate. It is created once, by the first request that needs it.
type CertificateClient = Arc<OnceCell<Result<HttpClient, UnusableCertificate>>>;

/// The hash of a certificate file and its password.
type Fingerprint = [u8; 32];

/// The HTTP clients of the process.
pub(crate) struct HttpClients {
    factory: Arc<ClientFactory>,
    plain: HttpClient,
    for_settings: HttpClient,
    by_certificate: Mutex<LruCache<Fingerprint, CertificateClient>>,
}

impl HttpClients {
    pub(crate) fn new(
        settings: &NetSettings<'_>,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, NetError> {
        let factory = ClientFactory {
            tls: Tls::new(settings.roots)?,
            lookups: Lookups::new(resolver),
            targets: settings.targets,
            connect_time_max: settings.connect_time_max,
            idle_max: settings.idle_max,
        };
        let tls = Arc::new(factory.tls.without_certificate().map_err(tls_error)?);
        let client = |targets| factory.client(Arc::clone(&tls), targets);
        Ok(Self {
            plain: client(settings.targets),
            for_settings: client(TargetPolicy::AllowPrivate),
            by_certificate: Mutex::new(LruCache::new(CERTIFICATES_MAX)),
            factory: Arc::new(factory),
        })
    }

    /// The client for requests without a client certificate.
    pub(crate) const fn plain(&self) -> &HttpClient {
        &self.plain
    }

    /// The client for hosts that the settings name. It may reach private addresses.
    pub(crate) const fn for_settings(&self) -> &HttpClient {
        &self.for_settings
    }

    /// Opens connections for protocols other than HTTP.
    pub(crate) fn dialer(&self) -> Result<Dialer, NetError> {
        let tls = self.factory.tls.without_protocol().map_err(tls_error)?;
        Ok(self.factory.dialer(Arc::new(tls), self.factory.targets))
    }

    /// The client for requests with a client certificate.
    pub(crate) async fn with_certificate(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<HttpClient, UnusableCertificate> {
        let fingerprint = fingerprint(certificate);
        let cell = {
            let mut cache = self.by_certificate.lock().unwrap_or_else(PoisonError::into_inner);
            cache.get_or_default(&fingerprint)
        };
        let client = cell.get_or_init(|| async {
            let (factory, certificate) = (Arc::clone(&self.factory), certificate.clone());
            // Deriving the key of the file takes up to a second of CPU time.
            tokio::task::spawn_blocking(move || factory.certificate_client(&certificate))
                .await
                .unwrap_or_else(|_| Err(unusable("it could not be opened")))
        });
        client.await.clone()
    }
}

fn tls_error(error: rustls::Error) -> NetError {
    NetError::Client(Box::new(error))
}

fn fingerprint(certificate: &ClientCertificate) -> Fingerprint {
    let pfx = certificate.pfx.expose();
    Sha256::new()
        .chain_update(pfx.len().to_le_bytes())
        .chain_update(pfx)
        .chain_update(certificate.password.expose())
        .finalize()
        .into()
}

/// Creates HTTP clients.
struct ClientFactory {
    tls: Tls,
    lookups: Lookups,
    targets: TargetPolicy,
    connect_time_max: Duration,
    idle_max: usize,
}

impl ClientFactory {
    fn certificate_client(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<HttpClient, UnusableCertificate> {
        let identity =
            minutehand_pfx::open_base64(certificate.pfx.expose(), certificate.password.expose())
                .map_err(|error| unusable(&error.to_string()))?;
        let config = self.tls.with_certificate(&identity);
        let config = config.map_err(|error| unusable(&error.to_string()))?;
        Ok(self.client(Arc::new(config), self.targets))
    }

    fn client(&self, tls: Arc<ClientConfig>, targets: TargetPolicy) -> HttpClient {
        HttpClient::new(&self.dialer(tls, targets), self.idle_max)
    }

    fn dialer(&self, tls: Arc<ClientConfig>, targets: TargetPolicy) -> Dialer {
        let connect_time_max = self.connect_time_max;
        Dialer { lookups: self.lookups.clone(), targets, tls, connect_time_max }
    }
}

fn unusable(reason: &str) -> UnusableCertificate {
    UnusableCertificate(reason.to_owned())
}
