//! Jobs whose stored document a limit of today refuses, as if the limit had been tightened since.

use minutehand_domain::document::{accept, job_writes};
use minutehand_domain::plan::Plan;
use minutehand_ports::store::{SaveJob, Saved};
use minutehand_ports::{Collections, Jobs};
use serde_json::{Value, json};

use super::world::{World, named, place, status};

/// Replaces the request in the stored document of a job, past all limits.
async fn store_request(world: &World, name: &str, request: &Value) {
    let store = &world.store;
    let collection =
        Collections::find(store.as_ref(), &place(), &named("jc")).await.unwrap().unwrap();
    let uid = &collection.collection.uid;
    let mut job = Jobs::find(store.as_ref(), uid, &named(name)).await.unwrap().unwrap();
    let mut document: Value = serde_json::from_str(&job.document).unwrap();
    document["action"]["request"] = request.clone();
    let refusal = accept(&json!({"properties": document}), Plan::Standard);
    assert!(refusal.is_err(), "a limit of today allows {name}");
    job.document = document.to_string();
    let save = SaveJob { collection: &collection, job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(store.as_ref(), save).await.unwrap(), Saved::Kept);
}

#[tokio::test]
async fn a_job_beyond_the_limits_of_today_still_fires() {
    let mut world = World::at("2027-03-01T09:00").await;
    let headers: Value = (0..75).map(|n| (format!("h{n}"), json!("x"))).collect();
    let long_uri = format!("http://uri/{}", "x".repeat(2_048));
    for (name, request) in [
        ("body", json!({"uri": "http://body/", "method": "POST", "body": "x".repeat(9_000)})),
        ("uri", json!({"uri": long_uri.as_str(), "method": "GET"})),
        ("headers", json!({"uri": "http://headers/", "method": "GET", "headers": headers})),
        ("method", json!({"uri": "http://method/", "method": "TRACE"})),
    ] {
        world.put(name, json!({"startTime": "2027-03-01T10:00"})).await;
        store_request(&world, name, &request).await;
    }
    world.run_until("2027-03-01T10:05").await;
    for uri in ["http://body/", &long_uri, "http://headers/", "http://method/"] {
        assert_eq!(world.calls(uri), ["01 10:00"], "{uri}");
    }
    for name in ["body", "uri", "headers", "method"] {
        assert_eq!(world.status(name).await, status("completed").executions(1), "{name}");
    }
}

#[tokio::test]
async fn firing_writes_no_document() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put_failing_once("j", "PT1M").await;
    let before = job_writes();
    world.run_until("2027-03-01T10:05").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 10:01 #1.1"]);
    assert_eq!(job_writes(), before);
}
