//! The SDK's HTTP client, without HTTP: passes requests to the store's thread, and its answers back.
//!
//! The SDK serializes, signs and addresses a request; only the operation's name and the body matter
//! here. From a response the SDK reads the status, and the body, in which `__type` names an error.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use tokio::sync::{Semaphore, oneshot};

use crate::database::StoreAnswer;
use crate::serving::ThreadMessage;
use crate::thread::StoreRequest;

const TARGET_HEADER: &str = "x-amz-target";

/// Passes requests to the store. Clones share its permits.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    messages: Sender<ThreadMessage<StoreRequest>>,
    /// One permit for each concurrent request.
    permits: Arc<Semaphore>,
}

impl Connector {
    pub(crate) fn new(
        messages: Sender<ThreadMessage<StoreRequest>>,
        permits: Arc<Semaphore>,
    ) -> Self {
        Self { messages, permits }
    }

    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let operation = request
            .headers()
            .get(TARGET_HEADER)
            .and_then(|target| target.rsplit_once('.'))
            .map(|(_, operation)| operation.to_owned())
            .ok_or_else(|| {
                ConnectorError::user("a request without the name of an operation".into())
            })?;
        let body = request.into_body();
        let permit = self.permits.acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let call = StoreRequest { operation, body, reply, permit };
        self.messages.send(ThreadMessage::Request(call)).map_err(|_| closed())?;
        // A store that stops before it gets to this request drops the reply.
        respond(answer.await.map_err(|_| closed())?)
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().answer(request))
    }
}

impl HttpClient for Connector {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn respond(answer: StoreAnswer) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(answer.status)
        .map_err(|error| ConnectorError::other(error.into(), None))?;
    Ok(HttpResponse::new(status, SdkBody::from(answer.body)))
}

fn closed() -> ConnectorError {
    ConnectorError::io(io::Error::new(io::ErrorKind::BrokenPipe, "the store is closed").into())
}
