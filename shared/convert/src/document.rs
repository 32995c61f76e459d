//! JSON files, and values in them with their place.

use serde_json::{Map, Value};

use crate::report::SourcePlace;
use crate::secrets;
use crate::unsayable::Unsayable;

/// Reads a file: its document, or the array of several documents one after the other, as a loop in a
/// shell writes them.
pub(crate) fn read(text: &str) -> Result<Value, Unsayable> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(Unsayable::new("the file is empty", "give the JSON of an export"));
    }
    let documents: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut documents = documents.map_err(|error| {
        Unsayable::new(
            format!("the file is not valid JSON: {error}"),
            "correct it; a template in YAML has to be written as JSON first",
        )
    })?;
    documents.iter().try_for_each(secrets::check_unmarked)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        (last, _) => Ok(documents.into_iter().chain(last).collect()),
    }
}

/// An object, and where it is in the file.
pub(crate) type PlacedObject<'a> = (&'a Map<String, Value>, SourcePlace);

/// The objects of a value, each with its place: the value itself, or what is in its arrays, however
/// deep. `unknown` is the refusal of any other value.
pub(crate) fn objects(
    value: &Value,
    place: SourcePlace,
    unknown: fn() -> Unsayable,
) -> Result<Vec<PlacedObject<'_>>, Unsayable> {
    match value {
        Value::Object(object) => Ok(vec![(object, place)]),
        Value::Array(list) => {
            let lists = list.iter().enumerate();
            let lists = lists.map(|(n, entry)| objects(entry, place.entry(n), unknown));
            Ok(lists.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        _ => Err(unknown()),
    }
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
