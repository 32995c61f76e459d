//! PATCH: a JSON merge patch (RFC 7396), with what the original service asks for beyond it.

use serde_json::{Map, Value};

use crate::action::Target;
use crate::job::JobDefinition;
use crate::json::Shape;

/// Merges a patch into a document; both have canonical names.
///
/// Objects merge, arrays and scalars replace, `null` removes. A `schedule` is replaced whole. If the
/// `type` of an action or of an authentication changes, the properties of the old type are removed.
#[must_use]
pub fn merge_patch(document: Value, patch: Value, shape: Shape) -> Value {
    let Value::Object(patch) = patch else {
        return patch;
    };
    let mut merged = match (document, shape) {
        (Value::Object(map), Shape::Leaf | Shape::Secret | Shape::Free | Shape::Object(_)) => map,
        _ => Map::new(),
    };
    remove_old_type(&mut merged, &patch);
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

/// Removes what belongs to a type that the patch replaces by another.
fn remove_old_type(merged: &mut Map<String, Value>, patch: &Map<String, Value>) {
    let type_of =
        |map: &Map<String, Value>| map.get("type").and_then(Value::as_str).map(str::to_owned);
    let (Some(old), Some(new)) = (type_of(merged), type_of(patch)) else {
        return;
    };
    let property = Target::property_of_type;
    // `Http` and `Https` have the same payload.
    if old.eq_ignore_ascii_case(&new)
        || (property(&old).is_some() && property(&old) == property(&new))
    {
        return;
    }
    if merged.keys().any(|name| Target::is_payload(name)) {
        merged.retain(|name, _| !Target::is_payload(name));
    } else {
        merged.clear();
    }
}

/// A secret that a patch would send to another place than the one it was given for.
///
/// `patch` has canonical names. The answer is the path of the secret that must be sent again.
#[must_use]
pub fn secrets_carried_elsewhere(
    old: &JobDefinition,
    new: &JobDefinition,
    patch: &Value,
) -> Option<String> {
    let action = patch.get("properties").and_then(|properties| properties.get("action"));
    let error_action = action.and_then(|action| action.get("errorAction"));
    let main = (&old.action.action.target, &new.action.action.target);
    carried_elsewhere(main, action, "action").or_else(|| {
        let old = old.action.error_action.as_ref()?;
        let new = new.action.error_action.as_ref()?;
        carried_elsewhere((&old.target, &new.target), error_action, "action.errorAction")
    })
}

fn carried_elsewhere(
    (old, new): (&Target, &Target),
    sent: Option<&Value>,
    prefix: &str,
) -> Option<String> {
    let (sent, property) = (sent?, new.property());
    let destination = new.destination();
    // With another payload, the patch had to bring all of it, secrets included.
    if old.property() != property || old.destination().place == destination.place {
        return None;
    }
    let payload = sent.get(property);
    let is_sent = |secret: &str| {
        payload.and_then(|payload| payload.pointer(secret)).is_some_and(|value| !value.is_null())
    };
    let missing = destination.secrets.iter().find(|secret| !is_sent(secret))?;
    Some(format!("{prefix}.{property}{}", missing.replace('/', ".")))
}
