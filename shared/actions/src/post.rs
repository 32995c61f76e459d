//! One request that puts something somewhere, and the beginning of the answer.
//!
//! What is sent to a queue may not be sent again unasked: a connection that breaks leaves open whether
//! it arrived, and then the outcome says so. Only what certainly did not leave goes out again, over a
//! connection that is new; that is done where the connections are kept.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use url::{Host, Url};

use crate::body;
use crate::client::HttpClients;
use crate::endpoint::ResolvedUrl;
use crate::failure::ActionFailure;
use crate::message::Body;
use crate::policy::TargetPolicy;

/// The most that is read of an answer: what services say of a failure is shorter.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Sends requests to services that take messages.
#[derive(Clone)]
pub(crate) struct Poster {
    pub(crate) clients: Arc<HttpClients>,
    pub(crate) targets: TargetPolicy,
    pub(crate) user_agent: HeaderValue,
}

/// A request.
pub(crate) struct PostRequest {
    pub(crate) to: ResolvedUrl,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// An answer.
pub(crate) struct PostAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Poster {
    /// Sends a request, and reads the beginning of its answer.
    pub(crate) async fn send(&self, parcel: PostRequest) -> Result<PostAnswer, ActionFailure> {
        let PostRequest { to: ResolvedUrl { url, is_ours }, headers, body } = parcel;
        let host = url.host_str().unwrap_or_default().to_owned();
        let is_https = url.scheme() == "https";
        let (client, targets) = if is_ours {
            (self.clients.of_settings(), TargetPolicy::AllowPrivate)
        } else {
            (self.clients.plain(), self.targets)
        };
        check_literal(targets, &url)?;
        let mut request = reqwest::Request::new(Method::POST, url);
        *request.headers_mut() = headers;
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        *request.body_mut() = Some(body.into());
        let below = |error: reqwest::Error| ActionFailure::of(&error, &host, is_https);
        let mut response = client.execute(request).await.map_err(below)?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = body::read(response, ANSWER_BYTES_MAX).await.map_err(below)?;
        Ok(PostAnswer { status, headers, body })
    }
}

/// Refuses a literal address that may not be reached: it passes no resolver.
pub(crate) fn check_literal(targets: TargetPolicy, url: &Url) -> Result<(), ActionFailure> {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    let host = url.host_str().unwrap_or_default();
    targets.check(address).map_err(|why| ActionFailure::forbidden(host, &why))
}
