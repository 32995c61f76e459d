//! The documents of jobs: how often they are written, and stored ones that are not of today.

use axum::Router;
use minutehand_domain::document::job_writes;
use minutehand_ports::store::{SaveJob, Saved};
use minutehand_ports::{Collections, Jobs};
use serde_json::{Value, json};

use super::api::{api, ask};
use super::world::{World, named, place};

const COLLECTION: &str =
    "/subscriptions/Sub/resourceGroups/Group/providers/Microsoft.Scheduler/jobCollections/jc";

async fn world() -> (World, Router) {
    let world = World::at("2027-01-01T12:00:00Z").await;
    world.collection("jc", "{}").await.unwrap();
    let api = api(&world);
    (world, api)
}

fn path(name: &str) -> String {
    format!("{COLLECTION}/jobs/{name}")
}

/// The body of a job with a secret, a duration and a day that is answered in two spellings.
fn body(state: &str) -> String {
    let authentication = json!({"type": "Basic", "username": "u", "password": "p"});
    let request =
        json!({"uri": "http://example.org", "method": "GET", "authentication": authentication});
    let retry = json!({"retryType": "fixed", "retryInterval": "PT1M"});
    let occurrence = json!({"day": "monday", "occurrence": 1});
    json!({"properties": {
        "action": {"type": "Http", "request": request, "retryPolicy": retry},
        "recurrence": {"frequency": "month", "schedule": {"monthlyOccurrences": [occurrence]}},
        "state": state,
    }})
    .to_string()
}

#[tokio::test]
async fn a_change_writes_the_document_once_for_the_store_and_the_answer() {
    let (_world, api) = world().await;
    let job = path("j");
    for (method, body, status) in [
        ("PUT", body("enabled"), 201),
        ("PUT", body("disabled"), 200),
        ("PATCH", r#"{"properties":{"state":"enabled"}}"#.to_owned(), 200),
        ("GET", String::new(), 200),
    ] {
        let before = job_writes();
        let (answered, text) = ask(&api, method, &job, &body).await;
        assert_eq!(answered, status, "{text}");
        assert!(text.contains(r#""occurrence":1,"Occurrence":1"#), "{text}");
        assert_eq!(job_writes() - before, 1, "{method}");
    }
    let before = job_writes();
    assert_eq!(ask(&api, "POST", &format!("{job}/run"), "").await.0, 200);
    assert_eq!(ask(&api, "DELETE", &job, "").await.0, 200);
    assert_eq!(job_writes(), before);
}

/// Changes the stored document of a job, past all limits.
async fn change_stored(world: &World, name: &str, change: impl FnOnce(&mut Value)) {
    let store = &world.store;
    let collection =
        Collections::find(store.as_ref(), &place(), &named("jc")).await.unwrap().unwrap();
    let uid = &collection.collection.uid;
    let mut job = Jobs::find(store.as_ref(), uid, &named(name)).await.unwrap().unwrap();
    let mut document: Value = serde_json::from_str(&job.document).unwrap();
    change(&mut document);
    job.document = document.to_string();
    let save = SaveJob { collection: &collection, job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(store.as_ref(), save).await.unwrap(), Saved::Kept);
}

#[tokio::test]
async fn a_job_beyond_the_limits_of_today_is_answered_and_changes_within_them() {
    let (world, api) = world().await;
    let job = path("j");
    assert_eq!(ask(&api, "PUT", &job, &body("enabled")).await.0, 201);
    let long = "x".repeat(9_000);
    change_stored(&world, "j", |document| {
        document["action"]["request"]["body"] = long.as_str().into();
    })
    .await;
    let (status, answer) = ask(&api, "GET", &job, "").await;
    assert_eq!(status, 200);
    assert!(answer.contains(&long) && answer.contains("nextExecutionTime"), "{answer}");
    let refused = r#"{"error":{"code":"BadRequest","message":"'action.request.body' has 9000 characters; at most 8192 are allowed."}}"#;
    let disable = r#"{"properties":{"state":"disabled"}}"#;
    assert_eq!(ask(&api, "PATCH", &job, disable).await, (400, refused.to_owned()));
    let shorten = r#"{"properties":{"state":"disabled","action":{"request":{"body":"x"}}}}"#;
    assert_eq!(ask(&api, "PATCH", &job, shorten).await.0, 200);
    // The secret was kept, as in every PATCH.
    assert_eq!(world.kept("j").await.1.to_string().matches(r#""password":"p""#).count(), 1);
}

#[tokio::test]
async fn a_job_that_only_a_newer_version_can_read_does_not_break_the_list() {
    let (world, api) = world().await;
    for name in ["a", "b"] {
        assert_eq!(ask(&api, "PUT", &path(name), &body("enabled")).await.0, 201);
    }
    change_stored(&world, "a", |document| {
        document["action"] = json!({"fax": {"number": "1"}, "type": "Fax"});
    })
    .await;
    let (status, list) = ask(&api, "GET", &format!("{COLLECTION}/jobs"), "").await;
    assert_eq!(status, 200, "{list}");
    assert!(list.contains(r#""action":{"fax":{"number":"1"},"type":"Fax"}"#), "{list}");
    assert!(list.contains(r#""name":"jc/b""#), "{list}");
    assert_eq!(ask(&api, "GET", &path("a"), "").await.0, 200);
    assert_eq!(ask(&api, "DELETE", &path("a"), "").await.0, 200);
}
