//! The dead letters, asked through HTTP over the queue of one machine.

use axum::Router;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::{Collections, Deliveries as _, DispatchQueue, QueueMessage};
use serde_json::{Value, json};

use super::api::{ask, group};
use super::why::world;
use super::world::{World, instant, named};

const LETTERS: &str = "/minutehand/v1/deadletters";

async fn call(api: &Router, method: &str, path: &str, body: &str) -> Value {
    let (status, text) = ask(api, method, path, body).await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// Buries messages: an attempt of the job, and one about a collection that is gone.
async fn bury(world: &World) {
    let found = Collections::find(world.store.as_ref(), &group(), &named("jc")).await.unwrap();
    let collection_uid = found.unwrap().collection.uid;
    let nominal_at = instant("2027-03-01T09:00");
    let first = Attempt::first(0, Occurrence::Scheduled { nominal_at });
    let job = JobRef { uid: "u".to_owned(), collection_uid, key: "j".to_owned() };
    let attempt = WorkItem::Attempt { job, attempt: Attempt { number: 2, ..first } };
    let purge = WorkItem::PurgeCollection { collection_uid: "gone".to_owned() };
    let messages = [attempt, purge].map(|work_item| QueueMessage { work_item, due_at: nominal_at });
    world.queue.send(&messages, nominal_at).await.unwrap();
    for taken in world.queue.receive(10).await.unwrap() {
        world.queue.bury(&[taken.receipt], "it timed out").await.unwrap();
    }
}

#[tokio::test]
async fn dead_letters_name_their_jobs_and_are_sent_again() {
    let (world, api) = world().await;
    bury(&world).await;
    let seen = call(&api, "GET", LETTERS, "").await;
    assert_eq!(
        seen,
        json!({"about": 2, "items": [
            {"id": "2", "firstSentAt": "2027-03-01T09:00:00Z", "deliveries": 1,
             "errorType": "it timed out", "asks": "purgeCollection", "subscription": null,
             "resourceGroup": null, "collection": null, "job": null, "occurrence": null,
             "action": null, "attempt": null, "others": []},
            {"id": "1", "firstSentAt": "2027-03-01T09:00:00Z", "deliveries": 1,
             "errorType": "it timed out", "asks": "attempt", "subscription": "s",
             "resourceGroup": "g", "collection": "jc", "job": "j",
             "occurrence": "2027-03-01T09:00:00Z", "action": "action", "attempt": 2, "others": []},
        ]})
    );
    let overview = call(&api, "GET", "/minutehand/v1/subscriptions/s/overview", "").await;
    assert_eq!(overview["deadLetters"], 2);
    assert_eq!(call(&api, "GET", &format!("{LETTERS}?limit=1"), "").await["items"][0]["id"], "2");
    let moved = call(&api, "POST", &format!("{LETTERS}/redrive"), r#"{"ids":["1","7"]}"#).await;
    assert_eq!(moved, json!({"moved": 1, "goesOn": false, "notFound": ["7"]}));
    assert_eq!(world.queue.receive(10).await.unwrap().len(), 1);
    let deleted = call(&api, "POST", &format!("{LETTERS}/delete"), r#"{"all":true}"#).await;
    assert_eq!(deleted, json!({"deleted": 1, "goesOn": false, "notFound": []}));
    assert_eq!(call(&api, "GET", LETTERS, "").await, json!({"about": 0, "items": []}));
    let (status, text) = ask(&api, "POST", &format!("{LETTERS}/redrive"), "{}").await;
    assert_eq!(status, 400, "{text}");
}
