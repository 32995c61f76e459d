//! The role of a machine on EC2: its metadata service, version 2.

use std::time::Duration;

use aws_credential_types::Credentials;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use url::Url;

use super::service::Service;
use super::{AwsEnvironment, NoCredentials, in_json};
use crate::pool::Exchange;

/// The address of the metadata service.
const ENDPOINT: &str = "http://169.254.169.254";
/// How long it may take to connect, and to get an answer. Elsewhere nothing answers at that address.
const TIME_MAX: Duration = Duration::from_secs(1);
/// How long the token of a session is valid. One is taken for each question.
const TOKEN_SECONDS: HeaderValue = HeaderValue::from_static("60");
const TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
/// The folder of roles. A machine has at most one.
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
/// What an error calls it.
const NAME: &str = "metadata service of the machine";
/// What to do where there is none.
const INSTEAD: &str =
    "give the machine a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";

/// The metadata service.
pub(super) struct Machine {
    endpoint: String,
    service: Service,
}

impl Machine {
    /// The metadata service, unless the environment turns it off.
    pub(super) fn of(environment: &AwsEnvironment<'_>) -> Result<Self, NoCredentials> {
        let is_off = environment.get("AWS_EC2_METADATA_DISABLED");
        if is_off.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err(NoCredentials::new(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: \
                 AWS_EC2_METADATA_DISABLED says that the machine has no role",
            ));
        }
        let endpoint = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let endpoint = endpoint.unwrap_or_else(|| ENDPOINT.to_owned());
        if !Url::parse(&endpoint).is_ok_and(|url| url.scheme() == "http" && url.has_host()) {
            return Err(NoCredentials::new(format!(
                "AWS_EC2_METADATA_SERVICE_ENDPOINT is {endpoint}, not an http URL"
            )));
        }
        let mut service = Service::new(false, TIME_MAX)?;
        service.repeats_timeouts = false;
        Ok(Self { endpoint: endpoint.trim_end_matches('/').to_owned(), service })
    }

    /// Asks for the credentials of the machine's role.
    pub(super) async fn ask(&self) -> Result<Credentials, NoCredentials> {
        let token = self.send(Method::PUT, "/latest/api/token", (TTL, TOKEN_SECONDS)).await?;
        let mut token = HeaderValue::from_bytes(&token)
            .map_err(|_| NoCredentials::new(format!("the {NAME} answered a token that is none")))?;
        token.set_sensitive(true);
        let roles = self.send(Method::GET, ROLES, (TOKEN, token.clone())).await?;
        let roles = String::from_utf8_lossy(&roles).into_owned();
        let role = roles.lines().next().map(str::trim).filter(|role| !role.is_empty());
        let Some(role) = role else {
            return Err(NoCredentials::new(format!("the machine has no role: {INSTEAD}")));
        };
        let body = self.send(Method::GET, &format!("{ROLES}{role}"), (TOKEN, token)).await?;
        in_json(&body, NAME)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        (name, value): (HeaderName, HeaderValue),
    ) -> Result<Bytes, NoCredentials> {
        let url = format!("{}{path}", self.endpoint);
        let failed = |why: String| NoCredentials::new(format!("{why}: {INSTEAD}"));
        let request = Request::builder().method(method).uri(&url).header(name, value);
        let request = request.body(Full::default()).map_err(|error| failed(error.to_string()))?;
        match self.service.ask(request).await {
            Ok(Exchange { status: StatusCode::OK, body, .. }) => Ok(body),
            Ok(Exchange { status: StatusCode::NOT_FOUND, .. }) => {
                Err(failed("the machine has no role".to_owned()))
            }
            Ok(answer) => Err(failed(format!("the {NAME} answered {}", answer.status))),
            Err(_) => Err(failed(format!("the {NAME} does not answer"))),
        }
    }
}
