//! A role for the token of a workload: `AssumeRoleWithWebIdentity` of STS, as Kubernetes has it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use chrono::{DateTime, Utc};
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::Full;
use url::form_urlencoded::Serializer;

use super::service::Service;
use super::{AwsEnvironment, NoCredentials};

/// How long a request may take.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The name of the session in the audit trail of AWS, if the environment gives none.
const SESSION: &str = "minutehand";

/// A role that is assumed with a token.
pub(super) struct WebIdentity {
    token_file: PathBuf,
    role: String,
    session: String,
    url: String,
    service: Service,
}

impl WebIdentity {
    /// The role that the environment names.
    pub(super) fn of(environment: &AwsEnvironment<'_>) -> Result<Option<Self>, NoCredentials> {
        let Some(token_file) = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") else {
            return Ok(None);
        };
        let Some(role) = environment.get("AWS_ROLE_ARN") else {
            return Err(NoCredentials::new(
                "AWS_WEB_IDENTITY_TOKEN_FILE is set: set AWS_ROLE_ARN, too",
            ));
        };
        let session = environment.get("AWS_ROLE_SESSION_NAME");
        let region =
            environment.get("AWS_REGION").or_else(|| environment.get("AWS_DEFAULT_REGION"));
        let own =
            environment.get("AWS_ENDPOINT_URL_STS").or_else(|| environment.get("AWS_ENDPOINT_URL"));
        let url = match (own, region) {
            (Some(own), _) => own,
            (None, Some(region)) => format!("https://sts.{region}.amazonaws.com"),
            (None, None) => {
                return Err(NoCredentials::new(
                    "a role is assumed in a region: set AWS_REGION, as EKS does",
                ));
            }
        };
        let url = format!("{}/", url.trim_end_matches('/'));
        let service = Service::new(url.starts_with("https:"), TIME_MAX)?;
        let session = session.unwrap_or_else(|| SESSION.to_owned());
        Ok(Some(Self { token_file: token_file.into(), role, session, url, service }))
    }

    /// Asks for credentials of the role.
    pub(super) async fn assume(&self, now: SystemTime) -> Result<Credentials, NoCredentials> {
        let failed = |why: &str| {
            NoCredentials::new(format!("the role {} cannot be assumed: {why}", self.role))
        };
        // It is replaced before it expires, so it is read each time.
        let token = fs::read_to_string(&self.token_file).map_err(|error| {
            failed(&format!("cannot read {}: {error}", self.token_file.display()))
        })?;
        let form = Serializer::new(String::new())
            .append_pair("Action", "AssumeRoleWithWebIdentity")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", &self.role)
            .append_pair("RoleSessionName", &self.session)
            .append_pair("WebIdentityToken", token.trim())
            .finish();
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form))
            .map_err(|error| failed(&error.to_string()))?;
        let answer = self.service.ask(request).await;
        let answer = answer.map_err(|error| failed(&format!("STS does not answer: {error}")))?;
        let text = String::from_utf8_lossy(&answer.body);
        if !answer.status.is_success() {
            let code = element(&text, "Code").unwrap_or_default();
            return Err(failed(format!("STS answered {} {code}", answer.status).trim_end()));
        }
        credentials(&text, now).ok_or_else(|| failed("the answer of STS has no credentials"))
    }
}

fn credentials(answer: &str, now: SystemTime) -> Option<Credentials> {
    let (id, secret) = (element(answer, "AccessKeyId")?, element(answer, "SecretAccessKey")?);
    let token = element(answer, "SessionToken")?;
    let expiry = DateTime::parse_from_rfc3339(&element(answer, "Expiration")?).ok()?;
    let expiry = SystemTime::from(expiry.with_timezone(&Utc));
    (expiry > now).then(|| Credentials::new(id, secret, Some(token), Some(expiry), "web identity"))
}

/// The text of the first element with a name. The values that are read contain no escapes.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once(&format!("</{name}>"))?;
    Some(value.trim().to_owned())
}
