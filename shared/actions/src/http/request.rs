//! The actions `Http` and `Https`.
//!
//! 1. The stored request gets the headers of the scheduler, and its credentials.
//! 2. The request is sent, if its address is allowed. Literal addresses are checked here; names are
//!    checked when they are resolved.
//! 3. A redirect leads to another request, which continues at step 2.
//! 4. The first answer that is not a redirect decides: 2xx is a success. That includes 202, which is
//!    not polled: a target that accepts a request is responsible for it.
//!
//! If a target refuses a cached token, the request is sent once more with a new token. The target did
//! nothing for the first request, and the token may have been revoked.

use std::sync::Arc;

use domain::action::{Authentication, HttpRequest};
use domain::message::host;
use domain::secret::Secret;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use ports::{ActionOutcome, AttemptContext};

use super::body;
use super::hop::Hop;
use super::token::{Grant, Token, TokenSource};
use crate::net::{HttpClients, TargetPolicy};
use crate::outcome::{
    self, ActionFailure, BODY_BYTES_MAX, ReadBody, Secrets, failure_message, response_message,
};
use crate::settings::SendLimits;

/// The maximum number of redirects that are followed.
pub const REDIRECTS_MAX: usize = 5;

/// Performs the actions `Http` and `Https`.
pub(crate) struct HttpSender {
    pub(crate) clients: Arc<HttpClients>,
    pub(crate) tokens: TokenSource,
    pub(crate) limits: SendLimits,
    pub(crate) targets: TargetPolicy,
    pub(crate) user_agent: HeaderValue,
}

/// The host and the secrets so far, which the message needs if the call fails or times out.
struct RedactionContext {
    host: String,
    secrets: Secrets,
}

/// The final answer.
struct HttpAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: ReadBody,
}

/// One call of a URL.
struct HttpCall<'a> {
    request: &'a HttpRequest,
    https_only: bool,
    context: &'a AttemptContext,
}

impl HttpSender {
    /// Calls a URL within the time limit.
    pub(crate) async fn send(
        &self,
        request: &HttpRequest,
        https_only: bool,
        context: &AttemptContext,
    ) -> ActionOutcome {
        let mut redaction =
            RedactionContext { host: host(&request.uri), secrets: Secrets::default() };
        let call = HttpCall { request, https_only, context };
        let limit = self.limits.total;
        let ended = tokio::time::timeout(limit, self.perform(&call, &mut redaction)).await;
        let RedactionContext { host, secrets } = &redaction;
        match ended.unwrap_or_else(|_| Err(ActionFailure::timeout(limit))) {
            Ok(HttpAnswer { status, headers, body }) => {
                let message = response_message(host, status, &headers, &body, secrets);
                if status.is_success() {
                    outcome::succeeded(message)
                } else {
                    outcome::failed(message)
                }
            }
            Err(ActionFailure { word, text }) => {
                outcome::failed(failure_message(host, &word, &text, secrets))
            }
        }
    }

    async fn perform(
        &self,
        call: &HttpCall<'_>,
        redaction: &mut RedactionContext,
    ) -> Result<HttpAnswer, ActionFailure> {
        let mut hop = Hop::first(call.request, call.context, &self.user_agent)?;
        redaction.secrets.add_request(&hop.headers, &call.request.uri);
        self.check_address(&hop)?;
        let mut token = self.authenticate(call.request, &mut hop, None, redaction).await?;
        for _ in 0..=REDIRECTS_MAX {
            hop.host().clone_into(&mut redaction.host);
            self.check_address(&hop)?;
            let mut response = self.exchange(call.request, &hop).await?;
            if response.status() == StatusCode::UNAUTHORIZED
                && hop.is_at_origin
                && let Some(refused) = token.take().filter(|token| token.is_cached)
            {
                body::discard(response).await;
                let refused = Some(&refused.secret);
                self.authenticate(call.request, &mut hop, refused, redaction).await?;
                response = self.exchange(call.request, &hop).await?;
            }
            let (status, headers) = (response.status(), response.headers());
            match hop.redirected(status, headers.get(LOCATION), call.https_only)? {
                None => return answer(response, &hop).await,
                Some(next) => {
                    body::discard(response).await;
                    hop = next;
                }
            }
        }
        Err(ActionFailure::protocol(format!(
            "Too many automatic redirections were attempted; {REDIRECTS_MAX} are followed."
        )))
    }

    /// Refuses an address that the policy forbids. Names are checked when they are resolved.
    fn check_address(&self, hop: &Hop) -> Result<(), ActionFailure> {
        let checked = self.targets.check_url(&hop.url);
        checked.map_err(|error| ActionFailure::forbidden(hop.host(), &error))
    }

    /// Adds the credentials to a request. Returns the access token if they include one.
    async fn authenticate(
        &self,
        request: &HttpRequest,
        hop: &mut Hop,
        refused: Option<&Secret>,
        redaction: &mut RedactionContext,
    ) -> Result<Option<Token>, ActionFailure> {
        let (authorization, token) = match &request.authentication {
            None | Some(Authentication::ClientCertificate(_)) => return Ok(None),
            Some(Authentication::Basic { username, password }) => {
                let basic = redaction.secrets.add_basic(username, password.expose());
                (format!("Basic {basic}"), None)
            }
            Some(Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret }) => {
                redaction.secrets.add(secret.expose());
                let grant = Grant { tenant, audience, client_id, secret };
                let token = self.tokens.get(self.clients.for_settings(), &grant, refused).await?;
                redaction.secrets.add(token.secret.expose());
                (format!("Bearer {}", token.secret.expose()), Some(token))
            }
        };
        let mut value = HeaderValue::try_from(authorization)
            .map_err(|_| ActionFailure::canceled("The credentials are not valid in a header."))?;
        value.set_sensitive(true);
        hop.headers.insert(AUTHORIZATION, value);
        Ok(token)
    }

    async fn exchange(
        &self,
        request: &HttpRequest,
        hop: &Hop,
    ) -> Result<reqwest::Response, ActionFailure> {
        let mut outgoing = reqwest::Request::new(hop.method.clone(), hop.url.clone());
        *outgoing.headers_mut() = hop.headers.clone();
        *outgoing.body_mut() = hop.body.clone().map(reqwest::Body::from);
        let is_https = hop.url.scheme() == "https";
        let answered = match &request.authentication {
            Some(Authentication::ClientCertificate(certificate))
                if hop.is_at_origin && is_https =>
            {
                let client = self.clients.with_certificate(certificate).await;
                let client = client.map_err(|error| ActionFailure::canceled(error.to_string()))?;
                client.execute(outgoing).await
            }
            _ => self.clients.plain().execute(outgoing).await,
        };
        answered.map_err(|error| ActionFailure::from_http_error(&error, hop.host(), is_https))
    }
}

async fn answer(mut response: reqwest::Response, hop: &Hop) -> Result<HttpAnswer, ActionFailure> {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let is_https = hop.url.scheme() == "https";
    let body = body::read(response, BODY_BYTES_MAX)
        .await
        .map_err(|error| ActionFailure::from_http_error(&error, hop.host(), is_https))?;
    Ok(HttpAnswer { status, headers, body })
}
