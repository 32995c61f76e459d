//! Clients, and the connections that they keep.
//!
//! A connection belongs to an identity: what was opened with a client certificate must not carry the
//! request of another job. So there is one client for all that have none, and one for each
//! certificate, of which the most recently used are kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::action::ClientCertificate;
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::cache::ExpiringCache;
use crate::dial::Dialer;
use crate::failure::ActionFailure;
use crate::policy::TargetPolicy;
use crate::resolve::{Guard, Resolver};
use crate::settings::{ActionSettings, SettingsError};
use crate::tls::Tls;

/// The most connections that wait for more work at one target: as many as may come free at once.
const IDLE_CONNECTIONS_MAX: usize = 1_024;

/// How long a connection waits for more work.
///
/// Many servers close after a minute, and many jobs run once a minute: a connection that waited so
/// long would be used just as it is closed. What is due together is served all the same.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// The most certificates whose clients are kept.
const IDENTITIES_MAX: usize = 64;

/// A client of one certificate, or why there is none; made once, whoever comes first.
type Identified = Arc<OnceCell<Result<reqwest::Client, ActionFailure>>>;

/// A certificate file with its password, as a hash.
type Fingerprint = [u8; 32];

pub(crate) struct HttpClients {
    maker: Arc<Maker>,
    plain: reqwest::Client,
    of_settings: reqwest::Client,
    identified: Mutex<ExpiringCache<Fingerprint, Identified>>,
}

impl HttpClients {
    pub(crate) fn new(
        settings: &ActionSettings,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, SettingsError> {
        let tls = Tls::new(&settings.roots)?;
        let maker = Maker {
            tls,
            resolver,
            targets: settings.targets,
            connect_time_max: settings.limits.connect,
        };
        let plain = || maker.tls.plain().map_err(|error| SettingsError::Client(Box::new(error)));
        let refused = |error| SettingsError::Client(Box::new(error));
        Ok(Self {
            plain: maker.client(plain()?, settings.targets).map_err(refused)?,
            of_settings: maker.client(plain()?, TargetPolicy::AllowPrivate).map_err(refused)?,
            identified: Mutex::new(ExpiringCache::new(IDENTITIES_MAX)),
            maker: Arc::new(maker),
        })
    }

    /// For requests of nobody in particular.
    pub(crate) const fn plain(&self) -> &reqwest::Client {
        &self.plain
    }

    /// For asking whom the settings name, and not a user.
    pub(crate) const fn of_settings(&self) -> &reqwest::Client {
        &self.of_settings
    }

    /// For what is not HTTP.
    pub(crate) fn dialer(&self) -> Result<Dialer, SettingsError> {
        let tls = self.maker.tls.bare();
        Ok(Dialer {
            resolver: Arc::clone(&self.maker.resolver),
            targets: self.maker.targets,
            tls: Arc::new(tls.map_err(|error| SettingsError::Client(Box::new(error)))?),
            connect_time_max: self.maker.connect_time_max,
        })
    }

    /// For requests of whom a certificate names.
    pub(crate) async fn identified(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<reqwest::Client, ActionFailure> {
        let fingerprint = fingerprint(certificate);
        let cell = {
            let mut cache = self.identified.lock().unwrap_or_else(PoisonError::into_inner);
            cache.entry(&fingerprint)
        };
        let made = cell.get_or_init(|| async {
            let (maker, certificate) = (Arc::clone(&self.maker), certificate.clone());
            // Deriving the key of a file takes up to a second.
            tokio::task::spawn_blocking(move || maker.identified(&certificate))
                .await
                .unwrap_or_else(|_| Err(unusable("it could not be opened")))
        });
        made.await.clone()
    }
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

/// Makes clients.
struct Maker {
    tls: Tls,
    resolver: Arc<dyn Resolver>,
    targets: TargetPolicy,
    connect_time_max: Duration,
}

impl Maker {
    fn identified(
        &self,
        certificate: &ClientCertificate,
    ) -> Result<reqwest::Client, ActionFailure> {
        let identity = pfx::open_base64(certificate.pfx.expose(), certificate.password.expose())
            .map_err(|error| unusable(&error.to_string()))?;
        let config =
            self.tls.identified(&identity).map_err(|error| unusable(&error.to_string()))?;
        self.client(config, self.targets).map_err(|_| unusable("no client can be made with it"))
    }

    fn client(
        &self,
        tls: ClientConfig,
        policy: TargetPolicy,
    ) -> Result<reqwest::Client, reqwest::Error> {
        let guard = Guard { resolver: Arc::clone(&self.resolver), policy };
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(guard)
            // A proxy of the environment would resolve names behind the guard's back.
            .no_proxy()
            // Each hop is checked, and what of the request may go there.
            .redirect(Policy::none())
            // What was sent may have been done: another attempt is the retry policy's to decide.
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            // As people write them: some servers still compare letter by letter.
            .http1_title_case_headers()
            .connect_timeout(self.connect_time_max)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .pool_idle_timeout(IDLE_TIME_MAX)
            .build()
    }
}

fn unusable(reason: &str) -> ActionFailure {
    ActionFailure::canceled(format!("The client certificate cannot be used: {reason}."))
}
