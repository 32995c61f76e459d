//! The journal: one entry for each change, stored with it, without secrets.

use axum::Router;
use minutehand_ports::store::PageRequest;
use minutehand_ports::{Browse, Collections};
use serde_json::{Value, json};

use super::api::{COLLECTION, api, ask, group};
use super::world::{World, named};

const NOW: &str = "2027-03-01T12:00:00Z";
const JOURNAL: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/journal";

async fn world() -> (World, Router) {
    let world = World::at(NOW).await;
    let api = api(&world);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    (world, api)
}

async fn journal(api: &Router, query: &str) -> Value {
    let (status, text) = ask(api, "GET", &format!("{JOURNAL}{query}"), "").await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The entries, the newest first: what was done to what, and the names of what changed.
fn lines(journal: &Value) -> Vec<String> {
    let line = |entry: &Value| {
        let names: Vec<&str> =
            entry["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let job = entry["job"].as_str().unwrap_or("-");
        format!("{} {job} {}", entry["operation"].as_str().unwrap(), names.join(","))
    };
    journal["items"].as_array().unwrap().iter().map(line).collect()
}

fn job(method: &str) -> String {
    let request = json!({"uri": "http://example.org", "method": method});
    json!({"properties": {"startTime": "2027-04-01", "action": {"type": "Http", "request": request}}})
        .to_string()
}

#[tokio::test]
async fn every_change_leaves_one_entry_and_nothing_else_does() {
    let (world, api) = world().await;
    let path = format!("{COLLECTION}/jobs/J");
    let minutes = ["12:01", "12:02", "12:03", "12:04", "12:05", "12:06", "12:07", "12:08"];
    let steps = [
        ("PUT", path.clone(), job("GET"), 201),
        (
            "PATCH",
            path.clone(),
            r#"{"properties":{"action":{"request":{"method":"PUT"}}}}"#.to_owned(),
            200,
        ),
        ("PATCH", path.clone(), r#"{"properties":{"state":"disabled"}}"#.to_owned(), 200),
        ("POST", format!("{COLLECTION}/disable"), String::new(), 200),
        ("PATCH", COLLECTION.to_owned(), r#"{"tags":{"team":"ops"}}"#.to_owned(), 200),
        // Refused and read: no entries.
        ("PUT", path.clone(), "{}".to_owned(), 400),
        ("GET", path.clone(), String::new(), 200),
        ("DELETE", path.clone(), String::new(), 200),
    ];
    for (minute, (method, path, body, status)) in minutes.into_iter().zip(steps) {
        world.now_is(&format!("2027-03-01T{minute}:00Z"));
        let (answered, text) = ask(&api, method, &path, &body).await;
        assert_eq!(answered, status, "{text}");
    }
    let found = journal(&api, "").await;
    assert_eq!(
        lines(&found),
        [
            "deleted J startTime,action,state",
            "changed - tags",
            "switchedOff - properties.state",
            "switchedOff J state",
            "changed J action.request.method",
            "created J startTime,action,state",
            "created - location,properties",
        ]
    );
    let entry = &found["items"][4];
    assert_eq!((&entry["at"], &entry["who"]), (&json!("2027-03-01T12:02:00Z"), &json!("nobody")));
    assert_eq!(entry["change"], json!({"action": {"request": {"method": "PUT"}}}));
    assert_eq!(entry["undo"], json!({"action": {"request": {"method": "GET"}}}));
    assert_eq!(entry["requestId"].as_str().unwrap().len(), 36);
    let of_job = journal(&api, "?job=j").await;
    assert_eq!((lines(&of_job).len(), &of_job["position"]), (4, &Value::Null));
}

#[tokio::test]
async fn a_run_leaves_an_entry_for_sixty_days() {
    let (world, api) = world().await;
    let path = format!("{COLLECTION}/jobs/J");
    assert_eq!(ask(&api, "PUT", &path, &job("GET")).await.0, 201);
    world.now_is("2027-03-01T12:05:00Z");
    assert_eq!(ask(&api, "POST", &format!("{path}/run"), "").await.0, 200);
    let found = journal(&api, "").await;
    assert_eq!(lines(&found)[0], "ran J ");
    let entry = &found["items"][0];
    assert_eq!(entry["run"], json!({"at": "2027-03-01T12:05:00Z", "redriveOf": null}));
    assert_eq!((&entry["change"], &entry["undo"]), (&Value::Null, &Value::Null));
    assert_eq!(found["items"][1]["run"], Value::Null);
    world.now_is("2027-04-30T12:04:59Z");
    assert_eq!(lines(&journal(&api, "").await).len(), 3);
    world.now_is("2027-04-30T12:05:00Z");
    assert_eq!(lines(&journal(&api, "").await).len(), 2);
}

#[tokio::test]
async fn entries_are_read_in_pages_and_for_four_hundred_days() {
    let (world, api) = world().await;
    for n in 0..120 {
        let body = json!({"tags": {"n": n.to_string()}}).to_string();
        assert_eq!(ask(&api, "PATCH", COLLECTION, &body).await.0, 200);
    }
    let first = journal(&api, "").await;
    assert_eq!(lines(&first).len(), 100);
    let position = first["position"].as_str().unwrap();
    let rest = journal(&api, &format!("?position={position}")).await;
    assert_eq!((lines(&rest).len(), &rest["position"]), (21, &Value::Null));
    world.now_is("2028-04-04T11:59:59Z");
    assert_eq!(lines(&journal(&api, "").await).len(), 100);
    world.now_is("2028-04-04T12:00:00Z");
    assert_eq!(lines(&journal(&api, "").await).len(), 0);
    // What the table's expiry does on AWS, the hourly removal does on one machine.
    let (now, work_now) =
        (super::world::instant("2028-04-04T12:00:00Z"), super::world::instant(NOW));
    assert_eq!(world.store.remove_expired(now, work_now, None).await.unwrap(), 121);
}

/// Actions with a secret in each place that may hold one.
fn actions(secret: &str) -> Vec<Value> {
    let http = |more: Value| {
        let mut request = json!({"uri": "https://example.org/a", "method": "POST"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": "Https", "request": request})
    };
    vec![
        http(json!({"authentication": {"type": "Basic", "username": "u", "password": secret}})),
        http(
            json!({"headers": {"Authorization": format!("Bearer {secret}"), "X-Api-Key": secret}}),
        ),
        http(json!({"uri": format!("https://example.org/a?code={secret}&sig={secret}")})),
        http(json!({"authentication": {"type": "ActiveDirectoryOAuth", "tenant": "t",
            "audience": "a", "clientId": "c", "secret": secret}})),
        json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "account",
            "queueName": "queue", "sasToken": format!("?sv=1&sig={secret}"), "message": "m"}}),
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": {"queueName": "q",
            "namespace": "ns", "message": "m", "authentication":
            {"type": "sharedAccessKey", "sasKeyName": "k", "sasKey": secret}}}),
    ]
}

#[tokio::test]
async fn no_entry_contains_a_secret_however_a_job_changes() {
    const PLANTED: [&str; 2] = ["PLANTEDaaaa1111", "PLANTEDbbbb2222"];
    let (world, api) = world().await;
    let path = format!("{COLLECTION}/jobs/J");
    // From each action to each other one, by PUT and by PATCH, with the error action beside it.
    for (n, first) in actions(PLANTED[0]).into_iter().enumerate() {
        for (m, second) in actions(PLANTED[1]).into_iter().enumerate() {
            let (mut before, mut after) = (first.clone(), second.clone());
            before["errorAction"] = second.clone();
            after["errorAction"] = first.clone();
            let body = |action: &Value| {
                json!({"properties": {"startTime": "2027-04-01", "action": action}}).to_string()
            };
            let (status, text) = ask(&api, "PUT", &path, &body(&before)).await;
            assert!(status < 300, "{n} {m}: {text}");
            let method = if (n + m) % 2 == 0 { "PUT" } else { "PATCH" };
            let (status, text) = ask(&api, method, &path, &body(&after)).await;
            assert!(status < 300, "{n} {m}: {text}");
        }
        assert_eq!(ask(&api, "DELETE", &path, "").await.0, 200);
        let mut on_failure = first.clone();
        for (payload, content) in
            [("queueMessage", "message"), ("serviceBusQueueMessage", "message")]
        {
            if let Some(payload) = on_failure.get_mut(payload).and_then(Value::as_object_mut) {
                payload.remove(content);
            }
        }
        let body = json!({"properties": {"minutehand": {"onFailure": on_failure}}}).to_string();
        let (status, text) = ask(&api, "PATCH", COLLECTION, &body).await;
        assert_eq!(status, 200, "{text}");
    }
    let store = world.store.as_ref();
    let found = Collections::find(store, &group(), &named("jc")).await.unwrap().unwrap();
    let all = PageRequest { from: None, items_max: 1_000 };
    let entries = store.journal(&found.collection.uid, all).await.unwrap().items;
    assert!(entries.len() > 80, "{}", entries.len());
    for entry in entries {
        let text = format!("{entry:?}");
        assert!(!PLANTED.iter().any(|secret| text.contains(secret)), "{text}");
    }
}
