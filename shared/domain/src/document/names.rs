//! The names of properties, and where they stand.

use serde_json::{Map, Value};

/// What a value may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No names of ours.
    Leaf,
    /// Names that the user chooses.
    Free,
    /// These properties.
    Object(&'static [(&'static str, Shape)]),
    /// These properties, and it is replaced whole by a PATCH.
    Whole(&'static [(&'static str, Shape)]),
}

use Shape::{Free, Leaf, Object, Whole};

/// The body of a request for a job.
pub const JOB: Shape = Object(&[
    ("id", Leaf),
    ("type", Leaf),
    ("name", Leaf),
    (
        "properties",
        Object(&[
            ("startTime", Leaf),
            ("action", Object(MAIN_ACTION)),
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

const MAIN_ACTION: &[(&str, Shape)] = &[
    ("request", REQUEST),
    ("queueMessage", QUEUE_MESSAGE),
    ("serviceBusQueueMessage", SERVICE_BUS_MESSAGE),
    ("serviceBusTopicMessage", SERVICE_BUS_MESSAGE),
    ("sqsMessage", SQS_MESSAGE),
    ("snsMessage", SNS_MESSAGE),
    ("lambdaInvocation", LAMBDA_INVOCATION),
    ("eventBridgeEvent", EVENT_BRIDGE_EVENT),
    ("type", Leaf),
    ("retryPolicy", RETRY_POLICY),
    (
        "errorAction",
        Object(&[
            ("request", REQUEST),
            ("queueMessage", QUEUE_MESSAGE),
            ("serviceBusQueueMessage", SERVICE_BUS_MESSAGE),
            ("serviceBusTopicMessage", SERVICE_BUS_MESSAGE),
            ("sqsMessage", SQS_MESSAGE),
            ("snsMessage", SNS_MESSAGE),
            ("lambdaInvocation", LAMBDA_INVOCATION),
            ("eventBridgeEvent", EVENT_BRIDGE_EVENT),
            ("type", Leaf),
            ("retryPolicy", RETRY_POLICY),
        ]),
    ),
];

const RETRY_POLICY: Shape =
    Object(&[("retryType", Leaf), ("retryInterval", Leaf), ("retryCount", Leaf)]);

const REQUEST: Shape = Object(&[
    ("uri", Leaf),
    ("method", Leaf),
    ("headers", Free),
    ("body", Leaf),
    (
        "authentication",
        Object(&[
            ("username", Leaf),
            ("password", Leaf),
            ("pfx", Leaf),
            ("certificateThumbprint", Leaf),
            ("certificateExpiration", Leaf),
            ("certificateExpirationDate", Leaf),
            ("certificateSubjectName", Leaf),
            ("tenant", Leaf),
            ("audience", Leaf),
            ("clientId", Leaf),
            ("secret", Leaf),
            ("type", Leaf),
        ]),
    ),
]);

const QUEUE_MESSAGE: Shape = Object(&[
    ("storageAccount", Leaf),
    ("queueName", Leaf),
    ("sasToken", Leaf),
    ("message", Leaf),
    ("messageFormat", Leaf),
]);

const SERVICE_BUS_MESSAGE: Shape = Object(&[
    ("queueName", Leaf),
    ("topicPath", Leaf),
    ("namespace", Leaf),
    ("transportType", Leaf),
    ("authentication", Object(&[("sasKeyName", Leaf), ("sasKey", Leaf), ("type", Leaf)])),
    ("message", Leaf),
    ("messageFormat", Leaf),
    (
        "brokeredMessageProperties",
        Object(&[
            ("contentType", Leaf),
            ("correlationId", Leaf),
            ("forcePersistence", Leaf),
            ("label", Leaf),
            ("messageId", Leaf),
            ("partitionKey", Leaf),
            ("replyTo", Leaf),
            ("replyToSessionId", Leaf),
            ("scheduledEnqueueTimeUtc", Leaf),
            ("sessionId", Leaf),
            ("timeToLive", Leaf),
            ("to", Leaf),
            ("viaPartitionKey", Leaf),
        ]),
    ),
    ("customMessageProperties", Free),
]);

const SQS_MESSAGE: Shape = Object(&[
    ("queueUrl", Leaf),
    ("message", Leaf),
    ("messageAttributes", Free),
    ("messageGroupId", Leaf),
]);

const SNS_MESSAGE: Shape = Object(&[
    ("topicArn", Leaf),
    ("message", Leaf),
    ("subject", Leaf),
    ("messageAttributes", Free),
    ("messageGroupId", Leaf),
]);

const LAMBDA_INVOCATION: Shape = Object(&[("functionName", Leaf), ("payload", Leaf)]);

const EVENT_BRIDGE_EVENT: Shape = Object(&[
    ("eventBusName", Leaf),
    ("source", Leaf),
    ("detailType", Leaf),
    ("detail", Leaf),
    ("resources", Leaf),
]);

impl Shape {
    /// The shape of a property of its, by its canonical name.
    pub(crate) fn property(&self, name: &str) -> Shape {
        match self {
            Leaf | Free => Leaf,
            Object(properties) | Whole(properties) => {
                let known = properties.iter().find(|(known, _)| *known == name);
                known.map_or(Leaf, |(_, shape)| *shape)
            }
        }
    }

    fn canonical(&self, name: &str) -> Option<&'static str> {
        match self {
            Leaf | Free => None,
            Object(properties) | Whole(properties) => {
                let mut names = properties.iter().map(|(known, _)| *known);
                names.find(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The document with every known property name in its canonical case.
///
/// Where a property stands twice in different cases, the last one counts, as where it stands twice
/// in the same.
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
