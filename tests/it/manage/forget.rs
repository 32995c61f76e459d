//! Going on without the key of stored secrets.

use axum::Router;
use minutehand_app::{Author, Manage};
use minutehand_ports::Browse;
use minutehand_store_sql::{Sealed, SealedOf};
use serde_json::{Value, json};

use super::api::{COLLECTION, api_over, ask, group};
use super::world::{HTTP, World, json as read, named};

const NOW: &str = "2027-03-01T12:00:00Z";
const PLAIN: &str = r#"{"type":"Http","request":{"uri":"http://example.org","method":"GET"}}"#;
const REASON: &str = "The key of its secrets is lost. Put the job again, with all of its secrets.";

/// The services with another key than the one that sealed what is stored.
fn with_other_key(world: &World) -> (Manage, Router) {
    let manage = world.with_other_key();
    let author = Author { who: "forgets".to_owned(), request_id: String::new() };
    (manage.on_behalf_of(author), api_over(manage, world.clock.clone()))
}

async fn put(api: &Router, name: &str, properties: Value, status: u16) -> String {
    let body = json!({"properties": properties}).to_string();
    let (answered, text) = ask(api, "PUT", &format!("{COLLECTION}/jobs/{name}"), &body).await;
    assert_eq!(answered, status, "{text}");
    text
}

fn job(action: &str) -> Value {
    json!({"startTime": "2027-03-01T12:05:00Z", "recurrence": {"frequency": "hour"},
        "action": read(action)})
}

/// What the scan for secrets finds, forgotten. Returns the names of what was changed.
async fn forget(world: &World, manage: &Manage) -> Vec<String> {
    let (mut found, next) = world.store.sealed(None).await.unwrap();
    let (of_collections, next) = world.store.sealed(next).await.unwrap();
    assert!(next.is_none(), "a page of jobs and one of collections");
    found.extend(of_collections);
    let mut changed = Vec::new();
    for Sealed { of, .. } in found {
        let (name, was_changed) = match of {
            SealedOf::Job { collection_uid, name } => {
                let path = Browse::collection_path(world.store.as_ref(), &collection_uid).await;
                let path = path.unwrap().unwrap();
                let collection = named(path.name());
                let done = manage.forget_secrets_of_job((&group(), &collection, &name)).await;
                (name.to_string(), done.unwrap())
            }
            SealedOf::Collection(path) => {
                let name = named(path.name());
                let done = manage.forget_secrets_of_collection(&group(), &name).await;
                (name.to_string(), done.unwrap())
            }
        };
        if was_changed {
            changed.push(name);
        }
    }
    changed.sort();
    changed
}

async fn shown(api: &Router, name: &str) -> Value {
    let (status, text) = ask(api, "GET", &format!("{COLLECTION}/jobs/{name}"), "").await;
    assert_eq!(status, 200, "{text}");
    read(&text)["properties"].clone()
}

#[tokio::test]
async fn jobs_that_need_a_lost_secret_are_disabled_and_say_why_and_others_go_on() {
    let world = World::at(NOW).await;
    let api = super::api::api(&world);
    let on_failure = json!({"properties": {"minutehand": {"onFailure": read(HTTP)}}}).to_string();
    assert_eq!(ask(&api, "PUT", COLLECTION, &on_failure).await.0, 201);
    put(&api, "lost", job(HTTP), 201).await;
    put(&api, "plain", job(PLAIN), 201).await;
    let mut off = job(HTTP);
    off["state"] = json!("disabled");
    put(&api, "off", off, 201).await;
    let (before, plain) = (shown(&api, "lost").await, shown(&api, "plain").await);
    world.taken().await;

    // With the right key nothing is changed.
    assert_eq!(forget(&world, &world.manage).await, Vec::<String>::new());

    world.now_is("2027-03-01T12:01:00Z");
    let (other, api) = with_other_key(&world);
    assert_eq!(forget(&world, &other).await, ["jc", "lost", "off"]);
    // As after a crash half-way: to do it again changes nothing.
    assert_eq!(forget(&world, &other).await, Vec::<String>::new());

    let lost = shown(&api, "lost").await;
    assert_eq!(
        (&lost["state"], &lost["minutehand"]["paused"]["reason"]),
        (&json!("disabled"), &json!(REASON))
    );
    assert_eq!(lost["minutehand"]["paused"]["at"], "2027-03-01T12:01:00Z");
    assert_eq!(lost["action"], before["action"], "all but the secrets is still there");
    assert_eq!(shown(&api, "off").await["minutehand"]["paused"]["reason"], REASON);
    assert_eq!(shown(&api, "plain").await, plain);
    let (_, collection) = ask(&api, "GET", COLLECTION, "").await;
    assert_eq!(
        read(&collection)["properties"].pointer("/minutehand/onFailure"),
        None,
        "{collection}"
    );
    assert_eq!(world.taken().await, Vec::<String>::new());

    let path = COLLECTION.replace("providers/Microsoft.Scheduler/", "");
    let (_, journal) = ask(&api, "GET", &format!("/minutehand/v1{path}/journal"), "").await;
    let journal = read(&journal);
    let of = |name: &str| {
        let items = journal["items"].as_array().unwrap();
        items.iter().find(|it| it["who"] == "forgets" && it["job"] == name).cloned().unwrap()
    };
    let changed = json!({"state": "disabled", "minutehand": lost["minutehand"]});
    assert_eq!((&of("lost")["operation"], &of("lost")["change"]), (&json!("changed"), &changed));
    let changed = json!({"minutehand": lost["minutehand"]});
    assert_eq!((&of("off")["operation"], &of("off")["change"]), (&json!("changed"), &changed));
    let items = journal["items"].as_array().unwrap();
    let of_collection = items.iter().find(|it| it["who"] == "forgets" && it["job"].is_null());
    assert_eq!(of_collection.unwrap()["operation"], "changed");
}

#[tokio::test]
async fn a_job_whose_secrets_are_lost_does_not_run_before_it_is_put_again_with_them() {
    let world = World::at(NOW).await;
    let api = super::api::api(&world);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    put(&api, "j", job(HTTP), 201).await;
    let (other, api) = with_other_key(&world);
    assert_eq!(forget(&world, &other).await, ["j"]);
    world.taken().await;

    let path = format!("{COLLECTION}/jobs/j");
    let says = "The key of the secrets of job 'j' is lost. Send the whole job again (PUT), with all of \
                its secrets.";
    let enabled = r#"{"properties":{"state":"enabled"}}"#;
    let shown = self::shown(&api, "j").await;
    let withheld = json!({"properties": {"action": shown["action"], "startTime": "2027-04-01"}});
    for (method, path, body) in [
        ("PATCH", path.clone(), enabled.to_owned()),
        ("POST", format!("{path}/run"), String::new()),
    ] {
        let (status, text) = ask(&api, method, &path, &body).await;
        assert_eq!(status, 400, "{method}: {text}");
        assert_eq!(read(&text)["error"]["message"], says, "{method}");
    }
    // A PUT of what was answered has no secret: it is refused as it would be for a new job.
    let (status, text) = ask(&api, "PUT", &path, &withheld.to_string()).await;
    assert_eq!(status, 400, "{text}");
    assert_eq!(world.taken().await, Vec::<String>::new());

    put(&api, "j", job(HTTP), 200).await;
    let job = self::shown(&api, "j").await;
    assert_eq!(
        (&job["state"], job["minutehand"].get("paused")),
        (&json!("enabled"), None),
        "{job}"
    );
    assert_eq!(world.taken().await, ["2027-03-01T12:05:00Z"]);
    assert_eq!(ask(&api, "POST", &format!("{path}/run"), "").await.0, 200);
    assert_eq!(forget(&world, &other).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_job_of_the_same_name_in_a_collection_that_was_made_again_goes_on() {
    let world = World::at(NOW).await;
    let api = super::api::api(&world);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    put(&api, "j", job(HTTP), 201).await;
    let (found, _) = world.store.sealed(None).await.unwrap();
    let [Sealed { of: SealedOf::Job { collection_uid, .. }, .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(ask(&api, "DELETE", COLLECTION, "").await.0, 200);
    // Its jobs are deleted later. Until then the scan finds them, and no path of theirs.
    let path = Browse::collection_path(world.store.as_ref(), collection_uid).await;
    assert_eq!(path.unwrap(), None);
    assert_eq!(world.store.sealed(None).await.unwrap().0, found);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    put(&api, "j", job(PLAIN), 201).await;
    let (other, _) = with_other_key(&world);
    let name = named("j");
    assert!(!other.forget_secrets_of_job((&group(), &named("jc"), &name)).await.unwrap());
}
