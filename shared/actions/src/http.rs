//! Calling a URL.
//!
//! 1. The stored request, with what is added to it and how it authenticates.
//! 2. The request goes out, if its address may be reached; literal addresses are judged here, names
//!    where they are resolved.
//! 3. A redirect makes another request of it, and 2 again.
//! 4. The answer that is no redirect decides: 2xx is success, 202 too. There is no polling; whoever
//!    accepts something has it.
//!
//! A target that refuses a token that was kept is asked once more with a new one: nothing was done,
//! and the token may have been withdrawn.

use std::sync::Arc;

use domain::action::{Authentication, HttpRequest};
use domain::attempt::Outcome;
use domain::message::host;
use domain::secret::Secret;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use ports::{ActionOutcome, AttemptContext};

use crate::body;
use crate::client::HttpClients;
use crate::failure::ActionFailure;
use crate::hop::{CREDENTIALS, Hop};
use crate::message::{self, Body};
use crate::policy::TargetPolicy;
use crate::post::check_literal;
use crate::redact::SecretForms;
use crate::settings::SendLimits;
use crate::token::{Grant, Token, Tokens};

/// The most redirects that are followed.
pub const REDIRECTS_MAX: usize = 5;

/// Calls URLs.
pub(crate) struct Http {
    pub(crate) clients: Arc<HttpClients>,
    pub(crate) tokens: Tokens,
    pub(crate) limits: SendLimits,
    pub(crate) targets: TargetPolicy,
    pub(crate) user_agent: HeaderValue,
}

/// What has to be known to tell how it ended, wherever it did.
struct RedactionContext {
    host: String,
    secrets: SecretForms,
}

/// An answer that counts.
struct HttpAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

/// One execution.
struct HttpCall<'a> {
    request: &'a HttpRequest,
    https_only: bool,
    occasion: &'a AttemptContext,
}

impl Http {
    /// Calls a URL within the time limit.
    pub(crate) async fn send(
        &self,
        request: &HttpRequest,
        https_only: bool,
        occasion: &AttemptContext,
    ) -> ActionOutcome {
        let mut trail =
            RedactionContext { host: host(&request.uri), secrets: SecretForms::default() };
        let call = HttpCall { request, https_only, occasion };
        let limit = self.limits.total;
        let ended = tokio::time::timeout(limit, self.perform(&call, &mut trail)).await;
        let RedactionContext { host, secrets } = &trail;
        match ended.unwrap_or_else(|_| Err(ActionFailure::timeout(limit))) {
            Ok(HttpAnswer { status, headers, body }) => ActionOutcome {
                outcome: if status.is_success() { Outcome::Succeeded } else { Outcome::Failed },
                message: message::of_response(host, status, &headers, &body, secrets),
            },
            Err(ActionFailure { word, text }) => ActionOutcome {
                outcome: Outcome::Failed,
                message: message::of_failure(host, &word, &text, secrets),
            },
        }
    }

    async fn perform(
        &self,
        call: &HttpCall<'_>,
        trail: &mut RedactionContext,
    ) -> Result<HttpAnswer, ActionFailure> {
        let mut hop = Hop::first(call.request, call.occasion, &self.user_agent)?;
        for name in &CREDENTIALS {
            for value in hop.headers.get_all(name) {
                trail.secrets.add_header(name, value);
            }
        }
        check_literal(self.targets, &hop.url)?;
        let mut token = self.authenticate(call.request, &mut hop, None, trail).await?;
        for _ in 0..=REDIRECTS_MAX {
            hop.host().clone_into(&mut trail.host);
            check_literal(self.targets, &hop.url)?;
            let mut response = self.exchange(call.request, &hop).await?;
            if response.status() == StatusCode::UNAUTHORIZED
                && hop.is_home
                && let Some(refused) = token.take().filter(|token| token.is_kept)
            {
                body::discard(response).await;
                let refused = Some(&refused.secret);
                self.authenticate(call.request, &mut hop, refused, trail).await?;
                response = self.exchange(call.request, &hop).await?;
            }
            let (status, headers) = (response.status(), response.headers());
            match hop.after(status, headers.get(LOCATION), call.https_only)? {
                None => return self.answer(response, &hop, &trail.secrets).await,
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

    /// Adds to a request what shows who sends it; answers the token if there is one.
    async fn authenticate(
        &self,
        request: &HttpRequest,
        hop: &mut Hop,
        refused: Option<&Secret>,
        trail: &mut RedactionContext,
    ) -> Result<Option<Token>, ActionFailure> {
        let (authorization, token) = match &request.authentication {
            None | Some(Authentication::ClientCertificate(_)) => return Ok(None),
            Some(Authentication::Basic { username, password }) => {
                let basic = trail.secrets.add_basic(username, password.expose());
                (format!("Basic {basic}"), None)
            }
            Some(Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret }) => {
                trail.secrets.add(secret.expose());
                let grant = Grant { tenant, audience, client_id, secret };
                let token = self.tokens.get(self.clients.of_settings(), &grant, refused).await?;
                trail.secrets.add(token.secret.expose());
                (format!("Bearer {}", token.secret.expose()), Some(token))
            }
        };
        let mut value = HeaderValue::try_from(authorization)
            .map_err(|_| ActionFailure::canceled("The credentials cannot stand in a header."))?;
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
            Some(Authentication::ClientCertificate(certificate)) if hop.is_home && is_https => {
                let client = self.clients.identified(certificate).await?;
                client.execute(outgoing).await
            }
            _ => self.clients.plain().execute(outgoing).await,
        };
        answered.map_err(|error| ActionFailure::of(&error, hop.host(), is_https))
    }

    async fn answer(
        &self,
        mut response: reqwest::Response,
        hop: &Hop,
        secrets: &SecretForms,
    ) -> Result<HttpAnswer, ActionFailure> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let is_https = hop.url.scheme() == "https";
        let body = body::read(response, message::body_bytes(secrets))
            .await
            .map_err(|error| ActionFailure::of(&error, hop.host(), is_https))?;
        Ok(HttpAnswer { status, headers, body })
    }
}
