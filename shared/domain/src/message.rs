//! What history says of an execution that did not reach its target, in the words that clients of the
//! original know how to read: each names the type of the action, and where it was to go.

use url::Url;

use crate::action::Target;

/// The message of an execution that failed on our side of the wire; `what` is one word of the
/// vocabulary that clients know, `why` a sentence without secrets.
#[must_use]
pub fn failed(target: &Target, what: &str, why: &str) -> String {
    let kind = target.type_name();
    match target {
        Target::Http(request) | Target::Https(request) => {
            request_failed(&host(&request.uri), what, why)
        }
        Target::StorageQueue(queue) => format!(
            "{kind} Action - Message to queue '{}' of storage account '{}' failed: {what} {why}",
            queue.queue, queue.account
        ),
        Target::ServiceBusQueue(bus) | Target::ServiceBusTopic(bus) => format!(
            "{kind} Action - Failed: message to '{}' in namespace '{}' failed: {what} {why}",
            bus.entity, bus.namespace
        ),
        Target::Sqs(sqs) => {
            format!("{kind} Action - Message to queue '{}' failed: {what} {why}", sqs.queue_url)
        }
        Target::Sns(sns) => {
            format!("{kind} Action - Message to topic '{}' failed: {what} {why}", sns.topic)
        }
        Target::Lambda(lambda) => {
            format!("{kind} Action - Invocation of '{}' failed: {what} {why}", lambda.function)
        }
        Target::EventBridge(event) => {
            format!("{kind} Action - Event to bus '{}' failed: {what} {why}", event.bus_name())
        }
    }
}

/// The same for an HTTP request whose host is at hand.
#[must_use]
pub fn request_failed(host: &str, what: &str, why: &str) -> String {
    format!("Http Action - Request to host '{host}' failed: {what} {why}")
}

/// The host of a URL, as messages name it.
#[must_use]
pub fn host(uri: &str) -> String {
    let url = Url::parse(uri).ok();
    url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::read_job;
    use crate::pricing_tier::PricingTier;

    #[test]
    fn clients_find_the_type_and_the_place() {
        let message = |action| {
            let job = json!({"properties": {"action": action}});
            let job = read_job(&job, PricingTier::Standard).unwrap();
            failed(&job.action.action.target, "Timeout", "It took too long.")
        };
        assert_eq!(
            message(
                json!({"type": "Https", "request": {"uri": "https://Example.org:8443/x", "method": "GET"}})
            ),
            "Http Action - Request to host 'example.org' failed: Timeout It took too long.",
        );
        assert_eq!(
            message(
                json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "acc", "queueName": "q-1", "sasToken": "s", "message": "m"}})
            ),
            "StorageQueue Action - Message to queue 'q-1' of storage account 'acc' failed: Timeout It took too long.",
        );
        assert_eq!(
            message(
                json!({"type": "ServiceBusTopic", "serviceBusTopicMessage": {"namespace": "ns", "topicPath": "t", "message": "m", "authentication": {"type": "sharedAccessKey", "sasKeyName": "n", "sasKey": "k"}}})
            ),
            "ServiceBusTopic Action - Failed: message to 't' in namespace 'ns' failed: Timeout It took too long.",
        );
    }
}
