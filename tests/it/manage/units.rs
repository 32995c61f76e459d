//! What Minutehand's own operations consume in the table on AWS, each called through HTTP. The figures of
//! `shared/docs/api.md` are compared with these.

use std::sync::Arc;

use axum::Router;
use minutehand_app::{Manage, ManagePorts};
use minutehand_store_dynamodb::{DynamoStore, Meter, MeteredCall, ensure_table};
use minutehand_store_sql::SqlQueue;
use minutehand_store_sql::sqlite::Database;
use minutehand_testkit::dynamodb::LocalDynamo;
use minutehand_testkit::services::manage_ports;
use serde_json::{Value, json};

use super::api::{COLLECTION, api_over, ask};
use super::world::{settings, standing};

const NOW: &str = "2027-03-01T12:00:00Z";
const JOBS: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/jobs";

/// What requests to a table consume, and the API over it, with a collection and a daily job of about 600 bytes.
async fn world() -> (Arc<Meter>, Router) {
    let table = LocalDynamo::in_memory();
    ensure_table(&table.client(), "minutehand").await.unwrap();
    let (meter, clock) = (Arc::new(Meter::default()), standing(NOW));
    let store = DynamoStore::new(table.client(), "minutehand").with_meter(meter.clone());
    let store = Arc::new(store);
    let (database, _) = Database::in_memory().unwrap();
    let queue = Arc::new(SqlQueue::open(database, clock.clone()).await.unwrap());
    let pings = store.clone();
    let ports = ManagePorts { browse: store.clone(), ..manage_ports(store, queue, clock.clone()) };
    let api = api_over(Manage::new(ports, settings()).with_pings_and_bodies(pings, None), clock);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    assert_eq!(ask(&api, "PUT", &format!("{COLLECTION}/jobs/j"), &job("GET")).await.0, 201);
    (meter, api)
}

fn job(method: &str) -> String {
    let request =
        json!({"uri": "https://example.org/reports", "method": method, "body": "x".repeat(300)});
    let recurrence = json!({"frequency": "day", "schedule": {"hours": [9], "minutes": [0]}});
    let action = json!({"type": "Https", "request": request});
    json!({"properties": {"recurrence": recurrence, "startTime": "2027-01-01", "action": action}})
        .to_string()
}

/// The read units of a request, which must succeed; `of` are the calls that it may make.
async fn read_by(
    (meter, api): (&Meter, &Router),
    of: &[MeteredCall],
    (method, path, body): (&str, &str, &str),
) -> (f64, Value) {
    drop(meter.take());
    let (status, answer) = ask(api, method, path, body).await;
    assert_eq!(status, 200, "{path}: {answer}");
    let consumed = meter.take();
    assert!(consumed.keys().all(|call| of.contains(call)), "{path}: {consumed:?}");
    let units = consumed.values().map(|sum| sum.units).fold(0.0, |all, units| all + units);
    (units, serde_json::from_str(&answer).unwrap())
}

/// The same of a request that reads nothing consistently, which would cost twice as much.
async fn read(meter: &Meter, api: &Router, method: &str, path: &str, body: &str) -> (f64, Value) {
    read_by((meter, api), &[MeteredCall::Browse], (method, path, body)).await
}

/// The figures that the documentation gives, as rows `| operation | units |`.
fn documented(operation: &str) -> String {
    let path = format!("{}/../shared/docs/api.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let row = text.lines().find(|line| line.contains(&format!("| `{operation}` |")));
    let row = row.unwrap_or_else(|| panic!("{operation} is not in the documentation"));
    row.trim_matches('|').rsplit('|').next().unwrap().trim().to_owned()
}

#[tokio::test]
async fn every_operation_consumes_what_the_documentation_says() {
    let (meter, api) = world().await;
    let preview = r#"{"startTime":"2027-04-01"}"#;
    for (operation, method, path, body) in [
        ("GET /me", "GET", "/minutehand/v1/me".to_owned(), ""),
        ("GET /zones", "GET", "/minutehand/v1/zones".to_owned(), ""),
        ("GET /processes", "GET", "/minutehand/v1/processes".to_owned(), ""),
        ("GET /database", "GET", "/minutehand/v1/database".to_owned(), ""),
        ("GET /subscriptions", "GET", "/minutehand/v1/subscriptions".to_owned(), ""),
        ("GET /deadletters", "GET", "/minutehand/v1/deadletters".to_owned(), ""),
        ("POST /preview", "POST", "/minutehand/v1/preview".to_owned(), preview),
        ("GET J", "GET", format!("{JOBS}/j"), ""),
        ("GET S/overview", "GET", "/minutehand/v1/subscriptions/s/overview".to_owned(), ""),
        ("GET S/find?q=", "GET", "/minutehand/v1/subscriptions/s/find?q=J".to_owned(), ""),
        ("GET S/wall", "GET", "/minutehand/v1/subscriptions/s/wall".to_owned(), ""),
        ("GET S/upcoming", "GET", "/minutehand/v1/subscriptions/s/upcoming".to_owned(), ""),
        ("GET S/load", "GET", "/minutehand/v1/subscriptions/s/load".to_owned(), ""),
        ("GET S/load", "GET", "/minutehand/v1/subscriptions/s/load?far=true".to_owned(), ""),
        ("GET S/failures", "GET", "/minutehand/v1/subscriptions/s/failures".to_owned(), ""),
        ("GET C/journal", "GET", JOBS.replace("/jobs", "/journal"), ""),
        ("GET C/rows", "GET", JOBS.replace("/jobs", "/rows"), ""),
        ("GET J/next", "GET", format!("{JOBS}/j/next"), ""),
        ("GET J/why?at=", "GET", format!("{JOBS}/j/why?at=2027-03-02T09:00"), ""),
        ("GET J/occurrences", "GET", format!("{JOBS}/j/occurrences"), ""),
        ("POST J/check", "POST", format!("{JOBS}/j/check"), &job("PUT")),
    ] {
        let (units, _) = read(&meter, &api, method, &path, body).await;
        println!("figure: {operation}: {units} read units");
        assert_eq!(units.to_string(), documented(operation), "{operation}");
    }
}

#[tokio::test]
async fn what_is_known_of_alerts_consumes_what_the_documentation_says() {
    let (meter, api) = world().await;
    let on_failure = json!({"type": "Https", "format": "slack", "after": 2, "request": {"uri": "https://hooks.example/T0/B0/x"}});
    let alerts = json!({"properties": {"minutehand": {"onFailure": on_failure}}}).to_string();
    let (status, answer) = ask(&api, "PUT", COLLECTION, &alerts).await;
    assert_eq!(status, 201, "{answer}");
    // The collection is read as it is now, for one unit that the meter does not see.
    for (operation, path, unseen) in [
        ("GET C/alert", JOBS.replace("/jobs", "/alert"), 1.0),
        ("GET J/alert", format!("{JOBS}/j/alert"), 0.0),
    ] {
        let calls = [MeteredCall::Browse, MeteredCall::ReadAlerts];
        let (seen, answer) = read_by((&meter, &api), &calls, ("GET", &path, "")).await;
        assert_eq!(answer["isSet"], true);
        let units = seen + unseen;
        println!("figure: {operation}: {units} read units");
        assert_eq!(units.to_string(), documented(operation), "{operation}");
    }
}

#[tokio::test]
async fn a_check_of_many_changes_writes_nothing() {
    let (meter, api) = world().await;
    let body: Value = serde_json::from_str(&job("PUT")).unwrap();
    let jobs: Vec<Value> =
        ["j", "new"].into_iter().map(|name| json!({"name": name, "body": body})).collect();
    drop(meter.take());
    let path = JOBS.replace("/jobs", "/check");
    let (status, answer) = ask(&api, "POST", &path, &json!({"jobs": jobs}).to_string()).await;
    assert_eq!(status, 200, "{answer}");
    let consumed = meter.take();
    assert!(!consumed.keys().any(|call| call.is_write()), "{consumed:?}");
}

#[tokio::test]
async fn a_change_of_a_small_job_writes_its_items_and_two_units_for_its_entry() {
    let (meter, api) = world().await;
    let path = |name: &str| format!("{COLLECTION}/jobs/{name}");
    for (what, method, name, body, status, units) in [
        // Two units each for definition, timer, count and entry, and one for the index.
        ("create", "PUT", "k", job("GET"), 201, 9.0),
        ("replace", "PUT", "k", job("PUT"), 200, 6.0),
        // The entry alone.
        ("run", "POST", "k/run", String::new(), 200, 1.0),
        // The timer is taken out of the index.
        ("switch off", "PATCH", "k", r#"{"properties":{"state":"disabled"}}"#.to_owned(), 200, 7.0),
        ("delete", "DELETE", "k", String::new(), 200, 8.0),
    ] {
        drop(meter.take());
        let (answered, text) = ask(&api, method, &path(name), &body).await;
        assert_eq!(answered, status, "{text}");
        let found = meter.take()[&MeteredCall::Change].units;
        println!("figure: {what}: {found} write units");
        assert!((found - units).abs() < f64::EPSILON, "{what}: {found}");
    }
}

/// Two units each for what is remembered of pings, the attempt and the timer, and one for the index.
#[tokio::test]
async fn a_ping_costs_one_read_unit_and_what_it_changes() {
    let (meter, api) = world().await;
    let expects = json!({"properties": {"startTime": NOW, "recurrence": {"frequency": "hour"},
        "action": {"type": "Expect", "expect": {}}}});
    let path = format!("{COLLECTION}/jobs/p");
    assert_eq!(ask(&api, "PUT", &path, &expects.to_string()).await.0, 201);
    let (status, answer) = ask(&api, "POST", &format!("{JOBS}/p/pingUrl"), "").await;
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let url = answer["url"].as_str().unwrap();
    let path = &url[url.find("/ping/").unwrap()..];
    for (what, path, status, reads, writes) in [
        ("start", format!("{path}/start"), 200, 1.0, 7.0),
        ("the same again", format!("{path}/start"), 200, 1.0, 0.0),
        ("end", path.to_owned(), 200, 1.0, 4.0),
        ("one that nothing owes", format!("{path}/fail"), 200, 1.0, 1.0),
        ("a wrong key", "/ping/0123abcd-4567-4890-8bcd-ef0123456789".to_owned(), 404, 1.5, 0.0),
        ("a malformed key", "/ping/0123abcd".to_owned(), 404, 0.0, 0.0),
    ] {
        drop(meter.take());
        assert_eq!(ask(&api, "GET", &path, "").await.0, status, "{what}");
        let consumed = meter.take();
        let sum = |is_write: bool| {
            let calls = consumed.iter().filter(|(call, _)| call.is_write() == is_write);
            calls.fold(0.0, |all, (_, sum)| all + sum.units)
        };
        println!("figure: {what}: {} read units, {} write units", sum(false), sum(true));
        assert_eq!((sum(false), sum(true)), (reads, writes), "{what}: {consumed:?}");
    }
}
