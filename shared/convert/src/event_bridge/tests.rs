use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::tests::{options, problems};
use crate::{Conversion, ConvertedJob, SourceFormat, SourcePlace, convert};

fn schedule(expression: &str, more: Value) -> Value {
    let mut schedule = json!({
        "Name": "nightly", "GroupName": "default", "State": "ENABLED",
        "Arn": "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly",
        "ScheduleExpression": expression, "FlexibleTimeWindow": {"Mode": "OFF"},
        "CreationDate": "2026-12-01T00:00:17.123000+00:00",
        "Target": {
            "Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "RoleArn": "arn:aws:iam::1:role/r",
            "Input": "{\"a\":1}", "RetryPolicy": {"MaximumRetryAttempts": 0},
        },
    });
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        schedule[name] = value;
    }
    schedule
}

fn converted(document: &Value) -> Conversion {
    convert(SourceFormat::EventBridge, &document.to_string(), &options()).unwrap()
}

fn only(report: &Conversion) -> &ConvertedJob {
    let [job] = report.jobs.as_slice() else { panic!("{report:#?}") };
    job
}

#[test]
fn expressions_become_timings() {
    for (expression, more, sentence, next) in [
        ("rate(5 minutes)", json!({}), "every 5 minutes", "2027-01-04T10:25:17Z"),
        (
            "rate(1 day)",
            json!({"StartDate": "2027-01-01T08:00:00+00:00"}),
            "every day at 08:00 UTC",
            "2027-01-05T08:00:00Z",
        ),
        (
            "rate(48 hours)",
            json!({"StartDate": 1_798_790_400}),
            "every 2 days at 08:00 UTC",
            "2027-01-05T08:00:00Z",
        ),
        ("rate(90 minutes)", json!({}), "every 90 minutes", "2027-01-04T10:30:17Z"),
        (
            "cron(15 10 ? * 6L 2019-2099)",
            json!({"ScheduleExpressionTimezone": "Europe/Berlin"}),
            "every month on the last Friday at 10:15 Europe/Berlin time, until 2099-12-31 22:59:59 UTC",
            "2027-01-29T09:15:00Z",
        ),
        (
            "cron(0 8 * * ? *)",
            json!({"StartDate": "2027-03-01 00:00:00+00:00", "EndDate": "2027-06-01T00:00:00Z"}),
            "every day at 08:00 UTC, until 2027-06-01 00:00 UTC",
            "2027-03-01T08:00:00Z",
        ),
        (
            "at(2027-05-01T09:30:00)",
            json!({"ScheduleExpressionTimezone": "America/New_York"}),
            "once at 2027-05-01 13:30 UTC",
            "2027-05-01T13:30:00Z",
        ),
    ] {
        let report = converted(&schedule(expression, more));
        let job = only(&report);
        assert_eq!(job.sentence, sentence, "{expression}");
        assert_eq!(job.next_at, next.parse().ok().map(|at: DateTime<Utc>| at), "{expression}");
        assert!(job.is_enabled, "{expression}");
    }
}

#[test]
fn what_has_passed_is_disabled_and_listed() {
    for (expression, why) in [
        ("at(2026-05-01T09:30:00)", "the only time of the job, 2026-05-01T09:30:00Z, has passed"),
        ("cron(0 8 1 1 ? 2020-2026)", "the last occurrence of the job has passed"),
    ] {
        let report = converted(&schedule(expression, json!({})));
        assert!(!only(&report).is_enabled, "{expression}");
        assert_eq!(only(&report).document["properties"]["state"], "disabled");
        assert_eq!(problems(&report), [format!(" disabled {why}")], "{expression}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    for (expression, more, why) in [
        (
            "cron(0 8 3W * ? *)",
            json!({}),
            "'3W' is the working day nearest to another day, and a recurrence cannot say that",
        ),
        ("cron(0 8 * * ? 2027,2029)", json!({}), "the years '2027,2029' are not in a row"),
        (
            "rate(1001 minutes)",
            json!({}),
            "'rate(1001 minutes)' is not an interval of a recurrence",
        ),
        ("rate(5)", json!({}), "'rate(5)' is not a rate"),
        ("every(5)", json!({}), "'every(5)' is not an expression of EventBridge"),
        ("at(noon)", json!({}), "'at(noon)' is not a time: "),
        (
            "rate(1 day)",
            json!({"ScheduleExpressionTimezone": "Mars/Base"}),
            "'Mars/Base' is not a time zone",
        ),
        (
            "rate(1 day)",
            json!({"Target": {"Arn": "arn:aws:states:eu-west-1:1:stateMachine:m"}}),
            "no action does what the target states 'stateMachine:m' does",
        ),
        ("rate(1 day)", json!({"Target": {"Arn": "x"}}), "'x' is not an ARN"),
        ("rate(1 day)", json!({"StartDate": "soon"}), "StartDate is '\"soon\"', and not a date"),
    ] {
        let report = converted(&schedule(expression, more));
        assert_eq!(report.jobs, [], "{expression}");
        assert!(
            problems(&report)[0].starts_with(&format!(" refused {why}")),
            "{:?}",
            problems(&report)
        );
    }
}

#[test]
fn a_list_without_details_says_what_to_ask() {
    let report =
        converted(&json!({"Schedules": [{"Name": "a", "State": "ENABLED"}], "NextToken": null}));
    assert!(report.problems[0].unsayable.remedy.contains("get-schedule"), "{report:?}");
    assert_eq!(report.problems[0].place, SourcePlace::Path("Schedules[0]".to_owned()));
    let refused = convert(SourceFormat::EventBridge, "{\"a\":1}", &options()).unwrap_err();
    assert!(refused.remedy.contains("get-schedule"), "{refused}");
    let refused = convert(SourceFormat::EventBridge, "Resources:\n", &options()).unwrap_err();
    assert!(refused.remedy.contains("template of CloudFormation"), "{refused}");
}

#[test]
fn targets_become_actions() {
    let event = json!({"EventBridgeParameters": {"Source": "me", "DetailType": "Due"}});
    for (arn, more, action) in [
        (
            "arn:aws:sqs:eu-west-1:123456789012:q.fifo",
            json!({"SqsParameters": {"MessageGroupId": "g"}}),
            json!({"type": "Sqs", "sqsMessage": {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo", "message": "{\"a\":1}", "messageGroupId": "g"}}),
        ),
        (
            "arn:aws-cn:sqs:cn-north-1:123456789012:q",
            json!({}),
            json!({"type": "Sqs", "sqsMessage": {"queueUrl": "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", "message": "{\"a\":1}"}}),
        ),
        (
            "arn:aws:sns:eu-west-1:123456789012:t",
            json!({}),
            json!({"type": "Sns", "snsMessage": {"topicArn": "arn:aws:sns:eu-west-1:123456789012:t", "message": "{\"a\":1}"}}),
        ),
        (
            "arn:aws:lambda:eu-west-1:123456789012:function:f:live",
            json!({}),
            json!({"type": "Lambda", "lambdaInvocation": {"functionName": "arn:aws:lambda:eu-west-1:123456789012:function:f:live", "payload": "{\"a\":1}"}}),
        ),
        (
            "arn:aws:events:eu-west-1:123456789012:event-bus/b",
            event,
            json!({"type": "EventBridge", "eventBridgeEvent": {"eventBusName": "arn:aws:events:eu-west-1:123456789012:event-bus/b", "source": "me", "detailType": "Due", "detail": "{\"a\":1}"}}),
        ),
        (
            "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
            json!({"Input": "{\"QueueUrl\":\"https://sqs.eu-west-1.amazonaws.com/1/q\",\"MessageBody\":\"hi\"}"}),
            json!({"type": "Sqs", "sqsMessage": {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/1/q", "message": "hi"}}),
        ),
        (
            "arn:aws:scheduler:::aws-sdk:eventbridge:putEvents",
            json!({"Input": "{\"Entries\":[{\"Source\":\"s\",\"DetailType\":\"d\",\"Detail\":\"{}\"}]}"}),
            json!({"type": "EventBridge", "eventBridgeEvent": {"source": "s", "detailType": "d", "detail": "{}"}}),
        ),
    ] {
        let mut target = json!({"Arn": arn, "Input": "{\"a\":1}"});
        for (name, value) in more.as_object().unwrap() {
            target[name] = value.clone();
        }
        let report = converted(&schedule("rate(1 hour)", json!({"Target": target})));
        assert_eq!(only(&report).document["properties"]["action"], action, "{arn}");
        assert_eq!(problems(&report), [""; 0], "{arn}");
    }
}

#[test]
fn retries_dead_letters_and_windows_are_said_or_reported() {
    let target = json!({
        "Arn": "arn:aws:lambda:eu-west-1:123456789012:function:f",
        "Input": "{\"id\":\"<aws.scheduler.execution-id>\"}",
        "RetryPolicy": {"MaximumRetryAttempts": 30, "MaximumEventAgeInSeconds": 600},
        "DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:dead"},
    });
    let more = json!({
        "Target": target, "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
        "State": "DISABLED", "ActionAfterCompletion": "DELETE",
    });
    let report = converted(&schedule("cron(30 2 * * ? *)", more));
    let job = only(&report);
    assert!(!job.is_enabled && job.next_at.is_none());
    let action = &job.document["properties"]["action"];
    assert_eq!(
        action["retryPolicy"],
        json!({"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 20})
    );
    assert_eq!(
        job.document["properties"]["minutehand"],
        json!({
            "retry": {"backoff": "exponential", "maxElapsed": "PT600S"}, "template": true,
            "jitter": {"window": "PT15M"},
        })
    );
    assert_eq!(
        action["errorAction"],
        json!({"type": "Sqs", "sqsMessage": {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead", "message": "{\"id\":\"{{executionId}}\"}"}})
    );
    let whys = problems(&report);
    for part in ["deletes the schedule", "dead letters are an error action"] {
        assert!(whys.iter().any(|why| why.contains(part)), "{part}: {whys:#?}");
    }
    assert!(!whys.iter().any(|why| why.contains("retries") || why.contains("window")), "{whys:#?}");
}

#[test]
fn a_window_that_occurrences_do_not_allow_is_cut_and_reported() {
    for (expression, minutes, window, says) in [
        ("rate(1 hour)", 30, Some("PT30M"), None),
        ("rate(20 minutes)", 15, Some("PT10M"), Some("spread over 10 minutes")),
        ("rate(1 minute)", 5, None, Some("spread over 0 minutes")),
        ("at(2027-02-01T00:00:00)", 1_440, Some("PT1440M"), None),
    ] {
        let more =
            json!({"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": minutes}});
        let report = converted(&schedule(expression, more));
        let found = only(&report).document.pointer("/properties/minutehand/jitter/window").cloned();
        assert_eq!(found.as_ref().and_then(Value::as_str), window, "{expression}");
        let whys = problems(&report);
        let is_said = whys.iter().any(|why| why.contains("flexible window"));
        assert_eq!(is_said, says.is_some(), "{whys:#?}");
        assert!(says.is_none_or(|says| whys.iter().any(|why| why.contains(says))), "{whys:#?}");
    }
}

#[test]
fn the_default_retries_of_a_schedule_go_on_for_a_day() {
    let target = json!({
        "Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "Input": "x",
        "RetryPolicy": {"MaximumRetryAttempts": 185, "MaximumEventAgeInSeconds": 86_400},
    });
    let report = converted(&schedule("rate(1 hour)", json!({"Target": target})));
    let properties = &only(&report).document["properties"];
    assert_eq!(properties["action"]["retryPolicy"]["retryCount"], 20);
    assert_eq!(properties["minutehand"]["retry"]["maxElapsed"], "PT86400S");
    assert_eq!(report.problems, []);
}

#[test]
fn a_template_may_be_yaml() {
    let text = "\
AWSTemplateFormatVersion: 2010-09-09
Parameters:
  Zone: {Type: String, Default: Europe/Berlin}
Resources:
  Sync:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: sync
      Events:
        Nightly:
          Type: ScheduleV2
          Properties:
            ScheduleExpression: cron(30 4 * * ? *)
            ScheduleExpressionTimezone: !Ref Zone
            Input: !Sub '{\"zone\": \"${Zone}\"}'
";
    let mut options = options();
    for (name, value) in [("AWS::Region", "eu-west-1"), ("AWS::AccountId", "123456789012")] {
        options.parameters.insert(name.to_owned(), value.into());
    }
    let report = convert(SourceFormat::EventBridge, text, &options).unwrap();
    let job = only(&report);
    assert_eq!(
        (job.name.as_str(), job.sentence.as_str()),
        ("Nightly", "every day at 04:30 Europe/Berlin time")
    );
    let invoked = &job.document["properties"]["action"]["lambdaInvocation"];
    assert_eq!(invoked["functionName"], "arn:aws:lambda:eu-west-1:123456789012:function:sync");
    assert_eq!(invoked["payload"], "{\"zone\": \"Europe/Berlin\"}");
    let refused = convert(SourceFormat::EventBridge, "a: !Ref\n b: [", &options).unwrap_err();
    assert!(refused.why.contains("neither JSON nor valid YAML: line"), "{refused}");
}

#[test]
fn attributes_of_the_scheduler_become_names_of_a_template() {
    for (input, message, has_templates, says) in [
        (
            "<aws.scheduler.scheduled-time> <aws.scheduler.attempt-number> <aws.scheduler.execution-id>",
            "{{occurrence}} {{attempt}} {{executionId}}",
            true,
            None,
        ),
        (
            "<aws.scheduler.schedule-arn>",
            "<aws.scheduler.schedule-arn>",
            false,
            Some("<aws.scheduler.…>"),
        ),
        (
            "{{x}} <aws.scheduler.execution-id>",
            "{{x}} <aws.scheduler.execution-id>",
            false,
            Some("<aws.scheduler.…>"),
        ),
        ("{{x}}", "{{x}}", false, None),
    ] {
        let target = json!({"Arn": "arn:aws:sns:eu-west-1:123456789012:t", "Input": input});
        let report = converted(&schedule("rate(1 hour)", json!({"Target": target})));
        let properties = &only(&report).document["properties"];
        assert_eq!(properties["action"]["snsMessage"]["message"], message);
        let extensions = if has_templates { json!({"template": true}) } else { Value::Null };
        assert_eq!(properties["minutehand"], extensions, "{input}");
        let problems = problems(&report);
        assert_eq!(problems.len(), usize::from(says.is_some()), "{problems:?}");
        assert!(says.is_none_or(|says| problems[0].contains(says)), "{problems:?}");
    }
}

#[test]
fn several_documents_follow_each_other() {
    let text = format!(
        "{}\n{}",
        schedule("rate(1 hour)", json!({})),
        schedule("rate(2 hours)", json!({}))
    );
    let report = convert(SourceFormat::EventBridge, &text, &options()).unwrap();
    let names: Vec<_> = report.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["nightly", "nightly-2"]);
    assert_eq!(problems(&report), ["[1] changed the name 'nightly' is not allowed or taken"]);
}

/// A template with what tools write: parameters, references, joins, an API destination.
fn template() -> Value {
    json!({
        "Parameters": {
            "Zone": {"Type": "String", "Default": "Europe/Paris"},
            "Key": {"Type": "String", "NoEcho": true},
        },
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue"},
            "Named": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "named"}},
            "Nightly": {"Type": "AWS::Scheduler::Schedule", "Properties": {
                "ScheduleExpression": "cron(30 4 * * ? *)", "ScheduleExpressionTimezone": {"Ref": "Zone"},
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "Target": {"Arn": {"Fn::GetAtt": ["Named", "Arn"]}, "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Input": {"Fn::Join": ["", ["{\"zone\":\"", {"Ref": "Zone"}, "\"}"]]}, "RetryPolicy": {"MaximumRetryAttempts": 2}},
            }},
            "Unnamed": {"Type": "AWS::Scheduler::Schedule", "Properties": {
                "ScheduleExpression": "rate(1 hour)", "Target": {"Arn": {"Fn::GetAtt": "Queue.Arn"}, "Input": "x"},
            }},
            "Rule": {"Type": "AWS::Events::Rule", "Properties": {
                "Name": {"Fn::Sub": "poll-${Zone}"}, "ScheduleExpression": "rate(10 minutes)", "State": "ENABLED",
                "Targets": [
                    {"Id": "1", "Arn": {"Fn::GetAtt": ["Api", "Arn"]}, "Input": "{}", "HttpParameters": {
                        "PathParameterValues": ["a b"], "QueryStringParameters": {"full": "yes"}}},
                ],
            }},
            "OnEvents": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["x"]}}},
            "Connection": {"Type": "AWS::Events::Connection", "Properties": {"AuthorizationType": "API_KEY",
                "AuthParameters": {"ApiKeyAuthParameters": {"ApiKeyName": "x-api-key", "ApiKeyValue": {"Ref": "Key"}}}}},
            "Api": {"Type": "AWS::Events::ApiDestination", "Properties": {
                "ConnectionArn": {"Fn::GetAtt": ["Connection", "Arn"]}, "HttpMethod": "POST",
                "InvocationEndpoint": "https://api.example.com/poll/*"}},
            "Function": {"Type": "AWS::Serverless::Function", "Properties": {"FunctionName": "f", "Events": {
                "Daily": {"Type": "ScheduleV2", "Properties": {"ScheduleExpression": "rate(1 day)", "Input": "{}"}},
                "Http": {"Type": "Api", "Properties": {}}}}},
        },
    })
}

#[test]
fn a_template_is_read_with_its_parameters() {
    let mut options = options();
    options.parameters = json!({"AWS::Region": "eu-west-1", "AWS::AccountId": "123456789012"})
        .as_object()
        .unwrap()
        .clone();
    let report = convert(SourceFormat::EventBridge, &template().to_string(), &options).unwrap();
    assert_eq!(report.found, 4);
    let named = |name: &str| {
        let job = report.jobs.iter().find(|job| job.name == name);
        &job.unwrap_or_else(|| panic!("{report:#?}")).document["properties"]
    };
    let nightly = named("Nightly");
    assert_eq!(nightly["recurrence"]["timeZone"], "Europe/Paris");
    assert_eq!(
        nightly["action"]["sqsMessage"]["queueUrl"],
        "https://sqs.eu-west-1.amazonaws.com/123456789012/named"
    );
    assert_eq!(nightly["action"]["sqsMessage"]["message"], "{\"zone\":\"Europe/Paris\"}");
    let poll = &named("poll-Europe-Paris")["action"]["request"];
    assert_eq!(poll["uri"], "https://api.example.com/poll/a%20b?full=yes");
    assert_eq!(
        poll["headers"]["x-api-key"]["$env"],
        "MINUTEHAND_IMPORT_POLL_EUROPE_PARIS_X_API_KEY"
    );
    let daily = named("Daily");
    assert_eq!(
        daily["action"]["lambdaInvocation"]["functionName"],
        "arn:aws:lambda:eu-west-1:123456789012:function:f"
    );
    assert_eq!(daily["startTime"], "2027-01-05T10:20:30Z");
    let whys = problems(&report);
    for part in [
        "Resources.Unnamed.Properties refused the value of 'Queue.Arn' is known after the deployment",
        "Resources.Rule.Properties.Targets[0] needed the file does not have the secret",
        "Resources.Function.Properties.Events.Daily changed the file does not say when the intervals began",
    ] {
        assert!(whys.iter().any(|why| why.starts_with(part)), "{part}: {whys:#?}");
    }
    options.parameters.insert("Queue.Arn".to_owned(), "arn:aws:sqs:eu-west-1:1:made".into());
    let report = convert(SourceFormat::EventBridge, &template().to_string(), &options).unwrap();
    assert!(report.jobs.iter().any(|job| job.name == "Unnamed"), "{report:#?}");
}

#[test]
fn a_file_cannot_name_variables_or_marks() {
    let document = schedule("rate(1 hour)", json!({"\u{0}secret": "x"}));
    let refused =
        convert(SourceFormat::EventBridge, &document.to_string(), &options()).unwrap_err();
    assert!(refused.why.contains("NUL"), "{refused}");
    let target = json!({"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "Input": {"$env": "AWS_SECRET_ACCESS_KEY"}});
    let report = converted(&schedule("rate(1 hour)", json!({"Target": target})));
    let message = &only(&report).document["properties"]["action"]["sqsMessage"]["message"];
    assert_eq!(message, "{\"$env\":\"AWS_SECRET_ACCESS_KEY\"}");
    assert_eq!(only(&report).secrets, []);
}
