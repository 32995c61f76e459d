//! Alerts of a collection: its failure action in the format of a receiver, and a test of it.

use serde_json::{Value, json};

use crate::support::{Api, JOB};

const ALERT: &str = "/minutehand/v1/subscriptions/s1/resourceGroups/rg/jobCollections/C1/alert";
const RECEIVER: &str = "https://hooks.slack.test/services/T0/B0/hunter2";

fn alerting(more: &Value) -> String {
    let mut action = json!({"type": "Https", "format": "slack", "request": {"uri": RECEIVER}});
    for (name, value) in more.as_object().into_iter().flatten() {
        action[name] = value.clone();
    }
    json!({"location": "West US", "properties": {"minutehand": {"onFailure": action}}}).to_string()
}

#[test]
fn the_url_of_a_receiver_is_in_no_answer_and_stays_when_it_is_sent_back() {
    let api = Api::new();
    let put = api.put("/C1", &alerting(&json!({"after": 2})));
    assert!(put.status.is_success(), "{}", put.body);
    let shown = put.json()["properties"]["minutehand"]["onFailure"].clone();
    assert_eq!(
        shown,
        json!({"request": {"uri": "(withheld)", "method": "POST"}, "type": "Https",
            "format": "slack", "after": 2})
    );
    let back = json!({"properties": {"minutehand": {"onFailure": shown}}});
    let every = json!({"properties": {"minutehand": {"onFailure": {"every": "PT1H"}}}});
    for (method, path, body) in [
        ("PUT", "/C1", merged(json!({"location": "West US"}), &back)),
        ("PATCH", "/C1", back),
        ("PATCH", "/C1", every),
        ("GET", "/C1", json!({})),
        ("GET", "", json!({})),
    ] {
        let answer = api.ask(method, path, &body.to_string());
        assert!(answer.status.is_success() && !answer.body.contains("hunter2"), "{}", answer.body);
    }
    let shown = api.get("/C1").json();
    let on_failure = &shown["properties"]["minutehand"]["onFailure"];
    assert_eq!((&on_failure["after"], &on_failure["every"]), (&json!(2), &json!("01:00:00")));
    let journal = api.send("GET", &ALERT.replace("/alert", "/journal"), &[], "");
    assert!(
        journal.body.contains("slack") && !journal.body.contains("hunter2"),
        "{}",
        journal.body
    );
    let without = json!({"properties": {"minutehand": {"onFailure": {"format": null}}}});
    api.ask("PATCH", "/C1", &without.to_string()).fails(
        400,
        "BadRequest",
        "'minutehand.onFailure.request.uri' is not shown, because it was given with 'format'; send it \
         again to remove 'format'.",
    );
}

fn merged(mut one: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().into_iter().flatten() {
        one[name] = value.clone();
    }
    one
}

#[test]
fn a_test_needs_a_failure_action_and_a_way_out() {
    let api = Api::with_collection();
    let alert = |method, path: &str| api.send(method, &format!("{ALERT}{path}"), &[], "");
    assert_eq!(alert("GET", "").json(), json!({"isSet": false, "trouble": null}));
    alert("POST", "/test").fails(
        409,
        "NoFailureAction",
        "The job collection 'C1' has no 'onFailure' that could send an alert. Set \
         'properties.minutehand.onFailure' first.",
    );
    assert!(api.put("/C1", &alerting(&json!({}))).status.is_success());
    assert_eq!(alert("GET", "").json(), json!({"isSet": true, "trouble": null}));
    let of_job = ALERT.replace("/alert", "/jobs/J1/alert");
    api.send("GET", &of_job, &[], "").fails(404, "NotFound", "Job 'J1' cannot be found.");
    assert!(api.put("/C1/jobs/J1", JOB).status.is_success());
    let nothing = json!({"isSet": true, "state": null});
    assert_eq!(api.send("GET", &of_job, &[], "").json(), nothing);
    alert("POST", "/test").fails(
        409,
        "NotOnThisInstallation",
        "On AWS the API may not call what jobs call, so it cannot send a test alert. Run a job that \
         fails instead; its history shows the alert.",
    );
}
