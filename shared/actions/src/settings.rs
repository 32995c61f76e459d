//! The settings of the process that performs actions.

use std::error::Error;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use minutehand_domain::firing::limits::ACTION;
use minutehand_domain::own::OwnResources;
use url::Url;

use crate::net::{Endpoint, NetError, Roots, TargetPolicy};

/// The time limit of one attempt, from the resolution of the name to the last byte of the answer.
pub const TOTAL_TIME_MAX: Duration = Duration::from_secs(ACTION.num_seconds().unsigned_abs());

/// The time limit for opening one connection. It is the limit in recordings of Azure.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(21);

/// The authority that issues access tokens of Active Directory in the public cloud.
pub const AUTHORITY: &str = "https://login.microsoftonline.com";

/// The most idle connections that are kept for one target, if the process may have enough files open:
/// as many as can become idle at once.
pub const IDLE_CONNECTIONS_MAX: usize = 1_024;

/// The suffix of Storage accounts in the public cloud.
pub const STORAGE_SUFFIX: &str = "core.windows.net";

/// The suffix of Service Bus namespaces in the public cloud.
pub const SERVICE_BUS_SUFFIX: &str = "servicebus.windows.net";

/// The settings of [`Actions`](crate::Actions).
#[derive(Debug, Clone)]
pub struct ActionSettings {
    /// The addresses that jobs may reach.
    pub targets: TargetPolicy,
    /// The time limits.
    pub limits: SendLimits,
    /// The certificate authorities that are trusted.
    pub roots: Roots,
    /// The base URL of the authority that issues access tokens. It may be private, since it does not
    /// come from a job.
    pub authority: String,
    /// The endpoint of Storage queues.
    pub storage: Endpoint,
    /// The HTTPS endpoint of Service Bus.
    pub service_bus: Endpoint,
    /// The AMQP endpoint of Service Bus; `None` for the same hosts as over HTTPS, with AMQP's port.
    pub service_bus_amqp: Option<Endpoint>,
    /// The access to AWS; `None` if there is none.
    pub aws: Option<Aws>,
    /// The installation's own resources on AWS, to which no job may send.
    pub own: OwnResources,
    /// The most idle connections that are kept for one target.
    pub idle_connections_max: usize,
    /// The `User-Agent` of requests for which the job sets none.
    pub user_agent: String,
    /// Whether the bodies with which URLs answer failures are to be kept.
    pub keep_bodies: bool,
}

impl ActionSettings {
    /// The default settings.
    #[must_use]
    pub fn new(targets: TargetPolicy) -> Self {
        Self {
            targets,
            limits: SendLimits::DEFAULT,
            roots: Roots::default(),
            authority: AUTHORITY.to_owned(),
            storage: Endpoint::with_suffix(STORAGE_SUFFIX),
            service_bus: Endpoint::with_suffix(SERVICE_BUS_SUFFIX),
            service_bus_amqp: None,
            aws: None,
            own: OwnResources::default(),
            idle_connections_max: IDLE_CONNECTIONS_MAX,
            user_agent: concat!("minutehand/", env!("CARGO_PKG_VERSION")).to_owned(),
            keep_bodies: false,
        }
    }
}

/// The access to AWS.
#[derive(Debug, Clone)]
pub struct Aws {
    /// The URL of all services, if they are those of an emulator; `None` for AWS itself.
    pub endpoint: Option<Url>,
    /// The region of resources whose name does not contain one.
    pub region: String,
    /// The credentials with which requests are signed. Their `Debug` output has no secrets.
    pub credentials: SharedCredentialsProvider,
    /// The ARN of a role that is assumed with these credentials and then signs; `None` to sign with the
    /// credentials themselves.
    pub role: Option<String>,
}

impl Aws {
    /// Access with the credentials of the process.
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
        let endpoint = endpoint.transpose()?;
        Ok(Self { endpoint, region: region.into(), credentials, role: None })
    }

    /// The same access in another role.
    #[must_use]
    pub fn in_role(self, arn: impl Into<String>) -> Self {
        Self { role: Some(arn.into()), ..self }
    }

    /// Access with fixed keys, and optionally a session token.
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
        Self { endpoint, region: region.into(), credentials, role: None }
    }
}

/// Time limits, in real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// The limit of one attempt, including redirects and requests for access tokens.
    pub total: Duration,
    /// The limit for opening one connection: name resolution, TCP and TLS.
    pub connect: Duration,
}

impl SendLimits {
    /// The default limits.
    pub const DEFAULT: Self = Self { total: TOTAL_TIME_MAX, connect: CONNECT_TIME_MAX };
}

/// Settings with which actions cannot be performed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The additional certificate authorities are not valid PEM.
    #[error("the additional certificate authorities are not certificates in PEM")]
    ExtraRoots,
    /// The authority is not a URL.
    #[error("the authority that issues tokens is not an http or https URL: '{0}'")]
    Authority(String),
    /// The endpoint of AWS is not a URL.
    #[error("the endpoint of AWS is not an http or https URL: '{0}'")]
    AwsEndpoint(String),
    /// The user agent is not valid in a header.
    #[error("the user agent contains characters that are not valid in a header: '{0}'")]
    UserAgent(String),
    /// The TLS library or the HTTP library refuses the settings.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn Error + Send + Sync>),
}

impl From<NetError> for SettingsError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::ExtraRoots => Self::ExtraRoots,
            NetError::Client(source) => Self::Client(source),
        }
    }
}
