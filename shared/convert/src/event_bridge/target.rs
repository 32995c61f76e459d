//! The target of a schedule as an action.

use serde_json::{Map, Value, json};

use crate::crontab::percent_encoded;
use crate::document::{property, set, text};
use crate::report::ProblemKind;
use crate::secrets;
use crate::unsayable::{Unsayable, quoted};

use super::CONTEXT_ATTRIBUTES;

/// The retries and the age that `EventBridge` takes if a schedule does not say them.
const ATTEMPTS_DEFAULT: u64 = 185;
const AGE_DEFAULT: u64 = 86_400;

/// The most retries of a job.
const RETRIES_MAX: u64 = 20;
/// The first pause, which is the shortest that a job may have.
const INTERVAL_SECONDS: u64 = 15;

/// A target, read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) action: Value,
    /// The extensions of the job.
    pub(super) extensions: Map<String, Value>,
    pub(super) notes: Vec<(ProblemKind, Unsayable)>,
}

/// Reads the target of a schedule, or of a rule.
pub(super) fn read(target: &Map<String, Value>, is_rule: bool) -> Result<Read, Unsayable> {
    let arn = text(target, "Arn").ok_or_else(|| {
        Unsayable::new("the target has no Arn", "give the schedule with its whole target")
    })?;
    let mut notes = Vec::new();
    let (mut action, input) = action(arn, target, is_rule, &mut notes)?;
    let mut extensions = Map::new();
    if let Some((policy, backoff)) = retry_policy(target) {
        set(&mut action, "retryPolicy", policy);
        extensions.extend(backoff.map(|backoff| ("retry".to_owned(), backoff)));
    }
    if let Some(queue) = property(target, "DeadLetterConfig").and_then(Value::as_object)
        && let Some(arn) = text(queue, "Arn")
    {
        let url = queue_url(arn).ok_or_else(|| wrong_arn(arn))?;
        let message = input.unwrap_or_else(nothing);
        let dead = json!({"type": "Sqs", "sqsMessage": {"queueUrl": url, "message": message}});
        set(&mut action, "errorAction", dead);
        let why = "the dead letters are an error action: it sends the same text, without the \
                   attributes ERROR_CODE and ERROR_MESSAGE";
        let remedy = "read the reason in the history of the job";
        notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
    }
    if names_for_attributes(&mut action) {
        extensions.insert("template".to_owned(), true.into());
    }
    if action.to_string().contains(CONTEXT_ATTRIBUTES) {
        let why = "EventBridge replaces <aws.scheduler.…> in the input, and the job sends some of it as text";
        let remedy = "write what the target needs with the names of templates, such as {{job}}";
        notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
    }
    Ok(Read { action, extensions, notes })
}

/// What stands for an attribute of `EventBridge`'s scheduler in a template.
const NAMES: [(&str, &str); 3] = [
    ("<aws.scheduler.scheduled-time>", "{{occurrence}}"),
    ("<aws.scheduler.execution-id>", "{{executionId}}"),
    ("<aws.scheduler.attempt-number>", "{{attempt}}"),
];

/// Writes the attributes of `EventBridge`'s scheduler in the texts of an action as names of a template. Returns
/// whether there are any. An action with double braces of its own stays as it is.
fn names_for_attributes(action: &mut Value) -> bool {
    let text = action.to_string();
    if text.contains("{{") || !NAMES.iter().any(|(attribute, _)| text.contains(attribute)) {
        return false;
    }
    let replaced = NAMES.iter().fold(text, |text, (attribute, name)| text.replace(attribute, name));
    // Neither has a character that JSON escapes.
    serde_json::from_str(&replaced).map(|replaced| *action = replaced).is_ok()
}

/// The action, and the text that it sends.
fn action(
    arn: &str,
    target: &Map<String, Value>,
    is_rule: bool,
    notes: &mut Vec<(ProblemKind, Unsayable)>,
) -> Result<(Value, Option<String>), Unsayable> {
    if let Some(request) = target.get(super::template::DESTINATION) {
        return destination(request, target, notes);
    }
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let &["arn", _, service, _, _, resource] = parts.as_slice() else {
        return Err(wrong_arn(arn));
    };
    if service == "scheduler" {
        return universal(resource, target);
    }
    let input = input(target, is_rule, notes)?;
    let sent = || input.clone().unwrap_or_else(nothing);
    let action = match service {
        "sqs" => {
            let url = queue_url(arn).ok_or_else(|| wrong_arn(arn))?;
            let group = property(target, "SqsParameters").and_then(Value::as_object);
            let group = group.and_then(|group| text(group, "MessageGroupId"));
            json!({"type": "Sqs", "sqsMessage":
                without_nulls(json!({"queueUrl": url, "message": sent(), "messageGroupId": group}))})
        }
        "sns" => json!({"type": "Sns", "snsMessage": {"topicArn": arn, "message": sent()}}),
        "lambda" => json!({"type": "Lambda", "lambdaInvocation":
            {"functionName": arn, "payload": sent()}}),
        "events" if resource.starts_with("event-bus/") => event(arn, target, &sent(), is_rule)?,
        _ => return Err(unknown_target(service, resource)),
    };
    Ok((action, input))
}

/// What is sent if a target has no text.
fn nothing() -> String {
    "{}".to_owned()
}

/// A value as the text that is sent.
fn as_sent(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The text that a target receives.
fn input(
    target: &Map<String, Value>,
    is_rule: bool,
    notes: &mut Vec<(ProblemKind, Unsayable)>,
) -> Result<Option<String>, Unsayable> {
    for transformed in ["InputPath", "InputTransformer"] {
        if target.contains_key(transformed) {
            let why =
                format!("{transformed} makes the text of each event, and a job sends a fixed text");
            return Err(Unsayable::new(why, "write the text as Input"));
        }
    }
    let input = property(target, "Input").map(as_sent);
    if input.is_none() {
        let what =
            if is_rule { "an event of the type 'Scheduled Event'" } else { "a notice of its own" };
        let why = format!("without an Input, EventBridge sends {what}; the job sends {{}}");
        let remedy = "write the text that the target needs into the job";
        notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
    }
    Ok(input)
}

fn event(
    arn: &str,
    target: &Map<String, Value>,
    detail: &str,
    is_rule: bool,
) -> Result<Value, Unsayable> {
    let parameters = property(target, "EventBridgeParameters").and_then(Value::as_object);
    let named = parameters.and_then(|parameters| {
        Some((text(parameters, "Source")?, text(parameters, "DetailType")?))
    });
    let Some((source, detail_type)) = named else {
        let why = if is_rule {
            "a rule passes its own event on to the other bus, and a job puts an event of its own"
        } else {
            "the target is an event bus, and EventBridgeParameters are missing"
        };
        return Err(Unsayable::new(why, "write an action of the type EventBridge by hand"));
    };
    Ok(json!({"type": "EventBridge", "eventBridgeEvent": {
        "eventBusName": arn, "source": source, "detailType": detail_type, "detail": detail,
    }}))
}

/// A universal target: a call of the API of a service, with its parameters as the input.
fn universal(
    resource: &str,
    target: &Map<String, Value>,
) -> Result<(Value, Option<String>), Unsayable> {
    let call = resource.strip_prefix("aws-sdk:").unwrap_or(resource);
    let input = text(target, "Input").unwrap_or("{}");
    let parameters: Map<String, Value> = serde_json::from_str(input).map_err(|error| {
        let why = format!("the Input of the call {} is not a JSON object: {error}", quoted(call));
        Unsayable::new(why, "correct it")
    })?;
    let get = |name: &str| text(&parameters, name).map(str::to_owned);
    let known: &[&str] = match call.to_ascii_lowercase().as_str() {
        "sqs:sendmessage" => {
            &["QueueUrl", "MessageBody", "MessageGroupId", "MessageDeduplicationId"]
        }
        "sns:publish" => {
            &["TopicArn", "Message", "Subject", "MessageGroupId", "MessageDeduplicationId"]
        }
        "lambda:invoke" => &["FunctionName", "Payload", "InvocationType"],
        "eventbridge:putevents" => &["Entries"],
        _ => return Err(unknown_target("the call", call)),
    };
    let is_known = |name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some(unknown) = parameters.keys().find(|name| !is_known(name)) {
        let why = format!("the call {} has the parameter {}", quoted(call), quoted(unknown));
        return Err(Unsayable::new(why, "leave it out, or write the action by hand"));
    }
    let missing = |name: &str| {
        let why = format!("the call {} has no {name}", quoted(call));
        Unsayable::new(why, "give the schedule with its whole input")
    };
    let required = |name: &str| get(name).ok_or_else(|| missing(name));
    let (action, sent) = match call.to_ascii_lowercase().as_str() {
        "sqs:sendmessage" => {
            let message = required("MessageBody")?;
            let action = json!({"queueUrl": required("QueueUrl")?, "message": message,
                "messageGroupId": get("MessageGroupId")});
            (json!({"type": "Sqs", "sqsMessage": without_nulls(action)}), message)
        }
        "sns:publish" => {
            let message = required("Message")?;
            let action = json!({"topicArn": required("TopicArn")?, "message": message,
                "subject": get("Subject"), "messageGroupId": get("MessageGroupId")});
            (json!({"type": "Sns", "snsMessage": without_nulls(action)}), message)
        }
        "lambda:invoke" => {
            let payload = property(&parameters, "Payload").map_or_else(nothing, as_sent);
            let action = json!({"functionName": required("FunctionName")?, "payload": payload});
            (json!({"type": "Lambda", "lambdaInvocation": action}), payload)
        }
        _ => put_event(&parameters)?,
    };
    Ok((action, Some(sent)))
}

fn put_event(parameters: &Map<String, Value>) -> Result<(Value, String), Unsayable> {
    let entries = property(parameters, "Entries").and_then(Value::as_array);
    let [Value::Object(entry)] = entries.map(Vec::as_slice).unwrap_or_default() else {
        let why = "the call puts no event, or several, and a job puts one";
        return Err(Unsayable::new(why, "write a schedule for each event"));
    };
    let detail = property(entry, "Detail").map_or_else(nothing, as_sent);
    let action = json!({"eventBusName": text(entry, "EventBusName"), "source": text(entry, "Source"),
        "detailType": text(entry, "DetailType"), "detail": detail,
        "resources": property(entry, "Resources")});
    Ok((json!({"type": "EventBridge", "eventBridgeEvent": without_nulls(action)}), detail))
}

/// A request to an API destination, which the template describes.
fn destination(
    request: &Value,
    target: &Map<String, Value>,
    notes: &mut Vec<(ProblemKind, Unsayable)>,
) -> Result<(Value, Option<String>), Unsayable> {
    let input = input(target, true, notes)?;
    let mut request = request.clone();
    let parameters = property(target, "HttpParameters").and_then(Value::as_object);
    if let Some(parameters) = parameters {
        add_parameters(&mut request, parameters)?;
    }
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
    if !matches!(method, "GET" | "HEAD") {
        set(&mut request, "body", input.clone().unwrap_or_else(nothing));
        let mut headers = headers(&request);
        if property(&headers, "Content-Type").is_none() {
            headers.insert("Content-Type".to_owned(), "application/json; charset=utf-8".into());
        }
        set(&mut request, "headers", headers);
    }
    let is_https = uri(&request).starts_with("https:");
    let kind = if is_https { "Https" } else { "Http" };
    Ok((json!({"type": kind, "request": request}), input))
}

fn headers(request: &Value) -> Map<String, Value> {
    request.get("headers").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn uri(request: &Value) -> &str {
    request.get("uri").and_then(Value::as_str).unwrap_or_default()
}

fn add_parameters(request: &mut Value, parameters: &Map<String, Value>) -> Result<(), Unsayable> {
    let mut uri = uri(request).to_owned();
    let values = property(parameters, "PathParameterValues").and_then(Value::as_array);
    for value in values.into_iter().flatten() {
        uri = uri.replacen('*', &percent_encoded(value.as_str().unwrap_or_default()), 1);
    }
    let query = property(parameters, "QueryStringParameters").and_then(Value::as_object);
    for (name, value) in query.into_iter().flatten() {
        let mark = if uri.contains('?') { '&' } else { '?' };
        let [name, value] =
            [name.as_str(), value.as_str().unwrap_or_default()].map(percent_encoded);
        uri = format!("{uri}{mark}{name}={value}");
    }
    if uri.contains('*') {
        let why = "the URL of the API destination has a '*' without a value";
        return Err(Unsayable::new(why, "give PathParameterValues"));
    }
    set(request, "uri", uri);
    let more = property(parameters, "HeaderParameters").and_then(Value::as_object);
    if let Some(more) = more {
        let mut headers = headers(request);
        headers.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        set(request, "headers", headers);
    }
    Ok(())
}

/// The retry policy; `None` for the default of the installation.
/// The retry policy, and its back-off: pauses that grow, and no retry later than the age of the event allows.
fn retry_policy(target: &Map<String, Value>) -> Option<(Value, Option<Value>)> {
    let policy = property(target, "RetryPolicy").and_then(Value::as_object)?;
    let number = |name: &str| property(policy, name).and_then(number);
    let attempts = number("MaximumRetryAttempts").unwrap_or(ATTEMPTS_DEFAULT);
    let age = number("MaximumEventAgeInSeconds").unwrap_or(AGE_DEFAULT).max(INTERVAL_SECONDS);
    if attempts == 0 {
        return Some((json!({"retryType": "none"}), None));
    }
    // Pauses double, so a day, which is the longest age, has room for no more.
    let count = attempts.min(RETRIES_MAX);
    let interval = format!("PT{INTERVAL_SECONDS}S");
    let policy = json!({"retryType": "fixed", "retryInterval": interval, "retryCount": count});
    let backoff = json!({"backoff": "exponential", "maxElapsed": format!("PT{age}S")});
    Some((policy, Some(backoff)))
}

/// A number, which a template may write as text.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The URL of a queue by its ARN.
fn queue_url(arn: &str) -> Option<String> {
    let parts: Vec<&str> = arn.split(':').collect();
    let &["arn", partition, "sqs", region, account, name] = parts.as_slice() else {
        return None;
    };
    let suffix = if partition == "aws-cn" { ".cn" } else { "" };
    let is_known =
        minutehand_domain::arn::is_region(region) && !account.is_empty() && !name.is_empty();
    is_known.then(|| format!("https://sqs.{region}.amazonaws.com{suffix}/{account}/{name}"))
}

fn without_nulls(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.retain(|_, value| !value.is_null() || secrets::marked(value).is_some());
    }
    object
}

fn wrong_arn(arn: &str) -> Unsayable {
    Unsayable::new(format!("{} is not an ARN", quoted(arn)), "give the ARN of the target")
}

fn unknown_target(service: &str, resource: &str) -> Unsayable {
    let hint = match service {
        "events" => {
            "give the template that describes the API destination, or write an action of the type Https"
        }
        "execute-api" => {
            "write an action of the type Https for an endpoint that needs no signature"
        }
        _ => "let a Lambda function, a queue or a topic start it, and make that the target",
    };
    Unsayable::new(
        format!("no action does what the target {service} {} does", quoted(resource)),
        hint,
    )
}
