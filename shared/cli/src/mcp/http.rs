//! The tools over HTTP, for an assistant on another machine: a POST for each message, without sessions.
//!
//! A tool calls the API in this process with the head of the assistant's request, so a token has here the
//! scope, the reach and the name in the journal that it has there. Before anything else the API is asked
//! who sends the request: what it refuses, is refused here.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Collected, Limited};
use hyper::body::{Body, Bytes};
use minutehand_client::{Client, GroupPath, LocalServer, MeAnswer, ServerUrl};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout;
use url::form_urlencoded;

use super::Assistant;
use super::tools::{Allowed, Rights};
use crate::bridge::refused;
use crate::environment::Environment;
use crate::reference::Defaults;
use crate::work::Work;

/// The most bytes of a message. A job has at most 64 KB.
const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// How long an answer may take. `run_job` waits 75 seconds for the result of a run.
const ANSWER_MAX: Duration = Duration::from_secs(100);
/// How the server is called in the answers of tools.
const HERE: &str = "http://localhost";
/// The headers of a request from which the API tells who sends it.
const SENDER: [HeaderName; 4] =
    [AUTHORIZATION, HOST, ORIGIN, HeaderName::from_static("sec-fetch-site")];
/// What an assistant whose token allows too little is told.
const MORE: &str = "use a token with a larger scope; `minutehand token create --scope` makes one";

/// The tools of `minutehand mcp`, on an API in this process.
#[derive(Clone)]
pub struct McpEndpoint {
    api: LocalServer,
    environment: Environment,
}

impl McpEndpoint {
    /// The tools on an API.
    #[must_use]
    pub fn new(api: LocalServer, environment: Environment) -> Self {
        Self { api, environment }
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
    {
        let answered = timeout(ANSWER_MAX, self.answered(request)).await;
        answered
            .unwrap_or_else(|_| {
                let why = format!("The tool took longer than {} s.", ANSWER_MAX.as_secs());
                Ok(refused(StatusCode::GATEWAY_TIMEOUT, &why))
            })
            .unwrap_or_else(|refusal| *refusal)
    }

    async fn answered<B>(
        &self,
        request: Request<B>,
    ) -> Result<Response<Bytes>, Box<Response<Bytes>>>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
    {
        let (mut head, body) = request.into_parts();
        let api = self.as_sent_by(&head.headers);
        let me = who_sends(&api).await?;
        let place = place(head.uri.query());
        let place = place.map_err(|why| refused(StatusCode::BAD_REQUEST, &why))?;
        let defaults = Defaults { place, collection: None };
        let body = Limited::new(body, MESSAGE_BYTES_MAX).collect().await.map(Collected::to_bytes);
        let body = body.map_err(|_| {
            let why = format!("The body is not whole, or has more than {MESSAGE_BYTES_MAX} bytes.");
            refused(StatusCode::PAYLOAD_TOO_LARGE, &why)
        })?;
        if head.method == Method::POST {
            serde_json::from_slice::<ClientJsonRpcMessage>(&body).map_err(|error| {
                let why =
                    format!("The body is not a message of the Model Context Protocol: {error}.");
                refused(StatusCode::BAD_REQUEST, &why)
            })?;
        }
        // The protocol asks clients to accept JSON and streams; one that only says JSON gets JSON, too.
        if !head.headers.contains_key(ACCEPT) || head.headers.get(ACCEPT).is_some_and(is_json) {
            let both = HeaderValue::from_static("application/json, text/event-stream");
            head.headers.insert(ACCEPT, both);
        }
        let server = ServerUrl::parse(HERE);
        let server = server.map_err(|why| refused(StatusCode::INTERNAL_SERVER_ERROR, &why))?;
        let work = Work::within(Client::within(server, api), defaults, self.environment, &me);
        let allowed = Allowed { rights: Rights::of(&me.may), more: MORE };
        let assistant = Assistant { work: Arc::new(work), allowed };
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            // The API has checked both, as the kind of access that it gives asks for.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX);
        let sessions = Arc::new(NeverSessionManager::default());
        let protocol = StreamableHttpService::new(move || Ok(assistant.clone()), sessions, config);
        let answer =
            protocol.handle(Request::from_parts(head, http_body_util::Full::new(body))).await;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        Ok(Response::from_parts(head, body))
    }

    /// The API, asked by the sender of a request.
    fn as_sent_by(&self, headers: &HeaderMap) -> LocalServer {
        let mut sender = HeaderMap::new();
        for name in &SENDER {
            for value in headers.get_all(name) {
                sender.append(name.clone(), value.clone());
            }
        }
        let api = Arc::clone(&self.api);
        Arc::new(move |mut request| {
            request.headers_mut().extend(sender.clone());
            api(request)
        })
    }
}

/// What the API says of the sender; its refusal if it does not answer the sender.
async fn who_sends(api: &LocalServer) -> Result<MeAnswer, Box<Response<Bytes>>> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = http::Uri::from_static("/minutehand/v1/me");
    let answer = api(request).await;
    if answer.status() != StatusCode::OK {
        return Err(answer.into());
    }
    serde_json::from_slice(answer.body()).map_err(|error| {
        refused(StatusCode::INTERNAL_SERVER_ERROR, &format!("The API says {error}.")).into()
    })
}

/// The subscription and the group of names that leave them out.
fn place(query: Option<&str>) -> Result<GroupPath, String> {
    let mut place = GroupPath { subscription: "me".to_owned(), group: "dev".to_owned() };
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "subscription" if !value.is_empty() => place.subscription = value.into_owned(),
            "group" if !value.is_empty() => place.group = value.into_owned(),
            name => {
                return Err(format!(
                    "The query has '{name}'; /mcp takes subscription=NAME and group=NAME, and nothing \
                     else."
                ));
            }
        }
    }
    Ok(place)
}

fn is_json(accept: &HeaderValue) -> bool {
    matches!(accept.as_bytes(), b"application/json" | b"*/*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_where_names_belong() {
        let read = |query: Option<&str>| {
            place(query).map(|place| format!("{}/{}", place.subscription, place.group))
        };
        assert_eq!(read(None), Ok("me/dev".to_owned()));
        assert_eq!(read(Some("group=ops&subscription=my%20own")), Ok("my own/ops".to_owned()));
        for wrong in ["group=", "token=x", "Group=ops"] {
            assert!(read(Some(wrong)).unwrap_err().contains("subscription=NAME"), "{wrong}");
        }
    }
}
