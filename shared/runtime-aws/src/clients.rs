//! The configuration of AWS clients: one connection pool, and credentials from the environment.
//!
//! Lambda passes credentials in environment variables that are valid as long as the process lives. So
//! this module omits the SDK's usual chain of files, single sign-on and metadata services.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::SystemTimeSource;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::{SharedHttpClient, SharedHttpConnector, http_client_fn};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use crate::Variables;
use crate::agent::brief_agent;
use crate::connector::Connections;

/// Time limit for connecting.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(2);
/// Time limit of one try of a request.
pub(crate) const TRY_TIME_MAX: Duration = Duration::from_secs(5);
/// Time limit of a request with all its tries: less than the time that a lease leaves beside an action.
pub(crate) const REQUEST_TIME_MAX: Duration = Duration::from_secs(15);
/// The number of tries of a request that fails with a retryable error.
pub(crate) const TRIES_MAX: u32 = 4;
/// The backoff before the second try. It doubles with each further try, and all are jittered.
pub(crate) const FIRST_BACKOFF: Duration = Duration::from_millis(50);

/// The services whose endpoint can be set separately.
const SERVICES: [(&str, &str); 4] = [
    ("DynamoDB", "AWS_ENDPOINT_URL_DYNAMODB"),
    ("EventBridge", "AWS_ENDPOINT_URL_EVENTBRIDGE"),
    ("KMS", "AWS_ENDPOINT_URL_KMS"),
    ("SQS", "AWS_ENDPOINT_URL_SQS"),
];

/// The region, credentials and endpoints for AWS.
///
/// The credentials are read once, because Lambda starts a new process before they expire. Where they
/// rotate within a process, as with `SnapStart` and managed instances, they have to be read again.
#[derive(Clone)]
pub struct AwsSettings {
    /// The region, such as `eu-west-1`.
    pub region: String,
    pub(crate) credentials: Credentials,
    endpoint_url: Option<String>,
    pub(crate) endpoint_urls: Endpoints,
    pub(crate) use_fips: bool,
    pub(crate) use_dual_stack: bool,
    /// The connection pool that all clients share, once one is created.
    connections: OnceLock<Connections>,
}

/// Omits the credentials.
impl fmt::Debug for AwsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsSettings").field("region", &self.region).finish_non_exhaustive()
    }
}

impl AwsSettings {
    /// Reads the variables that Lambda sets, and those that set other endpoints.
    pub fn read(variables: &mut Variables) -> Self {
        let region = variables
            .optional("AWS_REGION")
            .or_else(|| variables.optional("AWS_DEFAULT_REGION"))
            .unwrap_or_else(|| {
                variables.problem(
                    "AWS_REGION is not set: Lambda sets it, so run this as a Lambda function",
                );
                String::new()
            });
        let key_id = variables.required("AWS_ACCESS_KEY_ID", "Lambda sets it");
        let key = variables.required("AWS_SECRET_ACCESS_KEY", "Lambda sets it");
        let token = variables.optional("AWS_SESSION_TOKEN");
        let endpoint = |(service, name)| Some((service, variables.optional(name)?));
        let endpoints = SERVICES.into_iter().filter_map(endpoint).collect();
        let flags = [("true", true), ("false", false)];
        Self {
            region,
            credentials: Credentials::new(key_id, key, token, None, "environment"),
            endpoint_url: variables.optional("AWS_ENDPOINT_URL"),
            endpoint_urls: Endpoints(endpoints),
            use_fips: variables.choice("AWS_USE_FIPS_ENDPOINT", &flags, false),
            use_dual_stack: variables.choice("AWS_USE_DUALSTACK_ENDPOINT", &flags, false),
            connections: OnceLock::new(),
        }
    }

    /// The credentials for requests to AWS.
    #[must_use]
    pub fn credentials(&self) -> SharedCredentialsProvider {
        SharedCredentialsProvider::new(self.credentials.clone())
    }

    /// The connection pool that all clients share.
    pub(crate) fn connections(&self) -> Result<Connections, rustls::Error> {
        if let Some(connections) = self.connections.get() {
            return Ok(connections.clone());
        }
        let connections = Connections::new(CONNECT_TIME_MAX)?;
        Ok(self.connections.get_or_init(|| connections).clone())
    }

    /// The configuration that all clients share.
    ///
    /// # Errors
    ///
    /// If the TLS library refuses its settings.
    pub fn config(&self) -> Result<SdkConfig, rustls::Error> {
        let retry = RetryConfig::standard()
            .with_max_attempts(TRIES_MAX)
            .with_initial_backoff(FIRST_BACKOFF);
        let timeout = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIME_MAX)
            .operation_attempt_timeout(TRY_TIME_MAX)
            .operation_timeout(REQUEST_TIME_MAX)
            .build();
        let mut config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(self.region.clone()))
            .credentials_provider(self.credentials())
            .http_client(http_client(self.connections()?))
            .sleep_impl(TokioSleep::new())
            .time_source(SystemTimeSource::new())
            .retry_config(retry)
            .timeout_config(timeout)
            .use_fips(self.use_fips)
            .use_dual_stack(self.use_dual_stack)
            .service_config(self.endpoint_urls.clone());
        config.set_endpoint_url(self.endpoint_url.clone());
        Ok(config.build())
    }
}

/// The HTTP client of the SDK on these connections.
fn http_client(connections: Connections) -> SharedHttpClient {
    let connections = SharedHttpConnector::new(connections);
    http_client_fn(move |_, _| connections.clone())
}

/// The endpoints of single services, by service id.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints(pub(crate) BTreeMap<&'static str, String>);

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let is_endpoint = key.env() == "AWS_ENDPOINT_URL";
        is_endpoint.then(|| self.0.get(key.service_id()).cloned()).flatten()
    }
}

/// Creates a DynamoDB client with a short user agent, for functions that send many requests.
#[must_use]
pub fn dynamodb_client(config: &SdkConfig) -> aws_sdk_dynamodb::Client {
    let mut config = aws_sdk_dynamodb::config::Builder::from(config);
    config.push_interceptor(brief_agent());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAMBDA: [(&str, &str); 4] = [
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_SESSION_TOKEN", "token"),
    ];

    #[test]
    fn a_service_can_have_its_own_endpoint() {
        let own = [("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9324")];
        let mut variables = Variables::of(LAMBDA.into_iter().chain(own));
        let settings = AwsSettings::read(&mut variables);
        assert!(variables.problems().is_empty(), "{:?}", variables.problems());
        let key = |service| {
            let key = ServiceConfigKey::builder().service_id(service).profile("endpoint_url");
            key.env("AWS_ENDPOINT_URL").build().unwrap()
        };
        let own = settings.endpoint_urls.load_config(key("SQS"));
        assert_eq!(own.as_deref(), Some("http://127.0.0.1:9324"));
        assert_eq!(settings.endpoint_urls.load_config(key("KMS")), None);
    }

    #[test]
    fn debug_output_omits_the_credentials() {
        let mut variables = Variables::of(LAMBDA);
        let settings = AwsSettings::read(&mut variables);
        assert_eq!(format!("{settings:?}"), r#"AwsSettings { region: "eu-west-1", .. }"#);
    }

    #[test]
    fn outside_of_lambda_all_missing_variables_are_reported_at_once() {
        let mut variables = Variables::of::<&str, &str>([]);
        AwsSettings::read(&mut variables);
        assert_eq!(variables.problems().len(), 3);
        assert!(variables.asked().is_empty(), "only own settings are listed");
    }
}
