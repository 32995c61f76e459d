//! Objects of JSON, made of their properties.

use serde_json::{Map, Value};

/// An object of the properties that have a value.
pub(crate) fn object<const N: usize>(properties: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let given = properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}
