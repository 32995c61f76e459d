//! Documents in: what is sent to services of AWS.

use serde_json::Value;

use super::fields::Fields;
use super::read_azure::read_message;
use crate::action::{EventBridge, Lambda, Sns, Sqs};
use crate::arn::Arn;
use crate::refusal::Refusal;

/// The most attributes of a message: the services take ten, and one is the scheduler's own.
const ATTRIBUTES_MAX: usize = 9;
/// The most characters of an attribute's name, a queue's URL, a subject, the name of a function.
const ATTRIBUTE_NAME_CHARS_MAX: usize = 256;
const QUEUE_URL_CHARS_MAX: usize = 2_048;
const SUBJECT_CHARS_MAX: usize = 100;
const FUNCTION_CHARS_MAX: usize = 170;
/// The most characters of a group's name.
const GROUP_CHARS_MAX: usize = 128;
/// The most resources of an event: one of ours is beside them.
const RESOURCES_MAX: usize = 9;

/// Attributes under this prefix are the scheduler's own.
const OUR_ATTRIBUTES: &str = "x-ms-scheduler-";

pub(super) fn read_sqs(message: &Fields<'_>) -> Result<Sqs, Refusal> {
    let queue_url = message.required_text("queueUrl")?;
    let url = url::Url::parse(queue_url).ok().filter(|_| queue_url.len() <= QUEUE_URL_CHARS_MAX);
    let is_queue = url.is_some_and(|url| {
        let is_http = matches!(url.scheme(), "http" | "https");
        let names =
            url.path_segments().map_or(0, |parts| parts.filter(|part| !part.is_empty()).count());
        let has_more =
            url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        is_http && names >= 2 && !has_more
    });
    if !is_queue {
        let example =
            "use the queue's URL, like https://sqs.eu-west-1.amazonaws.com/123456789012/q";
        return Err(message.wrong("queueUrl", example));
    }
    let sqs = Sqs {
        queue_url: queue_url.to_owned(),
        message: not_empty(message, "message")?,
        attributes: read_attributes(message)?,
        group_id: read_group(message)?,
    };
    Ok(sqs)
}

pub(super) fn read_sns(message: &Fields<'_>) -> Result<Sns, Refusal> {
    let topic = message.required_text("topicArn")?;
    let topic = Arn::read(topic, "sns").ok_or_else(|| {
        message.wrong("topicArn", "use the topic's ARN, like arn:aws:sns:eu-west-1:123456789012:t")
    })?;
    let subject = message.text("subject")?;
    let is_subject = |text: &str| {
        (1..=SUBJECT_CHARS_MAX).contains(&text.chars().count())
            && !text.chars().any(char::is_control)
    };
    if !subject.is_none_or(is_subject) {
        return Err(message.wrong("subject", "use one line of up to 100 characters"));
    }
    Ok(Sns {
        topic,
        message: not_empty(message, "message")?,
        subject: subject.map(str::to_owned),
        attributes: read_attributes(message)?,
        group_id: read_group(message)?,
    })
}

pub(super) fn read_lambda(invocation: &Fields<'_>) -> Result<Lambda, Refusal> {
    let function = invocation.required_text("functionName")?;
    let known = |c: char| c.is_ascii_alphanumeric() || "-_:.$".contains(c);
    let is_arn = !function.starts_with("arn:") || Arn::read(function, "lambda").is_some();
    if function.len() > FUNCTION_CHARS_MAX || !function.chars().all(known) || !is_arn {
        let allowed =
            "use the name or the ARN of a function, with a version or an alias or without";
        return Err(invocation.wrong("functionName", allowed));
    }
    let payload = invocation.text("payload")?;
    if payload.is_some_and(|text| serde_json::from_str::<Value>(text).is_err()) {
        let path = invocation.path("payload");
        return Err(Refusal::invalid(format!(
            "'{path}' is no JSON; a function takes nothing else."
        )));
    }
    Ok(Lambda { function: function.to_owned(), payload: payload.map(str::to_owned) })
}

pub(super) fn read_event(event: &Fields<'_>) -> Result<EventBridge, Refusal> {
    let bus = event.text("eventBusName")?;
    let known = |c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c);
    let is_bus = |name: &str| {
        let is_name = (1..=256).contains(&name.len()) && name.chars().all(known);
        is_name || Arn::read(name, "events").is_some()
    };
    if !bus.is_none_or(is_bus) {
        return Err(event.wrong("eventBusName", "use the name or the ARN of an event bus"));
    }
    let source = event.required_text("source")?;
    if source.starts_with("aws.") {
        return Err(event.wrong("source", "sources that begin with 'aws.' are AWS's own"));
    }
    let detail = event.required_text("detail")?;
    if !serde_json::from_str::<Value>(detail).is_ok_and(|detail| detail.is_object()) {
        let path = event.path("detail");
        return Err(Refusal::invalid(format!("'{path}' has to be the text of a JSON object.")));
    }
    Ok(EventBridge {
        bus: bus.map(str::to_owned),
        source: source.to_owned(),
        detail_type: event.required_text("detailType")?.to_owned(),
        detail: detail.to_owned(),
        resources: read_resources(event)?,
    })
}

fn read_resources(event: &Fields<'_>) -> Result<Option<Vec<String>>, Refusal> {
    let Some(resources) = event.value("resources") else {
        return Ok(None);
    };
    let texts: Option<Vec<String>> = resources.as_array().and_then(|all| {
        let text = |one: &Value| one.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        all.iter().map(text).collect()
    });
    let texts = texts.filter(|texts| texts.len() <= RESOURCES_MAX);
    texts
        .map(Some)
        .ok_or_else(|| event.wrong("resources", "use a list of up to 9 texts that are not empty"))
}

fn read_attributes(message: &Fields<'_>) -> Result<Option<Vec<(String, String)>>, Refusal> {
    let Some(attributes) = message.texts("messageAttributes")? else {
        return Ok(None);
    };
    let path = message.path("messageAttributes");
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(Refusal::invalid(format!(
            "'{path}' are {}; {ATTRIBUTES_MAX} are allowed beside the scheduler's own.",
            attributes.len()
        )));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    for (name, value) in &attributes {
        let shown = name.escape_debug();
        let lower = name.to_ascii_lowercase();
        let is_name =
            (1..=ATTRIBUTE_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(known);
        // The services refuse these.
        let is_reserved = lower.starts_with("aws.") || lower.starts_with("amazon.");
        let has_dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
        if !is_name || is_reserved || has_dots || lower.starts_with(OUR_ATTRIBUTES) {
            return Err(Refusal::invalid(format!(
                "'{path}.{shown}' cannot be the name of an attribute; use letters, digits, '-', '_' \
                 and '.', and begin with neither 'aws.', 'amazon.' nor '{OUR_ATTRIBUTES}'."
            )));
        }
        if value.is_empty() {
            return Err(Refusal::invalid(format!("'{path}.{shown}' is empty; leave it out.")));
        }
    }
    Ok(Some(attributes))
}

fn read_group(message: &Fields<'_>) -> Result<Option<String>, Refusal> {
    let group = message.text("messageGroupId")?;
    let is_group = |text: &str| {
        (1..=GROUP_CHARS_MAX).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic())
    };
    if group.is_none_or(is_group) {
        Ok(group.map(str::to_owned))
    } else {
        let allowed = "use up to 128 letters, digits and signs of ASCII, without spaces";
        Err(message.wrong("messageGroupId", allowed))
    }
}

/// A message that has something to say: the services take no other.
fn not_empty(message: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = read_message(message)?;
    if text.is_empty() {
        Err(message.missing(name, "it has to be text, and not empty"))
    } else {
        Ok(text)
    }
}
