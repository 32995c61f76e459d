//! Access tokens of Active Directory, for client credentials.
//!
//! A token is cached until a minute before it expires. If several attempts need the same token, one of
//! them requests it, and the others wait and share the answer, even if it is an error. A thousand jobs
//! that are due at the same time therefore cause one request.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use minutehand_domain::cause::CauseKind;
use minutehand_domain::secret::Secret;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use url::Url;

use super::body;
use crate::lru::LruCache;
use crate::net::{ConnectionUse, HttpClient, HttpError};
use crate::outcome::{ActionFailure, status_name};
use crate::settings::SettingsError;

/// The maximum number of cached tokens.
const TOKENS_MAX: usize = 1_024;

/// How long before its expiry a token is used for the last time, so that it does not expire while a
/// request is on the way.
const EXPIRY_MARGIN: Duration = Duration::from_mins(1);

/// The maximum lifetime of a cached token. Authorities give out tokens for at most a day.
const LIFETIME_MAX: Duration = Duration::from_hours(24);

/// The maximum number of bytes that are read of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The client credentials, and the audience of the token.
pub(crate) struct Grant<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) secret: &'a Secret,
}

/// An access token.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) secret: Secret,
    /// Whether the token was requested before. The target may have revoked it since.
    pub(crate) is_cached: bool,
}

/// The grant, with a hash of the secret: a changed secret needs a new token.
type Key = (String, String, String, [u8; 32]);

/// The cached token of one grant, or the last error.
#[derive(Default)]
struct Slot {
    token: Option<CachedToken>,
    failure: Option<(Instant, ActionFailure)>,
}

#[derive(Clone)]
struct CachedToken {
    secret: Secret,
    received_at: Instant,
    use_until: Instant,
}

/// Requests and caches access tokens.
pub(crate) struct TokenSource {
    authority: Url,
    slots: SyncMutex<LruCache<Key, Arc<Mutex<Slot>>>>,
}

fn authority_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    url.filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Whether a text is valid for [`ActionSettings::authority`](crate::ActionSettings::authority).
#[must_use]
pub fn is_authority(text: &str) -> bool {
    authority_url(text).is_some()
}

impl TokenSource {
    pub(crate) fn new(authority: &str) -> Result<Self, SettingsError> {
        let Some(url) = authority_url(authority) else {
            return Err(SettingsError::Authority(authority.to_owned()));
        };
        Ok(Self { authority: url, slots: SyncMutex::new(LruCache::new(TOKENS_MAX)) })
    }

    /// Returns a token for a grant, but not the one that a target has refused.
    pub(crate) async fn get(
        &self,
        client: &HttpClient,
        grant: &Grant<'_>,
        refused: Option<&Secret>,
    ) -> Result<Token, ActionFailure> {
        let asked_at = Instant::now();
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.get_or_default(&grant.key())
        };
        let mut slot = slot.lock().await;
        let now = Instant::now();
        // An answer that arrived while this call was waiting counts for this call as well.
        if let Some(cached) = &slot.token
            && (now < cached.use_until || cached.received_at >= asked_at)
            && refused != Some(&cached.secret)
        {
            return Ok(Token { secret: cached.secret.clone(), is_cached: true });
        }
        if let Some((at, failure)) = &slot.failure
            && *at >= asked_at
        {
            return Err(failure.clone());
        }
        slot.token = None;
        match self.request_token(client, grant).await {
            Ok(token) => {
                slot.token = Some(token.clone());
                Ok(Token { secret: token.secret, is_cached: false })
            }
            Err(failure) => {
                slot.failure = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    async fn request_token(
        &self,
        client: &HttpClient,
        grant: &Grant<'_>,
    ) -> Result<CachedToken, ActionFailure> {
        let host = self.authority.host_str().unwrap_or_default();
        let failed = |failure: ActionFailure| ActionFailure {
            text: format!("The authority '{host}' did not answer: {}", failure.text),
            cause: CauseKind::NoCredentials.into(),
            ..failure
        };
        let is_https = self.authority.scheme() == "https";
        let http_failed =
            |error: HttpError| failed(ActionFailure::from_http_error(&error, host, is_https));
        let (url, request) = self.request(grant);
        let (head, body) =
            client.send(&url, request, ConnectionUse::Any).await.map_err(http_failed)?.into_parts();
        let status = head.status;
        let answer = body::read(body, ANSWER_BYTES_MAX).await.map_err(http_failed)?;
        let answer: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
        match parse_token(&answer).filter(|_| status.is_success()) {
            Some(token) => Ok(token),
            None => Err(refused(host, status, &answer)),
        }
    }

    /// The request of version 1 of the authority's protocol: it names the audience as a resource, as
    /// the jobs do.
    fn request(&self, grant: &Grant<'_>) -> (Url, Request<Full<Bytes>>) {
        let mut url = self.authority.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([grant.tenant, "oauth2", "token"]);
        }
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", grant.client_id)
            .append_pair("client_secret", grant.secret.expose())
            .append_pair("resource", grant.audience)
            .finish();
        let mut request = Request::new(Full::from(form));
        *request.method_mut() = Method::POST;
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        (url, request)
    }
}

impl Grant<'_> {
    fn key(&self) -> Key {
        let secret = Sha256::digest(self.secret.expose()).into();
        (self.tenant.to_owned(), self.audience.to_owned(), self.client_id.to_owned(), secret)
    }
}

/// The token in an answer, if there is one.
fn parse_token(answer: &Value) -> Option<CachedToken> {
    let token = answer.get("access_token")?.as_str()?;
    let is_valid = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    // Version 1 of the protocol writes numbers as text.
    let seconds = answer.get("expires_in").and_then(|value| {
        value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
    });
    let lifetime = Duration::from_secs(seconds.unwrap_or_default()).min(LIFETIME_MAX);
    let now = Instant::now();
    let use_until = now + lifetime.saturating_sub(EXPIRY_MARGIN);
    is_valid.then(|| CachedToken { secret: Secret::new(token), received_at: now, use_until })
}

fn refused(host: &str, status: StatusCode, answer: &Value) -> ActionFailure {
    let field = |name| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = [field("error"), field("error_description")].join(" ");
    let said = said.trim();
    let name = status_name(status);
    let said = if said.is_empty() { "no token in the answer" } else { said };
    ActionFailure::no_credentials(format!(
        "No access token from '{host}', which answered '{name}': {said}"
    ))
}
