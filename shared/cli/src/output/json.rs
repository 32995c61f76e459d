//! JSON for programs: what the server answered, or some fields of it.

use serde_json::{Map, Value};

use crate::failure::{Failure, Result};
use crate::options::Options;
use crate::output::screen::Screen;

/// How JSON is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Json {
    /// The only fields to print; empty for all.
    fields: Vec<String>,
    /// Whether a list is one item on each line, not one array.
    lines: bool,
}

impl Json {
    /// `None` if a person reads the output.
    pub(crate) fn wanted(options: &Options) -> Option<Self> {
        if options.json.is_none() && !options.jsonl {
            return None;
        }
        let fields = options.json.as_deref().unwrap_or_default().split(',');
        let fields = fields.map(str::trim).filter(|field| !field.is_empty());
        Some(Self { fields: fields.map(ToOwned::to_owned).collect(), lines: options.jsonl })
    }

    /// Prints one document.
    pub(crate) fn document(&self, screen: &Screen, text: &str) -> Result<()> {
        screen.line(&self.part(text)?)
    }

    /// Prints a list.
    pub(crate) fn list<'a>(
        &self,
        screen: &Screen,
        items: impl Iterator<Item = &'a str>,
    ) -> Result<()> {
        let items: Vec<String> = items.map(|item| self.part(item)).collect::<Result<_>>()?;
        if self.lines {
            items.iter().try_for_each(|item| screen.line(item))
        } else {
            screen.line(&format!("[{}]", items.join(",")))
        }
    }

    /// The wanted fields of a document. A field may be a path: `properties.state`.
    fn part(&self, text: &str) -> Result<String> {
        if self.fields.is_empty() {
            return Ok(text.to_owned());
        }
        let document: Value = serde_json::from_str(text)
            .map_err(|error| Failure::failed(format!("the answer is not JSON: {error}")))?;
        let mut part = Map::new();
        for field in &self.fields {
            let found = field.split('.').try_fold(&document, |value, name| value.get(name));
            if found.is_none() && !is_optional(&document, field) {
                return Err(unknown(field, &document));
            }
            part.insert(field.clone(), found.cloned().unwrap_or_default());
        }
        Ok(Value::Object(part).to_string())
    }
}

/// Whether the first part of a path exists: properties of a job may be absent, its document has the
/// same names always.
fn is_optional(document: &Value, field: &str) -> bool {
    field.split_once('.').is_some_and(|(first, _)| document.get(first).is_some())
}

fn unknown(field: &str, document: &Value) -> Failure {
    let mut names: Vec<&str> =
        document.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    names.sort_unstable();
    Failure::refused(format!("--json: there is no field '{field}'; use {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(fields: &[&str], text: &str) -> Result<String> {
        let fields = fields.iter().map(|&field| field.to_owned()).collect();
        Json { fields, lines: false }.part(text)
    }

    #[test]
    fn fields_are_picked_by_their_paths() {
        let text = r#"{"z":1,"name":"a","properties":{"state":"enabled"}}"#;
        assert_eq!(part(&[], text).unwrap(), text);
        assert_eq!(
            part(&["name", "properties.state", "properties.status.next"], text).unwrap(),
            r#"{"name":"a","properties.state":"enabled","properties.status.next":null}"#
        );
        let message = part(&["nme"], text).unwrap_err().message;
        assert_eq!(message, "--json: there is no field 'nme'; use name, properties, z");
    }
}
