//! Requests to services that take messages: one POST, and the beginning of its answer.
//!
//! A message must not be sent a second time by accident. If a connection breaks, it is not known
//! whether the message arrived, and the outcome says so. Only a request that certainly was not sent
//! is repeated over a new connection; the HTTP client does that.

use std::sync::Arc;

use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};

use super::body;
use crate::net::{HttpClients, ResolvedUrl, TargetPolicy};
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
        let mut request = reqwest::Request::new(Method::POST, url);
        *request.headers_mut() = headers;
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        *request.body_mut() = Some(body.into());
        let failed = |error| ActionFailure::from_http_error(&error, &host, is_https);
        let mut response = client.execute(request).await.map_err(failed)?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = body::read(response, ANSWER_BYTES_MAX).await.map_err(failed)?;
        Ok(ServiceResponse { status, headers, body })
    }
}
