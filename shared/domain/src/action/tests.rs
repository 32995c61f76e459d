use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::json::Reading;
use crate::plan::Plan;

/// A payload for each type, and for `Http` one for each way to authenticate.
fn examples() -> Vec<Value> {
    let request = |authentication: Value| {
        json!({"type": "Http", "request":
            {"uri": "http://Example.org:8080/x", "method": "GET", "authentication": authentication}})
    };
    let bus = |type_name: &str, property: &str, entity: &str| {
        json!({"type": type_name, property: {"namespace": "ns", entity: "e", "message": "m",
            "authentication": {"type": "sharedAccessKey", "sasKeyName": "n", "sasKey": "k"}}})
    };
    vec![
        request(Value::Null),
        request(json!({"type": "Basic", "username": "u", "password": "p"})),
        request(json!({"type": "ClientCertificate", "pfx": "MIIK", "password": "p"})),
        request(json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a",
            "clientId": "c", "secret": "s"})),
        json!({"type": "Https", "request": {"uri": "https://example.org/x", "method": "GET"}}),
        json!({"type": "StorageQueue", "queueMessage":
            {"storageAccount": "acc", "queueName": "q-1", "sasToken": "s", "message": "m"}}),
        bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName"),
        bus("ServiceBusTopic", "serviceBusTopicMessage", "topicPath"),
        json!({"type": "Sqs", "sqsMessage":
            {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/1/q", "message": "m"}}),
        json!({"type": "Sns", "snsMessage":
            {"topicArn": "arn:aws:sns:eu-west-1:1:t", "message": "m"}}),
        json!({"type": "Lambda", "lambdaInvocation": {"functionName": "f"}}),
        json!({"type": "EventBridge", "eventBridgeEvent":
            {"source": "s", "detailType": "t", "detail": "{}"}}),
        json!({"type": "Expect", "expect": {"early": "PT1M", "grace": "PT2M"}}),
    ]
}

fn read(action: &Value) -> Target {
    let reading = Reading::Request(Plan::Standard);
    Action::read(&Fields::new("action", action, reading).unwrap()).unwrap().target
}

/// The JSON pointers of all strings in a document.
fn pointers(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, value)| pointers(value, &format!("{path}/{name}")))
            .collect(),
        _ => vec![path.to_owned()],
    }
}

#[test]
fn every_type_has_an_example() {
    let examples: BTreeSet<&str> =
        examples().iter().map(read).map(|target| target.type_name()).collect();
    assert_eq!(examples, Target::TYPES.iter().copied().collect());
}

#[test]
fn every_secret_is_bound_to_a_destination() {
    for action in examples() {
        let target = read(&action);
        let sealed = target.write().split().secrets;
        let sealed = sealed.map(|secrets| serde_json::from_str::<Value>(secrets.expose()).unwrap());
        let sealed: BTreeSet<String> =
            sealed.iter().flat_map(|secrets| pointers(secrets, "")).collect();
        let document = Value::Object(target.write().answer(crate::json::Durations::TimeSpan));
        let place = Target::place(target.property(), &document).unwrap_or_default();
        let known = Target::secrets(target.property()).iter().map(|&secret| secret.to_owned());
        let bound: BTreeSet<String> = known.filter(|secret| sealed.contains(secret)).collect();
        assert_eq!(sealed, bound, "{action}");
        assert!(bound.is_empty() || !place.is_empty(), "{action}");
    }
}

#[test]
fn every_property_that_is_written_has_a_canonical_name() {
    for action in examples() {
        let target = read(&action);
        let written = target.write();
        let shape = MAIN_ACTION.property(target.property());
        for name in written.answer(crate::json::Durations::TimeSpan).keys() {
            assert_eq!(shape.canonical(&name.to_uppercase()), Some(name.as_str()), "{action}");
        }
        let error_action = MAIN_ACTION.property("errorAction");
        assert_eq!(error_action.property(target.property()), shape, "{action}");
    }
}

#[test]
fn a_failure_names_the_type_and_the_place_in_the_words_that_clients_know() {
    let failures: Vec<String> =
        examples().iter().map(|one| read(one).failure("Timeout", "It took too long.")).collect();
    let http = "Http Action - Request to host 'example.org' failed: Timeout It took too long.";
    let expected = [
        http,
        http,
        http,
        http,
        http,
        "StorageQueue Action - Message to queue 'q-1' of storage account 'acc' failed: Timeout It took too long.",
        "ServiceBusQueue Action - Failed: message to 'e' in namespace 'ns' failed: Timeout It took too long.",
        "ServiceBusTopic Action - Failed: message to 'e' in namespace 'ns' failed: Timeout It took too long.",
        "Sqs Action - Message to queue 'https://sqs.eu-west-1.amazonaws.com/1/q' failed: Timeout It took too long.",
        "Sns Action - Message to topic 'arn:aws:sns:eu-west-1:1:t' failed: Timeout It took too long.",
        "Lambda Action - Invocation of 'f' failed: Timeout It took too long.",
        "EventBridge Action - Event to bus 'default' failed: Timeout It took too long.",
        "Expect Action - Waiting for a ping failed: Timeout It took too long.",
    ];
    assert_eq!(failures, expected);
}

#[test]
fn attempts_are_counted_by_the_server_that_they_reach() {
    let origins: Vec<String> = examples().iter().map(|action| read(action).origin()).collect();
    assert_eq!(
        origins,
        [
            "request http://example.org:8080",
            "request http://example.org:8080",
            "request http://example.org:8080",
            "request http://example.org:8080",
            "request https://example.org",
            "queueMessage acc",
            "serviceBusQueueMessage ns",
            "serviceBusTopicMessage ns",
            "sqsMessage ",
            "snsMessage ",
            "lambdaInvocation ",
            "eventBridgeEvent ",
            "expect ",
        ]
    );
}
