//! A message for a queue or topic of Service Bus, over its HTTPS API or AMQP.
//!
//! What was once called `netMessaging` was a protocol of its own, which is gone: such jobs, and those
//! that say nothing, go over the HTTPS API, which does the same.
//!
//! Clients take the message of an execution apart: the first text in quotes is the queue or topic,
//! the next the namespace, and what stands before the first colon is shown as the response.

mod amqp;
mod https;
mod message;
mod properties;
mod sas;
mod trouble;

use std::time::Duration;

use domain::action::{ServiceBus, Target, Transport};
use domain::attempt::Outcome;
use domain::message::failed;
use ports::{ActionOutcome, AttemptContext};

use crate::endpoint::Endpoint;
use crate::failure::ActionFailure;
use crate::message::shown_text;
use crate::post::Poster;
use crate::redact::SecretForms;
use crate::status;
use crate::xml::element;

pub(crate) use amqp::Amqp;

/// The most characters that are told of what the broker says.
const SAID_CHARS_MAX: usize = 1_024;

/// Sends messages to Service Bus.
pub(crate) struct Buses {
    pub(crate) post: Poster,
    pub(crate) https: Endpoint,
    pub(crate) amqp: Amqp,
    pub(crate) time_max: Duration,
}

impl Buses {
    /// Sends a message within the time limit.
    pub(crate) async fn send(
        &self,
        target: &Target,
        bus: &ServiceBus,
        occasion: &AttemptContext,
    ) -> ActionOutcome {
        let mut secrets = SecretForms::default();
        secrets.add(bus.key.expose());
        let limit = self.time_max;
        let sent = tokio::time::timeout(limit, self.deliver(bus, occasion, &mut secrets)).await;
        match sent.unwrap_or_else(|_| Err(ActionFailure::unanswered(limit))) {
            Ok(answer) => ActionOutcome {
                outcome: Outcome::Succeeded,
                message: succeeded(target, bus, &answer),
            },
            Err(ActionFailure { word, text }) => {
                let text = shown_text(&secrets.redact(&text));
                let text: String = text.chars().take(SAID_CHARS_MAX).collect();
                ActionOutcome { outcome: Outcome::Failed, message: failed(target, &word, &text) }
            }
        }
    }

    /// Delivers a message; answers the word with which the broker took it.
    async fn deliver(
        &self,
        bus: &ServiceBus,
        occasion: &AttemptContext,
        secrets: &mut SecretForms,
    ) -> Result<String, ActionFailure> {
        match bus.transport.unwrap_or(Transport::NotSpecified) {
            Transport::NotSpecified | Transport::NetMessaging => {
                let receipt = https::send(&self.post, &self.https, bus, occasion, secrets).await?;
                if receipt.status.is_success() {
                    return Ok(status::name(receipt.status));
                }
                let said = String::from_utf8_lossy(&receipt.body.bytes);
                let said = element(&said, "Detail").unwrap_or_else(|| said.trim().to_owned());
                Err(ActionFailure::answered(status::name(receipt.status), said))
            }
            Transport::Amqp => self.amqp.send(bus, occasion).await,
        }
    }
}

fn succeeded(target: &Target, bus: &ServiceBus, answer: &str) -> String {
    let ServiceBus { entity, namespace, .. } = bus;
    let kind = target.type_name();
    format!(
        "{kind} Action - Succeeded: message to '{entity}' in namespace '{namespace}' was taken with \
         '{answer}'"
    )
}
