//! One request of an HTTP action: the first request, or the one that a redirect leads to.

use http::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
use http::{Method, StatusCode};
use minutehand_domain::action::HttpRequest;
use minutehand_domain::credentials::is_credential_header;
use minutehand_ports::AttemptContext;
use url::Url;

use crate::context;
use crate::net::ConnectionUse;
use crate::outcome::{ActionFailure, status_name};

/// The content type of a body without one: text in UTF-8, as it comes from JSON.
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Headers that describe a body.
const BODY_HEADERS: [HeaderName; 3] = [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE];

/// One request of an HTTP action.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) url: Url,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
    /// Whether all requests so far went to the origin of the job. Only such a request may be
    /// authenticated.
    pub(crate) is_at_origin: bool,
    /// The first request may use an idle connection; one that follows an answer gets a new one.
    pub(crate) connection: ConnectionUse,
}

impl Hop {
    /// The stored request, with the headers that the scheduler adds.
    pub(crate) fn first(
        request: &HttpRequest,
        context: &AttemptContext,
        user_agent: &HeaderValue,
    ) -> Result<Self, ActionFailure> {
        let unusable =
            || ActionFailure::canceled("The stored request is not a valid HTTP request.");
        let mut url = Url::parse(&request.uri).map_err(|_| unusable())?;
        remove_unsent_parts(&mut url);
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
        for (name, value) in context::headers(context) {
            add(name, value);
        }
        let connection = ConnectionUse::Any;
        Ok(Self { url, method, headers, body, is_at_origin: true, connection })
    }

    /// The host, as messages name it.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The next request if an answer is a redirect; `None` if it is not.
    ///
    /// After 301, 302 and 303, the next request is a GET (or HEAD) without a body. After 307 and 308,
    /// it is the same request with another URL.
    pub(crate) fn redirected(
        &self,
        status: StatusCode,
        location: Option<&HeaderValue>,
        https_only: bool,
    ) -> Result<Option<Self>, ActionFailure> {
        let is_repeated = match status.as_u16() {
            301..=303 => false,
            307 | 308 => true,
            _ => return Ok(None),
        };
        let url = self.location(status, location, https_only)?;
        let mut next = Self { url, connection: ConnectionUse::New, ..self.clone() };
        if next.url.origin() != self.url.origin() {
            next.is_at_origin = false;
            let is_kept = |name: &HeaderName| name != HOST && !is_credential_header(name.as_str());
            next.headers = self.headers.iter().filter(|(name, _)| is_kept(name)).fold(
                HeaderMap::with_capacity(self.headers.len()),
                |mut kept, (name, value)| {
                    kept.append(name, value.clone());
                    kept
                },
            );
        }
        if !is_repeated {
            if next.method != Method::HEAD {
                next.method = Method::GET;
            }
            next.body = None;
            for name in &BODY_HEADERS {
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
        let name = status_name(status);
        let Some(location) = location else {
            return Err(ActionFailure::redirect(format!(
                "The answer '{name}' is a redirect, but has no Location header."
            )));
        };
        let location = String::from_utf8_lossy(location.as_bytes());
        let url = self.url.join(&location).ok();
        let Some(mut url) = url.filter(|url| url.has_host() && is_http(url)) else {
            return Err(ActionFailure::redirect(format!(
                "The answer '{name}' redirects to '{location}', which is not an http or https URL."
            )));
        };
        remove_unsent_parts(&mut url);
        if https_only && url.scheme() != "https" {
            return Err(ActionFailure::redirect(format!(
                "The answer '{name}' redirects to '{url}', but an action of type Https requires https."
            )));
        }
        Ok(url)
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Removes the parts of a URL that are not sent: the fragment, and the user name and password, which
/// the HTTP client would turn into credentials.
fn remove_unsent_parts(url: &mut Url) {
    url.set_fragment(None);
    // These fail only for a URL without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}
