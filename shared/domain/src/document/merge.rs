//! PATCH: a JSON merge patch (RFC 7396), with what the original service asks for beyond it.

use serde_json::{Map, Value};

use crate::action::Target;
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
