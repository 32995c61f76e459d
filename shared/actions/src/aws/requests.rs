//! What each service is asked, in its own protocol.

use chrono::{DateTime, Utc};
use domain::action::{EventBridge, Lambda, Sns, Sqs};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ports::Occasion;
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
pub(super) fn sqs(message: &Sqs, occasion: &Occasion) -> Ask {
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
pub(super) fn sns(message: &Sns, occasion: &Occasion) -> Ask {
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
pub(super) fn event_bridge(event: &EventBridge, occasion: &Occasion) -> Ask {
    let execution = format!("minutehand:execution:{}", occasion.execution_id);
    let resources = event.resources.iter().flatten().cloned().chain([execution]);
    let mut entry = json!({
        "Source": event.source,
        "DetailType": event.detail_type,
        "Detail": event.detail,
        "Resources": resources.collect::<Vec<_>>(),
        "Time": seconds(occasion.expected_at),
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
fn group<'a>(given: Option<&'a str>, is_fifo: bool, occasion: &'a Occasion) -> Option<&'a str> {
    given.or(is_fifo.then_some(occasion.job_uid.as_str()))
}

/// By what a FIFO queue or topic leaves out a double.
fn identity(occasion: &Occasion) -> &str {
    let id = occasion.execution_id.as_str();
    // Identities are ASCII; the end is what tells one execution of a job from another.
    id.get(id.len().saturating_sub(IDENTITY_CHARS_MAX)..).unwrap_or(id)
}

fn seconds(at: DateTime<Utc>) -> i64 {
    at.timestamp()
}
