//! Requests of an HTTP API: what comes in as an event is answered as on one machine.

use minutehand_runtime_aws::Variables;
use serde_json::{Value, json};

use super::world::{COLLECTION, QUEUE, World};

pub(super) fn fixture(name: &str) -> Value {
    let path = format!("{}/events/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn every_event_is_answered_in_the_shape_of_the_api() {
    let world = World::new().await;
    for (name, status, code) in [
        ("api-health", 200, None),
        ("api-put-collection", 201, None),
        ("api-put-job-base64", 201, None),
        ("api-case", 200, None),
        ("api-path-decoded", 200, None),
        ("api-path-encoded", 200, None),
        ("api-stage", 200, None),
        ("api-no-host", 200, None),
        ("api-no-token", 401, Some("AuthenticationFailed")),
        ("api-base64-damaged", 400, Some("InvalidRequestContent")),
    ] {
        let (answered, document) = world.event(fixture(name)).await;
        assert_eq!(answered, status, "{name}: {document}");
        assert_eq!(document["error"]["code"].as_str(), code, "{name}: {document}");
    }
    let (status, document) = world.event(fixture("api-path-odd")).await;
    assert_eq!(status, 404);
    assert!(document["error"]["code"].is_string(), "{document}");
}

#[tokio::test]
async fn the_console_lies_beside_the_api_and_needs_no_token() {
    let world = World::new().await;
    let get = |path: &str, accept: &str| {
        json!({
            "version": "2.0",
            "rawPath": path,
            "headers": {"accept": accept, "accept-encoding": "gzip"},
            "requestContext": {"stage": "$default", "http": {"method": "GET"}},
        })
    };
    for path in ["/", "/console"] {
        let sent = world.answer(get(path, "text/html")).await;
        assert_eq!(sent["statusCode"], 302, "{path}");
        assert_eq!(sent["headers"]["location"], "/console/index.html", "{path}");
    }
    let other = world.answer(get("/", "application/json")).await;
    assert_eq!(other["headers"].get("location"), None, "{other}");
    let page = world.answer(get("/console/index.html", "text/html")).await;
    assert_eq!(page["statusCode"], 200);
    let headers = &page["headers"];
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert!(headers["content-security-policy"].as_str().unwrap().starts_with("default-src 'none'"));
    let (_, after) = page["body"].as_str().unwrap().split_once("src=\"").unwrap();
    let (script, _) = after.split_once('"').unwrap();
    let script = world.answer(get(script, "*/*")).await;
    // Compressed bytes are not text, and the gateway takes them in Base64 alone.
    assert_eq!(
        (&script["headers"]["content-encoding"], &script["isBase64Encoded"]),
        (&json!("gzip"), &json!(true))
    );
    assert_eq!(world.answer(get("/console/none.js", "*/*")).await["statusCode"], 404);
}

#[tokio::test]
async fn a_base64_body_is_decoded() {
    let world = World::new().await;
    world.event(fixture("api-put-collection")).await;
    world.event(fixture("api-put-job-base64")).await;
    let mut read = fixture("api-put-job-base64");
    read["requestContext"]["http"]["method"] = json!("GET");
    read["body"] = Value::Null;
    let (_, job) = world.event(read).await;
    assert_eq!(job["properties"]["action"]["request"]["body"], "grüße");
}

#[tokio::test]
async fn the_next_link_has_the_address_of_the_request() {
    let world = World::new().await;
    for n in 0..501 {
        let path = COLLECTION.replace("/jc", &format!("/c{n}"));
        assert_eq!(world.call("PUT", &path, "{}").await.0, 201);
    }
    let collections = COLLECTION.trim_end_matches("/jc");
    for (stage, prefix) in [("$default", ""), ("prod", "/prod")] {
        let mut event = fixture("api-no-host");
        event["rawPath"] = json!(format!("{prefix}{collections}"));
        event["requestContext"]["stage"] = json!(stage);
        // What a client says of it leads nowhere.
        event["headers"]["x-forwarded-prefix"] = json!("/elsewhere");
        let (_, list) = world.event(event).await;
        let link = list["nextLink"].as_str().unwrap();
        let host = "https://a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com";
        assert!(link.starts_with(&format!("{host}{prefix}{collections}?")), "{link}");
    }
}

#[test]
fn jobs_send_to_aws_only_if_the_stack_lists_where_to() {
    for (given, expected) in [("", false), ("off", false), ("on", true)] {
        let mut variables = Variables::of([("MINUTEHAND_ACTIONS", given)]);
        assert_eq!(minutehand_api::ApiSettings::read(&mut variables).has_aws, expected, "{given}");
    }
}

/// A message in the scheduler's queue is work for any job.
#[tokio::test]
async fn a_job_that_sends_to_the_schedulers_own_queue_is_refused() {
    let world = World::new().await;
    let sqs =
        |queue: &str| json!({"type": "Sqs", "sqsMessage": {"queueUrl": queue, "message": "m"}});
    let http = json!({"type": "Http", "request": {"method": "GET", "uri": "http://a.test/"}});
    let mut on_failure = http.clone();
    on_failure["errorAction"] = sqs(QUEUE);
    for (name, action) in [("main", sqs(QUEUE)), ("error", on_failure)] {
        let path = format!("{COLLECTION}/jobs/{name}");
        let body = json!({"properties": {"action": action}}).to_string();
        let (status, document) = world.call("PUT", &path, &body).await;
        assert_eq!(status, 400, "{document}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains("belongs to the scheduler itself"), "{message}");
    }
    let other = json!({"properties": {"action": sqs(&QUEUE.replace("/q", "/other"))}});
    assert_eq!(world.put("/jobs/other", &other).await, 201);
}
