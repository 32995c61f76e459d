//! What became of the occurrences of a job, and what failed for good, asked through HTTP.

use axum::Router;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::CauseKind;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_ports::{Attempts, Collections, Jobs};
use serde_json::{Value, json};

use super::api::{ask, group};
use super::why::{JOB, execute, world};
use super::world::{World, instant, named};

const FAILURES: &str = "/minutehand/v1/subscriptions/S/failures";

async fn get(api: &Router, path: &str) -> Value {
    let (status, text) = ask(api, "GET", path, "").await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// The instants, kinds and outcomes of a page, and its position.
fn shown(page: &Value) -> (Vec<String>, Option<&str>) {
    let items = page["items"].as_array().unwrap().iter();
    let line = |item: &Value| {
        let [at, kind, outcome] =
            ["at", "kind", "outcome"].map(|name| item[name].as_str().unwrap());
        format!("{at} {kind} {outcome}")
    };
    (items.map(line).collect(), page["position"].as_str())
}

async fn leave_out(world: &World, first: &str, last: &str) {
    let store = world.store.as_ref();
    let found = Collections::find(store, &group(), &named("jc")).await.unwrap().unwrap();
    let job = Jobs::find(store, &found.collection.uid, &named("j")).await.unwrap().unwrap();
    let outage = Outage { from: instant(first), until: instant(last) };
    let left_out = LeftOut {
        generation: 0,
        first: instant(first),
        last: instant(last),
        occurrences: 2,
        reason: LeftOutReason::Outage(outage),
        at: instant(last),
    };
    store.leave_out(&job.uid, &left_out).await.unwrap();
}

#[tokio::test]
async fn occurrences_have_their_attempts_and_what_was_left_out() {
    let (world, api) = world().await;
    execute(&world, "2027-03-02T09:00", 0, Some(Outcome::Succeeded)).await;
    execute(&world, "2027-03-03T09:00", 0, Some(Outcome::Failed)).await;
    execute(&world, "2027-03-03T09:00", 1, Some(Outcome::Failed)).await;
    leave_out(&world, "2027-03-04T09:00", "2027-03-05T09:00").await;
    execute(&world, "2027-03-06T09:00", 0, None).await;
    world.now_is("2027-03-06T09:00:01Z");
    let path = format!("{JOB}/occurrences");
    let all = get(&api, &path).await;
    let expected = [
        "2027-03-06T09:00:00Z scheduled underWay",
        "2027-03-04T09:00:00Z leftOut skipped",
        "2027-03-03T09:00:00Z scheduled failed",
        "2027-03-02T09:00:00Z scheduled succeeded",
    ];
    let (items, position) = shown(&all);
    assert_eq!((items, position), (expected.map(str::to_owned).to_vec(), None));
    let attempts = &all["items"][2]["attempts"];
    assert_eq!(attempts[0]["retry"], 0);
    assert_eq!(
        attempts[1],
        json!({"action": "action", "retry": 1, "dueAt": "2027-03-03T09:01:00Z",
               "startedAt": "2027-03-03T09:01:00Z", "endedAt": "2027-03-03T09:01:01Z",
               "outcome": "failed", "cause": {"kind": "httpStatus", "text": "HTTP 500"},
               "said": null, "message": "m"})
    );
    assert_eq!(all["items"][1]["count"], 2);
    // Page by page, it is the same.
    let (mut found, mut next) = (Vec::new(), path.clone() + "?limit=1");
    loop {
        let page = get(&api, &next).await;
        let (items, position) = shown(&page);
        found.extend(items);
        let Some(position) = position else { break };
        next = format!("{path}?limit=1&position={position}");
    }
    assert_eq!(found, expected);
    let before = get(&api, &format!("{path}?before=2027-03-04T09:00")).await;
    assert_eq!(shown(&before).0, expected[2..]);
    for wrong in ["?limit=0", "?before=soon", "?position=x", "?nosuch=1"] {
        assert_eq!(ask(&api, "GET", &format!("{path}{wrong}"), "").await.0, 400, "{wrong}");
    }
    // After sixty days, none is left.
    world.now_is("2027-06-01T00:00:00Z");
    assert_eq!(
        shown(&get(&api, &path).await),
        (vec!["2027-03-06T09:00:00Z scheduled underWay".to_owned()], None)
    );
}

async fn fail(world: &World, ended_at: &str, collection: &str, job: &str) {
    let failed = FailedOccurrence {
        job_uid: format!("uid of {job}"),
        collection_path: CollectionPlace::read(&format!("s/My Group/{collection}")).unwrap(),
        job: job.to_owned(),
        nominal_at: instant("2027-03-01T09:00"),
        is_run: false,
        attempts: 2,
        ended_at: instant(ended_at),
        cause: Some(CauseKind::ConnectionRefused.into()),
        said: Some("busy".to_owned()),
        message: "m".to_owned(),
        target: Some("POST example.org".to_owned()),
    };
    // Twice is as once.
    for _ in 0..2 {
        world.store.add_failure(&failed).await.unwrap();
    }
}

#[tokio::test]
async fn what_failed_for_good_is_listed_by_its_end() {
    let (world, api) = world().await;
    fail(&world, "2027-03-01T10:00", "ops", "Early").await;
    fail(&world, "2027-03-04T10:00", "ops", "Second").await;
    fail(&world, "2027-03-04T10:00", "other", "third").await;
    fail(&world, "2027-03-05T10:00", "ops", "second").await;
    world.now_is("2027-03-10T12:00:00Z");
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| {
                format!("{} {}", item["endedAt"].as_str().unwrap(), item["job"].as_str().unwrap())
            })
            .collect()
    };
    let all = get(&api, FAILURES).await;
    let expected = [
        "2027-03-05T10:00:00Z second",
        "2027-03-04T10:00:00Z third",
        "2027-03-04T10:00:00Z Second",
    ];
    assert_eq!(names(&all), expected);
    assert_eq!(
        all["items"][1],
        json!({"at": "2027-03-01T09:00:00Z", "kind": "scheduled", "endedAt": "2027-03-04T10:00:00Z",
               "resourceGroup": "My Group", "collection": "other", "job": "third",
               "uid": "uid of third", "attempts": 2, "target": "POST example.org",
               "cause": {"kind": "connectionRefused", "text": "connection refused"},
               "said": "busy", "message": "m"})
    );
    let since = get(&api, &format!("{FAILURES}?since=2027-02-01")).await;
    assert_eq!(names(&since).len(), 4);
    let of = get(&api, &format!("{FAILURES}?collection=my%20group/OPS&job=second")).await;
    assert_eq!(names(&of), [expected[0], expected[2]]);
    let (mut found, mut next) = (Vec::new(), format!("{FAILURES}?limit=1"));
    loop {
        let page = get(&api, &next).await;
        found.extend(names(&page));
        let Some(position) = page["position"].as_str() else { break };
        next = format!("{FAILURES}?limit=1&position={position}");
    }
    assert_eq!(found, expected);
    for wrong in ["?since=soon", "?position=x", "?collection=ops", "?job=a%20b"] {
        assert_eq!(ask(&api, "GET", &format!("{FAILURES}{wrong}"), "").await.0, 400, "{wrong}");
    }
}
