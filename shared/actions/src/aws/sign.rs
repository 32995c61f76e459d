//! Signs requests with the credentials of the process, or of a role that it assumes, in version 4 of
//! AWS's signatures.

use std::error::Error as _;
use std::time::{Duration, Instant, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use http::header::{HOST, InvalidHeaderValue};
use minutehand_outbound::{Payload, SigningScope, signature, texts};
use tokio::sync::Mutex;
use url::Position;

use super::role::Role;
use crate::http::ServiceRequest;
use crate::net::ResolvedUrl;
use crate::outcome::{ActionFailure, Secrets};

/// How long credentials without an expiry are cached.
const CACHE_TIME: Duration = Duration::from_mins(1);

/// How long before their expiry credentials are requested again.
const EXPIRY_MARGIN: Duration = Duration::from_mins(5);

/// Signs requests.
pub(super) struct Signer {
    source: Source,
    cached: Mutex<Option<Cached>>,
}

/// Where credentials come from.
pub(super) enum Source {
    /// From the process.
    Provider(SharedCredentialsProvider),
    /// From STS, for a role.
    Role(Role),
}

/// Credentials, and how long they are used: by a clock that runs evenly, and by the time of the
/// requests. The first one stands still while Lambda suspends the process.
struct Cached {
    credentials: Credentials,
    until: Instant,
    expires_at: Option<SystemTime>,
}

impl Signer {
    pub(super) fn new(source: Source) -> Self {
        Self { source, cached: Mutex::new(None) }
    }

    /// Adds the headers of the signature to a request.
    pub(super) async fn sign(
        &self,
        scope: SigningScope<'_>,
        request: &mut ServiceRequest,
        secrets: &mut Secrets,
    ) -> Result<(), ActionFailure> {
        let ServiceRequest { to: ResolvedUrl { url, .. }, headers, body } = request;
        let credentials = self.credentials(scope.at, secrets).await?;
        secrets.add(credentials.secret_access_key());
        if let Some(token) = credentials.session_token() {
            secrets.add(token);
        }
        // The HTTP client adds the Host header with this value when it sends the request.
        let host = (HOST.as_str(), &url[Position::BeforeHost..Position::AfterPort]);
        let payload = Payload { method: "POST", url: url.as_str(), body };
        let signature = signature(credentials, scope, payload, texts(headers).chain([host]));
        let signature = signature.map_err(|error| {
            ActionFailure::no_credentials(if error.is::<InvalidHeaderValue>() {
                "The credentials for AWS are not valid in a header."
            } else {
                "The request to AWS cannot be signed."
            })
        })?;
        headers.extend(signature);
        Ok(())
    }

    async fn credentials(
        &self,
        now: SystemTime,
        secrets: &mut Secrets,
    ) -> Result<Credentials, ActionFailure> {
        // While one request asks for credentials, the others wait for its answer.
        let mut cached = self.cached.lock().await;
        let fresh = cached.as_ref().filter(|it| it.is_fresh(now));
        if let Some(Cached { credentials, .. }) = fresh {
            return Ok(credentials.clone());
        }
        let credentials = match &self.source {
            Source::Role(role) => role.assume(now, secrets).await?,
            Source::Provider(provider) => {
                provider.provide_credentials().await.map_err(|error| {
                    // The source of the credentials says what to do, and the error around it nothing.
                    let why = error.source().map(ToString::to_string).unwrap_or_default();
                    ActionFailure::no_credentials(format!(
                        "There are no credentials for AWS: {why}."
                    ))
                })?
            }
        };
        *cached = Some(Cached::new(credentials.clone(), now));
        Ok(credentials)
    }
}

impl Cached {
    fn new(credentials: Credentials, now: SystemTime) -> Self {
        let expires_at = credentials.expiry();
        let left = expires_at.and_then(|end| end.duration_since(now).ok());
        let lifetime = left.map_or(CACHE_TIME, |left| left.saturating_sub(EXPIRY_MARGIN));
        Self { credentials, until: Instant::now() + lifetime, expires_at }
    }

    fn is_fresh(&self, now: SystemTime) -> bool {
        let is_valid = self.expires_at.is_none_or(|end| now + EXPIRY_MARGIN < end);
        is_valid && Instant::now() < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_that_expired_while_the_process_was_suspended_are_not_used() {
        let now = SystemTime::UNIX_EPOCH;
        let hour = Duration::from_hours(1);
        let cached = Cached::new(Credentials::new("i", "s", None, Some(now + hour), "test"), now);
        assert!(cached.is_fresh(now));
        assert!(cached.is_fresh(now + hour - EXPIRY_MARGIN - Duration::from_secs(1)));
        assert!(!cached.is_fresh(now + hour - EXPIRY_MARGIN));
    }
}
