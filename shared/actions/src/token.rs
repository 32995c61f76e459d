//! Tokens of Active Directory, by client credentials.
//!
//! A token is kept until a minute before it expires. Whoever needs one that somebody is asking for
//! already waits for that answer, and shares it, also where it is a refusal: a thousand jobs that are
//! due at once ask once.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant};

use domain::secret::Secret;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use url::Url;

use crate::body;
use crate::cache::ExpiringCache;
use crate::failure::ActionFailure;
use crate::settings::SettingsError;
use crate::status;

/// The most tokens that are kept.
const TOKENS_MAX: usize = 1_024;

/// How long before its end a token is not used any more: requests are on the way until then.
const MARGIN: Duration = Duration::from_mins(1);

/// The longest that a token is kept, whatever it says: the authorities give a day at most.
const LIFE_MAX: Duration = Duration::from_hours(24);

/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The most characters that are told of a refusal.
const REFUSAL_CHARS_MAX: usize = 512;

/// Who wants a token, and for what.
pub(crate) struct Grant<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) secret: &'a Secret,
}

/// A token.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) secret: Secret,
    /// Whether it was there before it was asked for, and so may be older than the target's mind.
    pub(crate) is_kept: bool,
}

/// Who, for what, and the hash of the secret: whoever changes it gets a token of the new one.
type Key = (String, String, String, [u8; 32]);

/// What is known of one grant.
#[derive(Default)]
struct Slot {
    token: Option<CachedToken>,
    refusal: Option<(Instant, ActionFailure)>,
}

#[derive(Clone)]
struct CachedToken {
    secret: Secret,
    got_at: Instant,
    use_until: Instant,
}

pub(crate) struct Tokens {
    authority: Url,
    slots: SyncMutex<ExpiringCache<Key, Arc<Mutex<Slot>>>>,
}

fn authority_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    url.filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Whether a text is what [`ActionSettings::authority`](crate::Settings::authority) may be.
#[must_use]
pub fn is_authority(text: &str) -> bool {
    authority_url(text).is_some()
}

impl Tokens {
    pub(crate) fn new(authority: &str) -> Result<Self, SettingsError> {
        let Some(url) = authority_url(authority) else {
            return Err(SettingsError::Authority(authority.to_owned()));
        };
        Ok(Self { authority: url, slots: SyncMutex::new(ExpiringCache::new(TOKENS_MAX)) })
    }

    /// A token for a grant, other than one that a target has refused.
    pub(crate) async fn get(
        &self,
        client: &reqwest::Client,
        grant: &Grant<'_>,
        refused: Option<&Secret>,
    ) -> Result<Token, ActionFailure> {
        let asked_at = Instant::now();
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(&grant.key())
        };
        let mut slot = slot.lock().await;
        let now = Instant::now();
        // What was answered while this one waited is an answer to it too.
        if let Some(kept) = &slot.token
            && (now < kept.use_until || kept.got_at >= asked_at)
            && refused != Some(&kept.secret)
        {
            return Ok(Token { secret: kept.secret.clone(), is_kept: true });
        }
        if let Some((at, failure)) = &slot.refusal
            && *at >= asked_at
        {
            return Err(failure.clone());
        }
        slot.token = None;
        match self.ask(client, grant).await {
            Ok(kept) => {
                slot.token = Some(kept.clone());
                Ok(Token { secret: kept.secret, is_kept: false })
            }
            Err(failure) => {
                slot.refusal = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    async fn ask(
        &self,
        client: &reqwest::Client,
        grant: &Grant<'_>,
    ) -> Result<CachedToken, ActionFailure> {
        let host = self.authority.host_str().unwrap_or_default();
        let failed = |failure: ActionFailure| ActionFailure {
            text: format!("'{host}', which gives access tokens, did not answer: {}", failure.text),
            ..failure
        };
        let is_https = self.authority.scheme() == "https";
        let below = |error: reqwest::Error| failed(ActionFailure::of(&error, host, is_https));
        let response = client.execute(self.request(grant)).await.map_err(below)?;
        let status = response.status();
        let answer = body::read(response, ANSWER_BYTES_MAX).await.map_err(below)?;
        let answer: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
        match kept(&answer).filter(|_| status.is_success()) {
            Some(kept) => Ok(kept),
            None => Err(refusal(host, status, &answer)),
        }
    }

    /// The request that the documents of the authority describe, in its first version: it names what
    /// the token is for as a resource, as the jobs do.
    fn request(&self, grant: &Grant<'_>) -> reqwest::Request {
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
        let mut request = reqwest::Request::new(Method::POST, url);
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(form.into());
        request
    }
}

impl Grant<'_> {
    fn key(&self) -> Key {
        let secret = Sha256::digest(self.secret.expose()).into();
        (self.tenant.to_owned(), self.audience.to_owned(), self.client_id.to_owned(), secret)
    }
}

/// The token of an answer, if it holds one.
fn kept(answer: &Value) -> Option<CachedToken> {
    let token = answer.get("access_token")?.as_str()?;
    let usable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    // The first version writes numbers as text.
    let seconds = answer.get("expires_in").and_then(|value| {
        value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
    });
    let life = Duration::from_secs(seconds.unwrap_or_default()).min(LIFE_MAX);
    let now = Instant::now();
    let use_until = now + life.saturating_sub(MARGIN);
    usable.then(|| CachedToken { secret: Secret::new(token), got_at: now, use_until })
}

fn refusal(host: &str, status: StatusCode, answer: &Value) -> ActionFailure {
    let said = |name| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = [said("error"), said("error_description")].join(" ");
    let said: String = said.trim().chars().take(REFUSAL_CHARS_MAX).collect();
    let name = status::name(status);
    let said = if said.is_empty() { "no token in the answer" } else { &said };
    ActionFailure::canceled(format!(
        "No access token from '{host}', which answered '{name}': {said}"
    ))
}
