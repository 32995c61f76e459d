//! The actions `ServiceBusQueue` and `ServiceBusTopic`, over the HTTPS API of Service Bus or AMQP.
//!
//! The transport `netMessaging` was a protocol of its own, which no longer exists. Jobs with this
//! transport, and jobs without a transport, use the HTTPS API, which offers the same.
//!
//! Clients parse the messages of these actions: the first text in quotes is the queue or topic, the
//! second is the namespace, and the text before the first colon is shown as the response.

mod amqp;
mod error;
mod https;
mod message;
mod properties;
mod sas;

use std::time::Duration;

use minutehand_domain::action::{ServiceBus, Target, Transport};
use minutehand_ports::{ActionOutcome, AttemptContext, NotMade};

use crate::http::{ServiceClient, element_text};
use crate::net::Endpoint;
use crate::outcome::{self, ActionFailure, Secrets, status_name};

pub(crate) use amqp::AmqpSender;

/// Sends messages to Service Bus.
pub(crate) struct ServiceBusSender {
    pub(crate) client: ServiceClient,
    pub(crate) https: Endpoint,
    pub(crate) amqp: AmqpSender,
    pub(crate) time_max: Duration,
}

impl ServiceBusSender {
    /// Sends a message within the time limit.
    pub(crate) async fn send(
        &self,
        target: &Target,
        bus: &ServiceBus,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let mut secrets = Secrets::default();
        secrets.add(bus.key.expose());
        let limit = context.time_max(self.time_max);
        let sent = tokio::time::timeout(limit, self.deliver(bus, context, &mut secrets)).await;
        match sent.unwrap_or_else(|_| Err(ActionFailure::message_timeout(limit))) {
            Ok(answer) => Ok(outcome::succeeded(success_message(target, bus, &answer))),
            Err(failure) => outcome::not_sent(target, &failure, &secrets),
        }
    }

    /// Delivers a message. Returns the word with which the broker accepted it.
    async fn deliver(
        &self,
        bus: &ServiceBus,
        context: &AttemptContext,
        secrets: &mut Secrets,
    ) -> Result<String, ActionFailure> {
        match bus.transport.unwrap_or(Transport::NotSpecified) {
            Transport::NotSpecified | Transport::NetMessaging => {
                let response =
                    https::send(&self.client, &self.https, bus, context, secrets).await?;
                if response.status.is_success() {
                    return Ok(status_name(response.status));
                }
                let body = String::from_utf8_lossy(&response.body.bytes);
                let text = element_text(&body, "Detail").unwrap_or_else(|| body.trim().to_owned());
                Err(ActionFailure::rejected(status_name(response.status), text))
            }
            Transport::Amqp => self.amqp.send(bus, context).await,
        }
    }
}

fn success_message(target: &Target, bus: &ServiceBus, answer: &str) -> String {
    let ServiceBus { entity, namespace, .. } = bus;
    let kind = target.type_name();
    format!(
        "{kind} Action - Succeeded: message to '{entity}' in namespace '{namespace}' was taken with \
         '{answer}'"
    )
}
