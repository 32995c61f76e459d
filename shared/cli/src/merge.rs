//! Puts documents together.

use serde_json::{Map, Value};

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
