//! What whoever starts the process decides.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use domain::firing::limits::ACTION;
use url::Url;

use crate::endpoint::Endpoint;
use crate::policy::TargetPolicy;

/// The most time that one execution may take, from finding the address to the last byte.
pub const TOTAL_TIME_MAX: Duration = Duration::from_secs(ACTION.num_seconds().unsigned_abs());

/// The most time for finding, reaching and greeting a server: what was recorded of the original.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(21);

/// Whom the tokens of Active Directory come from.
pub const AUTHORITY: &str = "https://login.microsoftonline.com";

/// The suffix of Storage accounts in the public cloud.
pub const STORAGE_SUFFIX: &str = "core.windows.net";

/// The suffix of Service Bus namespaces in the public cloud.
pub const SERVICE_BUS_SUFFIX: &str = "servicebus.windows.net";

/// The settings of [`Actions`](crate::Actions).
#[derive(Debug, Clone)]
pub struct ActionSettings {
    /// Which addresses may be reached.
    pub targets: TargetPolicy,
    /// How long things may take.
    pub limits: SendLimits,
    /// Whose certificates are trusted.
    pub roots: Roots,
    /// The base URL of whoever gives tokens. It may be private: it is not a user who names it.
    pub authority: String,
    /// Where Storage queues are.
    pub storage: Endpoint,
    /// Where Service Bus takes messages over HTTPS.
    pub service_bus: Endpoint,
    /// Where it takes them over AMQP; `None` is beside that, at the port of AMQP.
    pub service_bus_amqp: Option<Endpoint>,
    /// In whose name services of AWS are asked; `None` where there is no AWS.
    pub aws: Option<Aws>,
    /// The `User-Agent` of requests that have none of their own.
    pub user_agent: String,
}

impl ActionSettings {
    /// The usual ones.
    #[must_use]
    pub fn new(targets: TargetPolicy) -> Self {
        Self {
            targets,
            limits: SendLimits::DEFAULT,
            roots: Roots::default(),
            authority: AUTHORITY.to_owned(),
            storage: Endpoint::below(STORAGE_SUFFIX),
            service_bus: Endpoint::below(SERVICE_BUS_SUFFIX),
            service_bus_amqp: None,
            aws: None,
            user_agent: concat!("minutehand/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// In whose name services of AWS are asked, and where.
#[derive(Debug, Clone)]
pub struct Aws {
    /// Where all of them are, as with an emulator; `None` for AWS itself.
    pub endpoint: Option<Url>,
    /// The region of what names none.
    pub region: String,
    /// Who signs; it shows its secrets to nobody else.
    pub credentials: SharedCredentialsProvider,
}

impl Aws {
    /// As whom the process itself asks.
    ///
    /// # Errors
    ///
    /// If the endpoint is not a URL.
    pub fn new(
        endpoint: Option<&str>,
        region: impl Into<String>,
        credentials: SharedCredentialsProvider,
    ) -> Result<Self, SettingsError> {
        let endpoint = endpoint.map(|text| {
            let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            url.ok_or_else(|| SettingsError::AwsEndpoint(text.to_owned()))
        });
        Ok(Self { endpoint: endpoint.transpose()?, region: region.into(), credentials })
    }

    /// Keys that do not change, with a token if they have one.
    #[must_use]
    pub fn with_keys(
        endpoint: Option<Url>,
        region: impl Into<String>,
        id: &str,
        secret: &str,
        token: Option<String>,
    ) -> Self {
        let credentials = Credentials::new(id, secret, token, None, "given");
        let credentials = SharedCredentialsProvider::new(credentials);
        Self { endpoint, region: region.into(), credentials }
    }
}

/// How long things may take, in real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// All of one execution, redirects and tokens included.
    pub total: Duration,
    /// Finding, reaching and greeting one server.
    pub connect: Duration,
}

impl SendLimits {
    /// The usual ones.
    pub const DEFAULT: Self = Self { total: TOTAL_TIME_MAX, connect: CONNECT_TIME_MAX };
}

/// Whose certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Those that the system trusts.
    pub system: bool,
    /// More of them, as PEM.
    pub extra_pem: String,
}

impl Default for Roots {
    fn default() -> Self {
        Self { system: true, extra_pem: String::new() }
    }
}

/// A setting with which nothing can be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The additional authorities cannot be read.
    #[error("the additional certificate authorities are not certificates in PEM")]
    ExtraRoots,
    /// The authority is not a URL.
    #[error("the authority that gives tokens is not an http or https URL: '{0}'")]
    Authority(String),
    /// The address of AWS is not a URL.
    #[error("the endpoint of AWS is not an http or https URL: '{0}'")]
    AwsEndpoint(String),
    /// The user agent is not text for a header.
    #[error("the user agent holds what a header cannot: '{0}'")]
    UserAgent(String),
    /// TLS, or the client, refuses them.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}
