//! What each service is asked, in its own protocol.

use domain::action::{EventBridge, Lambda, Sns, Sqs};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ports::AttemptContext;
use serde_json::{Map, Value, json};
use url::form_urlencoded::Serializer;

/// The attribute that tells of the execution.
const EXECUTION_ATTRIBUTE: &str = "x-ms-scheduler-execution-id";

/// The most characters of an identity by which a service leaves out a double.
const IDENTITY_CHARS_MAX: usize = 128;

/// A request of a service, before it is signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: String,
}

/// `SendMessage`, in AWS's JSON.
pub(super) fn sqs(message: &Sqs, occasion: &AttemptContext) -> Ask {
    let mut attributes = Map::new();
    let mut add = |name: &str, value: &str| {
        attributes.insert(name.to_owned(), json!({"DataType": "String", "StringValue": value}));
    };
    for (name, value) in message.attributes.iter().flatten() {
        add(name, value);
    }
    add(EXECUTION_ATTRIBUTE, &occasion.execution_id);
    let mut body = json!({
        "QueueUrl": message.queue_url,
        "MessageBody": message.message,
        "MessageAttributes": attributes,
    });
    if let Some(fields) = body.as_object_mut() {
        if let Some(group) = group(message.group_id.as_deref(), message.is_fifo(), occasion) {
            fields.insert("MessageGroupId".to_owned(), group.into());
        }
        if message.is_fifo() {
            fields.insert("MessageDeduplicationId".to_owned(), identity(occasion).into());
        }
    }
    json_ask("application/x-amz-json-1.0", "AmazonSQS.SendMessage", &body)
}

/// `Publish`, in AWS's forms.
pub(super) fn sns(message: &Sns, occasion: &AttemptContext) -> Ask {
    let mut form = Serializer::new(String::new());
    form.append_pair("Action", "Publish")
        .append_pair("Version", "2010-03-31")
        .append_pair("TopicArn", message.topic.as_str())
        .append_pair("Message", &message.message);
    if let Some(subject) = &message.subject {
        form.append_pair("Subject", subject);
    }
    if let Some(group) = group(message.group_id.as_deref(), message.is_fifo(), occasion) {
        form.append_pair("MessageGroupId", group);
    }
    if message.is_fifo() {
        form.append_pair("MessageDeduplicationId", identity(occasion));
    }
    let own = (EXECUTION_ATTRIBUTE, occasion.execution_id.as_str());
    let attributes = message.attributes.iter().flatten();
    let attributes = attributes.map(|(name, value)| (name.as_str(), value.as_str())).chain([own]);
    for (n, (name, value)) in (1..).zip(attributes) {
        let entry = format!("MessageAttributes.entry.{n}");
        form.append_pair(&format!("{entry}.Name"), name)
            .append_pair(&format!("{entry}.Value.DataType"), "String")
            .append_pair(&format!("{entry}.Value.StringValue"), value);
    }
    Ask {
        path: "/".to_owned(),
        headers: vec![("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
        body: form.finish(),
    }
}

/// `Invoke`, without waiting for the function.
pub(super) fn lambda(invocation: &Lambda) -> Ask {
    let function = utf8_percent_encode(&invocation.function, NON_ALPHANUMERIC);
    Ask {
        path: format!("/2015-03-31/functions/{function}/invocations"),
        headers: vec![("content-type", "application/json"), ("x-amz-invocation-type", "Event")],
        body: invocation.payload.clone().unwrap_or_else(|| "{}".to_owned()),
    }
}

/// `PutEvents` with one event, of the instant that the job names.
pub(super) fn event_bridge(event: &EventBridge, occasion: &AttemptContext) -> Ask {
    let execution = format!("minutehand:execution:{}", occasion.execution_id);
    let resources = event.resources.iter().flatten().cloned().chain([execution]);
    let mut entry = json!({
        "Source": event.source,
        "DetailType": event.detail_type,
        "Detail": event.detail,
        "Resources": resources.collect::<Vec<_>>(),
        "Time": occasion.expected_at.timestamp(),
    });
    if let (Some(fields), Some(bus)) = (entry.as_object_mut(), &event.bus) {
        fields.insert("EventBusName".to_owned(), bus.as_str().into());
    }
    json_ask("application/x-amz-json-1.1", "AWSEvents.PutEvents", &json!({"Entries": [entry]}))
}

fn json_ask(content_type: &'static str, operation: &'static str, body: &Value) -> Ask {
    Ask {
        path: "/".to_owned(),
        headers: vec![("content-type", content_type), ("x-amz-target", operation)],
        body: body.to_string(),
    }
}

/// The messages that keep their order: those of the job, where it does not say.
fn group<'a>(
    given: Option<&'a str>,
    is_fifo: bool,
    occasion: &'a AttemptContext,
) -> Option<&'a str> {
    given.or(is_fifo.then_some(occasion.job_uid.as_str()))
}

/// By what a FIFO queue or topic leaves out a double.
fn identity(occasion: &AttemptContext) -> &str {
    let id = occasion.execution_id.as_str();
    // Identities are ASCII; the end is what tells one execution of a job from another.
    id.get(id.len().saturating_sub(IDENTITY_CHARS_MAX)..).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use domain::arn::Arn;

    use super::*;

    fn occasion() -> AttemptContext {
        AttemptContext {
            execution_id: "u1.1.2.m0".to_owned(),
            job: "nightly".to_owned(),
            job_uid: "u1".to_owned(),
            collection_uid: "c1".to_owned(),
            expected_at: DateTime::from_timestamp(1_700_000_000, 500).unwrap(),
            sent_at: DateTime::UNIX_EPOCH,
            region: "local".to_owned(),
        }
    }

    fn attributes() -> Vec<(String, String)> {
        vec![("kind".to_owned(), "a&b".to_owned())]
    }

    #[test]
    fn a_queue_is_asked_in_json() {
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
                attributes: Some(attributes()),
                group_id: group.map(str::to_owned),
            };
            let mut expected = expected;
            expected["QueueUrl"] = queue_url.into();
            expected["MessageBody"] = "text".into();
            let kind = json!({"DataType": "String", "StringValue": "a&b"});
            expected["MessageAttributes"] = json!({"kind": kind, EXECUTION_ATTRIBUTE: own});
            let ask = sqs(&message, &occasion());
            assert_eq!(serde_json::from_str::<Value>(&ask.body).unwrap(), expected);
            assert_eq!(ask.headers[1], ("x-amz-target", "AmazonSQS.SendMessage"));
        }
    }

    #[test]
    fn a_topic_is_asked_by_a_form() {
        let message = Sns {
            topic: Arn::read("arn:aws:sns:eu-west-1:1:t.fifo", "sns").unwrap(),
            message: "a b".to_owned(),
            subject: Some("s".to_owned()),
            attributes: Some(attributes()),
            group_id: None,
        };
        assert_eq!(
            sns(&message, &occasion()).body,
            "Action=Publish&Version=2010-03-31&TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A1%3At.fifo&\
             Message=a+b&Subject=s&MessageGroupId=u1&MessageDeduplicationId=u1.1.2.m0&\
             MessageAttributes.entry.1.Name=kind&MessageAttributes.entry.1.Value.DataType=String&\
             MessageAttributes.entry.1.Value.StringValue=a%26b&\
             MessageAttributes.entry.2.Name=x-ms-scheduler-execution-id&\
             MessageAttributes.entry.2.Value.DataType=String&\
             MessageAttributes.entry.2.Value.StringValue=u1.1.2.m0"
        );
    }

    #[test]
    fn a_function_gets_its_payload_as_it_is_and_nobody_waits() {
        let of = |function: &str, payload: Option<&str>| {
            let payload = payload.map(str::to_owned);
            lambda(&Lambda { function: function.to_owned(), payload })
        };
        let ask = of("arn:aws:lambda:eu-west-1:1:function:f:live", Some(" [1] "));
        let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu%2Dwest%2D1%3A1%3Afunction%3Af\
                    %3Alive/invocations";
        assert_eq!((ask.path.as_str(), ask.body.as_str()), (path, " [1] "));
        assert!(ask.headers.contains(&("x-amz-invocation-type", "Event")));
        assert_eq!(of("f", None).body, "{}");
    }

    #[test]
    fn an_event_is_of_the_instant_of_its_occurrence() {
        let event = |bus: Option<&str>| EventBridge {
            bus: bus.map(str::to_owned),
            source: "s".to_owned(),
            detail_type: "t".to_owned(),
            detail: "{ }".to_owned(),
            resources: Some(vec!["r".to_owned()]),
        };
        let body = |bus| event_bridge(&event(bus), &occasion()).body;
        assert_eq!(
            serde_json::from_str::<Value>(&body(Some("b"))).unwrap(),
            json!({"Entries": [{
                "EventBusName": "b", "Source": "s", "DetailType": "t", "Detail": "{ }",
                "Resources": ["r", "minutehand:execution:u1.1.2.m0"], "Time": 1_700_000_000,
            }]})
        );
        assert!(!body(None).contains("EventBusName"));
    }

    #[test]
    fn an_identity_is_no_longer_than_services_take() {
        let long = AttemptContext { execution_id: format!("{}end", "x".repeat(200)), ..occasion() };
        assert_eq!(identity(&long).len(), IDENTITY_CHARS_MAX);
        assert!(identity(&long).ends_with("end"));
    }
}
