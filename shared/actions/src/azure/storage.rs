//! The action `StorageQueue`: Put Message over REST, authorized by the SAS token of the job.
//!
//! Clients parse the messages of this action: they look for `does not exist` before the name of the
//! queue, for `could not be found` before the name of the account, and for `succeeded` after both.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::action::{MessageFormat, StorageQueue, Target};
use minutehand_domain::cause::CauseKind;
use minutehand_ports::{ActionOutcome, AttemptContext, NotMade};

use super::envelope;
use crate::context;
use crate::http::{ServiceClient, ServiceRequest, ServiceResponse, element_text};
use crate::net::Endpoint;
use crate::outcome::{self, ActionFailure, Secrets, status_name};

/// Puts messages into Storage queues.
pub(crate) struct StorageQueueSender {
    pub(crate) client: ServiceClient,
    pub(crate) endpoint: Endpoint,
    pub(crate) time_max: Duration,
}

impl StorageQueueSender {
    /// Puts a message into a queue within the time limit.
    pub(crate) async fn send(
        &self,
        target: &Target,
        queue: &StorageQueue,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let mut secrets = Secrets::default();
        secrets.add_query(queue.sas_token.expose().trim_start_matches('?'));
        let limit = context.time_max(self.time_max);
        let put = tokio::time::timeout(limit, self.put(queue, context)).await;
        let put = put.unwrap_or_else(|_| Err(ActionFailure::message_timeout(limit)));
        let StorageQueue { account, queue: name, .. } = queue;
        match put {
            Ok(response) if response.status.is_success() => {
                let status = status_name(response.status);
                Ok(outcome::succeeded(format!(
                    "StorageQueue Action - Message to storage account '{account}', queue '{name}' \
                     succeeded: {status}"
                )))
            }
            Ok(response) => rejected(target, queue, &response, &secrets),
            Err(failure) if failure.is_unresolved() => {
                let message = format!(
                    "StorageQueue Action - The storage account '{account}' could not be found, and \
                     so not its queue '{name}': {}",
                    failure.text
                );
                Ok(outcome::failed(failure.cause, message))
            }
            Err(failure) => outcome::not_sent(target, &failure, &secrets),
        }
    }

    async fn put(
        &self,
        queue: &StorageQueue,
        context: &AttemptContext,
    ) -> Result<ServiceResponse, ActionFailure> {
        let account = &queue.account;
        let mut to = self.endpoint.resolve("https", account, Some("queue")).ok_or_else(|| {
            ActionFailure::canceled(format!("'{account}' cannot be the name of a storage account."))
        })?;
        if let Ok(mut path) = to.url.path_segments_mut() {
            path.pop_if_empty();
            if self.endpoint.is_shared() {
                path.push(account);
            }
            path.extend(queue.queue.split('/')).push("messages");
        }
        to.url.set_query(Some(queue.sas_token.expose().trim_start_matches('?')));
        let text = match queue.format.unwrap_or(MessageFormat::Envelope) {
            MessageFormat::Envelope => envelope::storage(&queue.message, context),
            MessageFormat::Raw => queue.message.clone(),
        };
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        // The service writes this id into its log.
        let id = context::header_value(&context::client_request_id(context));
        headers.insert(HeaderName::from_static("x-ms-client-request-id"), id);
        let body = envelope::put_message(&text).into_bytes();
        self.client.send(ServiceRequest { to, headers, body }).await
    }
}

/// The outcome of a message that the service did not accept.
fn rejected(
    target: &Target,
    queue: &StorageQueue,
    response: &ServiceResponse,
    secrets: &Secrets,
) -> Result<ActionOutcome, NotMade> {
    let body = String::from_utf8_lossy(&response.body.bytes);
    let header = response.headers.get("x-ms-error-code");
    let code = header.and_then(|code| code.to_str().ok()).map(str::to_owned);
    let code = code.or_else(|| element_text(&body, "Code")).unwrap_or_default();
    let status = status_name(response.status);
    let StorageQueue { account, queue: name, .. } = queue;
    if code == "QueueNotFound" {
        let message = format!(
            "StorageQueue Action - The queue '{name}' does not exist in the storage account \
             '{account}': {status} {code}"
        );
        return Ok(outcome::failed(CauseKind::QueueNotFound, message));
    }
    // The other lines of the message have only numbers that identify the request.
    let message = element_text(&body, "Message").unwrap_or_default();
    let message = message.lines().next().unwrap_or_default();
    let detail = element_text(&body, "AuthenticationErrorDetail").unwrap_or_default();
    let parts = [code.as_str(), message, &detail].map(str::trim);
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    outcome::not_sent(target, &ActionFailure::rejected(status, parts.join(" ")), secrets)
}
