//! Requests in the name of whoever runs us: signed with version 4 of AWS's signatures.

use std::time::{Duration, Instant, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use chrono::{DateTime, Utc};
use http::header::{HOST, HeaderName, HeaderValue};
use tokio::sync::Mutex;
use url::Position;

use crate::endpoint::ResolvedUrl;
use crate::failure::ActionFailure;
use crate::post::PostRequest;
use crate::redact::SecretForms;

/// How long credentials are kept that do not say when they end.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// How long before their end credentials are asked for anew.
const MARGIN: Duration = Duration::from_mins(5);

/// Signs requests.
pub(super) struct Signer {
    provider: SharedCredentialsProvider,
    kept: Mutex<Option<(Credentials, Instant)>>,
}

/// What a signature is for.
pub(super) struct Scope<'a> {
    pub(super) service: &'static str,
    pub(super) region: &'a str,
    pub(super) now: DateTime<Utc>,
}

impl Signer {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        Self { provider, kept: Mutex::new(None) }
    }

    /// Adds to a request what signs it.
    pub(super) async fn sign(
        &self,
        scope: &Scope<'_>,
        parcel: &mut PostRequest,
        secrets: &mut SecretForms,
    ) -> Result<(), ActionFailure> {
        let PostRequest { to: ResolvedUrl { url, .. }, headers, body } = parcel;
        let credentials = self.credentials(scope.now).await?;
        secrets.add(credentials.secret_access_key());
        if let Some(token) = credentials.session_token() {
            secrets.add(token);
        }
        let unsigned = |_| ActionFailure::canceled("The request to AWS cannot be signed.");
        let identity: Identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(scope.region)
            .name(scope.service)
            .time(system_time(scope.now))
            .settings(SigningSettings::default())
            .build()
            .map_err(|_| ActionFailure::canceled("The request to AWS cannot be signed."))?
            .into();
        // The connection adds it, in these words.
        let host = url[Position::BeforeHost..Position::AfterPort].to_owned();
        let texts =
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let texts = texts.chain([(HOST.as_str(), host.as_str())]);
        let request = SignableRequest::new("POST", url.as_str(), texts, SignableBody::Bytes(body))
            .map_err(unsigned)?;
        let (instructions, _) = sign(request, &params).map_err(unsigned)?.into_parts();
        for (name, value) in instructions.headers() {
            let (Ok(name), Ok(mut value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            else {
                return Err(ActionFailure::canceled(
                    "The credentials for AWS cannot stand in a header.",
                ));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(())
    }

    async fn credentials(&self, now: DateTime<Utc>) -> Result<Credentials, ActionFailure> {
        let mut kept = self.kept.lock().await;
        let fresh = kept.as_ref().filter(|(_, use_until)| Instant::now() < *use_until);
        if let Some((credentials, _)) = fresh {
            return Ok(credentials.clone());
        }
        let credentials = self.provider.provide_credentials().await.map_err(|_| {
            ActionFailure::canceled(
                "There are no credentials for AWS; the log of the start says more.",
            )
        })?;
        let left = credentials.expiry().and_then(|end| end.duration_since(system_time(now)).ok());
        let life = left.map_or(KEPT_FOR, |left| left.saturating_sub(MARGIN));
        *kept = Some((credentials.clone(), Instant::now() + life));
        Ok(credentials)
    }
}

fn system_time(at: DateTime<Utc>) -> SystemTime {
    let since = u64::try_from(at.timestamp_millis()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_millis(since)
}
