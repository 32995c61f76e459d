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

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use minutehand_domain::action::{Authentication, HttpRequest};
use minutehand_domain::attempt::BODY_BYTES_MAX as KEPT_BYTES_MAX;
use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::message::host;
use minutehand_domain::secret::Secret;
use minutehand_ports::{ActionOutcome, AttemptContext, FailureBody, NotMade};

use super::body;
use super::hop::Hop;
use super::retry_after::retry_after;
use super::signature::sign;
use super::token::{Grant, Token, TokenSource};
use crate::net::{ConnectionUse, HttpClients, TargetPolicy};
use crate::outcome::{
    self, ActionFailure, BODY_BYTES_MAX, KeptBodies, ReadBody, Room, Secrets, failure_message,
    response_message,
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
    /// The room for bodies of failures, if they are kept.
    pub(crate) bodies: Option<KeptBodies>,
}

/// What is known so far, and is needed if the call fails or times out.
struct Progress {
    host: String,
    secrets: Secrets,
    /// Whether a request was sent. The attempt was made then, whatever comes next.
    has_sent: bool,
}

/// The final answer.
struct HttpAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: ReadBody,
    keeps: Keeps,
}

/// What becomes of the body of an answer, beside the part in the history.
enum Keeps {
    Nothing,
    /// With what is not read of it.
    Body(Room, Option<Incoming>),
    NoRoom,
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
    ) -> Result<ActionOutcome, NotMade> {
        let mut progress =
            Progress { host: host(&request.uri), secrets: Secrets::default(), has_sent: false };
        let call = HttpCall { request, https_only, context };
        let limit = context.time_max(self.limits.total);
        let ended = tokio::time::timeout(limit, self.perform(&call, &mut progress)).await;
        let Progress { host, secrets, has_sent } = &progress;
        let ended = ended.unwrap_or_else(|_| Err(ActionFailure::timeout(limit)));
        Ok(match ended {
            Ok(HttpAnswer { status, headers, mut body, keeps }) => {
                let message = response_message(host, status, &headers, &body, secrets);
                if status.is_success() {
                    let is_accepted = status == StatusCode::ACCEPTED;
                    ActionOutcome { is_accepted, ..outcome::succeeded(message) }
                } else {
                    let retry_after = retry_after(status, &headers, context.sent_at);
                    let body = match keeps {
                        Keeps::Nothing => None,
                        Keeps::Body(room, rest) => {
                            // The attempt has ended: its outcome does not depend on this.
                            if let Some(rest) = rest {
                                body::read_more(&mut body, rest, KEPT_BYTES_MAX).await;
                            }
                            room.keep(&body, secrets).map(FailureBody::Read)
                        }
                        Keeps::NoRoom => Some(FailureBody::NoRoom),
                    };
                    let cause = Cause::http(status.as_u16());
                    ActionOutcome { retry_after, body, ..outcome::failed(cause, message) }
                }
            }
            Err(ActionFailure { out_of: Some(out_of), .. }) if !has_sent => {
                return Err(NotMade { out_of: out_of.0 });
            }
            Err(ActionFailure { word, text, cause, .. }) => {
                // The target has answered, so what is not allowed is where its answer leads.
                let is_redirect = *has_sent && cause.kind == CauseKind::AddressNotAllowed;
                let cause = if is_redirect { CauseKind::RedirectRefused.into() } else { cause };
                outcome::failed(cause, failure_message(host, &word, &text, secrets))
            }
        })
    }

    async fn perform(
        &self,
        call: &HttpCall<'_>,
        progress: &mut Progress,
    ) -> Result<HttpAnswer, ActionFailure> {
        let mut hop = Hop::first(call.request, call.context, &self.user_agent)?;
        progress.secrets.add_request(&hop.headers, &call.request.uri);
        if let Some(uri) = call.request.sealed_uri.as_ref().map(Secret::expose) {
            progress.secrets.add_url(uri);
        }
        for secret in call.context.signed.iter().flat_map(|signed| &signed.signing.0) {
            progress.secrets.add(secret.expose());
        }
        self.check_address(&hop)?;
        let mut token = self.authenticate(call.request, &mut hop, None, progress).await?;
        for _ in 0..=REDIRECTS_MAX {
            hop.host().clone_into(&mut progress.host);
            self.check_address(&hop)?;
            let mut response = self.exchange(call, &hop).await?;
            progress.has_sent = true;
            if response.status() == StatusCode::UNAUTHORIZED
                && hop.is_at_origin
                && let Some(refused) = token.take().filter(|token| token.is_cached)
            {
                body::discard(response.into_body()).await;
                let refused = Some(&refused.secret);
                self.authenticate(call.request, &mut hop, refused, progress).await?;
                hop.connection = ConnectionUse::New;
                response = self.exchange(call, &hop).await?;
            }
            let (status, headers) = (response.status(), response.headers());
            match hop.redirected(status, headers.get(LOCATION), call.https_only)? {
                None => return self.answer(response, &hop).await,
                Some(next) => {
                    body::discard(response.into_body()).await;
                    hop = next;
                }
            }
        }
        Err(ActionFailure::redirect(format!(
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
        progress: &mut Progress,
    ) -> Result<Option<Token>, ActionFailure> {
        let (authorization, token) = match &request.authentication {
            None | Some(Authentication::ClientCertificate(_)) => return Ok(None),
            Some(Authentication::Basic { username, password }) => {
                let basic = progress.secrets.add_basic(username, password.expose());
                (format!("Basic {basic}"), None)
            }
            Some(Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret }) => {
                progress.secrets.add(secret.expose());
                let grant = Grant { tenant, audience, client_id, secret };
                let token = self.tokens.get(self.clients.for_settings(), &grant, refused).await?;
                progress.secrets.add(token.secret.expose());
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
        call: &HttpCall<'_>,
        hop: &Hop,
    ) -> Result<Response<Incoming>, ActionFailure> {
        let mut outgoing = Request::new(Full::from(hop.body.clone().unwrap_or_default()));
        *outgoing.method_mut() = hop.method.clone();
        *outgoing.headers_mut() = hop.headers.clone();
        // A signature is of what is sent, and for the job's origin only, as credentials are.
        if let (Some(signed), true) = (&call.context.signed, hop.is_at_origin) {
            let body = hop.body.as_deref().unwrap_or_default();
            sign(outgoing.headers_mut(), signed, call.context, body);
        }
        let is_https = hop.url.scheme() == "https";
        let answered = match &call.request.authentication {
            Some(Authentication::ClientCertificate(certificate))
                if hop.is_at_origin && is_https =>
            {
                let client = self.clients.with_certificate(certificate).await;
                let client = client.map_err(|error| ActionFailure::canceled(error.to_string()))?;
                client.send(&hop.url, outgoing, hop.connection).await
            }
            _ => self.clients.plain().send(&hop.url, outgoing, hop.connection).await,
        };
        answered.map_err(|error| ActionFailure::from_http_error(&error, hop.host(), is_https))
    }

    async fn answer(
        &self,
        response: Response<Incoming>,
        hop: &Hop,
    ) -> Result<HttpAnswer, ActionFailure> {
        let (head, body) = response.into_parts();
        let is_https = hop.url.scheme() == "https";
        let failed = |error| ActionFailure::from_http_error(&error, hop.host(), is_https);
        let room = match &self.bodies {
            Some(bodies) if !head.status.is_success() => Some(bodies.room()),
            _ => None,
        };
        let (body, keeps) = match room {
            Some(Some(room)) => {
                let (read, rest) = body::read_open(body, BODY_BYTES_MAX).await.map_err(failed)?;
                (read, Keeps::Body(room, rest))
            }
            room => {
                let read = body::read(body, BODY_BYTES_MAX).await.map_err(failed)?;
                (read, if room.is_some() { Keeps::NoRoom } else { Keeps::Nothing })
            }
        };
        Ok(HttpAnswer { status: head.status, headers: head.headers, body, keeps })
    }
}
