//! Snoozing: what needs someone is out of sight until an instant, and nothing else changes.

use axum::Router;
use serde_json::{Value, json};

use super::api::{COLLECTION, api, ask};
use super::world::World;

const OWN: &str = "/minutehand/v1/subscriptions/s";
const NOW: &str = "2027-03-01T12:00:00Z";
const LATER: &str = "2027-03-01T15:00:00Z";
const LATEST: &str = "2027-03-31T12:00:00Z";

async fn sent(api: &Router, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let (status, text) = ask(api, method, path, &body.to_string()).await;
    (status, serde_json::from_str(&text).unwrap_or_default())
}

async fn read(api: &Router, path: &str) -> Value {
    let (status, text) = ask(api, "GET", path, "").await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The last value of the row of the only job.
async fn in_row(api: &Router) -> Value {
    let rows = read(api, &format!("{OWN}/resourceGroups/g/jobCollections/jc/rows")).await;
    assert_eq!(rows["columns"].as_array().unwrap().last().unwrap(), "snoozedUntil");
    rows["items"][0].as_array().unwrap().last().unwrap().clone()
}

async fn in_overview(api: &Router) -> Value {
    read(api, &format!("{OWN}/overview")).await["collections"]["items"][0]["snoozedUntil"].clone()
}

fn until(at: &str) -> Value {
    json!({"properties": {"minutehand": {"snoozedUntil": at}}})
}

fn job() -> Value {
    let request = json!({"uri": "http://example.org", "method": "GET"});
    json!({"properties": {"startTime": "2027-03-01T12:30:00Z", "recurrence": {"frequency": "hour"},
        "action": {"type": "Http", "request": request}}})
}

async fn world() -> (World, Router, String) {
    let world = World::at(NOW).await;
    let api = api(&world);
    assert_eq!(sent(&api, "PUT", COLLECTION, &json!({})).await.0, 201);
    let path = format!("{COLLECTION}/jobs/J");
    assert_eq!(sent(&api, "PUT", &path, &job()).await.0, 201);
    (world, api, path)
}

#[tokio::test]
async fn a_snooze_is_shown_until_it_ends_and_is_in_the_journal() {
    let (world, api, path) = world().await;
    assert_eq!((in_row(&api).await, in_overview(&api).await), (Value::Null, Value::Null));
    world.now_is("2027-03-01T12:01:00Z");
    assert_eq!(sent(&api, "PATCH", &path, &until(LATER)).await.0, 200);
    assert_eq!((in_row(&api).await, in_overview(&api).await), (json!(LATER), Value::Null));
    // A collection snoozes its jobs.
    world.now_is("2027-03-01T12:02:00Z");
    assert_eq!(sent(&api, "PATCH", COLLECTION, &until(LATEST)).await.0, 200);
    assert_eq!((in_row(&api).await, in_overview(&api).await), (json!(LATEST), json!(LATEST)));
    let journal = format!("{OWN}/resourceGroups/g/jobCollections/jc/journal");
    let entries = read(&api, &journal).await;
    let (of_collection, of_job) = (&entries["items"][0], &entries["items"][1]);
    assert_eq!(of_collection["names"].as_array().unwrap().len(), 1);
    assert_eq!((&of_job["operation"], &of_job["job"]), (&json!("changed"), &json!("J")));
    assert_eq!(of_job["change"], json!({"minutehand": {"snoozedUntil": LATER}}));
    // A timer that nobody has moved on is late all the same, and told apart.
    world.now_is("2027-03-01T12:40:00Z");
    let late = read(&api, &format!("{OWN}/overview")).await["late"].clone();
    assert_eq!((&late["count"], &late["snoozed"]), (&json!(1), &json!(1)));
    // null ends it, and so does the instant.
    world.now_is("2027-03-01T12:41:00Z");
    let awake = json!({"properties": {"minutehand": {"snoozedUntil": null}}});
    assert_eq!(sent(&api, "PATCH", COLLECTION, &awake).await.0, 200);
    assert_eq!(in_row(&api).await, LATER);
    world.now_is(LATER);
    assert_eq!((in_row(&api).await, in_overview(&api).await), (Value::Null, Value::Null));
}

#[tokio::test]
async fn a_snooze_changes_no_timing_and_clients_that_do_not_know_it_leave_it() {
    let (world, api, path) = world().await;
    let next = |job: &Value| job["properties"]["status"]["nextExecutionTime"].clone();
    let before = read(&api, &path).await;
    world.now_is("2027-03-01T12:01:00Z");
    let (_, after) = sent(&api, "PATCH", &path, &until(LATER)).await;
    assert_eq!((next(&before), next(&after)), (json!("2027-03-01T12:30:00Z"), next(&before)));
    // A client that knows no extensions keeps them, as it keeps all others.
    let (status, put) = sent(&api, "PUT", &path, &job()).await;
    assert_eq!((status, &put["properties"]["minutehand"]["snoozedUntil"]), (200, &json!(LATER)));
    // What was read is sent back when the snooze is over.
    world.now_is("2027-03-02T12:00:00Z");
    assert_eq!(sent(&api, "PUT", &path, &put).await.0, 200);
    let others = json!({"properties": {"minutehand": {"timeout": "00:00:05"}}});
    assert_eq!(sent(&api, "PATCH", &path, &others).await.0, 200);
}

#[tokio::test]
async fn a_snooze_ends_within_thirty_days() {
    let (_world, api, path) = world().await;
    let check = format!("{OWN}/resourceGroups/g/jobCollections/jc/jobs/J/check?as=patch");
    for wrong in [NOW, "2027-02-01T00:00:00Z", "2027-03-31T12:00:01Z"] {
        let expected = format!(
            "'minutehand.snoozedUntil' is {wrong}; use an instant after now, {NOW}, and at most 30 days \
             ahead, up to {LATEST}, or null."
        );
        for path in [path.as_str(), COLLECTION] {
            let (status, answer) = sent(&api, "PATCH", path, &until(wrong)).await;
            assert_eq!((status, &answer["error"]["message"]), (400, &json!(expected)));
        }
        let (_, checked) = sent(&api, "POST", &check, &until(wrong)).await;
        assert_eq!(checked["problems"][0]["message"], expected);
        let (status, _) = sent(&api, "PUT", &format!("{COLLECTION}2"), &until(wrong)).await;
        assert_eq!(status, 400);
    }
    let (_, answer) = sent(&api, "PATCH", &path, &until("soon")).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("'minutehand.snoozedUntil' is \"soon\";"), "{message}");
    assert_eq!(sent(&api, "PATCH", &path, &until(LATEST)).await.0, 200);
}
