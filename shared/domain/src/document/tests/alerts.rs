//! Failure actions with a format and rules: what is accepted, sealed and sent.

use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};

use super::super::*;
use super::test_event;
use crate::action::Target;
use crate::alert::{AlertFormat, AlertUse};
use crate::attempt::{Attempt, Occurrence, Outcome, Record};
use crate::cause::Cause;
use crate::collection::CollectionDefinition;
use crate::failure_event::{FailureEvent, Told};
use crate::incident::Incident;
use crate::refusal::Refusal;
use crate::secret::Secret;

const SLACK: &str = "https://hooks.slack.test/services/T0/B0/hunter2";

fn alerting(action: &Value) -> Result<CollectionDefinition, Refusal> {
    let body = json!({"properties": {"minutehand": {"onFailure": action}}});
    accept_collection(&canonical_names(body, COLLECTION)?)
}

fn slack() -> Value {
    json!({"type": "Https", "format": "slack", "request": {"uri": SLACK}})
}

/// A collection as the application service reads it, with its secrets.
fn whole(collection: &CollectionDefinition) -> Value {
    let secrets = collection_secrets(collection).unwrap();
    let secrets = serde_json::from_str(secrets.expose()).unwrap();
    merge_patch(write_collection(collection), secrets, Shape::Leaf)
}

#[test]
fn the_url_of_a_receiver_is_sealed_whole() {
    let collection = alerting(&slack()).unwrap();
    let shown = write_collection(&collection);
    assert_eq!(
        shown.pointer("/properties/minutehand/onFailure").unwrap().to_string(),
        r#"{"request":{"uri":"(withheld)","method":"POST"},"type":"Https","format":"slack"}"#
    );
    assert!(collection_secrets(&collection).unwrap().expose().contains(SLACK));
    assert!(!format!("{collection:?}").contains("hunter2"));
    let without = load_collection_shown(&shown).unwrap();
    assert_eq!(write_collection(&without), shown);
    assert_eq!(collection_secrets(&without), None);
    assert_eq!(load_collection(&whole(&collection)).unwrap(), collection);
    // Also of an event, if a format is given; without one it stays as it is.
    let mut event = slack();
    event["format"] = "CloudEvents".into();
    event["request"]["method"] = "PUT".into();
    assert!(!write_collection(&alerting(&event).unwrap()).to_string().contains("hunter2"));
    event.as_object_mut().unwrap().remove("format");
    assert!(write_collection(&alerting(&event).unwrap()).to_string().contains("hunter2"));
}

#[test]
fn a_sealed_url_is_kept_with_the_format_and_not_shown_without_it() {
    let plain = whole(&alerting(&slack()).unwrap());
    let mut stored = slack();
    stored["request"]["headers"] = json!({"Authorization": "Bearer t0ken"});
    let stored = whole(&alerting(&stored).unwrap());
    let patched_of = |stored: &Value, on_failure: Value| {
        let patch = json!({"properties": {"minutehand": {"onFailure": on_failure}}});
        let mut merged = stored.clone();
        withhold(&mut merged["properties"]);
        let mut merged = merge_patch(merged, patch, COLLECTION);
        keep_withheld(&mut merged["properties"], Some(&stored["properties"]))?;
        accept_collection(&merged).map(|collection| whole(&collection))
    };
    let patched = |on_failure: Value| patched_of(&stored, on_failure);
    let request = |patched: Value| {
        patched.pointer("/properties/minutehand/onFailure/request").unwrap().clone()
    };
    let kept = request(patched(json!({"after": 3, "format": "teams"})).unwrap());
    assert_eq!(kept["uri"], SLACK);
    assert_eq!(kept["headers"]["Authorization"], "Bearer t0ken");
    let path = "'minutehand.onFailure.request.uri'";
    assert_eq!(
        patched_of(&plain, json!({"format": null})).unwrap_err().message,
        format!(
            "{path} is not shown, because it was given with 'format'; send it again to remove 'format'."
        )
    );
    let elsewhere = json!({"request": {"uri": "https://evil.test/x"}});
    assert_eq!(
        patched(elsewhere).unwrap_err().message,
        "'minutehand.onFailure.request.headers.Authorization' was given for another host. Send it \
         again with this change."
    );
    let mut new = json!({"minutehand": {"onFailure": slack()}});
    withhold(&mut new);
    assert!(has_withheld(&new));
    assert_eq!(
        keep_withheld(&mut new, None).unwrap_err().message,
        format!("{path} is '(withheld)', but there is no stored value to keep. Send the value.")
    );
}

#[test]
fn an_event_in_a_query_with_a_key_becomes_an_alert() {
    let plain = json!({"type": "Https", "request": {"uri": "https://h.test/x?key=hunter2", "method": "POST"}});
    let stored = whole(&alerting(&plain).unwrap());
    let mut merged = stored.clone();
    withhold(&mut merged["properties"]);
    let patch = json!({"properties": {"minutehand": {"onFailure": {"format": "discord"}}}});
    let mut merged = merge_patch(merged, patch, COLLECTION);
    keep_withheld(&mut merged["properties"], Some(&stored["properties"])).unwrap();
    assert_eq!(
        merged.pointer("/properties/minutehand/onFailure/request/uri").unwrap(),
        "https://h.test/x?key=hunter2"
    );
}

#[test]
fn what_a_receiver_cannot_have_is_refused_without_its_url() {
    let with = |changes: Value| {
        let mut action = slack();
        for (name, value) in changes.as_object().unwrap() {
            action[name] = value.clone();
        }
        alerting(&action).unwrap_err().message
    };
    let uri = "'minutehand.onFailure.request.uri'";
    for (changes, expected) in [
        (
            json!({"format": "slak"}),
            "'minutehand.onFailure.format' is \"slak\"; use one of cloudevents, slack, teams, discord, ntfy, template (is 'slack' meant?).".to_owned(),
        ),
        (
            json!({"request": {"uri": "hunter2"}}),
            format!("{uri} is not an absolute http or https URL; send the URL that the receiver gave you."),
        ),
        (
            json!({"request": {"uri": "ftp://h/hunter2"}}),
            format!("{uri} is not an absolute http or https URL; send the URL that the receiver gave you."),
        ),
        (
            json!({"request": {"uri": "http://h/hunter2"}}),
            format!("{uri} is an http URL; an action of type 'Https' requires an https URL."),
        ),
        (
            json!({"format": "ntfy", "request": {"uri": "https://ntfy.test/"}}),
            format!(
                "{uri} does not end with a topic; use the URL of a topic of ntfy, such as \
                 https://ntfy.sh/my-secret-topic, with letters, digits, '-' and '_' in the topic."
            ),
        ),
        (
            json!({"request": {"uri": SLACK, "method": "GET"}}),
            "'minutehand.onFailure.request.method' is \"GET\"; a receiver of alerts takes POST; leave this out.".to_owned(),
        ),
        (
            json!({"request": {"uri": SLACK, "body": "{}"}}),
            "'minutehand.onFailure.request.body' cannot be set here: the action sends an event that describes the failure. Remove it.".to_owned(),
        ),
        (
            json!({"type": "Lambda", "lambdaInvocation": {"functionName": "f"}}),
            "'minutehand.onFailure.format' is \"slack\"; needs an action of type Http or Https; change 'type'.".to_owned(),
        ),
        (
            json!({"after": 0}),
            "'minutehand.onFailure.after' is 0; use a whole number from 1 to 100.".to_owned(),
        ),
        (
            json!({"every": "PT1S"}),
            "'minutehand.onFailure.every' is 00:00:01; use 00:01:00 to 7.00:00:00.".to_owned(),
        ),
        (
            json!({"recovered": "yes"}),
            "'minutehand.onFailure.recovered' is \"yes\"; use true or false.".to_owned(),
        ),
    ] {
        let message = with(changes);
        assert_eq!(message, expected);
        assert!(!message.contains("hunter2"), "{message}");
    }
    let password = "https://user:hunter2@h.test/";
    let message = with(json!({"request": {"uri": password}}));
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn rules_go_with_an_event_of_any_type_and_are_written_as_they_were_sent() {
    let action = json!({"type": "Lambda", "lambdaInvocation": {"functionName": "f"},
        "after": 2, "recovered": true, "every": "PT1H"});
    let collection = alerting(&action).unwrap();
    let on_failure = collection.on_failure().unwrap();
    assert_eq!(on_failure.alert_use(), AlertUse::Rules);
    assert_eq!(
        write_collection(&collection)
            .pointer("/properties/minutehand/onFailure")
            .unwrap()
            .to_string(),
        r#"{"lambdaInvocation":{"functionName":"f"},"type":"Lambda","after":2,"recovered":true,"every":"01:00:00"}"#
    );
    let none = alerting(&json!({"type": "Https", "format": "slack", "after": 1,
        "recovered": false, "request": {"uri": SLACK}}));
    assert_eq!(none.unwrap().alert_use(), AlertUse::Format);
}

#[test]
fn each_format_is_sent_as_json_to_its_receiver() {
    for (format, uri, sent_to) in [
        ("slack", SLACK, SLACK),
        ("teams", "https://t.test/a?sig=1", "https://t.test/a?sig=1"),
        ("discord", "https://d.test/api/webhooks/1/x", "https://d.test/api/webhooks/1/x"),
        ("ntfy", "https://n.test/topic", "https://n.test/"),
    ] {
        let action = json!({"type": "Https", "format": format, "request": {"uri": uri}});
        let collection = alerting(&action).unwrap();
        let on_failure = collection.on_failure().unwrap();
        assert_eq!(on_failure.format().map(AlertFormat::name), Some(format));
        let Target::Https(request) = on_failure.with_event(&test_event()) else { panic!() };
        assert_eq!((request.uri.as_str(), request.method.as_str()), (sent_to, "POST"));
        assert_eq!(request.sealed_uri.as_ref().map(Secret::expose), Some(uri));
        assert_eq!(
            request.headers.unwrap(),
            [("Content-Type".to_owned(), "application/json; charset=utf-8".to_owned())]
        );
        let body = request.body.unwrap();
        assert!(body.contains("Test alert of the job collection ops"), "{body}");
        assert!(!body.contains("hunter2"), "{body}");
    }
}

#[expect(clippy::too_many_lines, reason = "it is mostly tables")]
#[test]
fn a_template_is_a_request_of_ones_own() {
    let request = |more: Value| {
        let mut request = json!({"uri": SLACK, "method": "PUT",
            "headers": {"Content-Type": "text/plain"}, "body": "{{collection}}/{{job}}: {{cause}}"});
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        json!({"type": "Https", "format": "template", "request": request})
    };
    let collection = alerting(&request(json!({}))).unwrap();
    let shown = write_collection(&collection);
    assert_eq!(
        shown.pointer("/properties/minutehand/onFailure/request").unwrap(),
        &json!({"uri": "(withheld)", "method": "PUT", "headers": {"Content-Type": "text/plain"},
            "body": "{{collection}}/{{job}}: {{cause}}"})
    );
    assert_eq!(load_collection(&whole(&collection)).unwrap(), collection);
    let sent = |body: &str, event: &FailureEvent<'_>| {
        let collection = alerting(&request(json!({"body": body}))).unwrap();
        match collection.on_failure().unwrap().with_event(event) {
            Target::Https(request) => {
                assert_eq!((request.uri.as_str(), request.method.as_str()), (SLACK, "PUT"));
                request.body.unwrap()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(sent("{{collection}}/{{job}}: {{cause}}", &test_event()), "ops/j: ");
    let occurrence = Occurrence::Scheduled { nominal_at: DateTime::UNIX_EPOCH };
    let failed = Record {
        started_at: DateTime::UNIX_EPOCH,
        ended_at: DateTime::UNIX_EPOCH,
        outcome: Outcome::Failed,
        cause: Some(Cause::http(500)),
        message: String::new(),
        repeat_count: 1,
        body_bytes: 0,
        then: None,
    };
    let attempts = [(Attempt { number: 1, ..Attempt::first(1, occurrence) }, failed)];
    let event = FailureEvent { attempts: &attempts, told: Told::FAILED, ..test_event() };
    for (body, expected) in [
        ("{{job}} {{cause}} {{occurrence:date}}", "j HTTP 500 1970-01-01"),
        (
            r#"{"text":"{{cause}}","n":{{attempt}},"last":{{lastSuccess}}}"#,
            r#"{"text":"HTTP 500","n":2,"last":null}"#,
        ),
        ("{{executionId}} {{missed}} {{scheduledTime:unix}}", "1 0 0"),
        ("{{kind}}: {{summary}}", "failed: ops/j failed: HTTP 500"),
    ] {
        assert_eq!(sent(body, &event), expected);
    }
    let late = Told::Incident(Incident::Late { by: TimeDelta::minutes(12) });
    for (told, expected) in [
        (late, "late: ops/j started 12 min late (started 12 min late)"),
        (Told::Test, "test: Test alert of the job collection ops ()"),
        (
            Told::Recovered { since: DateTime::UNIX_EPOCH, held_back: 0 },
            "recovered: ops/j works again ()",
        ),
    ] {
        let event = FailureEvent { told, ..test_event() };
        assert_eq!(sent("{{kind}}: {{summary}} ({{cause}})", &event), expected);
    }
    let path = "'minutehand.onFailure.request.body'";
    for (action, expected) in [
        (
            request(json!({"body": "{{cuase}}"})),
            format!(
                "{path} contains '{{{{cuase}}}}', which is not a name that it can use (is 'cause' meant?); \
                 the names are job, collection, occurrence, previousOccurrence, scheduledTime, attempt, \
                 executionId, missed, missedSince, lastSuccess, cause, kind, summary."
            ),
        ),
        (
            request(json!({"body": null})),
            format!(
                "{path} is missing; with the format 'template', write what is sent, such as \
                 '{{{{job}}}}: {{{{cause}}}}'."
            ),
        ),
        (
            json!({"type": "Sqs", "format": "template", "sqsMessage":
                {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/q", "message": "m"}}),
            "'minutehand.onFailure.format' is \"template\"; needs an action of type Http or Https; \
             change 'type'."
                .to_owned(),
        ),
    ] {
        assert_eq!(alerting(&action).unwrap_err().message, expected);
    }
}
