mod alerts;

use chrono::DateTime;
use serde_json::{Value, json};

use super::*;
use crate::action::Target;
use crate::attempt::{Occurrence, Role};
use crate::duration::Span;
use crate::failure_event::{FailureEvent, JobFacts, JobNames, Told};
use crate::job::{JobDefinition, JobState};
use crate::plan::Plan;
use crate::refusal::{Code, Refusal};

const BASIC: &str = r#"{"properties":{"startTime":"2015-07-13T00:00:00Z","action":{"type":"Http","request":{"authentication":{"username":"username","password":"pasworrd","type":"Basic"},"uri":"http://www.bing.com/","method":"GET","body":"some body message!","headers":{"content-type":"application/xml"}},"retryPolicy":{"retryType":"Fixed","retryInterval":"00:01:00","retryCount":2},"errorAction":{"type":"StorageQueue","queueMessage":{"storageAccount":"schedulersdktest","queueName":"queue1","sasToken":"ThIsiSmYtOke","message":"some message!"}}},"recurrence":{"frequency":"Week","interval":1,"count":10000,"endTime":"2020-10-10T10:10:10Z"},"state":"Enabled"}}"#;

fn parse(text: &str) -> Value {
    canonical_names(serde_json::from_str(text).unwrap(), JOB).unwrap()
}

fn accept_standard(body: &Value) -> Result<JobDefinition, Refusal> {
    accept(body, Plan::Standard)
}

fn read(text: &str) -> JobDefinition {
    accept_standard(&parse(text)).unwrap()
}

fn answered(job: &JobDefinition) -> Value {
    job.write().answer(JobState::from(job.switch), Durations::TimeSpan).into()
}

/// The stored properties of a job, its secrets merged back into them.
fn stored(job: &JobDefinition) -> Value {
    let SplitDocument { shown, secrets, .. } = job.write().split().unwrap();
    let shown = serde_json::from_str(&shown).unwrap();
    match secrets {
        Some(secrets) => {
            merge_patch(shown, serde_json::from_str(secrets.expose()).unwrap(), Shape::Leaf)
        }
        None => shown,
    }
}

/// The body of a job that calls a URL, with more properties of its request.
fn http(request: &str) -> String {
    format!(
        r#"{{"properties":{{"action":{{"type":"Http","request":{{"uri":"http://example.org","method":"get"{request}}}}}}}}}"#
    )
}

#[track_caller]
fn check_refused(body: &str, message: &str) {
    let refusal = accept_standard(&parse(body)).unwrap_err();
    assert_eq!(refusal.message, message, "{body}");
}

#[test]
fn an_answer_has_the_order_and_case_of_the_original_and_no_secrets() {
    let answer = answered(&read(BASIC));
    assert_eq!(
        answer.to_string(),
        r#"{"startTime":"2015-07-13T00:00:00Z","action":{"request":{"uri":"http://www.bing.com/","method":"GET","headers":{"content-type":"application/xml"},"body":"some body message!","authentication":{"username":"username","type":"Basic"}},"type":"Http","retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":2},"errorAction":{"queueMessage":{"storageAccount":"schedulersdktest","queueName":"queue1","message":"some message!"},"type":"StorageQueue"}},"recurrence":{"frequency":"week","count":10000,"endTime":"2020-10-10T10:10:10Z","interval":1},"state":"enabled"}"#
    );
}

#[test]
fn a_stored_job_loads_as_the_same_job() {
    for body in [BASIC, SERVICE_BUS, OAUTH, CERTIFICATE, AWS, EVENT] {
        let job = read(body);
        assert_eq!(load(&stored(&job)).unwrap(), job);
        assert_eq!(accept_standard(&json!({"properties": stored(&job)})).unwrap(), job);
    }
}

const SERVICE_BUS: &str = r#"{"properties":{"action":{"type":"serviceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"ns","transportType":"NetMessaging","authentication":{"sasKeyName":"Root","sasKey":"key!","type":"sharedAccessKey"},"message":"Some Message!","brokeredMessageProperties":{"contentType":"Application/Json","timeToLive":"PT1H","forcePersistence":true,"scheduledEnqueueTimeUtc":"2016-01-01T00:00:00+01:00"},"customMessageProperties":{"b":"1","a":"2"}},"errorAction":{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"t/1","namespace":"ns","authentication":{"sasKeyName":"Root","sasKey":"other"},"message":"","brokeredMessageProperties":{}}}},"state":"disabled"}}"#;
const AWS: &str = r#"{"properties":{"action":{"type":"sqs","sqsMessage":{"queueUrl":"https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo","message":"m","messageAttributes":{"b":"1","a":"2"},"messageGroupId":"g"},"errorAction":{"type":"SNS","snsMessage":{"topicArn":"arn:aws:sns:eu-west-1:123456789012:t","message":"m","subject":"s"}}},"state":"enabled"}}"#;
const EVENT: &str = r#"{"properties":{"action":{"type":"eventBridge","eventBridgeEvent":{"source":"s","detailType":"t","detail":"{}","resources":["r"]},"errorAction":{"type":"lambda","lambdaInvocation":{"functionName":"f:live","payload":"[1]"}}}}}"#;
const OAUTH: &str = r#"{"properties":{"action":{"type":"https","request":{"uri":"https://example.org","method":"post","authentication":{"secret":"s3","tenant":"t","audience":"https://a/","clientId":"c","type":"activedirectoryoauth"}},"retryPolicy":{"retryType":"None"}}}}"#;
const CERTIFICATE: &str = r#"{"properties":{"action":{"type":"http","request":{"uri":"http://example.org","method":"GET","headers":{},"authentication":{"pfx":"MIIK","password":"pw","type":"clientcertificate"}}}}}"#;

#[test]
fn every_action_type_is_answered_as_recorded() {
    let answer = |body| answered(&read(body))["action"].to_string();
    assert_eq!(
        answer(SERVICE_BUS),
        r#"{"serviceBusQueueMessage":{"queueName":"q","namespace":"ns","transportType":"netMessaging","authentication":{"sasKeyName":"Root","type":"sharedAccessKey"},"message":"Some Message!","brokeredMessageProperties":{"contentType":"Application/Json","forcePersistence":true,"scheduledEnqueueTimeUtc":"2015-12-31T23:00:00Z","timeToLive":"01:00:00"},"customMessageProperties":{"b":"1","a":"2"}},"type":"ServiceBusQueue","errorAction":{"serviceBusTopicMessage":{"topicPath":"t/1","namespace":"ns","authentication":{"sasKeyName":"Root","type":"sharedAccessKey"},"message":"","brokeredMessageProperties":{}},"type":"ServiceBusTopic"}}"#
    );
    assert_eq!(
        answer(AWS),
        r#"{"sqsMessage":{"queueUrl":"https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo","message":"m","messageAttributes":{"b":"1","a":"2"},"messageGroupId":"g"},"type":"Sqs","errorAction":{"snsMessage":{"topicArn":"arn:aws:sns:eu-west-1:123456789012:t","message":"m","subject":"s"},"type":"Sns"}}"#
    );
    assert_eq!(
        answer(EVENT),
        r#"{"eventBridgeEvent":{"source":"s","detailType":"t","detail":"{}","resources":["r"]},"type":"EventBridge","errorAction":{"lambdaInvocation":{"functionName":"f:live","payload":"[1]"},"type":"Lambda"}}"#
    );
    assert_eq!(
        answer(OAUTH),
        r#"{"request":{"uri":"https://example.org","method":"post","authentication":{"tenant":"t","audience":"https://a/","clientId":"c","type":"ActiveDirectoryOAuth"}},"type":"Https","retryPolicy":{"retryType":"none"}}"#
    );
    assert_eq!(
        answer(CERTIFICATE),
        r#"{"request":{"uri":"http://example.org","method":"GET","headers":{},"authentication":{"type":"ClientCertificate"}},"type":"Http"}"#
    );
}

/// Checks that an action with this payload is refused, for a reason.
#[track_caller]
fn check_payload(kind: &str, name: &str, payload: &Value, reason: &str) {
    let job = json!({"properties": {"action": {"type": kind, name: payload}}});
    let refusal = accept_standard(&job).unwrap_err();
    assert!(refusal.message.contains(reason), "{payload}: {}", refusal.message);
}

#[test]
fn values_that_aws_does_not_accept_are_refused() {
    let ten: Value = (0..10).map(|n| (n.to_string(), json!("1"))).collect();
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";
    let mut checks = vec![
        ("Sqs", "sqsMessage", json!({"queueUrl": "q", "message": "m"}), "use the queue's URL"),
        ("Sqs", "sqsMessage", json!({"queueUrl": queue, "message": ""}), "not empty"),
        ("Sns", "snsMessage", json!({"topicArn": queue, "message": "m"}), "use the topic's ARN"),
        ("Lambda", "lambdaInvocation", json!({"functionName": "a/b"}), "use the name or the ARN"),
        ("Lambda", "lambdaInvocation", json!({"functionName": "arn:aws:s3:::b"}), "use the name"),
        (
            "Lambda",
            "lambdaInvocation",
            json!({"functionName": "f", "payload": "{"}),
            "is not valid JSON",
        ),
    ];
    for (attributes, reason) in [
        (ten, "has 10 entries; at most 9"),
        (json!({"aws.x": "1"}), "is not an allowed attribute name"),
        (json!({"x-ms-scheduler-id": "1"}), "is not an allowed attribute name"),
        (json!({"a": ""}), "is empty"),
    ] {
        let message = json!({"queueUrl": queue, "message": "m", "messageAttributes": attributes});
        checks.push(("Sqs", "sqsMessage", message, reason));
    }
    for (change, reason) in [
        (json!({"detail": "[]"}), "must be a JSON object as a string"),
        (json!({"source": "aws.s3"}), "AWS reserves the sources"),
        (json!({"eventBusName": "a b"}), "use the name or the ARN"),
        (json!({"resources": [1]}), "use a list of up to 9 strings"),
    ] {
        let event = json!({"source": "s", "detailType": "t", "detail": "{}"});
        let event = merge_patch(event, change, Shape::Leaf);
        checks.push(("EventBridge", "eventBridgeEvent", event, reason));
    }
    for (kind, name, payload, reason) in checks {
        check_payload(kind, name, &payload, reason);
    }
}

#[test]
fn values_that_azure_does_not_accept_are_refused() {
    let queue = |name: &str, value: Value| {
        let mut queue =
            json!({"storageAccount": "a", "queueName": "q", "sasToken": "s", "message": "m"});
        queue[name] = value;
        queue
    };
    for (name, value, reason) in [
        ("message", json!("a\u{1}b"), "U+0001"),
        ("message", json!("\u{ffff}"), "U+FFFF"),
        ("messageFormat", json!("xml"), "use one of envelope, raw"),
        ("queueName", json!("a/../b"), "must not contain '.' or '..'"),
        ("storageAccount", json!("a.evil.test/"), "without the domain"),
    ] {
        check_payload("StorageQueue", "queueMessage", &queue(name, value), reason);
    }
    for (name, value, reason) in [
        ("customMessageProperties", json!({"Host": "x"}), "or transportType AMQP"),
        ("customMessageProperties", json!({"a b": "x"}), "or transportType AMQP"),
        (
            "brokeredMessageProperties",
            json!({"contentType": "a\nb"}),
            "use printable ASCII characters",
        ),
        (
            "brokeredMessageProperties",
            json!({"sessionId": "a", "partitionKey": "b"}),
            "it must equal 'sessionId'",
        ),
    ] {
        let mut message = json!({"queueName": "q", "namespace": "n", "message": "m",
            "authentication": {"sasKeyName": "k", "sasKey": "s"}});
        message[name] = value;
        check_payload("ServiceBusQueue", "serviceBusQueueMessage", &message, reason);
    }
}

#[test]
fn durations_are_answered_in_the_form_that_the_client_reads() {
    for (durations, interval, time_to_live) in
        [(Durations::TimeSpan, "00:01:00", "01:00:00"), (Durations::Iso, "PT1M", "PT1H")]
    {
        let answer = |body| Value::from(read(body).write().answer(JobState::Enabled, durations));
        let found = answer(BASIC);
        assert_eq!(found["action"]["retryPolicy"]["retryInterval"], interval);
        let message = &answer(SERVICE_BUS)["action"]["serviceBusQueueMessage"];
        assert_eq!(message["brokeredMessageProperties"]["timeToLive"], time_to_live);
    }
}

#[test]
fn property_names_match_in_any_case() {
    let body = r#"{"Name":"x","Properties":{"Action":{"TYPE":"http","Request":{"URI":"http://example.org","Method":"GET"}},"Status":{"executionCount":7},"STATE":"DISABLED"}}"#;
    let answer = answered(&read(body));
    assert_eq!(
        answer.to_string(),
        r#"{"action":{"request":{"uri":"http://example.org","method":"GET"},"type":"Http"},"state":"disabled"}"#
    );
}

/// The refusal of a body whose property names are wrong.
fn wrong_names(body: Value, shape: Shape) -> String {
    let shown = body.to_string();
    canonical_names(body, shape).map_or_else(|refusal| refusal.message, |_| panic!("{shown}"))
}

#[test]
fn an_unknown_property_is_refused_with_the_nearest_name() {
    for (body, message) in [
        (
            json!({"properties": {"recurence": {}}}),
            "'recurence' is not a property; did you mean 'recurrence'?",
        ),
        (
            json!({"properties": {"action": {"request": {"header": {}}}}}),
            "'action.request.header' is not a property; did you mean 'headers'?",
        ),
        (
            json!({"properties": {"Action": {"ErrorAction": {"Request": {"Uris": 1}}}}}),
            "'action.errorAction.request.Uris' is not a property; did you mean 'uri'?",
        ),
        (
            json!({"properties": {"action": {"retryPolicy": {"backoff": 2}}}}),
            "'action.retryPolicy.backoff' belongs inside 'minutehand.retry'.",
        ),
        (
            json!({"properties": {"action": {"retryPolicy": {"colour": 2}}}}),
            "'action.retryPolicy.colour' is not a property; known properties are retryType, retryInterval, retryCount.",
        ),
        (
            json!({"properties": {"recurrence": {"cron": "* * * * *"}}}),
            "'recurrence.cron' is not a property; known properties are frequency, interval, count, endTime, schedule, timeZone.",
        ),
        (json!({"propertys": {}}), "'propertys' is not a property; did you mean 'properties'?"),
        (
            json!({"colour\n": "x".repeat(70)}),
            "'colour' is not a property; known properties are id, type, name, properties.",
        ),
        (
            json!({"properties": {"action": {"request": {"authentication": {"passwort": "x"}}}}}),
            "'action.request.authentication.passwort' is not a property; did you mean 'password'?",
        ),
        // A name beside secrets may be one of them.
        (
            json!({"properties": {"action": {"queueMessage": {"sv=1&sig=hunter2": "x"}}}}),
            "'action.queueMessage' has an unknown property; known properties are storageAccount, queueName, sasToken, message, messageFormat.",
        ),
        // A property that is to be removed is named as one that is to be set.
        (
            json!({"properties": {"recurence": null}}),
            "'recurence' is not a property; did you mean 'recurrence'?",
        ),
    ] {
        assert_eq!(wrong_names(body, JOB), message);
    }
    let long = "x".repeat(70);
    let message = wrong_names(json!({"properties": {&long: 1}}), JOB);
    assert!(message.starts_with(&format!("'{}' is not", "x".repeat(60))), "{message}");
    let quota = json!({"properties": {"quota": {"maxJobsCount": 3}}});
    assert_eq!(
        wrong_names(quota, COLLECTION),
        "'quota.maxJobsCount' is not a property; did you mean 'maxJobCount'?"
    );
}

#[test]
fn a_property_in_another_place_is_refused_with_its_own_place() {
    let in_properties = |name: &str| json!({"properties": {name: {}}});
    for (body, message) in [
        (in_properties("retryPolicy"), "'retryPolicy' belongs inside 'action'."),
        (in_properties("ErrorAction"), "'ErrorAction' belongs inside 'action'."),
        (in_properties("timeZone"), "'timeZone' belongs inside 'recurrence'."),
        (
            json!({"properties": {"minutehand": {"timeZone": "UTC"}}}),
            "'minutehand.timeZone' belongs inside 'recurrence'.",
        ),
        (in_properties("hours"), "'hours' belongs inside 'recurrence.schedule'."),
        (json!({"recurrence": {}}), "'recurrence' belongs inside 'properties'."),
        (json!({"action": {}}), "'action' belongs inside 'properties'."),
        (
            json!({"properties": {"action": {"recurrence": {}}}}),
            "'action.recurrence' belongs inside 'properties'.",
        ),
        (
            json!({"properties": {"action": {"recurence": {}}}}),
            "'action.recurence' is not a property; did you mean 'recurrence', which belongs inside 'properties'?",
        ),
        (
            in_properties("retryPolice"),
            "'retryPolice' is not a property; did you mean 'retryPolicy', which belongs inside 'action'?",
        ),
        (
            json!({"properties": {"action": {"colour": {}}}}),
            "'action.colour' is not a property; known properties are request, queueMessage, serviceBusQueueMessage, serviceBusTopicMessage, sqsMessage, snsMessage, lambdaInvocation, eventBridgeEvent, expect, type, retryPolicy, errorAction.",
        ),
        (
            json!({"properties": {"action": {"request": {"retryPolicy": {}}}}}),
            "'action.request.retryPolicy' belongs inside 'action'.",
        ),
        (
            json!({"properties": {"action": {"queueName": "q"}}}),
            "'action.queueName' belongs inside 'action.queueMessage' or inside 'action.serviceBusQueueMessage' or inside 'action.serviceBusTopicMessage'.",
        ),
        (
            json!({"properties": {"recurrence": {"schedule": {"timeZone": "UTC"}}}}),
            "'recurrence.schedule.timeZone' belongs inside 'recurrence'.",
        ),
        (
            json!({"properties": {"recurrence": {"weekdays": []}}}),
            "'recurrence.weekdays' belongs inside 'recurrence.schedule'.",
        ),
    ] {
        assert_eq!(wrong_names(body, JOB), message);
    }
    for (body, message) in [
        (json!({"sku": {}}), "'sku' belongs inside 'properties'."),
        (in_properties("location"), "'location' belongs beside 'properties'."),
        (in_properties("maxJobCount"), "'maxJobCount' belongs inside 'quota'."),
        (in_properties("timeZone"), "'timeZone' belongs inside 'minutehand'."),
    ] {
        assert_eq!(wrong_names(body, COLLECTION), message);
    }
}

#[test]
fn what_templates_and_clients_carry_along_has_no_effect() {
    let carried = json!({"$schema": "s", "apiVersion": "2016-03-01", "comments": "c", "condition": true,
        "dependsOn": ["x"], "ETag": "\"1\"", "scale": null, "systemData": {"createdBy": "me"}, "resources": []});
    for shape in [JOB, COLLECTION] {
        assert_eq!(canonical_names(carried.clone(), shape).unwrap(), json!({}));
        let nested = json!({"resources": [{"type": "jobs"}]});
        assert_eq!(
            wrong_names(nested, shape),
            "'resources' contains other resources; send each of them as a request of its own."
        );
        // They are carried beside the properties only.
        let inside = wrong_names(json!({"properties": {"dependsOn": []}}), shape);
        assert!(inside.starts_with("'dependsOn' is not a property; known properties"), "{inside}");
    }
}

#[test]
fn names_that_users_choose_are_free() {
    let free = json!({"properties": {"action": {"request": {"headers": {"header": "1", "retryPolicy": "2"}}}}});
    assert_eq!(canonical_names(free.clone(), JOB).unwrap(), free);
    let free = json!({"tags": {"sku": "x", "colour": "y"}});
    assert_eq!(canonical_names(free.clone(), COLLECTION).unwrap(), free);
}

/// A job that expects pings, with these properties beside its action.
fn expecting(action: &str, own: &str) -> String {
    format!(
        r#"{{"properties":{{"recurrence":{{"frequency":"hour"}},"action":{{"type":"expect","expect":{{}}{action}}},"minutehand":{{{own}}}}}}}"#
    )
}

#[test]
fn what_has_no_effect_on_a_job_that_expects_pings_is_refused() {
    let job = read(&expecting("", ""));
    assert_eq!(job.retries(Role::Main, Plan::Standard, "").count, 0);
    let window = job.action.ping_window().unwrap();
    assert_eq!((window.early, window.grace), (Span::seconds(300), Span::seconds(600)));
    for (action, own, path) in [
        (r#","retryPolicy":{"retryType":"none"}"#, "", "action.retryPolicy"),
        (
            r#","errorAction":{"type":"http","request":{"uri":"http://a/","method":"GET"}}"#,
            "",
            "action.errorAction",
        ),
        ("", r#""timeout":"PT5S""#, "minutehand.timeout"),
        ("", r#""completion":{"within":"PT2H"}"#, "minutehand.completion"),
        ("", r#""jitter":{"window":"PT5M"}"#, "minutehand.jitter"),
        ("", r#""catchUp":{"policy":"all"}"#, "minutehand.catchUp"),
        ("", r#""overlap":{"policy":"skip"}"#, "minutehand.overlap"),
        ("", r#""template":true"#, "minutehand.template"),
    ] {
        let body: Value = serde_json::from_str(&expecting(action, own)).unwrap();
        let refusal = accept(&body, Plan::Standard).unwrap_err();
        assert_eq!(refusal.target.as_deref(), Some(path), "{refusal}");
        assert!(refusal.message.ends_with("set it to null."), "{refusal}");
    }
    let nested = r#"{"properties":{"action":{"type":"http","request":{"uri":"http://a/","method":"GET"},"errorAction":{"type":"expect","expect":{}}}}}"#;
    let body: Value = serde_json::from_str(nested).unwrap();
    let refusal = accept(&body, Plan::Standard).unwrap_err();
    assert!(refusal.message.contains("sends nothing"), "{refusal}");
    let request = r#""request":{"uri":"http://a/","method":"GET"}"#;
    for (action, path) in [
        (format!(r#""type":"Expect","expect":{{}},{request}"#), "action.request"),
        (r#""type":"Expect","expect":{},"queueMessage":{}"#.to_owned(), "action.queueMessage"),
        (format!(r#""type":"Http","expect":{{}},{request}"#), "action.expect"),
    ] {
        let refused = |action: &str| {
            let body = format!(r#"{{"properties":{{"action":{{{action}}}}}}}"#);
            accept(&serde_json::from_str::<Value>(&body).unwrap(), Plan::Standard).err()
        };
        assert_eq!(refused(&action).and_then(|it| it.target).as_deref(), Some(path), "{action}");
    }
}

#[test]
fn a_refusal_names_the_missing_property() {
    check_refused("{}", r#"'properties' is missing; a job is {"properties":{"action":…}}."#);
    check_refused(r#"{"properties":{}}"#, "'action' is missing; it must be a JSON object.");
    check_refused(
        r#"{"properties":{"action":{}}}"#,
        "'action.type' is missing; use one of Http, Https, StorageQueue, ServiceBusQueue, ServiceBusTopic, Sqs, Sns, Lambda, EventBridge, Expect.",
    );
    check_refused(
        r#"{"properties":{"action":{"type":"Http"}}}"#,
        "'action.request' is missing; it must be a JSON object.",
    );
    check_refused(
        r#"{"properties":{"action":{"type":"Http","request":{"method":"GET"}}}}"#,
        "'action.request.uri' is missing; it must be a string that is not empty.",
    );
    check_refused(
        &http(r#","authentication":{"type":"Basic","username":"u"}"#),
        "'Username' and 'Password' are required for 'Basic' type of Authentication.",
    );
    check_refused(
        &http(
            r#","authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c"}"#,
        ),
        "'action.request.authentication.secret' is missing; answers never contain it, so every PUT must send it as a string.",
    );
    check_refused(
        r#"{"properties":{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"q","message":"m"}}}}"#,
        "'action.queueMessage.sasToken' is missing; answers never contain it, so every PUT must send it as a string.",
    );
}

#[test]
fn a_refusal_names_the_property_and_what_is_allowed() {
    check_refused(
        &http(r#","headers":{"Content-Length":"3"}"#),
        "'action.request.headers.Content-Length' is set by the HTTP connection; remove it.",
    );
    // Where a name stands for many servers, `Host` chooses one.
    read(&http(r#","headers":{"Host":"virtual.example"}"#));
    check_refused(
        &http(r#","headers":{"X-MS-Scheduler-JobId":"3"}"#),
        "'action.request.headers.X-MS-Scheduler-JobId' is reserved: the scheduler sets the headers that begin with 'x-ms-scheduler-'. Use another name.",
    );
    check_refused(
        &http(r#","headers":{"a b":"3"}"#),
        "'action.request.headers.a b' is not a valid header name.",
    );
    check_refused(
        &http(r#","headers":{"a":"1\r\nb: 2"}"#),
        "The value of 'action.request.headers.a' contains a line break or another control character; remove it.",
    );
    check_refused(
        &http(r#","headers":{"a":1}"#),
        "'action.request.headers.a' is 1; use a JSON string.",
    );
    let uri = |kind: &str, uri: &str| {
        format!(
            r#"{{"properties":{{"action":{{"type":"{kind}","request":{{"uri":"{uri}","method":"GET"}}}}}}}}"#
        )
    };
    check_refused(
        &uri("Http", "ftp://x"),
        "'action.request.uri' is \"ftp://x\"; use an absolute http or https URL.",
    );
    check_refused(
        &uri("Http", "/path"),
        "'action.request.uri' is \"/path\"; use an absolute http or https URL.",
    );
    check_refused(
        &uri("Https", "http://x"),
        "'action.request.uri' is \"http://x\"; an action of type 'Https' requires an https URL.",
    );
    check_refused(
        &uri("Http", "http://user:hunter2@x/"),
        "'action.request.uri' contains a user name; use 'authentication' of type 'Basic' instead.",
    );
    check_refused(
        &BASIC.replace("\"Enabled\"", "\"Completed\""),
        "'state' is \"Completed\"; only the scheduler sets it; use one of enabled, disabled.",
    );
    check_refused(
        &BASIC.replace("00:01:00", "00:00:14"),
        "'action.retryPolicy.retryInterval' is 00:00:14; in the plan Standard use 00:00:15 to 548.00:00:00 (548 days).",
    );
    check_refused(
        &BASIC.replace("\"Week\"", "\"Fortnight\""),
        "'recurrence.frequency' is \"Fortnight\"; use one of minute, hour, day, week, month, year.",
    );
    check_refused(
        &BASIC.replace("schedulersdktest", "evil.example/"),
        "'action.errorAction.queueMessage.storageAccount' is \"evil.example/\"; use up to 63 letters, digits and '-', without the domain.",
    );
}

#[test]
fn sizes_are_limited() {
    let long = |n| "x".repeat(n);
    read(&http(&format!(r#","body":"{}""#, long(8_192))));
    check_refused(
        &http(&format!(r#","body":"{}""#, long(8_193))),
        "'action.request.body' has 8193 characters; at most 8192 are allowed.",
    );
    check_refused(
        &http(&format!(r#","headers":{{"a":"{}"}}"#, long(4_096))),
        "'action.request.headers' has 4097 characters in names and values; at most 4096 are allowed.",
    );
    let headers: Vec<_> = (0..51).map(|n| format!(r#""h{n}":"""#)).collect();
    check_refused(
        &http(&format!(r#","headers":{{{}}}"#, headers.join(","))),
        "'action.request.headers' has 51 headers; at most 50 are allowed.",
    );
    check_refused(
        &BASIC.replace("http://www.bing.com/", &format!("http://www.bing.com/{}", long(2_048))),
        "'action.request.uri' has 2068 characters; at most 2048 are allowed.",
    );
    let queue = BASIC.replace("some message!", &long(16 * 1_024));
    let refusal = read(&queue).write().split().unwrap_err();
    assert_eq!(refusal.code, Code::JobTooLarge);
    assert!(refusal.message.contains("bytes; at most 16384 are allowed."), "{refusal}");
}

fn patched(body: &str, patch: &str) -> Value {
    merge_patch(json!({"properties": stored(&read(body))}), parse(patch), JOB)
}

#[track_caller]
fn check_patch(body: &str, patch: &str, pointer: &str, expected: &str) {
    let merged = patched(body, patch);
    let job = accept_standard(&merged).unwrap();
    let answer = answered(&job);
    assert_eq!(answer.pointer(pointer).unwrap_or(&Value::Null).to_string(), expected, "{patch}");
}

#[test]
fn a_patch_merges_deeply_and_keeps_secrets() {
    let recurrence = r#"{"properties":{"startTime":"2015-07-14T00:00:00Z","recurrence":{"frequency":"Day","interval":1}}}"#;
    check_patch(
        BASIC,
        recurrence,
        "/recurrence",
        r#"{"frequency":"day","count":10000,"endTime":"2020-10-10T10:10:10Z","interval":1}"#,
    );
    check_patch(BASIC, recurrence, "/startTime", "\"2015-07-14T00:00:00Z\"");
    let merged = patched(BASIC, recurrence);
    assert_eq!(
        merged.pointer("/properties/action/request/authentication/password").unwrap(),
        "pasworrd"
    );
    check_patch(
        BASIC,
        r#"{"properties":{"action":{"request":{"headers":{"b":"2"}}}}}"#,
        "/action/request/headers",
        r#"{"content-type":"application/xml","b":"2"}"#,
    );
    check_patch(
        BASIC,
        r#"{"properties":{"action":{"request":{"headers":{"content-type":null}}}}}"#,
        "/action/request/headers",
        "{}",
    );
    check_patch(
        BASIC,
        r#"{"properties":{"action":{"request":{"authentication":null}}}}"#,
        "/action/request/authentication",
        "null",
    );
    check_patch(BASIC, r#"{"properties":{"recurrence":null}}"#, "/recurrence", "null");
    check_patch(BASIC, r#"{"Properties":{"STATE":"disabled"}}"#, "/state", "\"disabled\"");
    check_patch(BASIC, "{}", "/state", "\"enabled\"");
}

#[test]
fn a_patch_replaces_a_schedule_whole() {
    let weekly = BASIC.replace(
        r#""interval":1"#,
        r#""interval":1,"schedule":{"weekDays":["Monday"],"hours":[5]}"#,
    );
    check_patch(
        &weekly,
        r#"{"properties":{"recurrence":{"schedule":{"Hours":[6]}}}}"#,
        "/recurrence/schedule",
        r#"{"hours":[6]}"#,
    );
}

#[test]
fn a_patch_that_changes_the_type_removes_the_old_payload() {
    let queue = r#"{"properties":{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"q","sasToken":"s","message":"m"}}}}"#;
    check_patch(BASIC, queue, "/action/request", "null");
    check_patch(BASIC, queue, "/action/retryPolicy/retryCount", "2");
    let merged = patched(BASIC, r#"{"properties":{"action":{"type":"StorageQueue"}}}"#);
    assert!(accept_standard(&merged).is_err(), "the new payload has to be sent");
    let oauth = r#"{"properties":{"action":{"request":{"authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"s"}}}}}"#;
    check_patch(
        BASIC,
        oauth,
        "/action/request/authentication",
        r#"{"tenant":"t","audience":"a","clientId":"c","type":"ActiveDirectoryOAuth"}"#,
    );
    check_patch(
        BASIC,
        r#"{"properties":{"action":{"type":"Https","request":{"uri":"https://www.bing.com/"}}}}"#,
        "/action/request/method",
        "\"GET\"",
    );
}

/// The properties that a PATCH makes of a job, as the application service makes them.
fn kept(body: &str, patch: &str) -> Result<Value, String> {
    let whole = stored(&read(body));
    let mut old = whole.clone();
    withhold(&mut old);
    let mut merged =
        merge_patch(json!({ "properties": old }), parse(patch), JOB)["properties"].take();
    keep_withheld(&mut merged, Some(&whole)).map_err(|refusal| refusal.message)?;
    Ok(merged)
}

/// A request with credentials in its headers and in its query.
const KEYS: &str = r#"{"properties":{"action":{"type":"Http","request":{"uri":"http://h.example/p?x=1&code=c0de","method":"GET","headers":{"Accept":"*/*","X-Functions-Key":"k3y","X-Empty-Key":""}}}}}"#;

#[test]
fn a_patch_does_not_send_a_secret_to_another_place() {
    let carried = |body: &str, patch: &str| kept(body, patch).err();
    let uri = |uri: &str, more: &str| {
        format!(r#"{{"properties":{{"action":{{"request":{{"uri":"{uri}"{more}}}}}}}}}"#)
    };
    let elsewhere = |path: &str| {
        Some(format!("'{path}' was given for another host. Send it again with this change."))
    };
    let password = elsewhere("action.request.authentication.password");
    assert_eq!(carried(BASIC, &uri("http://evil.example/", "")), password);
    assert_eq!(carried(BASIC, &uri("http://www.bing.com:8080/", "")), password);
    assert_eq!(carried(BASIC, &uri("https://www.bing.com/", "")), password);
    assert_eq!(carried(BASIC, &uri("http://WWW.bing.com/other?path", "")), None);
    let sent = r#","authentication":{"password":"new"}"#;
    assert_eq!(carried(BASIC, &uri("http://evil.example/", sent)), None);
    assert_eq!(carried(BASIC, &uri("http://evil.example/", r#","authentication":null"#)), None);
    assert_eq!(
        carried(
            BASIC,
            r#"{"properties":{"action":{"errorAction":{"queueMessage":{"storageAccount":"other"}}}}}"#
        ),
        elsewhere("action.errorAction.queueMessage.sasToken"),
    );
    assert_eq!(
        carried(
            SERVICE_BUS,
            r#"{"properties":{"action":{"serviceBusQueueMessage":{"namespace":"other"}}}}"#
        ),
        elsewhere("action.serviceBusQueueMessage.authentication.sasKey"),
    );
    assert_eq!(carried(SERVICE_BUS, r#"{"properties":{"state":"enabled"}}"#), None);

    let header = elsewhere("action.request.headers.X-Functions-Key");
    assert_eq!(carried(KEYS, &uri("http://evil.example/", "")), header);
    let no_key = r#","headers":{"X-Functions-Key":null}"#;
    assert_eq!(carried(KEYS, &uri("http://evil.example/", no_key)), None);
    assert_eq!(
        carried(KEYS, &uri("http://evil.example/?code=(withheld)", no_key)),
        elsewhere("action.request.uri")
    );
    assert_eq!(carried(KEYS, &uri("http://evil.example/?code=new", no_key)), None);
}

#[test]
fn credentials_in_headers_and_queries_are_sealed_and_withheld() {
    let job = read(KEYS);
    let SplitDocument { shown, secrets, bytes } = job.write().split().unwrap();
    let secrets = secrets.unwrap();
    assert_eq!(
        secrets.expose(),
        r#"{"action":{"request":{"uri":"http://h.example/p?x=1&code=c0de","headers":{"X-Functions-Key":"k3y"}}}}"#
    );
    let debug = format!("{job:?}");
    let answer = answered(&job).to_string();
    for text in [&shown, &answer, &debug] {
        assert!(!text.contains("c0de") && !text.contains("k3y"), "{text}");
    }
    assert!(
        answer.contains(
            r#"{"uri":"http://h.example/p?x=1&code=(withheld)","method":"GET","headers":{"Accept":"*/*","X-Functions-Key":"(withheld)","X-Empty-Key":""}}"#
        ),
        "{answer}"
    );
    // The limit counts what the client sent.
    assert_eq!(bytes, stored(&job).to_string().len());
    assert_eq!(load(&stored(&job)).unwrap(), job);
}

#[test]
fn a_job_that_was_stored_in_clear_is_withheld_and_sealed_when_it_is_written() {
    let mut clear = parse(KEYS)["properties"].take();
    clear["state"] = "Enabled".into();
    let shown = load_shown(&clear).unwrap();
    assert!(!answered(&shown).to_string().contains("c0de"));
    let job = load(&clear).unwrap();
    let Target::Http(request) = &job.action.action.target else { panic!("{job:?}") };
    assert_eq!(request.uri, "http://h.example/p?x=1&code=c0de");
    assert!(!job.write().split().unwrap().shown.contains("k3y"));
}

#[test]
fn a_client_that_writes_what_it_read_loses_nothing() {
    for body in [KEYS, BASIC, SERVICE_BUS] {
        let job = read(body);
        let whole = stored(&job);
        let mut sent = whole.clone();
        withhold(&mut sent);
        assert!(has_withheld(&sent) && !has_withheld(&whole));
        keep_withheld(&mut sent, Some(&whole)).unwrap();
        assert_eq!(sent, whole);
    }
    // Names of headers and parameters may be written in another case, and the path may change.
    let sent = r#"{"properties":{"action":{"request":{"uri":"http://h.example/q?Code=%28withheld%29","headers":{"X-Functions-Key":null,"x-functions-key":"(withheld)"}}}}}"#;
    let kept = kept(KEYS, sent).unwrap();
    assert_eq!(kept["action"]["request"]["uri"], "http://h.example/q?Code=c0de");
    assert_eq!(kept["action"]["request"]["headers"]["x-functions-key"], "k3y");
}

#[test]
fn a_secret_that_is_withheld_must_be_stored() {
    let check = |sent: &str, stored: Option<&str>, expected: &str| {
        let stored = stored.map(|body| parse(body)["properties"].take());
        let mut sent = parse(sent)["properties"].take();
        let refusal = keep_withheld(&mut sent, stored.as_ref()).unwrap_err();
        assert_eq!(refusal.message, expected);
    };
    let why = "is '(withheld)', but there is no stored value to keep. Send the value.";
    let token = r#"{"properties":{"action":{"request":{"uri":"http://h.example","headers":{"X-Auth-Token":"(withheld)"}}}}}"#;
    check(token, None, &format!("'action.request.headers.X-Auth-Token' {why}"));
    check(token, Some(KEYS), &format!("'action.request.headers.X-Auth-Token' {why}"));
    check(token, Some(SERVICE_BUS), &format!("'action.request.headers.X-Auth-Token' {why}"));
    let empty = token.replace("X-Auth-Token", "X-Empty-Key");
    check(&empty, Some(KEYS), &format!("'action.request.headers.X-Empty-Key' {why}"));
    let sig = r#"{"properties":{"action":{"request":{"uri":"http://h.example?sig=(withheld)"}}}}"#;
    check(sig, Some(KEYS), &format!("The parameter 'sig' of 'action.request.uri' {why}"));
    // A body is not a secret.
    let mut body = parse(
        r#"{"properties":{"action":{"request":{"uri":"http://h/?x=(withheld)","body":"(withheld)","headers":{"X":"(withheld)"}}}}}"#,
    )["properties"].take();
    assert!(!has_withheld(&body));
    keep_withheld(&mut body, None).unwrap();
}

#[test]
fn a_header_of_the_connection_is_refused_however_it_is_spelled() {
    for name in [
        "transfer-Encoding",
        "Transfer_Encoding",
        "Connection",
        "Expect",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
    ] {
        check_refused(
            &http(&format!(r#","headers":{{"{name}":"x"}}"#)),
            &format!("'action.request.headers.{name}' is set by the HTTP connection; remove it."),
        );
    }
}

#[test]
fn a_header_cannot_be_given_twice() {
    check_refused(
        &http(r#","headers":{"Host":"one","Accept":"*/*","host":"two"}"#),
        "'action.request.headers' has the header 'Host' twice, the second time as 'host'; keep one. Names of headers match in any case.",
    );
}

#[test]
fn a_refusal_of_a_url_does_not_repeat_its_credentials() {
    let body = http(r#","uri":"gopher://h?code=c0de""#);
    check_refused(
        &body,
        "'action.request.uri' is \"gopher://h?code=(withheld)\"; use an absolute http or https URL.",
    );
}

#[test]
fn a_message_never_repeats_a_secret() {
    for body in [BASIC, SERVICE_BUS, OAUTH, CERTIFICATE, AWS, EVENT] {
        for (from, to) in [
            ("pasworrd", "\u{0}"),
            ("\"pasworrd\"", "{\"hunter2\":1}"),
            ("\"key!\"", "[\"hunter2\"]"),
            ("\"s3\"", "12345678"),
            ("\"MIIK\"", "true"),
        ] {
            let body = body.replace(from, to);
            let body =
                canonical_names(serde_json::from_str(&body).unwrap_or_default(), JOB).unwrap();
            if let Err(refusal) = accept_standard(&body) {
                assert!(
                    !refusal.message.contains("hunter2") && !refusal.message.contains("12345678"),
                    "{refusal}"
                );
            }
        }
    }
    let shown = format!("{:?} {:?} {:?}", read(BASIC), read(SERVICE_BUS), read(OAUTH));
    for secret in ["pasworrd", "ThIsiSmYtOke", "key!", "s3\""] {
        assert!(!shown.contains(secret), "{secret}");
    }
}

#[test]
fn a_collection_is_answered_as_recorded() {
    let answer = |body: &str| {
        let body = canonical_names(serde_json::from_str(body).unwrap(), COLLECTION)?;
        accept_collection(&body).map(|collection| write_collection(&collection).to_string())
    };
    let full = r#"{"name":"jc13202","location":"South Central US","tags":{"department":"marketing"},"properties":{"sku":{"name":"p10premium"},"state":"enabled","quota":{"maxJobCount":50,"maxRecurrence":{"frequency":"Day","interval":2}}}}"#;
    assert_eq!(
        answer(full).unwrap(),
        r#"{"location":"South Central US","tags":{"department":"marketing"},"properties":{"sku":{"name":"P10Premium"},"state":"Enabled","quota":{"maxJobCount":50,"maxRecurrence":{"frequency":"day","interval":2}}}}"#
    );
    assert_eq!(
        answer("{}").unwrap(),
        r#"{"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}"#
    );
    assert_eq!(
        answer(r#"{"properties":{"state":"Deleted"}}"#).unwrap_err().message,
        "'state' is \"Deleted\"; use one of Enabled, Disabled, Suspended.",
    );
    assert_eq!(
        answer(r#"{"properties":{"sku":{"name":"Gold"}}}"#).unwrap_err().message,
        "'sku.name' is \"Gold\"; use one of Standard, Free, P10Premium, P20Premium.",
    );
    assert_eq!(
        answer(r#"{"properties":{"quota":{"maxRecurrence":{"interval":1}}}}"#).unwrap_err().message,
        "'quota.maxRecurrence.frequency' is missing; use one of minute, hour, day, week, month, year.",
    );
}

/// Stored properties of jobs that a limit of today refuses, and the reason.
fn beyond_the_limits() -> Vec<(&'static str, Value)> {
    let request = |change: Value| {
        let mut request = json!({"uri": "http://example.org", "method": "GET"});
        request = merge_patch(request, change, Shape::Leaf);
        json!({"action": {"request": request, "type": "Http"}, "state": "enabled"})
    };
    let sqs = |change: Value| {
        let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";
        let message = merge_patch(json!({"queueUrl": queue, "message": "m"}), change, Shape::Leaf);
        json!({"action": {"sqsMessage": message, "type": "Sqs"}, "state": "enabled"})
    };
    let headers: Value = (0..75).map(|n| (format!("h{n}"), json!("x"))).collect();
    let attributes: Value = (0..12).map(|n| (format!("a{n}"), json!("x"))).collect();
    let mut retries = request(json!({}));
    retries["action"]["retryPolicy"] =
        json!({"retryType": "fixed", "retryInterval": "00:00:01", "retryCount": 100});
    vec![
        ("at most 8192", request(json!({"body": "x".repeat(9_000)}))),
        ("at most 2048", request(json!({"uri": format!("http://a/{}", "x".repeat(2_048))}))),
        ("at most 50", request(json!({"headers": headers}))),
        ("use one of GET", request(json!({"method": "TRACE"}))),
        ("is reserved", request(json!({"headers": {"x-ms-scheduler-new": "1"}}))),
        ("in the plan", retries),
        ("at most 9", sqs(json!({"messageAttributes": attributes}))),
        ("must be a string that is not empty", sqs(json!({"message": ""}))),
    ]
}

#[test]
fn a_limit_of_today_does_not_break_a_stored_job() {
    for (reason, stored) in beyond_the_limits() {
        let refusal = accept_standard(&json!({"properties": stored})).unwrap_err();
        assert!(refusal.message.contains(reason), "{refusal}");
        let loaded = load(&stored).unwrap();
        assert_eq!(answered(&loaded), stored, "{reason}");
        assert_eq!(load_shown(&stored).unwrap(), loaded, "{reason}");
    }
}

#[test]
fn loading_checks_the_structure() {
    let http = |request: Value| json!({"action": {"type": "Http", "request": request}});
    let queue = json!({"storageAccount": "evil.test/", "queueName": "q", "sasToken": "s",
        "message": "m"});
    for (stored, reason) in [
        (json!([]), "must be a JSON object"),
        (json!({}), "'action' is missing"),
        (json!({"action": {"type": "Fax"}}), "use one of Http"),
        (http(json!({"uri": 1, "method": "GET"})), "use a JSON string"),
        (http(json!({"method": "GET"})), "'action.request.uri' is missing"),
        // No stored job may address another host.
        (json!({"action": {"type": "StorageQueue", "queueMessage": queue}}), "without the domain"),
    ] {
        for refusal in [load(&stored).unwrap_err(), load_shown(&stored).unwrap_err()] {
            assert!(refusal.message.contains(reason), "{refusal}");
        }
    }
}

#[test]
fn secrets_are_required_to_load_a_job_and_withheld_to_show_it() {
    for body in [BASIC, SERVICE_BUS, OAUTH, CERTIFICATE] {
        let job = read(body);
        let shown: Value = serde_json::from_str(&job.write().split().unwrap().shown).unwrap();
        load(&shown).unwrap_err();
        let withheld = load_shown(&shown).unwrap();
        assert_eq!(answered(&withheld), answered(&job));
        assert_eq!(withheld.write().split().unwrap().secrets, None);
    }
}

#[test]
fn certificate_facts_are_stored_and_never_taken_from_a_client() {
    let facts = json!({"certificateThumbprint": "AA", "certificateExpiration": "2030-01-01T00:00:00Z",
        "certificateSubjectName": "CN=a"});
    let mut stored = stored(&read(CERTIFICATE));
    let authentication = &mut stored["action"]["request"]["authentication"];
    *authentication = merge_patch(authentication.clone(), facts, Shape::Leaf);
    let answer = r#"{"certificateThumbprint":"AA","certificateExpiration":"2030-01-01T00:00:00Z","certificateSubjectName":"CN=a","type":"ClientCertificate"}"#;
    let loaded = load(&stored).unwrap();
    assert_eq!(answered(&loaded)["action"]["request"]["authentication"].to_string(), answer);
    let accepted = accept_standard(&json!({"properties": stored})).unwrap();
    assert_eq!(accepted, read(CERTIFICATE));
    // The user did not send the facts, so they do not count.
    let bytes = |job: &JobDefinition| job.write().split().unwrap().bytes;
    assert_eq!(bytes(&loaded), bytes(&accepted));
}

#[test]
fn a_limit_of_today_does_not_break_a_stored_collection() {
    let stored = json!({"properties": {"quota": {"maxJobCount": 3_000_000_000_u32}}});
    assert!(accept_collection(&stored).is_err());
    assert_eq!(
        load_collection(&stored).unwrap().quota.and_then(|quota| quota.max_job_count),
        Some(3_000_000_000),
    );
}

#[test]
fn monthly_occurrences_are_answered_in_two_spellings_and_stored_in_one() {
    let monthly = BASIC.replace(
        r#""frequency":"Week""#,
        r#""frequency":"Month","schedule":{"monthlyOccurrences":[{"day":"monday","occurrence":1}]}"#,
    );
    let days = "/recurrence/schedule/monthlyOccurrences/0";
    let job = read(&monthly);
    let kept = stored(&job).pointer(days).unwrap().to_string();
    assert_eq!(kept, r#"{"day":"monday","occurrence":1}"#);
    let answer = answered(&job).pointer(days).unwrap().to_string();
    assert_eq!(answer, r#"{"day":"monday","occurrence":1,"Occurrence":1}"#);
}

/// The zone of a job after a PUT, given the stored properties and the collection's zone. `sent` is
/// the recurrence of the PUT.
#[track_caller]
fn check_zone(sent: &Value, stored: Option<Value>, default: Option<&str>, expected: Option<&str>) {
    let start = "2027-01-01T00:00:00Z";
    let shown = format!("{sent} over {stored:?} in {default:?}");
    let mut body = json!({"properties": {"startTime": start, "recurrence": sent}});
    let stored = stored.map(|recurrence| json!({"startTime": start, "recurrence": recurrence}));
    add_time_zone(&mut body, stored.as_ref(), default);
    let zone = body.pointer("/properties/recurrence/timeZone").and_then(Value::as_str);
    assert_eq!(zone, expected, "{shown}");
}

#[test]
fn a_time_zone_that_is_not_sent_stays_while_the_recurrence_does() {
    let nine = json!({"frequency": "Week", "schedule": {"hours": [9], "minutes": [0]}});
    let in_zone = |zone: &str| {
        let mut nine = nine.clone();
        nine["timeZone"] = zone.into();
        Some(nine)
    };
    let ten = json!({"frequency": "week", "schedule": {"hours": [10], "minutes": [0]}});
    // The same in other words, as clients write it.
    let same =
        json!({"frequency": "week", "interval": 1, "schedule": {"hours": [9], "minutes": [0]}});
    let (berlin, tokyo) = (Some("Europe/Berlin"), Some("Asia/Tokyo"));
    check_zone(&same, in_zone("Europe/Berlin"), None, berlin);
    check_zone(&same, in_zone("Europe/Berlin"), tokyo, berlin);
    // Another recurrence is a new timing: it takes the zone of the collection.
    check_zone(&ten, in_zone("Europe/Berlin"), None, None);
    check_zone(&ten, in_zone("Europe/Berlin"), tokyo, tokyo);
    check_zone(&ten, Some(nine.clone()), tokyo, tokyo);
    check_zone(&nine, None, tokyo, tokyo);
    check_zone(&nine, Some(Value::Null), tokyo, tokyo);
    // The timing stays, and so does its lack of a zone.
    check_zone(&same, Some(nine.clone()), tokyo, None);
    // What is sent counts, `null` too.
    check_zone(&in_zone("UTC").unwrap(), in_zone("Europe/Berlin"), tokyo, Some("UTC"));
    let mut removed = nine.clone();
    removed["timeZone"] = Value::Null;
    check_zone(&removed, in_zone("Europe/Berlin"), tokyo, None);
    // What cannot be read is refused later.
    check_zone(&json!({"frequency": "era"}), in_zone("Europe/Berlin"), None, None);
}

#[test]
fn another_start_is_a_new_timing_too() {
    let recurrence = json!({"frequency": "day"});
    let stored = json!({"startTime": "2027-01-01T00:00:00Z", "recurrence": recurrence});
    for (start, expected) in
        [("2027-01-01T01:00+01:00", Value::Null), ("2027-01-02", json!("Asia/Tokyo"))]
    {
        let mut body = json!({"properties": {"startTime": start, "recurrence": recurrence}});
        add_time_zone(&mut body, Some(&stored), Some("Asia/Tokyo"));
        assert_eq!(body["properties"]["recurrence"]["timeZone"], expected, "{start}");
    }
}

#[test]
fn a_job_that_runs_once_starts_on_the_clock_of_the_collection() {
    for (start, zone, expected) in [
        ("2027-01-01T09:00", Some("Europe/Berlin"), "2027-01-01T08:00:00Z"),
        ("2027-01-01T09:00Z", Some("Europe/Berlin"), "2027-01-01T09:00:00Z"),
        ("2027-01-01T09:00", None, "2027-01-01T09:00"),
        ("soon", Some("Europe/Berlin"), "soon"),
    ] {
        let mut body = json!({"properties": {"startTime": start}});
        add_time_zone(&mut body, None, zone);
        assert_eq!(body["properties"]["startTime"], expected, "{start}");
    }
}

#[test]
fn extensions_that_are_not_sent_stay() {
    let stored = json!({"minutehand": {"timeZone": "Europe/Berlin"}, "state": "Enabled"});
    let kept = json!({"properties": {"minutehand": {"timeZone": "Europe/Berlin"}}});
    for (body, expected) in [
        (json!({}), kept.clone()),
        (json!({"properties": null}), kept.clone()),
        (json!({"properties": {}}), kept.clone()),
        (json!({"properties": {"minutehand": null}}), json!({"properties": {"minutehand": null}})),
        (json!({"properties": {"minutehand": {}}}), json!({"properties": {"minutehand": {}}})),
        (json!({"properties": []}), json!({"properties": []})),
    ] {
        let mut completed = body.clone();
        keep_extensions(&mut completed, &stored);
        assert_eq!(completed, expected, "{body}");
    }
    let mut body = json!({});
    keep_extensions(&mut body, &json!({"state": "Enabled"}));
    assert_eq!(body, json!({}));
}

#[test]
fn extensions_are_checked_stored_and_answered() {
    let collection = |extensions: Value| {
        let body = json!({"properties": {"minutehand": extensions}});
        accept_collection(&canonical_names(body, COLLECTION)?).map(|it| write_collection(&it))
    };
    let written = collection(json!({"TimeZone": "W. Europe Standard Time"})).unwrap();
    assert_eq!(
        written.to_string(),
        r#"{"properties":{"sku":{"name":"Standard"},"state":"Enabled","minutehand":{"timeZone":"W. Europe Standard Time"}}}"#
    );
    assert_eq!(write_collection(&load_collection(&written).unwrap()), written);
    for (extensions, message) in [
        (
            json!({"timeZone": "Europe/Berln"}),
            "'minutehand.timeZone' is \"Europe/Berln\"; use an IANA or Windows time zone name, such as 'Europe/Berlin'.",
        ),
        (json!({"timeZone": 1}), "'minutehand.timeZone' is 1; use a JSON string."),
        (json!("UTC"), "'minutehand' must be a JSON object."),
        (
            json!({"timezon": "UTC"}),
            "'minutehand.timezon' is not a property; did you mean 'timeZone'?",
        ),
    ] {
        assert_eq!(collection(extensions).unwrap_err().message, message);
    }
    // A zone that a later release of the database drops does not break a stored collection.
    let dropped = json!({"properties": {"minutehand": {"timeZone": "Europe/Atlantis"}}});
    assert_eq!(load_collection(&dropped).unwrap().time_zone(), Some("Europe/Atlantis"));
    let with_extensions = |extensions: &str| {
        BASIC.replace(r#""state""#, &format!(r#""minutehand":{extensions},"state""#))
    };
    let job = read(&with_extensions("{}"));
    assert_eq!(answered(&job)["minutehand"], json!({}));
    assert_eq!(load(&stored(&job)).unwrap(), job);
    assert_eq!(read(&with_extensions("null")), read(BASIC));
}

/// A collection with a failure action.
fn notifying(action: &Value) -> Result<crate::collection::CollectionDefinition, Refusal> {
    let body = json!({"properties": {"minutehand": {"onFailure": action}}});
    accept_collection(&canonical_names(body, COLLECTION)?)
}

/// What is sent to try a failure action.
fn test_event() -> FailureEvent<'static> {
    const OCCURRENCE: Occurrence = Occurrence::Scheduled { nominal_at: DateTime::UNIX_EPOCH };
    let names = JobNames { subscription: "s", group: "g", collection: "ops", job: "j" };
    let (id, told) = ("1".to_owned(), Told::Test);
    FailureEvent {
        id,
        names,
        occurrence: &OCCURRENCE,
        attempts: &[],
        next_at: None,
        paused: None,
        told,
        facts: JobFacts::default(),
    }
}

/// A failure action of each type, and the property that it must not have.
fn failure_actions() -> Vec<(Value, &'static str, &'static str)> {
    let sas = json!({"sasKeyName": "k", "sasKey": "hunter2"});
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";
    let action =
        |kind: &str, property: &str, payload: Value| json!({"type": kind, property: payload});
    vec![
        (
            action(
                "Https",
                "request",
                json!({"uri": "https://example.org/", "method": "POST",
                "authentication": {"type": "Basic", "username": "u", "password": "hunter2"}}),
            ),
            "request",
            "body",
        ),
        (
            action(
                "StorageQueue",
                "queueMessage",
                json!({"storageAccount": "a", "queueName": "q", "sasToken": "hunter2"}),
            ),
            "queueMessage",
            "message",
        ),
        (
            action(
                "ServiceBusQueue",
                "serviceBusQueueMessage",
                json!({"queueName": "q", "namespace": "n", "authentication": sas}),
            ),
            "serviceBusQueueMessage",
            "message",
        ),
        (
            action(
                "ServiceBusTopic",
                "serviceBusTopicMessage",
                json!({"topicPath": "t", "namespace": "n", "authentication": sas}),
            ),
            "serviceBusTopicMessage",
            "message",
        ),
        (action("Sqs", "sqsMessage", json!({"queueUrl": queue})), "sqsMessage", "message"),
        (
            action(
                "Sns",
                "snsMessage",
                json!({"topicArn": "arn:aws:sns:eu-west-1:123456789012:t"}),
            ),
            "snsMessage",
            "message",
        ),
        (
            action("Lambda", "lambdaInvocation", json!({"functionName": "f"})),
            "lambdaInvocation",
            "payload",
        ),
        (
            action("EventBridge", "eventBridgeEvent", json!({"source": "s", "detailType": "t"})),
            "eventBridgeEvent",
            "detail",
        ),
    ]
}

#[test]
fn a_failure_action_of_any_type_sends_an_event_instead_of_a_content_of_its_own() {
    for (action, property, content) in failure_actions() {
        let collection = notifying(&action).unwrap();
        let written = write_collection(&collection);
        let shown = written.to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
        let own = format!("/properties/minutehand/onFailure/{property}/{content}");
        assert_eq!(written.pointer(&own), None, "{shown}");
        let secrets = collection_secrets(&collection);
        let whole = match &secrets {
            Some(secrets) => {
                let secrets = serde_json::from_str(secrets.expose()).unwrap();
                merge_patch(written.clone(), secrets, Shape::Leaf)
            }
            None => written.clone(),
        };
        assert_eq!(secrets.is_some(), action.to_string().contains("hunter2"), "{action}");
        assert_eq!(load_collection(&whole).unwrap(), collection);
        assert_eq!(write_collection(&load_collection_shown(&written).unwrap()), written);
        let target = collection.on_failure().unwrap().with_event(&test_event());
        assert!(format!("{target:?}").contains("minutehand.alert.test"), "{target:?}");
        let mut own = action;
        own[property][content] = "{}".into();
        assert_eq!(
            notifying(&own).unwrap_err().message,
            format!(
                "'minutehand.onFailure.{property}.{content}' cannot be set here: the action sends an \
                 event that describes the failure. Remove it."
            )
        );
    }
}

#[test]
fn the_documented_failure_action_is_accepted() {
    let page = include_str!("../../../docs/events.md");
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let body = canonical_names(serde_json::from_str(example).unwrap(), COLLECTION).unwrap();
    assert!(accept_collection(&body).unwrap().on_failure().is_some());
}

#[test]
fn a_failure_action_is_checked_as_any_action_is() {
    let request = |request: Value| notifying(&json!({"type": "Http", "request": request}));
    let in_free_collection = |policy: Value| {
        let request = json!({"uri": "http://a/", "method": "POST"});
        let action = json!({"type": "Http", "request": request, "retryPolicy": policy});
        let extensions = json!({"onFailure": action});
        let free = json!({"properties": {"sku": {"name": "free"}, "minutehand": extensions}});
        accept_collection(&canonical_names(free, COLLECTION)?)
    };
    for (refused, message) in [
        (
            request(
                json!({"uri": "http://a/", "method": "POST", "headers": {"content-TYPE": "x"}}),
            ),
            "'minutehand.onFailure.request.headers.content-TYPE' cannot be set here: the action sends an event that describes the failure. Remove it.",
        ),
        (
            request(json!({"uri": "ftp://a/", "method": "POST"})),
            "'minutehand.onFailure.request.uri' is \"ftp://a/\"; use an absolute http or https URL.",
        ),
        (
            request(
                json!({"uri": "http://a/", "method": "POST", "headers": {"X-Minutehand-Job": "x"}}),
            ),
            "'minutehand.onFailure.request.headers.X-Minutehand-Job' is reserved: the scheduler sets the headers that begin with 'x-minutehand-'. Use another name.",
        ),
        (
            in_free_collection(json!({"retryType": "fixed", "retryInterval": "PT1M"})),
            "'minutehand.onFailure.retryPolicy.retryInterval' is 00:01:00; in the plan Free use 01:00:00 to 548.00:00:00 (548 days).",
        ),
        (
            notifying(&json!({"type": "Http"})),
            "'minutehand.onFailure.request' is missing; it must be a JSON object.",
        ),
        (
            notifying(&json!({"type": "Http", "errorAction": {}})),
            "'minutehand.onFailure.errorAction' is not a property; known properties are request, queueMessage, serviceBusQueueMessage, serviceBusTopicMessage, sqsMessage, snsMessage, lambdaInvocation, eventBridgeEvent, expect, type, retryPolicy, format, after, recovered, every, alsoTell.",
        ),
    ] {
        assert_eq!(refused.unwrap_err().message, message);
    }
}

/// A collection as the store keeps it, with its secrets: as the application service reads it.
fn whole_collection(collection: &crate::collection::CollectionDefinition) -> Value {
    let secrets = collection_secrets(collection)
        .map(|secrets| serde_json::from_str(secrets.expose()).unwrap());
    merge_patch(write_collection(collection), secrets.unwrap_or(json!({})), Shape::Leaf)
}

/// A failure action with a credential in a header, one in the query and a password.
fn secret_request() -> Value {
    json!({"type": "Https", "request": {
        "uri": "https://example.org/hook?x=1&code=c0de", "method": "POST",
        "headers": {"Accept": "*/*", "Authorization": "Bearer t0ken"},
        "authentication": {"type": "Basic", "username": "u", "password": "hunter2"},
    }})
}

#[test]
fn credentials_of_a_failure_action_are_sealed_and_withheld() {
    let collection = notifying(&secret_request()).unwrap();
    let shown = write_collection(&collection);
    assert_eq!(
        shown.pointer("/properties/minutehand/onFailure/request").unwrap().to_string(),
        r#"{"uri":"https://example.org/hook?x=1&code=(withheld)","method":"POST","headers":{"Accept":"*/*","Authorization":"(withheld)"},"authentication":{"username":"u","type":"Basic"}}"#
    );
    assert_eq!(
        collection_secrets(&collection).unwrap().expose(),
        r#"{"properties":{"minutehand":{"onFailure":{"request":{"uri":"https://example.org/hook?x=1&code=c0de","headers":{"Authorization":"Bearer t0ken"},"authentication":{"password":"hunter2"}}}}}}"#
    );
    let debug = format!("{collection:?}");
    assert!(!["c0de", "t0ken", "hunter2"].iter().any(|secret| debug.contains(secret)), "{debug}");
    // What is read without its secrets is written the same, and has no secret to seal.
    let without = load_collection_shown(&shown).unwrap();
    assert_eq!(write_collection(&without), shown);
    assert_eq!(collection_secrets(&without), None);
}

#[test]
fn a_failure_action_keeps_secrets_that_are_withheld() {
    for action in failure_actions().into_iter().map(|(action, ..)| action).chain([secret_request()])
    {
        let whole = whole_collection(&notifying(&action).unwrap());
        let mut sent = whole.clone();
        withhold(&mut sent["properties"]);
        let is_withheld = has_withheld(&sent["properties"]);
        assert_eq!(is_withheld, collection_secrets(&load_collection(&whole).unwrap()).is_some());
        keep_withheld(&mut sent["properties"], Some(&whole["properties"])).unwrap();
        assert_eq!(sent, whole);
    }
}

#[test]
fn a_patch_does_not_send_a_secret_of_a_failure_action_to_another_place() {
    let whole = whole_collection(&notifying(&secret_request()).unwrap());
    let patched = |request: Value| {
        let patch = json!({"properties": {"minutehand": {"onFailure": {"request": request}}}});
        let mut merged = whole.clone();
        withhold(&mut merged["properties"]);
        let mut merged = merge_patch(merged, patch, COLLECTION);
        let kept = keep_withheld(&mut merged["properties"], Some(&whole["properties"]));
        kept.map(|()| merged).map_err(|refusal| refusal.message)
    };
    let elsewhere = |path: &str| {
        Err(format!(
            "'minutehand.onFailure.request.{path}' was given for another host. Send it again with this change."
        ))
    };
    let uri = "https://evil.example/";
    assert_eq!(patched(json!({"uri": uri})), elsewhere("authentication.password"));
    let password = json!({"password": "new"});
    let sent = json!({"uri": uri, "authentication": password});
    assert_eq!(patched(sent), elsewhere("headers.Authorization"));
    let headers = json!({"Authorization": null});
    let sent = json!({"uri": uri, "authentication": password, "headers": headers});
    assert_eq!(
        patched(sent).unwrap().pointer("/properties/minutehand/onFailure/request/uri").unwrap(),
        uri
    );
    let method = patched(json!({"method": "PUT"})).unwrap();
    let request = method.pointer("/properties/minutehand/onFailure/request").unwrap();
    assert_eq!(request["headers"]["Authorization"], "Bearer t0ken");
    assert_eq!(request["method"], "PUT");
}

#[test]
fn unknown_properties_of_a_failure_action_are_refused_with_their_path() {
    let refused = |body: Value| {
        let body = json!({"properties": {"minutehand": body}});
        canonical_names(body, COLLECTION).unwrap_err().message
    };
    for (body, message) in [
        (
            json!({"onFailur": {}}),
            "'minutehand.onFailur' is not a property; did you mean 'onFailure'?",
        ),
        (
            json!({"onFailure": {"reqest": {}}}),
            "'minutehand.onFailure.reqest' is not a property; did you mean 'request'?",
        ),
        (
            json!({"onFailure": {"request": {"ur": ""}}}),
            "'minutehand.onFailure.request.ur' is not a property; did you mean 'uri'?",
        ),
        (
            json!({"onFailure": {"uri": ""}}),
            "'minutehand.onFailure.uri' belongs inside 'minutehand.onFailure.request'.",
        ),
        (
            json!({"onFailure": {"request": {"retryPolicy": {}}}}),
            "'minutehand.onFailure.request.retryPolicy' belongs inside 'minutehand.onFailure'.",
        ),
    ] {
        assert_eq!(refused(body), message);
    }
    let top = json!({"properties": {"onFailure": {}}});
    let refusal = canonical_names(top, COLLECTION).unwrap_err();
    assert_eq!(refusal.message, "'onFailure' belongs inside 'minutehand'.");
}

#[test]
fn a_back_off_without_retries_is_refused() {
    let job = |policy: Value| {
        json!({"properties": {
            "action": {"type": "http", "request": {"uri": "http://x/", "method": "GET"}, "retryPolicy": policy},
            "minutehand": {"retry": {"backoff": "exponential"}},
        }})
    };
    for none in [json!({"retryType": "none"}), json!({"retryType": "fixed", "retryCount": 0})] {
        assert_eq!(
            accept_standard(&job(none)).unwrap_err().message,
            "'minutehand.retry' has no effect, because 'action.retryPolicy' allows no retries; set \
             its 'retryCount', or leave this out.",
        );
    }
    let accepted = accept_standard(&job(json!({"retryType": "fixed", "retryCount": 1}))).unwrap();
    assert_eq!(accepted.retries(Role::Main, Plan::Standard, "").count, 1);
    let mut none = job(json!({"retryType": "none"}));
    none["properties"]["action"]["errorAction"] = json!({
        "type": "http", "request": {"uri": "http://err/", "method": "GET"},
        "retryPolicy": {"retryType": "fixed"},
    });
    assert!(accept_standard(&none).is_ok(), "the error action has retries");
}

#[test]
fn waits_are_not_cut_before_they_grow() {
    let job = |interval: &str, max: &str| {
        json!({"properties": {
            "action": {
                "type": "http", "request": {"uri": "http://x/", "method": "GET"},
                "retryPolicy": {"retryType": "fixed", "retryInterval": interval, "retryCount": 5},
            },
            "minutehand": {"retry": {"backoff": "exponential", "maxInterval": max}},
        }})
    };
    assert!(accept_standard(&job("PT1M", "PT1M")).is_ok());
    assert_eq!(
        accept_standard(&job("PT1M", "PT59S")).unwrap_err().message,
        "'minutehand.retry.maxInterval' is shorter than the first wait, the 'retryInterval' of the \
         retry policy (00:01:00), so that no wait grows; raise it, or leave it out.",
    );
    let mut error = job("PT1M", "PT30S");
    error["properties"]["action"]["errorAction"] = json!({
        "type": "http", "request": {"uri": "http://err/", "method": "GET"},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT20S", "retryCount": 5},
    });
    assert!(accept_standard(&error).is_ok(), "the waits of the error action grow");
}

#[test]
fn a_stored_extension_of_a_newer_version_is_noticed() {
    for (extensions, expected) in [
        (json!({}), None),
        (json!({"retry": {"backoff": "exponential", "retryAfter": {"max": "00:01:00"}}}), None),
        (json!({"paused": {"whatever": 1}, "sign": {"secrets": []}}), None),
        (json!({"retry": {}, "budget": {"max": 3}}), Some("minutehand.budget")),
        (json!({"retry": {"retryAfter": {"least": 1}}}), Some("minutehand.retry.retryAfter.least")),
    ] {
        let found = unknown_extension(&json!({"minutehand": extensions}));
        assert_eq!(found.as_deref(), expected, "{extensions}");
    }
    assert_eq!(unknown_extension(&json!({})), None);
}
