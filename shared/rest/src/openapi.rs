//! `GET /openapi.json`: the description of this API.

use axum::http::StatusCode;

use crate::answer::Answer;

/// The description of this API, an `OpenAPI` document.
pub const OPENAPI: &str = include_str!("../openapi.json");

pub(crate) fn get() -> Answer {
    Answer::text(StatusCode::OK, OPENAPI.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use minutehand_domain::document::{CARRIED, COLLECTION, JOB, NESTED, Shape};
    use serde_json::Value;

    use super::*;
    use crate::query::API_VERSIONS;
    use crate::route::{Body, ROUTES, Route};
    use crate::scope::Scope;

    fn description() -> Value {
        serde_json::from_str(OPENAPI).unwrap()
    }

    /// The value that a reference names, or the value itself.
    fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return value;
        };
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        found.unwrap_or_else(|| panic!("{reference} does not exist"))
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
    fn every_reference_has_a_target() {
        let document = description();
        check_references(&document, &document);
    }

    #[test]
    fn described_operations_are_the_routes() {
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

    /// Whether a route refuses tokens that are limited to some collections, for others.
    fn limits_tokens(route: &Route) -> bool {
        let method = route.method.as_str();
        let mut rows = include_str!("../tests/scopes.txt").lines();
        let row = rows.find(|row| {
            let words: Vec<&str> = row.split_whitespace().collect();
            matches!(words[..], [_, _, sent, path] if sent == method && path == route.path)
        });
        row.unwrap_or_else(|| panic!("{route:?}")).split_whitespace().nth(1) != Some("any")
    }

    #[test]
    fn every_operation_describes_its_path_parameters_version_body_and_failures() {
        let document = description();
        for route in &ROUTES {
            let method = route.method.as_str().to_lowercase();
            let operation = &document["paths"][route.path][&method];
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters: Vec<&Value> = parameters.map(|one| resolved(&document, one)).collect();
            let names_in = |location: &str| -> Vec<&str> {
                let there = parameters.iter().filter(|parameter| parameter["in"] == location);
                there.map(|parameter| parameter["name"].as_str().unwrap()).collect()
            };
            let placeholders: Vec<&str> =
                route.path.split('/').filter_map(|part| part.strip_prefix('{')).collect();
            let placeholders: Vec<&str> =
                placeholders.iter().map(|part| part.trim_end_matches('}')).collect();
            assert_eq!(names_in("path"), placeholders, "{route:?}");
            let version = parameters.iter().find(|parameter| parameter["name"] == "api-version");
            let required = version.is_some_and(|version| version["required"] == true);
            assert_eq!(required, route.needs_version(), "{route:?}");
            assert_eq!(operation.get("security").is_some(), route.is_public);
            assert_eq!(operation.get("requestBody").is_some(), route.body != Body::Ignored);
            let failures: &[&str] = if route.is_public {
                &["413"]
            } else {
                &["400", "401", "404", "405", "413", "500", "503"]
            };
            let forbidden = operation["responses"].get("403");
            let may_be_forbidden = route.scope() > Scope::Read || limits_tokens(route);
            assert_eq!(forbidden.is_some(), may_be_forbidden, "{route:?} 403");
            for status in failures {
                assert!(operation["responses"].get(status).is_some(), "{route:?} {status}");
            }
        }
    }

    #[test]
    fn described_versions_are_the_served_versions() {
        let versions = &description()["components"]["parameters"]["ApiVersion"]["schema"]["enum"];
        assert_eq!(*versions, serde_json::json!(API_VERSIONS));
    }

    /// Properties that are accepted and not described: one that clients send because Azure's
    /// specification has it, other spellings, and those that belong to the other kind of Service Bus
    /// message.
    const NOT_DESCRIBED: [&str; 13] = [
        // A failure action has no content of its own: these are refused with a reason.
        "onFailure.request.body",
        "onFailure.queueMessage.message",
        "onFailure.serviceBusQueueMessage.message",
        "onFailure.serviceBusTopicMessage.message",
        "onFailure.sqsMessage.message",
        "onFailure.snsMessage.message",
        "onFailure.lambdaInvocation.payload",
        "onFailure.eventBridgeEvent.detail",
        "authentication.certificateExpirationDate",
        "schedule.hour",
        "schedule.minute",
        "serviceBusQueueMessage.topicPath",
        "serviceBusTopicMessage.queueName",
    ];

    /// Checks that a schema describes every property that a body may have, and no other.
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
            let is_carried = CARRIED.contains(&name.as_str()) || name == NESTED;
            assert!(
                read || is_carried || schema["readOnly"] == true,
                "{path}.{name} is described, but not read"
            );
        }
    }

    #[test]
    fn described_properties_are_those_that_are_read() {
        let document = description();
        let schemas = &document["components"]["schemas"];
        check_properties(&document, &schemas["Job"], JOB, "job");
        check_properties(&document, &schemas["JobCollection"], COLLECTION, "collection");
        for body in ["Job", "JobCollection"] {
            let described = schemas[body]["properties"].as_object().unwrap();
            for name in CARRIED.iter().chain([&NESTED]) {
                assert!(described.contains_key(*name), "{body}.{name} is not described");
            }
        }
    }
}
