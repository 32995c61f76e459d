//! The role of actions: `AssumeRole` of STS, once an hour, so that requests of jobs have the rights of
//! that role alone.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use minutehand_domain::cause::CauseKind;
use minutehand_outbound::SigningScope;
use url::Url;
use url::form_urlencoded::Serializer;

use super::sign::Signer;
use super::{rejection, url_of};
use crate::http::{ServiceClient, ServiceRequest, element_text};
use crate::net::ResolvedUrl;
use crate::outcome::{ActionFailure, Secrets};

/// The service that gives out credentials of roles.
const SERVICE: &str = "sts";

/// The name under which the requests of jobs stand in the audit trail of AWS.
const SESSION: &str = "minutehand";

/// How long the credentials are valid: the most that a role may ask for another one.
const VALID_FOR: Duration = Duration::from_hours(1);

/// A role that is assumed with the credentials of another signer.
pub(super) struct Role {
    pub(super) arn: String,
    pub(super) endpoint: Option<Url>,
    pub(super) region: String,
    pub(super) signer: Box<Signer>,
    pub(super) client: ServiceClient,
}

impl Role {
    /// Asks for credentials of the role. They expire within an hour.
    pub(super) async fn assume(
        &self,
        now: SystemTime,
        secrets: &mut Secrets,
    ) -> Result<Credentials, ActionFailure> {
        self.ask(now, secrets).await.map_err(|failure| {
            let text =
                format!("The role '{}' of actions cannot be assumed: {}", self.arn, failure.text);
            ActionFailure { text, cause: CauseKind::NoCredentials.into(), ..failure }
        })
    }

    async fn ask(
        &self,
        now: SystemTime,
        secrets: &mut Secrets,
    ) -> Result<Credentials, ActionFailure> {
        let url = url_of(self.endpoint.as_ref(), SERVICE, &self.region, "/")?;
        let mut headers = HeaderMap::with_capacity(8);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        let to = ResolvedUrl { url, is_from_settings: true };
        let mut request = ServiceRequest { to, headers, body: self.form().into_bytes() };
        let scope = SigningScope { service: SERVICE, region: &self.region, at: now };
        // A signer without a role does not come back here.
        Box::pin(self.signer.sign(scope, &mut request, secrets)).await?;
        let response = self.client.send(request).await?;
        let text = String::from_utf8_lossy(&response.body.bytes);
        if !response.status.is_success() {
            return Err(rejection(response.status, &response.headers, &text));
        }
        credentials(&text, now)
    }

    fn form(&self) -> String {
        Serializer::new(String::new())
            .append_pair("Action", "AssumeRole")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", &self.arn)
            .append_pair("RoleSessionName", SESSION)
            .append_pair("DurationSeconds", &VALID_FOR.as_secs().to_string())
            .finish()
    }
}

/// The credentials in an answer.
fn credentials(text: &str, now: SystemTime) -> Result<Credentials, ActionFailure> {
    let element = |name| {
        element_text(text, name)
            .ok_or_else(|| ActionFailure::protocol(format!("The answer of STS has no {name}.")))
    };
    let (id, secret) = (element("AccessKeyId")?, element("SecretAccessKey")?);
    let token = element("SessionToken")?;
    Ok(Credentials::new(id, secret, Some(token), Some(now + VALID_FOR), "role"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_from_the_answer_and_expire_after_an_hour() {
        let answer = "<AssumeRoleResponse><AssumeRoleResult><Credentials>\
                      <AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>a/b+c</SecretAccessKey>\
                      <SessionToken>t=</SessionToken><Expiration>2030-01-01T01:00:00Z</Expiration>\
                      </Credentials></AssumeRoleResult></AssumeRoleResponse>";
        let found = credentials(answer, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(found.access_key_id(), "ASIA");
        assert_eq!(found.secret_access_key(), "a/b+c");
        assert_eq!(found.session_token(), Some("t="));
        let hour = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        assert_eq!(found.expiry(), Some(hour));
        let cut = credentials("<AccessKeyId>ASIA</AccessKeyId>", SystemTime::UNIX_EPOCH);
        assert_eq!(cut.unwrap_err().text, "The answer of STS has no SecretAccessKey.");
    }
}
