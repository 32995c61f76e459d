//! The names of properties, and where they stand.

use serde_json::{Map, Value};

use crate::action::MAIN_ACTION;
use crate::json::Shape;
use crate::json::Shape::{Free, Leaf, Object, Whole};

/// The body of a request for a job.
pub const JOB: Shape = Object(&[
    ("id", Leaf),
    ("type", Leaf),
    ("name", Leaf),
    (
        "properties",
        Object(&[
            ("startTime", Leaf),
            ("action", MAIN_ACTION),
            (
                "recurrence",
                Object(&[
                    ("frequency", Leaf),
                    ("count", Leaf),
                    ("endTime", Leaf),
                    ("interval", Leaf),
                    ("schedule", Whole(&[])),
                    ("timeZone", Leaf),
                ]),
            ),
            ("state", Leaf),
            ("status", Leaf),
        ]),
    ),
]);

/// The body of a request for a collection.
pub const COLLECTION: Shape = Object(&[
    ("id", Leaf),
    ("type", Leaf),
    ("name", Leaf),
    ("location", Leaf),
    ("tags", Free),
    (
        "properties",
        Object(&[
            ("sku", Object(&[("name", Leaf)])),
            ("state", Leaf),
            (
                "quota",
                Object(&[
                    ("maxJobCount", Leaf),
                    ("maxJobOccurrence", Leaf),
                    ("maxRecurrence", Object(&[("frequency", Leaf), ("interval", Leaf)])),
                ]),
            ),
        ]),
    ),
]);

/// The document with every known property name in its canonical case.
///
/// If a property appears twice in different cases, the last one counts, as it does for a property
/// that appears twice in the same case.
#[must_use]
pub fn canonical_names(document: Value, shape: Shape) -> Value {
    let Value::Object(map) = document else {
        return document;
    };
    let mut canonical = Map::new();
    for (name, value) in map {
        match shape.canonical(&name) {
            Some(known) => {
                let value = canonical_names(value, shape.property(known));
                canonical.insert(known.to_owned(), value);
            }
            None => {
                canonical.insert(name, value);
            }
        }
    }
    Value::Object(canonical)
}
