use chrono::DateTime;
use serde_json::json;

use super::*;
use crate::document::accept;
use crate::job::JobDefinition;
use crate::plan::Plan;

fn accepted(action: &Json) -> Result<JobDefinition, String> {
    let job = json!({"properties": {"action": action, "minutehand": {"template": true}}});
    accept(&job, Plan::default()).map_err(|refusal| refusal.message)
}

/// The document of an action with its payload.
fn action(kind: &str, property: &str, payload: &Json) -> Json {
    json!({"type": kind, property: payload})
}

fn request(uri: &str) -> Json {
    json!({"uri": uri, "method": "POST"})
}

/// A request with another property.
fn request_with(property: &str, value: Json) -> Json {
    let mut request = request("https://example.com/{{job}}");
    request[property] = value;
    action("Http", "request", &request)
}

/// The action of a job as it is sent.
fn rendered(job: &JobDefinition) -> Json {
    let mut target = job.action.action.target.clone();
    let value = |name| match name {
        Placeholder::Job => PlaceholderValue::Text("nightly"),
        Placeholder::Missed => PlaceholderValue::Number(3),
        Placeholder::Occurrence => {
            PlaceholderValue::Instant(DateTime::from_timestamp(0, 0).unwrap())
        }
        _ => PlaceholderValue::Absent,
    };
    target.render(|template| template.render(None, &value)).unwrap();
    serde_json::from_str(&target.write().split().shown).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn templates_of_each_type_of_action_become_what_is_sent() {
    let arn = "arn:aws:sns:eu-west-1:123456789012:t";
    let bus = |extra: &str| {
        json!({
            "queueName": "q", "namespace": "n", "message": "{{job}}",
            "authentication": {"sasKeyName": "k", "sasKey": "s", "type": "sharedAccessKey"},
            "brokeredMessageProperties": {"label": "{{job}}", "messageId": "{{occurrence}}"},
            "customMessageProperties": {"missed": extra},
        })
    };
    let cases = [
        (
            action(
                "Http",
                "request",
                &json!({
                    "uri": "https://example.com/{{job}}?at={{occurrence}}", "method": "POST",
                    "headers": {"x-missed": "{{missed}}", "authorization": "Bearer x"},
                    "body": "{\"missed\":{{missed}},\"since\":{{missedSince}}}",
                }),
            ),
            vec![
                ("/uri", json!("https://example.com/nightly?at=1970-01-01T00%3A00%3A00Z")),
                ("/headers/x-missed", json!("3")),
                ("/body", json!("{\"missed\":3,\"since\":null}")),
            ],
        ),
        (
            action(
                "Https",
                "request",
                &json!({
                    "uri": "https://example.com/", "method": "POST",
                    "headers": {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
                    "body": "at={{occurrence}}",
                }),
            ),
            vec![("/body", json!("at=1970-01-01T00%3A00%3A00Z"))],
        ),
        (
            action(
                "StorageQueue",
                "queueMessage",
                &json!({
                    "storageAccount": "a", "queueName": "q", "sasToken": "sig=1", "message": "{{job}} {{missed}}",
                }),
            ),
            vec![("/message", json!("nightly 3"))],
        ),
        (
            action("ServiceBusQueue", "serviceBusQueueMessage", &bus("{{missed}}")),
            vec![
                ("/message", json!("nightly")),
                ("/brokeredMessageProperties/label", json!("nightly")),
                ("/brokeredMessageProperties/messageId", json!("1970-01-01T00:00:00Z")),
                ("/customMessageProperties/missed", json!("3")),
            ],
        ),
        (
            action(
                "Sqs",
                "sqsMessage",
                &json!({
                    "queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
                    "message": "[{{occurrence}}]", "messageAttributes": {"job": "{{job}}"},
                    "messageGroupId": "{{job}}",
                }),
            ),
            vec![
                ("/message", json!("[\"1970-01-01T00:00:00Z\"]")),
                ("/messageAttributes/job", json!("nightly")),
                ("/messageGroupId", json!("nightly")),
            ],
        ),
        (
            action(
                "Sns",
                "snsMessage",
                &json!({
                    "topicArn": arn, "message": "{{job}}", "subject": "{{missed}} missed",
                }),
            ),
            vec![("/message", json!("nightly")), ("/subject", json!("3 missed"))],
        ),
        (
            action(
                "Lambda",
                "lambdaInvocation",
                &json!({
                    "functionName": "f", "payload": "{\"missed\":{{missed}}}",
                }),
            ),
            vec![("/payload", json!("{\"missed\":3}"))],
        ),
        (
            action(
                "EventBridge",
                "eventBridgeEvent",
                &json!({
                    "source": "s", "detailType": "{{job}} ran", "detail": "{\"at\":{{occurrence}}}",
                }),
            ),
            vec![
                ("/detailType", json!("nightly ran")),
                ("/detail", json!("{\"at\":\"1970-01-01T00:00:00Z\"}")),
            ],
        ),
    ];
    assert_eq!(
        cases.len(),
        Target::TYPES.len() - 2,
        "a topic is as a queue, and a ping has no text"
    );
    for (action, expected) in cases {
        let job = accepted(&action).unwrap();
        let sent = rendered(&job);
        for (pointer, expected) in expected {
            assert_eq!(sent.pointer(pointer), Some(&expected), "{pointer} of {action}");
        }
    }
}

#[test]
fn what_templates_cannot_be_is_refused() {
    let uri = |uri| action("Http", "request", &request(uri));
    let lambda = |payload| {
        action("Lambda", "lambdaInvocation", &json!({"functionName": "f", "payload": payload}))
    };
    let with_error_action = |uri| {
        let mut action = action("Http", "request", &request("https://example.com/"));
        action["errorAction"] = json!({"type": "Http", "request": request(uri)});
        action
    };
    let origin = "'action.request.uri' has a name in double braces before its path";
    for (action, says) in [
        (uri("https://example.com/"), "'minutehand.template' has no effect"),
        (
            uri("https://example.com/{{jbo}}"),
            "'action.request.uri' contains '{{jbo}}', which is not a name",
        ),
        (uri("https://example.com/{{cause}}"), "the names are job, collection, occurrence"),
        (
            with_error_action("https://example.com/{{casue}}"),
            "'action.errorAction.request.uri' contains '{{casue}}'",
        ),
        (uri("https://{{job}}.example.com/"), origin),
        (uri("https://example.com:{{missed}}/"), "use an absolute http or https URL"),
        (uri("https:///{{job}}/x"), origin),
        (uri("https://{{job}}@example.com/"), "contains a user name"),
        (
            uri("https://example.com/?code={{job}}"),
            "'action.request.uri' contains '{{job}}', but names become values only in what is sent",
        ),
        (
            request_with("headers", json!({"Authorization": "Bearer {{job}}"})),
            "'action.request.headers.Authorization' contains '{{job}}'",
        ),
        (
            request_with("headers", json!({"x-at": "{{occurrence:time}}"})),
            "'action.request.headers.x-at' contains '{{occurrence:time}}', whose format",
        ),
        (
            request_with(
                "authentication",
                json!({"type": "Basic", "username": "{{job}}", "password": "p"}),
            ),
            "'action.request.authentication.username' contains '{{job}}'",
        ),
        (
            request_with(
                "authentication",
                json!({"type": "Basic", "username": "u", "password": "{{job}}"}),
            ),
            "'action.request.authentication.password' contains '{{job}}'",
        ),
        (
            request_with("body", json!("{{missed")),
            "'action.request.body' contains '{{' without '}}'",
        ),
        (lambda("{\"a\":{{jbo}}}"), "'action.lambdaInvocation.payload' contains '{{jbo}}'"),
        (lambda("{\"a\":{{job}}{{job}}}"), "is not valid JSON"),
        (
            action(
                "EventBridge",
                "eventBridgeEvent",
                &json!({"source": "{{job}}", "detailType": "t", "detail": "{}"}),
            ),
            "'action.eventBridgeEvent.source' contains '{{job}}'",
        ),
    ] {
        let message = accepted(&action).expect_err(&action.to_string());
        assert!(message.contains(says), "{action}: {message}");
    }
}

#[test]
fn without_the_property_texts_stay_as_they_are() {
    for extensions in [json!(null), json!({}), json!({"template": false})] {
        let action = request_with("body", json!("{{nonsense}}"));
        let job = json!({"properties": {"action": action, "minutehand": extensions}});
        let job = accept(&job, Plan::default()).unwrap();
        assert!(!job.has_templates());
    }
    let lambda = json!({"functionName": "f", "payload": "{\"missed\":{{missed}}}"});
    let job = json!({"properties": {"action": action("Lambda", "lambdaInvocation", &lambda)}});
    let message = accept(&job, Plan::default()).unwrap_err().message;
    assert!(message.contains("is not valid JSON"), "{message}");
}
