//! Requests to services that take messages: one POST, and the beginning of its answer.
//!
//! A message must not be sent a second time by accident. If a connection breaks, it is not known
//! whether the message arrived, and the outcome says so. Only a request that certainly was not sent
//! is repeated over a new connection; the HTTP client does that.

use std::sync::Arc;

use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::Full;

use super::body;
use crate::net::{ConnectionUse, HttpClients, ResolvedUrl, TargetPolicy};
use crate::outcome::{ActionFailure, ReadBody};

/// The maximum number of bytes that are read of an answer. Error messages of services are shorter.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Sends requests to services that take messages.
#[derive(Clone)]
pub(crate) struct ServiceClient {
    pub(crate) clients: Arc<HttpClients>,
    pub(crate) targets: TargetPolicy,
    pub(crate) user_agent: HeaderValue,
}

/// A POST request.
pub(crate) struct ServiceRequest {
    pub(crate) to: ResolvedUrl,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The answer of a service.
pub(crate) struct ServiceResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReadBody,
}

impl ServiceClient {
    /// Sends a request, and reads the beginning of its answer.
    pub(crate) async fn send(
        &self,
        request: ServiceRequest,
    ) -> Result<ServiceResponse, ActionFailure> {
        let ServiceRequest { to: ResolvedUrl { url, is_from_settings }, headers, body } = request;
        let host = url.host_str().unwrap_or_default().to_owned();
        let is_https = url.scheme() == "https";
        let (client, targets) = if is_from_settings {
            (self.clients.for_settings(), TargetPolicy::AllowPrivate)
        } else {
            (self.clients.plain(), self.targets)
        };
        targets.check_url(&url).map_err(|error| ActionFailure::forbidden(&host, &error))?;
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        let failed = |error| ActionFailure::from_http_error(&error, &host, is_https);
        let (head, body) =
            client.send(&url, request, ConnectionUse::Any).await.map_err(failed)?.into_parts();
        let body = body::read(body, ANSWER_BYTES_MAX).await.map_err(failed)?;
        Ok(ServiceResponse { status: head.status, headers: head.headers, body })
    }
}
