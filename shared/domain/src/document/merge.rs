//! PATCH: a JSON merge patch (RFC 7396), with what the original service asks for beyond it.

use serde_json::{Map, Value};

use super::names::Shape;
use crate::action::{Authentication, MainAction, Target};
use crate::job::JobDefinition;

/// The properties of an action that belong to its type.
const PAYLOADS: [&str; 8] = [
    "request",
    "queueMessage",
    "serviceBusQueueMessage",
    "serviceBusTopicMessage",
    "sqsMessage",
    "snsMessage",
    "lambdaInvocation",
    "eventBridgeEvent",
];

/// Merges a patch into a document; both have canonical names.
///
/// Objects merge, arrays and scalars replace, `null` removes. A `schedule` is replaced whole. Where
/// the `type` of an action or of an authentication changes, what belongs to the old type goes.
#[must_use]
pub fn merge_patch(document: Value, patch: Value, shape: Shape) -> Value {
    let Value::Object(patch) = patch else {
        return patch;
    };
    let mut merged = match (document, shape) {
        (Value::Object(map), Shape::Leaf | Shape::Free | Shape::Object(_)) => map,
        _ => Map::new(),
    };
    forget_old_type(&mut merged, &patch);
    for (name, value) in patch {
        if value.is_null() {
            merged.remove(&name);
            continue;
        }
        let known = shape.property(&name);
        let old = merged.get(&name).cloned().unwrap_or(Value::Null);
        merged.insert(name, merge_patch(old, value, known));
    }
    Value::Object(merged)
}

/// Removes what belongs to the type that a patch replaces by another.
fn forget_old_type(merged: &mut Map<String, Value>, patch: &Map<String, Value>) {
    let type_of = |map: &Map<String, Value>| {
        map.get("type").and_then(Value::as_str).map(str::to_ascii_lowercase)
    };
    let (Some(old), Some(new)) = (type_of(merged), type_of(patch)) else {
        return;
    };
    // `Http` and `Https` have the same payload.
    if old == new || (old.starts_with("http") && new.starts_with("http")) {
        return;
    }
    let is_action = PAYLOADS.iter().any(|payload| merged.contains_key(*payload));
    if is_action {
        merged.retain(|name, _| !PAYLOADS.contains(&name.as_str()));
    } else {
        merged.clear();
    }
}

/// A secret that a patch would carry to another place than the one it was given for.
///
/// `patch` has canonical names. The answer is the path of the secret that has to be sent again.
#[must_use]
pub fn secrets_carried_elsewhere(
    old: &JobDefinition,
    new: &JobDefinition,
    patch: &Value,
) -> Option<String> {
    let action = patch.get("properties").and_then(|properties| properties.get("action"));
    let error_action = action.and_then(|action| action.get("errorAction"));
    let error = |main: &MainAction| main.error_action.as_ref().map(|action| action.target.clone());
    let carried = |old: &Target, new: &Target, patch: Option<&Value>, path: &str| {
        let (_, was) = place(old);
        let (secrets, is) = place(new);
        let patch = patch?;
        (was != is).then_some(())?;
        let missing =
            secrets.iter().find(|secret| patch.pointer(secret).is_none_or(Value::is_null));
        let stays = old.type_name().eq_ignore_ascii_case(new.type_name()) || both_http(old, new);
        missing.filter(|_| stays).map(|secret| format!("{path}{}", secret.replace('/', ".")))
    };
    carried(&old.action.action.target, &new.action.action.target, action, "action").or_else(|| {
        let (old, new) = (error(&old.action)?, error(&new.action)?);
        carried(&old, &new, error_action, "action.errorAction")
    })
}

fn both_http(a: &Target, b: &Target) -> bool {
    let http = |target: &Target| matches!(target, Target::Http(_) | Target::Https(_));
    http(a) && http(b)
}

/// Where a target's secrets stand in its document, and the place they are meant for.
fn place(target: &Target) -> (&'static [&'static str], String) {
    match target {
        Target::Http(request) | Target::Https(request) => {
            let secrets: &[&str] = match &request.authentication {
                None => &[],
                Some(Authentication::Basic { .. }) => &["/request/authentication/password"],
                Some(Authentication::ClientCertificate(_)) => {
                    &["/request/authentication/pfx", "/request/authentication/password"]
                }
                Some(Authentication::ActiveDirectoryOAuth { .. }) => {
                    &["/request/authentication/secret"]
                }
            };
            let origin =
                url::Url::parse(&request.uri).map(|url| url.origin().ascii_serialization());
            (secrets, origin.unwrap_or_default())
        }
        Target::StorageQueue(queue) => {
            (&["/queueMessage/sasToken"], queue.account.to_ascii_lowercase())
        }
        Target::ServiceBusQueue(message) => (
            &["/serviceBusQueueMessage/authentication/sasKey"],
            message.namespace.to_ascii_lowercase(),
        ),
        Target::ServiceBusTopic(message) => (
            &["/serviceBusTopicMessage/authentication/sasKey"],
            message.namespace.to_ascii_lowercase(),
        ),
        Target::Sqs(_) | Target::Sns(_) | Target::Lambda(_) | Target::EventBridge(_) => {
            (&[], String::new())
        }
    }
}
