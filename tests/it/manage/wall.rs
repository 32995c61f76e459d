//! What a wall shows: what was counted, and where nothing is counted, what is computed from what is stored anyway.

use std::sync::Arc;

use axum::Router;
use chrono::TimeDelta;
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, LeftOutReason};
use minutehand_domain::job::JobCounters;
use minutehand_domain::recent::Mark;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_ports::store::{Counted, CounterUpdate, CountersAdd, JobRecord};
use minutehand_ports::{Attempts, Collections, Counters, Jobs};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_store_sql::SqlQueue;
use minutehand_store_sql::sqlite::Database;
use minutehand_testkit::dynamodb::LocalDynamo;
use minutehand_testkit::services::manage_ports;
use serde_json::{Value, json};

use super::api::{COLLECTION, api, api_over, ask, group};
use super::world::{World, instant, named, settings, standing};

const NOW: &str = "2027-03-27T12:20:00Z";
const WALL: &str = "/minutehand/v1/subscriptions/s/wall";

async fn get(api: &Router, query: &str) -> Value {
    let (status, text) = ask(api, "GET", &format!("{WALL}{query}"), "").await;
    assert_eq!(status, 200, "{query}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// Adds a collection with a job that is due at 5, 15, 25 … minutes, and one without jobs.
async fn with_job(api: &Router) {
    for path in [COLLECTION.to_owned(), COLLECTION.replace("/jc", "/empty")] {
        assert_eq!(ask(api, "PUT", &path, "{}").await.0, 201);
    }
    let job = json!({"properties": {"startTime": "2027-03-01T00:05:00Z",
        "recurrence": {"frequency": "minute", "interval": 10},
        "action": {"type": "Http", "request": {"uri": "http://x", "method": "GET"}}}});
    let path = format!("{COLLECTION}/jobs/j");
    assert_eq!(ask(api, "PUT", &path, &job.to_string()).await.0, 201);
}

async fn the_job(store: &(impl Collections + Jobs)) -> JobRecord {
    let found = Collections::find(store, &group(), &named("jc")).await.unwrap().unwrap();
    Jobs::find(store, &found.collection.uid, &named("j")).await.unwrap().unwrap()
}

fn failed(nominal_at: &str, is_run: bool) -> FailedOccurrence {
    FailedOccurrence {
        job_uid: format!("uid {is_run}"),
        collection_path: CollectionPlace::read("s/g/jc").unwrap(),
        job: "j".to_owned(),
        nominal_at: instant(nominal_at),
        is_run,
        attempts: 1,
        ended_at: instant(nominal_at),
        cause: None,
        said: None,
        message: String::new(),
        target: None,
    }
}

#[tokio::test]
async fn what_was_counted_is_shown_by_quarters() {
    let world = World::at(NOW).await;
    let api = api(&world);
    with_job(&api).await;
    let counted = |nominal_at: &str, mark, milliseconds| Counted {
        attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: instant(nominal_at) }),
        ended_at: Some(instant(nominal_at)),
        add: CountersAdd {
            executions: 1,
            mark: Some(mark),
            started_after: Some(TimeDelta::milliseconds(milliseconds)),
            ..CountersAdd::default()
        },
    };
    let update = CounterUpdate {
        job_uid: the_job(world.store.as_ref()).await.uid,
        as_read: RecentlyCounted::default(),
        counters: JobCounters::default(),
        counted: vec![
            counted("2027-03-27T11:25:00Z", Mark::Ok, 1),
            counted("2027-03-27T11:35:00Z", Mark::Late, 4_000),
            counted("2027-03-27T12:15:00Z", Mark::Failed, 1),
        ],
    };
    assert!(world.store.add(&update).await.unwrap());
    let found = get(&api, "?back=1&ahead=0").await;
    assert_eq!((&found["isCounted"], &found["lookedAt"]), (&json!(true), &json!(0)));
    assert_eq!(found["starts"], json!({"withinMs": 5_000}));
    let row = &found["collections"]["items"][1];
    assert_eq!((&row["collection"], &row["starts"]), (&json!("jc"), &found["starts"]));
    assert_eq!((&row["ok"], &row["late"]), (&json!([1, 0, 0, 0, 0]), &json!([0, 1, 0, 0, 0])));
    assert_eq!((&row["failed"], &row["retried"]), (&json!([0, 0, 0, 0, 1]), &json!([])));
}

/// An API on a table, at an instant.
async fn over(store: &Arc<DynamoStore>, now: &str) -> Router {
    let clock = standing(now);
    let (database, _) = Database::in_memory().unwrap();
    let queue = Arc::new(SqlQueue::open(database, clock.clone()).await.unwrap());
    let ports = manage_ports(store.clone(), queue, clock.clone());
    let ports = ManagePorts { browse: store.clone(), ..ports };
    api_over(Manage::new(ports, settings()), clock)
}

#[tokio::test]
async fn what_failed_and_was_left_out_is_taken_from_what_was_due() {
    let table = LocalDynamo::in_memory();
    ensure_table(&table.client(), "minutehand").await.unwrap();
    let store = Arc::new(DynamoStore::new(table.client(), "minutehand"));
    // The job is an hour older than what the wall shows.
    with_job(&over(&store, "2027-03-27T10:15:00Z").await).await;
    let api = over(&store, NOW).await;
    for (nominal_at, is_run) in [
        ("2027-03-27T11:35:00Z", false),
        ("2027-03-27T11:36:00Z", true),
        // Before the wall begins.
        ("2027-03-27T11:05:00Z", false),
    ] {
        store.add_failure(&failed(nominal_at, is_run)).await.unwrap();
    }
    let at = instant("2027-03-27T12:05:00Z");
    let left_out = LeftOut::one(0, at, LeftOutReason::TooLate, at);
    store.leave_out(&the_job(store.as_ref()).await.uid, &left_out).await.unwrap();

    let found = get(&api, "?back=1&ahead=1").await;
    assert_eq!(found["from"], "2027-03-27T11:15:00Z");
    assert_eq!((&found["isCounted"], &found["isPastWhole"]), (&json!(false), &json!(true)));
    assert_eq!((&found["running"], &found["starts"]), (&Value::Null, &Value::Null));
    assert_eq!(found["collections"]["all"], 2);
    let row = &found["collections"]["items"][1];
    assert_eq!((&row["collection"], &row["jobs"]), (&json!("jc"), &json!(1)));
    // 11:15 and 11:25, 11:35, 11:45 and 11:55, 12:05, 12:15.
    assert_eq!(row["ok"], json!([2, 0, 2, 0, 1]));
    assert_eq!(row["failed"], json!([0, 2, 0, 0, 0]));
    assert_eq!(row["skipped"], json!([0, 0, 0, 1, 0]));
    assert_eq!((&row["retried"], &row["late"]), (&Value::Null, &Value::Null));
    // 12:25, 12:35, 12:45 and 12:55, 13:05, 13:15 and 13:25.
    assert_eq!(row["due"], json!([1, 1, 2, 1, 2]));
    let empty = &found["collections"]["items"][0];
    assert_eq!((&empty["ok"], &empty["due"]), (&json!([]), &json!([])));

    let one = get(&api, "?collections=1&ahead=0").await;
    assert_eq!(one["collections"]["items"].as_array().unwrap().len(), 1);
    assert_eq!(one["collections"]["items"][0]["collection"], "jc", "those without jobs give way");
    assert_eq!(one["collections"]["items"][0]["due"], json!([]));
    assert_eq!(one["collections"]["items"][0]["ok"].as_array().unwrap().len(), 73);
    for wrong in ["?back=0", "?back=169", "?ahead=25", "?collections=201", "?nosuch=1"] {
        assert_eq!(ask(&api, "GET", &format!("{WALL}{wrong}"), "").await.0, 400, "{wrong}");
    }
}
