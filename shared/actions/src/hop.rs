//! One request on the way: the first, or what a redirect made of it.

use domain::action::HttpRequest;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, COOKIE, HOST, HeaderMap,
    HeaderName, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{Method, StatusCode};
use ports::AttemptContext;
use url::Url;

use crate::failure::ActionFailure;
use crate::occasion;
use crate::status;

/// The type of a body that names none: it is text, in the one encoding that JSON has.
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Headers by which a request shows who sends it, and which stay with the origin they are meant for:
/// the standard's, and those that services commonly read a key from.
pub(crate) const CREDENTIALS: [HeaderName; 8] = [
    AUTHORIZATION,
    PROXY_AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-auth-token"),
    HeaderName::from_static("x-functions-key"),
    HeaderName::from_static("ocp-apim-subscription-key"),
];

/// Headers that say what a body is.
const OF_BODY: [HeaderName; 3] = [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE];

/// One request.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) url: Url,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
    /// Whether it has never left the origin that the job names: only then may it be authenticated.
    pub(crate) is_home: bool,
}

impl Hop {
    /// The request as it is stored, with what is added to it.
    pub(crate) fn first(
        request: &HttpRequest,
        occasion: &AttemptContext,
        user_agent: &HeaderValue,
    ) -> Result<Self, ActionFailure> {
        let unusable = || ActionFailure::canceled("The stored request is not one of HTTP.");
        let mut url = Url::parse(&request.uri).map_err(|_| unusable())?;
        strip(&mut url);
        let method = request.method.to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| unusable())?;
        let body = request.body.clone().filter(|body| !body.is_empty());
        let mut headers = HeaderMap::with_capacity(16);
        for (name, value) in request.headers.iter().flatten() {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unusable())?;
            headers.append(name, value);
        }
        let mut add = |name: HeaderName, value: HeaderValue| {
            headers.entry(name).or_insert(value);
        };
        if body.is_some() {
            add(CONTENT_TYPE, PLAIN_TEXT);
        }
        add(USER_AGENT, user_agent.clone());
        for (name, value) in occasion::headers(occasion) {
            add(name, value);
        }
        Ok(Self { url, method, headers, body, is_home: true })
    }

    /// The host, as it is told.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// What follows an answer: `None` if it is the last.
    ///
    /// 301, 302 and 303 lead to something to be looked at, so a GET (or HEAD) without a body goes
    /// there; 307 and 308 mean the same request elsewhere.
    pub(crate) fn after(
        &self,
        status: StatusCode,
        location: Option<&HeaderValue>,
        https_only: bool,
    ) -> Result<Option<Self>, ActionFailure> {
        let repeats = match status.as_u16() {
            301..=303 => false,
            307 | 308 => true,
            _ => return Ok(None),
        };
        let url = self.location(status, location, https_only)?;
        let mut next = Self { url, ..self.clone() };
        if next.url.origin() != self.url.origin() {
            next.is_home = false;
            for name in CREDENTIALS.iter().chain([&HOST]) {
                next.headers.remove(name);
            }
        }
        if !repeats {
            if next.method != Method::HEAD {
                next.method = Method::GET;
            }
            next.body = None;
            for name in &OF_BODY {
                next.headers.remove(name);
            }
        }
        Ok(Some(next))
    }

    fn location(
        &self,
        status: StatusCode,
        location: Option<&HeaderValue>,
        https_only: bool,
    ) -> Result<Url, ActionFailure> {
        let name = status::name(status);
        let Some(location) = location else {
            return Err(ActionFailure::protocol(format!(
                "The answer '{name}' does not say where to: it has no Location header."
            )));
        };
        let location = String::from_utf8_lossy(location.as_bytes());
        let url = self.url.join(&location).ok();
        let Some(mut url) = url.filter(|url| url.has_host() && is_http(url)) else {
            return Err(ActionFailure::protocol(format!(
                "The answer '{name}' leads to no http or https URL: '{location}'."
            )));
        };
        strip(&mut url);
        if https_only && url.scheme() != "https" {
            return Err(ActionFailure::protocol(format!(
                "The answer '{name}' leads from https to '{url}', and the action is of type Https."
            )));
        }
        Ok(url)
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Takes off what is not sent: the fragment, and a user's name and password, which would become
/// credentials.
fn strip(url: &mut Url) {
    url.set_fragment(None);
    // Only a URL without a host refuses.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}
