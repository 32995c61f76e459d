//! `JobCollections_CreateOrUpdate`.

use crate::support::{Api, Trouble};

/// From a recording of Azure.
const SENT: &str = r#"{"name":"jc13202","location":"South Central US","tags":{"department":"marketing"},"properties":{"sku":{"name":"Standard"},"state":"Suspended","quota":{"maxJobCount":20,"maxRecurrence":{"frequency":"Week","interval":1}}}}"#;
const ANSWERED: &str = concat!(
    r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/jc13202","#,
    r#""type":"Microsoft.Scheduler/jobCollections","name":"jc13202","location":"South Central US","#,
    r#""tags":{"department":"marketing"},"properties":{"sku":{"name":"Standard"},"state":"Suspended","#,
    r#""quota":{"maxJobCount":20,"maxRecurrence":{"frequency":"week","interval":1}}}}"#,
);

#[test]
fn creating_and_replacing_have_the_same_answer() {
    let api = Api::new();
    api.put("/jc13202", SENT).is(201, ANSWERED);
    api.put("/JC13202", SENT).is(201, ANSWERED);
}

#[test]
fn missing_properties_get_their_defaults() {
    Api::new().put("/c", r#"{"location":"westus"}"#).is(
        201,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/c","#,
            r#""type":"Microsoft.Scheduler/jobCollections","name":"c","location":"West US","#,
            r#""properties":{"sku":{"name":"Standard"},"state":"Enabled"}}"#,
        ),
    );
}

#[test]
fn a_body_that_is_not_a_json_object_is_refused() {
    let api = Api::new();
    let fails = |body: &str, message: &str| {
        api.put("/c", body).fails(400, "InvalidRequestContent", message);
    };
    fails("", "The body is empty; send a JSON object.");
    fails(" \r\n", "The body is empty; send a JSON object.");
    fails("[1]", "The body is valid JSON, but not an object; send '{…}'.");
    fails("null", "The body is valid JSON, but not an object; send '{…}'.");
    fails(
        "{\n  \"location\": \"West US\",\n}",
        "The body is not valid JSON: trailing comma at line 3 column 1.",
    );
    fails("{} // a comment", "The body is not valid JSON: trailing characters at line 1 column 4.");
    fails("{\"sku\":'x'}", "The body is not valid JSON: expected value at line 1 column 8.");
    fails("{\"n\":1e999}", "The body is not valid JSON: number out of range at line 1 column 10.");
    fails(
        &"[".repeat(60_000),
        "The body is not valid JSON: recursion limit exceeded at line 1 column 128.",
    );
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let api = Api::new();
    let body = |length: usize| format!("{{{}}}", " ".repeat(length - 2));
    assert_eq!(api.put("/c", &body(65_536)).status.as_u16(), 201);
    let message = "The body is longer than 65536 bytes.";
    api.put("/c", &body(65_537)).fails(413, "RequestEntityTooLarge", message);
}

#[test]
fn invalid_values_are_bad_requests_and_concurrent_changes_are_conflicts() {
    let api = Api::with_collection();
    let answer = api.put("/C1", r#"{"properties":{"state":"Deleted"}}"#);
    assert_eq!(answer.status.as_u16(), 400, "{}", answer.body);
    assert_eq!(answer.json()["error"]["code"], "BadRequest");
    let answer = api.put("/C1", r#"{"location":"East US"}"#);
    assert_eq!(answer.status.as_u16(), 409, "{}", answer.body);
    assert_eq!(answer.json()["error"]["code"], "LocationChanged");
    api.troubles.set(Trouble::Stale);
    api.put("/C1", "{}").fails(
        409,
        "Conflict",
        "Job collection 'C1' is being modified concurrently. Try again.",
    );
}
