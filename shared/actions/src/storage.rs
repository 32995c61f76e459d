//! A message for a Storage queue: Put Message over REST, authorized by the SAS token of the job.
//!
//! Clients take the message apart by its words: `does not exist` before the queue's name,
//! `could not be found` before the account's, `succeeded` after both.

use std::time::Duration;

use domain::action::{MessageFormat, StorageQueue, Target};
use domain::attempt::Outcome;
use domain::message::failed;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ports::{ActionOutcome, AttemptContext};

use crate::endpoint::Endpoint;
use crate::envelope;
use crate::failure::ActionFailure;
use crate::message;
use crate::occasion;
use crate::post::{PostAnswer, PostRequest, Poster};
use crate::redact::SecretForms;
use crate::status;
use crate::xml::element;

/// The most characters that are told of what the service says.
const SAID_CHARS_MAX: usize = 1_024;

/// Puts messages into Storage queues.
pub(crate) struct StorageQueues {
    pub(crate) post: Poster,
    pub(crate) endpoint: Endpoint,
    pub(crate) time_max: Duration,
}

impl StorageQueues {
    /// Puts a message into a queue within the time limit.
    pub(crate) async fn send(
        &self,
        target: &Target,
        queue: &StorageQueue,
        occasion: &AttemptContext,
    ) -> ActionOutcome {
        let mut secrets = SecretForms::default();
        secrets.add_query(queue.sas_token.expose().trim_start_matches('?'));
        let limit = self.time_max;
        let sent = tokio::time::timeout(limit, self.put(queue, occasion)).await;
        let ended = sent.unwrap_or_else(|_| Err(ActionFailure::unanswered(limit)));
        let StorageQueue { account, queue: name, .. } = queue;
        match ended {
            Ok(receipt) if receipt.status.is_success() => {
                let status = status::name(receipt.status);
                ActionOutcome {
                    outcome: Outcome::Succeeded,
                    message: format!(
                        "StorageQueue Action - Message to storage account '{account}', queue \
                         '{name}' succeeded: {status}"
                    ),
                }
            }
            Ok(receipt) => refused(target, queue, &receipt, &secrets),
            Err(failure) if failure.is_unresolved() => ActionOutcome {
                outcome: Outcome::Failed,
                message: format!(
                    "StorageQueue Action - The storage account '{account}' could not be found, and \
                     so not its queue '{name}': {}",
                    failure.text
                ),
            },
            Err(ActionFailure { word, text }) => {
                let text = message::shown_text(&secrets.redact(&text));
                ActionOutcome { outcome: Outcome::Failed, message: failed(target, &word, &text) }
            }
        }
    }

    async fn put(
        &self,
        queue: &StorageQueue,
        occasion: &AttemptContext,
    ) -> Result<PostAnswer, ActionFailure> {
        let account = &queue.account;
        let spot = self.endpoint.of("https", account, Some("queue"));
        let mut to = spot.ok_or_else(|| {
            ActionFailure::canceled(format!("'{account}' cannot be the name of a storage account."))
        })?;
        if let Ok(mut path) = to.url.path_segments_mut() {
            path.pop_if_empty();
            if self.endpoint.is_one_place() {
                path.push(account);
            }
            path.extend(queue.queue.split('/')).push("messages");
        }
        to.url.set_query(Some(queue.sas_token.expose().trim_start_matches('?')));
        let text = match queue.format.unwrap_or(MessageFormat::Envelope) {
            MessageFormat::Envelope => envelope::storage(&queue.message, occasion),
            MessageFormat::Raw => queue.message.clone(),
        };
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        // It stands in the service's own log.
        let id = occasion::header_value(&occasion::client_request_id(occasion));
        headers.insert(HeaderName::from_static("x-ms-client-request-id"), id);
        let body = envelope::put_message(&text).into_bytes();
        self.post.send(PostRequest { to, headers, body }).await
    }
}

/// What is told of a message that the service did not take.
fn refused(
    target: &Target,
    queue: &StorageQueue,
    receipt: &PostAnswer,
    secrets: &SecretForms,
) -> ActionOutcome {
    let said = String::from_utf8_lossy(&receipt.body.bytes);
    let header = receipt.headers.get("x-ms-error-code");
    let code = header.and_then(|code| code.to_str().ok()).map(str::to_owned);
    let code = code.or_else(|| element(&said, "Code")).unwrap_or_default();
    let status = status::name(receipt.status);
    let StorageQueue { account, queue: name, .. } = queue;
    if code == "QueueNotFound" {
        let message = format!(
            "StorageQueue Action - The queue '{name}' does not exist in the storage account \
             '{account}': {status} {code}"
        );
        return ActionOutcome { outcome: Outcome::Failed, message };
    }
    // The first line; the rest are numbers of the request.
    let sentence = element(&said, "Message").unwrap_or_default();
    let sentence = sentence.lines().next().unwrap_or_default();
    let detail = element(&said, "AuthenticationErrorDetail").unwrap_or_default();
    let told = [code.as_str(), sentence, &detail];
    let told: Vec<&str> =
        told.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    let told = told.join(" ");
    let told = message::shown_text(&secrets.redact(&told));
    let told: String = told.chars().take(SAID_CHARS_MAX).collect();
    ActionOutcome { outcome: Outcome::Failed, message: failed(target, &status, &told) }
}
