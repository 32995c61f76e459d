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
    let answer = alert("POST", "/test").json();
    assert_eq!((&answer["arrived"], &answer["cause"]), (&json!(false), &Value::Null));
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("No worker has said within 20 seconds"), "{message}");
}

#[test]
fn other_trouble_is_told_if_it_can_have_an_effect() {
    let api = Api::new();
    let on_failure = |more: Value| alerting(&more);
    for (more, problem) in [
        (json!({"alsoTell": {}}), "'minutehand.onFailure.alsoTell' has no effect"),
        (json!({"alsoTell": {"missed": false}}), "'minutehand.onFailure.alsoTell' has no effect"),
        (
            json!({"alsoTell": {"paused": true}}),
            "'minutehand.onFailure.alsoTell.paused' has no effect here, because each failure is told",
        ),
        (
            json!({"alsoTell": {"behind": "PT5M"}}),
            "'minutehand.onFailure.alsoTell.behind' has no effect, because the job collection has no limit",
        ),
        (
            json!({"alsoTell": {"late": "PT59S"}}),
            "'minutehand.onFailure.alsoTell.late' is 00:00:59; use 00:01:00 to 7.00:00:00.",
        ),
        (
            json!({"alsoTell": {"lat": "PT5M"}}),
            "'minutehand.onFailure.alsoTell.lat' is not a property; did you mean 'late'?",
        ),
    ] {
        let refused = api.put("/C1", &on_failure(more));
        assert!(
            refused.status.as_u16() == 400 && refused.body.contains(problem),
            "{}",
            refused.body
        );
    }
    let also = json!({"paused": true, "missed": true, "late": "PT5M", "behind": "PT10M"});
    let mut document: Value =
        serde_json::from_str(&on_failure(json!({"after": 2, "alsoTell": also}))).unwrap();
    document["properties"]["minutehand"]["maxConcurrent"] = json!(2);
    let put = api.put("/C1", &document.to_string());
    assert!(put.status.is_success(), "{}", put.body);
    let shown = &put.json()["properties"]["minutehand"]["onFailure"]["alsoTell"];
    let expected =
        json!({"paused": true, "missed": true, "late": "00:05:00", "behind": "00:10:00"});
    assert_eq!(*shown, expected);
    let without = json!({"properties": {"minutehand": {"maxConcurrent": null}}});
    let refused = api.ask("PATCH", "/C1", &without.to_string());
    assert!(refused.body.contains("alsoTell.behind"), "{}", refused.body);
}
