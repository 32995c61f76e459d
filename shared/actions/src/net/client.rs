//! HTTP clients, and the connections that they keep open.
//!
//! A connection belongs to one identity: a connection that was opened with a client certificate must
//! not carry the request of another job. All requests without a certificate share one client, and
//! each certificate has a client of its own. The most recently used clients are kept.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::action::ClientCertificate;
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::dial::Dialer;
use super::policy::TargetPolicy;
use super::resolve::{GuardedResolver, Resolver};
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

/// The settings of connections.
pub(crate) struct NetSettings<'a> {
    /// The addresses that jobs may reach.
    pub(crate) targets: TargetPolicy,
    /// The certificate authorities that are trusted.
    pub(crate) roots: &'a Roots,
    /// The time limit for opening one connection.
    pub(crate) connect_time_max: Duration,
    /// The maximum number of idle connections for each target.
    pub(crate) idle_max: usize,
}

/// A client certificate that cannot be used. The text gives the reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error("The client certificate cannot be used: {0}.")]
pub(crate) struct UnusableCertificate(String);

/// The client of one certificate. It is created once, by the first request that needs it.
type CertificateClient = Arc<OnceCell<Result<reqwest::Client, UnusableCertificate>>>;

/// The hash of a certificate file and its password.
type Fingerprint = [u8; 32];

/// The HTTP clients of the process.
pub(crate) struct HttpClients {
    factory: Arc<ClientFactory>,
    plain: reqwest::Client,
    for_settings: reqwest::Client,
    by_certificate: Mutex<LruCache<Fingerprint, CertificateClient>>,
}

impl HttpClients {
    pub(crate) fn new(
        settings: &NetSettings<'_>,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, NetError> {
        let factory = ClientFactory {
            tls: Tls::new(settings.roots)?,
            resolver,
            targets: settings.targets,
            connect_time_max: settings.connect_time_max,
            idle_max: settings.idle_max,
        };
        let tls = || factory.tls.without_certificate().map_err(client_error);
        let (jobs, trusted) = (settings.targets, TargetPolicy::AllowPrivate);
        Ok(Self {
            plain: factory.client(tls()?, jobs).map_err(client_error)?,
            for_settings: factory.client(tls()?, trusted).map_err(client_error)?,
            by_certificate: Mutex::new(LruCache::new(CERTIFICATES_MAX)),
            factory: Arc::new(factory),
        })
    }

    /// The client for requests without a client certificate.
    pub(crate) const fn plain(&self) -> &reqwest::Client {
        &self.plain
    }

    /// The client for hosts that the settings name. It may reach private addresses.
    pub(crate) const fn for_settings(&self) -> &reqwest::Client {
        &self.for_settings
    }

    /// Opens connections for protocols other than HTTP.
    pub(crate) fn dialer(&self) -> Result<Dialer, NetError> {
        Ok(Dialer {
            resolver: Arc::clone(&self.factory.resolver),
            targets: self.factory.targets,
            tls: Arc::new(self.factory.tls.without_protocol().map_err(client_error)?),
            connect_time_max: self.factory.connect_time_max,
        })
    }

    /// The client for requests with a client certificate.
    pub(crate) async fn with_certificate(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<reqwest::Client, UnusableCertificate> {
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

fn client_error(error: impl Error + Send + Sync + 'static) -> NetError {
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
    resolver: Arc<dyn Resolver>,
    targets: TargetPolicy,
    connect_time_max: Duration,
    idle_max: usize,
}

impl ClientFactory {
    fn certificate_client(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<reqwest::Client, UnusableCertificate> {
        let identity = pfx::open_base64(certificate.pfx.expose(), certificate.password.expose())
            .map_err(|error| unusable(&error.to_string()))?;
        let config = self.tls.with_certificate(&identity);
        let config = config.map_err(|error| unusable(&error.to_string()))?;
        self.client(config, self.targets).map_err(|_| unusable("no client can be made with it"))
    }

    fn client(
        &self,
        tls: ClientConfig,
        policy: TargetPolicy,
    ) -> Result<reqwest::Client, reqwest::Error> {
        let resolver = GuardedResolver { resolver: Arc::clone(&self.resolver), policy };
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(resolver)
            // A proxy from the environment would resolve names itself, without the policy.
            .no_proxy()
            // `http::hop` follows redirects, since the policy and the credentials depend on each.
            .redirect(Policy::none())
            // The target may have acted on the first request; the job's retry policy decides.
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            // Some servers compare header names case-sensitively, in the usual spelling.
            .http1_title_case_headers()
            .connect_timeout(self.connect_time_max)
            .pool_max_idle_per_host(self.idle_max)
            .pool_idle_timeout(IDLE_TIME_MAX)
            .build()
    }
}

fn unusable(reason: &str) -> UnusableCertificate {
    UnusableCertificate(reason.to_owned())
}
