//! The action `Sqs`: `SendMessage`, in a JSON protocol.

use minutehand_domain::action::Sqs;
use minutehand_domain::arn::is_region;
use minutehand_ports::AttemptContext;
use serde_json::{Map, json};
use url::{Host, Url};

use super::{Account, Answer, ApiCall, Service, deduplication_id, message_group, own_attributes};
use crate::outcome::ActionFailure;

/// The beginning of a host whose cryptography follows FIPS 140.
const FIPS: &str = "sqs-fips.";

/// What hosts of SQS end with. The last two are also reached over IPv6.
const HOST_SUFFIXES: [&str; 4] =
    [".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".api.amazonwebservices.com.cn"];

/// The host of SQS when it had one region.
const OLDEST_HOST: &str = "queue.amazonaws.com";
const OLDEST_REGION: &str = "us-east-1";

impl Service for Sqs {
    const NAME: &'static str = "sqs";

    /// The region in the queue's URL. The URL of an emulator's queue may have none.
    fn region(&self, account: &Account) -> Result<String, ActionFailure> {
        match named_host(&self.queue_url).as_deref().and_then(region_of_host) {
            Some(region) => Ok(region.to_owned()),
            None if account.endpoint.is_some() => Ok(account.region.clone()),
            None => Err(ActionFailure::canceled(
                "The queue's URL is not one of SQS: its host is not sqs.{region}.amazonaws.com.",
            )),
        }
    }

    /// A host of FIPS or of IPv6, which the job asks for on purpose. All others are the host of the
    /// region by another name.
    fn host(&self) -> Option<String> {
        let host = named_host(&self.queue_url)?;
        let is_wanted = host.starts_with(FIPS) || !host.contains(".amazonaws.");
        Some(host).filter(|host| is_wanted && region_of_host(host).is_some())
    }

    fn call(&self, context: &AttemptContext) -> ApiCall {
        let mut attributes = Map::new();
        let mut add = |name: &str, value: &str| {
            attributes.insert(name.to_owned(), json!({"DataType": "String", "StringValue": value}));
        };
        for (name, value) in self.attributes.iter().flatten() {
            add(name, value);
        }
        for (name, value) in own_attributes(context, self.attributes.iter().flatten().count()) {
            add(name, &value);
        }
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

/// The host in the URL of a queue.
fn named_host(queue_url: &str) -> Option<String> {
    let url = Url::parse(queue_url).ok()?;
    match url.host()? {
        Host::Domain(host) => Some(host.to_owned()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// The region in `sqs.{region}.amazonaws.com`, in `sqs-fips.…`, in the forms for IPv6, or in the old
/// form `{region}.queue.amazonaws.com`.
fn region_of_host(host: &str) -> Option<&str> {
    if host == OLDEST_HOST {
        return Some(OLDEST_REGION);
    }
    let name = HOST_SUFFIXES.into_iter().find_map(|suffix| host.strip_suffix(suffix))?;
    let region = name.strip_prefix("sqs.").or_else(|| name.strip_prefix(FIPS));
    let region = region.or_else(|| name.strip_suffix(".queue"))?;
    Some(region).filter(|region| is_region(region))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tests::context;
    use super::super::{EXECUTION_ATTRIBUTE, OCCURRENCE_ATTRIBUTE};
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
            let at = json!({"DataType": "String", "StringValue": "2023-11-14T22:13:20.0000005Z"});
            expected["MessageAttributes"] =
                json!({"kind": kind, EXECUTION_ATTRIBUTE: own, OCCURRENCE_ATTRIBUTE: at});
            let call = message.call(&context());
            assert_eq!(serde_json::from_str::<Value>(&call.body).unwrap(), expected);
            assert_eq!(call.headers[1], ("x-amz-target", "AmazonSQS.SendMessage"));
        }
    }

    #[test]
    fn nine_attributes_leave_room_for_the_execution_alone() {
        for (given, own) in [(0, 2), (8, 2), (9, 1)] {
            let attributes = own_attributes(&context(), given);
            assert_eq!(attributes.len(), own, "{given}");
            assert_eq!(attributes[0], (EXECUTION_ATTRIBUTE, "u1.1.2.m0".to_owned()));
        }
    }

    #[test]
    fn only_hosts_of_sqs_name_a_region() {
        for (host, expected) in [
            ("sqs.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("sqs.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("us-east-1.queue.amazonaws.com", Some("us-east-1")),
            ("queue.amazonaws.com", Some("us-east-1")),
            ("sqs.eu-west-1.api.aws", Some("eu-west-1")),
            ("sqs-fips.us-east-1.amazonaws.com", Some("us-east-1")),
            ("sqs-fips.us-east-1.api.aws", Some("us-east-1")),
            ("sqs.cn-north-1.api.amazonwebservices.com.cn", Some("cn-north-1")),
            ("sqs.eu-west-1.api.aws.evil.test", None),
            ("sqs-fips.evil.test", None),
            ("sqs.evil.test", None),
            ("sqs.a.b.amazonaws.com", None),
            ("s3.eu-west-1.amazonaws.com", None),
        ] {
            assert_eq!(region_of_host(host), expected, "{host}");
        }
    }

    #[test]
    fn a_host_of_fips_or_of_ipv6_is_called_by_its_name() {
        for (host, expected) in [
            ("sqs-fips.us-east-1.amazonaws.com", true),
            ("sqs.us-east-1.api.aws", true),
            ("sqs-fips.us-east-1.api.aws", true),
            ("sqs.cn-north-1.api.amazonwebservices.com.cn", true),
            ("sqs.us-east-1.amazonaws.com", false),
            ("us-east-1.queue.amazonaws.com", false),
            ("queue.amazonaws.com", false),
            ("sqs-fips.evil.test", false),
        ] {
            let message = Sqs {
                queue_url: format!("https://{host}/1/q"),
                message: String::new(),
                attributes: None,
                group_id: None,
            };
            assert_eq!(message.host().as_deref(), expected.then_some(host), "{host}");
        }
    }
}
