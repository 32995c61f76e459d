//! JSON files, and values in them with their place.

use serde_json::{Map, Value};

use crate::ConvertOptions;
use crate::draft::Drafts;
use crate::report::SourcePlace;
use crate::secrets;
use crate::unsayable::Unsayable;
use crate::yaml;

/// Converts an object of a file, which is at this place.
type ConvertObject =
    fn(&Map<String, Value>, &SourcePlace, &ConvertOptions, &mut Drafts) -> Result<(), Unsayable>;

/// What the objects in files of one format are.
pub(crate) struct Format {
    pub(crate) object: ConvertObject,
    /// The refusal of what is no such object.
    pub(crate) unknown: fn() -> Unsayable,
}

impl Format {
    /// Converts a file.
    pub(crate) fn convert(
        &self,
        text: &str,
        options: &ConvertOptions,
        drafts: &mut Drafts,
    ) -> Result<(), Unsayable> {
        self.convert_value(&read(text)?, &SourcePlace::File, options, drafts)
    }

    /// Converts an object, or those in arrays, however deep.
    pub(crate) fn convert_value(
        &self,
        value: &Value,
        place: &SourcePlace,
        options: &ConvertOptions,
        drafts: &mut Drafts,
    ) -> Result<(), Unsayable> {
        match value {
            Value::Object(object) => (self.object)(object, place, options, drafts),
            Value::Array(list) => list.iter().enumerate().try_for_each(|(n, entry)| {
                self.convert_value(entry, &place.entry(n), options, drafts)
            }),
            _ => Err((self.unknown)()),
        }
    }
}

/// Reads a file: its document, or the array of several documents one after the other, as a loop in a
/// shell writes them. What does not begin like JSON is YAML.
fn read(text: &str) -> Result<Value, Unsayable> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(Unsayable::new("the file is empty", "give the JSON of an export"));
    }
    if !text.trim_start().starts_with(['{', '[']) {
        let document = yaml::read_template(text).map_err(|error| {
            let why = format!("the file is neither JSON nor valid YAML: {error}");
            Unsayable::new(why, "correct it")
        })?;
        secrets::check_unmarked(&document)?;
        return Ok(document);
    }
    let documents: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut documents = documents.map_err(|error| {
        Unsayable::new(format!("the file is not valid JSON: {error}"), "correct it")
    })?;
    documents.iter().try_for_each(secrets::check_unmarked)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        (last, _) => Ok(documents.into_iter().chain(last).collect()),
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
