//! Puts documents together.

use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};

/// The property that holds the extensions.
pub(crate) const EXTENSIONS: &str = "minutehand";

/// An object of the properties that have a value.
pub(crate) fn object<const N: usize>(properties: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let given = properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}

/// Adds what a value has to another one.
pub(crate) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// An object of a file that options add to; a new one if the file has none. An option must not replace
/// anything else that the file says there.
pub(crate) fn object_in<'a>(
    parent: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>> {
    let value = parent.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    let wrong = || {
        Failure::refused(format!(
            "'{name}' of the file must be an object, because options add to it; write an object there, \
             or leave it out"
        ))
    };
    value.as_object_mut().ok_or_else(wrong)
}
