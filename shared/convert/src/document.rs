//! JSON files, and values in them with their place.

use serde_json::{Map, Value};

use crate::report::SourcePlace;
use crate::secrets;
use crate::unsayable::Unsayable;

/// Reads the documents of a file: one, or several one after the other, as a loop in a shell writes them.
pub(crate) fn read(text: &str) -> Result<Vec<Value>, Unsayable> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(Unsayable::new("the file is empty", "give the JSON of an export"));
    }
    let documents: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let documents = documents.map_err(|error| {
        Unsayable::new(
            format!("the file is not valid JSON: {error}"),
            "correct it; a template in YAML has to be written as JSON first",
        )
    })?;
    documents.iter().try_for_each(secrets::check_unmarked)?;
    Ok(documents)
}

/// The place of the n-th document of a file.
pub(crate) fn place(n: usize, count: usize) -> SourcePlace {
    if count == 1 { SourcePlace::File } else { SourcePlace::File.entry(n) }
}

/// A property of an object, whose name matches in any case.
pub(crate) fn property<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let found = object.get(name).or_else(|| {
        object.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    });
    found.filter(|value| !value.is_null())
}

/// Sets a property of an object.
pub(crate) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value.into());
    }
}

/// A text of an object.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    property(object, name).and_then(Value::as_str)
}
