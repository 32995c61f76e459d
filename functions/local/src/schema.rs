//! `minutehand schema`: a JSON Schema of the files of `apply`, by which editors complete and check them.
//!
//! It is made of the description of the API, so that it names what the server reads. A file is more
//! than a request in one thing: a reference to a secret stands where a text may, and has to stand where a
//! secret does.

use std::collections::BTreeSet;

use anyhow::Context as _;
use minutehand_rest::OPENAPI;
use serde_json::{Map, Value, json};

/// What the schema describes: the properties of a job, and of a collection.
const JOB: &str = "JobProperties";
const COLLECTION: &str = "JobCollectionProperties";
/// Where the API's description has its schemas, and where this one has them.
const FROM: &str = "#/components/schemas/";
const TO: &str = "#/definitions/";
/// The definition of a reference to a secret.
const REFERENCE: &str = "secretReference";
/// What only the API's description has, and a property that only the server sets.
const DROPPED: [&str; 6] =
    ["example", "nullable", "readOnly", "writeOnly", "format", "discriminator"];
const SERVERS: &str = "status";

/// The schema, in draft 7, which every editor reads.
///
/// # Errors
///
/// If the description of the API has no schema of a job.
pub fn schema() -> anyhow::Result<String> {
    let api: Value = serde_json::from_str(OPENAPI).context("the description of the API")?;
    let schemas = api.pointer("/components/schemas").context("the description has no schemas")?;
    let mut definitions = Map::new();
    let mut waiting = BTreeSet::from([JOB.to_owned(), COLLECTION.to_owned()]);
    // Bounded by the schemas of the description: each is taken once.
    while let Some(name) = waiting.pop_first() {
        let described =
            schemas.get(&name).with_context(|| format!("the description has no {name}"))?;
        definitions.insert(name, converted(described, &mut waiting));
        waiting.retain(|name| !definitions.contains_key(name));
    }
    let reference = |name: &str, description: &str| {
        json!({
            "type": "object", "additionalProperties": false, "required": [name],
            "properties": {name: {"type": "string", "description": description}},
        })
    };
    definitions.insert(
        REFERENCE.to_owned(),
        json!({"anyOf": [
            reference("$env", "The variable of the environment that holds the text."),
            reference("$file", "The file that holds the text, relative to this one."),
        ]}),
    );
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Jobs for `minutehand apply`",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "$schema": {"type": "string", "description": "The schema of this file, for editors."},
            "collection": {
                "type": "string",
                "description": "The collection of the jobs: COLLECTION or SUBSCRIPTION/GROUP/COLLECTION. \
                                Without it, that of the context, else 'default'.",
            },
            "properties": {"$ref": format!("{TO}{COLLECTION}")},
            "jobs": {
                "type": "object",
                "description": "The jobs of the collection, by their names.",
                "additionalProperties": {"allOf": [
                    {"$ref": format!("{TO}{JOB}")},
                    {"required": ["startTime"]},
                ]},
            },
        },
        "definitions": definitions,
    });
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// A property: secrets that sign stand in a list, each as a reference.
fn property(name: &str, schema: &Value, waiting: &mut BTreeSet<String>) -> Value {
    let mut schema = schema.clone();
    if name == "secrets"
        && let Some(Value::Object(items)) = schema.get_mut("items")
    {
        items.insert("writeOnly".to_owned(), true.into());
    }
    converted(&schema, waiting)
}

/// A schema of the API as one of a file. Adds the schemas that it names to those that are waiting.
fn converted(schema: &Value, waiting: &mut BTreeSet<String>) -> Value {
    let object = match schema {
        Value::Object(object) => object,
        Value::Array(items) => return items.iter().map(|item| converted(item, waiting)).collect(),
        other => return other.clone(),
    };
    if let Some(name) = object.get("$ref").and_then(|it| it.as_str()?.strip_prefix(FROM)) {
        waiting.insert(name.to_owned());
        return json!({"$ref": format!("{TO}{name}")});
    }
    let mut made = Map::new();
    for (name, value) in object {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let kept = properties.iter().filter(|(name, value)| {
                    *name != SERVERS && value.get("readOnly") != Some(&Value::Bool(true))
                });
                let kept = kept.map(|(name, value)| (name.clone(), property(name, value, waiting)));
                made.insert(name.clone(), Value::Object(kept.collect()));
            }
            (dropped, _) if DROPPED.contains(&dropped) => {}
            _ => drop(made.insert(name.clone(), converted(value, waiting))),
        }
    }
    let is = |name: &str| object.get(name) == Some(&Value::Bool(true));
    let mut choices = vec![Value::Object(made.clone())];
    if object.get("type") == Some(&"string".into()) && !object.contains_key("enum") {
        choices.push(json!({"$ref": format!("{TO}{REFERENCE}")}));
    }
    if is("writeOnly") {
        // A secret itself is refused; the word for a stored one is not.
        choices = vec![json!({"$ref": format!("{TO}{REFERENCE}")}), json!({"const": "(withheld)"})];
    }
    if is("nullable") {
        choices.push(json!({"type": "null"}));
    }
    if choices.len() == 1 {
        return made.into();
    }
    let mut choice = Map::from_iter([("anyOf".to_owned(), Value::Array(choices))]);
    // Editors show what stands beside the choice.
    choice.extend(made.get("description").map(|it| ("description".to_owned(), it.clone())));
    choice.into()
}

#[cfg(test)]
mod tests {
    use minutehand_domain::document::canonical_names;
    use minutehand_domain::document::{COLLECTION as COLLECTION_NAMES, JOB as JOB_NAMES};

    use super::*;

    fn made() -> Value {
        serde_json::from_str(&schema().unwrap()).unwrap()
    }

    /// The properties of a definition, and of those below it, each with a path.
    fn paths(schema: &Value, at: &Value, path: &str, depth: usize, found: &mut BTreeSet<String>) {
        if depth == 0 {
            return;
        }
        if let Some(name) = at["$ref"].as_str().and_then(|it| it.strip_prefix(TO)) {
            return paths(schema, &schema["definitions"][name], path, depth - 1, found);
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            for one in at[choice].as_array().into_iter().flatten() {
                paths(schema, one, path, depth - 1, found);
            }
        }
        for (name, below) in at["properties"].as_object().into_iter().flatten() {
            if !name.starts_with('$') {
                let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                paths(schema, below, &here, depth - 1, found);
                found.insert(here);
            }
        }
    }

    /// An object with a value at a path.
    fn with(path: &str) -> Value {
        let inner = path.rsplit('.').fold(Value::Null, |inner, name| json!({name: inner}));
        json!({"properties": inner})
    }

    #[test]
    fn every_property_of_the_schema_is_one_that_the_server_reads() {
        let schema = made();
        for (name, names, least) in [(JOB, JOB_NAMES, 60), (COLLECTION, COLLECTION_NAMES, 20)] {
            let mut found = BTreeSet::new();
            paths(&schema, &json!({"$ref": format!("{TO}{name}")}), "", 20, &mut found);
            assert!(found.len() >= least, "{name}: {found:?}");
            for path in found {
                let read = canonical_names(with(&path), names);
                assert_eq!(read, Ok(with(&path)), "{path}");
            }
        }
    }

    #[test]
    fn secrets_are_references_and_texts_may_be() {
        let schema = made();
        let at = |path: &str| schema.pointer(path).unwrap_or_else(|| panic!("{path}")).clone();
        let reference = json!({"$ref": "#/definitions/secretReference"});
        let password = at("/definitions/BasicAuthentication/properties/password/anyOf");
        assert_eq!(password, json!([reference, {"const": "(withheld)"}]));
        assert_eq!(at("/definitions/HttpRequest/properties/uri/anyOf/1"), reference);
        assert_eq!(at("/definitions/JobProperties/properties/startTime/anyOf/0/type"), "string");
        assert_eq!(schema.pointer("/definitions/JobProperties/properties/status"), None);
        assert_eq!(schema.pointer("/definitions/JobStatus"), None);
        assert!(
            at("/definitions/Signing/anyOf").as_array().unwrap().contains(&json!({"type": "null"}))
        );
    }
}
