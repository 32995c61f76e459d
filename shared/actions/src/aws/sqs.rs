//! The action `Sqs`: `SendMessage`, in a JSON protocol.

use domain::action::Sqs;
use domain::arn::is_region;
use ports::AttemptContext;
use serde_json::{Map, json};
use url::{Host, Url};

use super::{
    Account, Answer, ApiCall, EXECUTION_ATTRIBUTE, Service, deduplication_id, message_group,
};
use crate::outcome::ActionFailure;

impl Service for Sqs {
    const NAME: &'static str = "sqs";

    /// The region in the queue's URL. The URL of an emulator's queue may have none.
    fn region(&self, account: &Account) -> Result<String, ActionFailure> {
        let named = Url::parse(&self.queue_url).ok().and_then(|url| match url.host() {
            Some(Host::Domain(host)) => region_of_host(host).map(str::to_owned),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => None,
        });
        match named {
            Some(region) => Ok(region),
            None if account.endpoint.is_some() => Ok(account.region.clone()),
            None => Err(ActionFailure::canceled(
                "The queue's URL is not one of SQS: its host is not sqs.{region}.amazonaws.com.",
            )),
        }
    }

    fn call(&self, context: &AttemptContext) -> ApiCall {
        let mut attributes = Map::new();
        let mut add = |name: &str, value: &str| {
            attributes.insert(name.to_owned(), json!({"DataType": "String", "StringValue": value}));
        };
        for (name, value) in self.attributes.iter().flatten() {
            add(name, value);
        }
        add(EXECUTION_ATTRIBUTE, &context.execution_id);
        let mut body = json!({
            "QueueUrl": self.queue_url,
            "MessageBody": self.message,
            "MessageAttributes": attributes,
        });
        if let Some(fields) = body.as_object_mut() {
            let group = message_group(self.group_id.as_deref(), self.is_fifo(), context);
            if let Some(group) = group {
                fields.insert("MessageGroupId".to_owned(), group.into());
            }
            if self.is_fifo() {
                let id = deduplication_id(context);
                fields.insert("MessageDeduplicationId".to_owned(), id.into());
            }
        }
        ApiCall::json("application/x-amz-json-1.0", "AmazonSQS.SendMessage", &body)
    }

    fn description(&self) -> String {
        format!("Message to queue '{}'", self.queue_url)
    }

    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure> {
        Ok(answer.field("MessageId"))
    }
}

/// The region in `sqs.{region}.amazonaws.com`, or in the old form `{region}.queue.amazonaws.com`.
fn region_of_host(host: &str) -> Option<&str> {
    let host = host.strip_suffix(".cn").unwrap_or(host).strip_suffix(".amazonaws.com")?;
    let region = host.strip_prefix("sqs.").or_else(|| host.strip_suffix(".queue"))?;
    Some(region).filter(|region| is_region(region))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tests::context;
    use super::*;

    #[test]
    fn a_message_for_a_fifo_queue_has_a_group_and_a_deduplication_id() {
        let own = json!({"DataType": "String", "StringValue": "u1.1.2.m0"});
        for (name, group, expected) in [
            ("q", None, json!({})),
            ("q", Some("g"), json!({"MessageGroupId": "g"})),
            (
                "q.fifo",
                None,
                json!({"MessageGroupId": "u1", "MessageDeduplicationId": "u1.1.2.m0"}),
            ),
            (
                "q.fifo",
                Some("g"),
                json!({"MessageGroupId": "g", "MessageDeduplicationId": "u1.1.2.m0"}),
            ),
        ] {
            let queue_url = format!("https://sqs.eu-west-1.amazonaws.com/1/{name}");
            let message = Sqs {
                queue_url: queue_url.clone(),
                message: "text".to_owned(),
                attributes: Some(vec![("kind".to_owned(), "a&b".to_owned())]),
                group_id: group.map(str::to_owned),
            };
            let mut expected = expected;
            expected["QueueUrl"] = queue_url.into();
            expected["MessageBody"] = "text".into();
            let kind = json!({"DataType": "String", "StringValue": "a&b"});
            expected["MessageAttributes"] = json!({"kind": kind, EXECUTION_ATTRIBUTE: own});
            let call = message.call(&context());
            assert_eq!(serde_json::from_str::<Value>(&call.body).unwrap(), expected);
            assert_eq!(call.headers[1], ("x-amz-target", "AmazonSQS.SendMessage"));
        }
    }

    #[test]
    fn only_hosts_of_sqs_name_a_region() {
        for (host, expected) in [
            ("sqs.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("sqs.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("us-east-1.queue.amazonaws.com", Some("us-east-1")),
            ("queue.amazonaws.com", None),
            ("sqs.evil.test", None),
            ("sqs.a.b.amazonaws.com", None),
            ("s3.eu-west-1.amazonaws.com", None),
        ] {
            assert_eq!(region_of_host(host), expected, "{host}");
        }
    }
}
