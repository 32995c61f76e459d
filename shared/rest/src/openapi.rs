//! The description of this API, as it is committed and served.

/// `openapi.json`.
pub const OPENAPI: &str = include_str!("../openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::document::{COLLECTION, JOB, Shape};
    use serde_json::Value;

    use super::*;
    use crate::query::API_VERSIONS;
    use crate::route::ROUTES;

    fn description() -> Value {
        serde_json::from_str(OPENAPI).unwrap()
    }

    /// The value that a reference leads to, or the value itself.
    fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return value;
        };
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        found.unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn check_references(document: &Value, value: &Value) {
        resolved(document, value);
        let inner: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Object(object) => Box::new(object.values()),
            Value::Array(array) => Box::new(array.iter()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
        };
        inner.for_each(|value| check_references(document, value));
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = description();
        check_references(&document, &document);
    }

    #[test]
    fn what_is_described_is_what_is_served() {
        let document = description();
        let described: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(move |method| (path.clone(), method.to_uppercase()))
            })
            .collect();
        let served: BTreeSet<(String, String)> =
            ROUTES.iter().map(|route| (route.path.to_owned(), route.method.to_string())).collect();
        assert_eq!(described, served);
    }

    #[test]
    fn every_route_describes_what_stands_in_its_path_its_version_and_its_failures() {
        let document = description();
        for route in &ROUTES {
            let method = route.method.as_str().to_lowercase();
            let operation = &document["paths"][route.path][&method];
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters: Vec<&Value> = parameters.map(|one| resolved(&document, one)).collect();
            let named = |place: &str| -> Vec<&str> {
                let there = parameters.iter().filter(|parameter| parameter["in"] == place);
                there.map(|parameter| parameter["name"].as_str().unwrap()).collect()
            };
            let open: Vec<&str> =
                route.path.split('/').filter_map(|part| part.strip_prefix('{')).collect();
            let open: Vec<&str> = open.iter().map(|part| part.trim_end_matches('}')).collect();
            assert_eq!(named("path"), open, "{route:?}");
            let version = parameters.iter().find(|parameter| parameter["name"] == "api-version");
            let required = version.is_some_and(|version| version["required"] == true);
            assert_eq!(required, route.operation.is_versioned(), "{route:?}");
            assert_eq!(operation.get("security").is_some(), route.operation.is_public());
            assert_eq!(operation.get("requestBody").is_some(), route.operation.has_body());
            let failures: &[&str] = if route.operation.is_public() {
                &["413"]
            } else {
                &["400", "401", "404", "405", "413", "500", "503"]
            };
            for status in failures {
                assert!(operation["responses"].get(status).is_some(), "{route:?} {status}");
            }
        }
    }

    #[test]
    fn the_versions_are_those_that_are_served() {
        let versions = &description()["components"]["parameters"]["ApiVersion"]["schema"]["enum"];
        assert_eq!(*versions, serde_json::json!(API_VERSIONS));
    }

    /// Names that are known and not described: what clients that believe the original's
    /// specification send back, and what belongs to the sibling of a payload.
    const NOT_DESCRIBED: [&str; 3] = [
        "authentication.certificateExpirationDate",
        "serviceBusQueueMessage.topicPath",
        "serviceBusTopicMessage.queueName",
    ];

    /// Checks that a schema names every property that a body may have, and no other.
    fn check_properties(document: &Value, schema: &Value, shape: Shape, path: &str) {
        let (Shape::Object(known) | Shape::Whole(known)) = shape else {
            return;
        };
        let schema = schema.pointer("/allOf/0").unwrap_or(schema);
        let schema = resolved(document, schema);
        let variants = match schema.get("properties") {
            Some(_) => vec![schema],
            None => schema["oneOf"].as_array().unwrap().iter().collect(),
        };
        let variants = variants.into_iter().map(|variant| resolved(document, variant));
        let properties: Vec<(&String, &Value)> =
            variants.flat_map(|one| one["properties"].as_object().unwrap()).collect();
        for (name, inner) in known {
            let path = format!("{path}.{name}");
            if NOT_DESCRIBED.iter().any(|known| path.ends_with(known)) {
                continue;
            }
            let described = properties.iter().find(|(described, _)| described == name);
            let (_, schema) = described.unwrap_or_else(|| panic!("{path} is not described"));
            check_properties(document, schema, *inner, &path);
        }
        for (name, schema) in properties {
            let read = known.is_empty() || known.iter().any(|(known, _)| known == name);
            assert!(read || schema["readOnly"] == true, "{path}.{name} is described, and not read");
        }
    }

    #[test]
    fn every_property_that_is_read_is_described_and_no_other() {
        let document = description();
        let schemas = &document["components"]["schemas"];
        check_properties(&document, &schemas["Job"], JOB, "job");
        check_properties(&document, &schemas["JobCollection"], COLLECTION, "collection");
    }
}
