//! The API over the real store: a request in, an answer out.

use std::sync::{Arc, RwLock};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use minutehand_app::Manage;
use minutehand_domain::name::PathSegment;
use minutehand_ports::Clock;
use minutehand_ports::store::ResourceGroup;
use minutehand_rest::{Access, BuildInfo, Rest, Scheme, router};
use minutehand_testkit::services::CountedIds;
use tower::ServiceExt;

use super::world::World;

pub(super) const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc";

/// The resource group of [`COLLECTION`].
pub(super) fn group() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("s"), group: segment("g") }
}

pub(super) fn api(world: &World) -> Router {
    api_over(world.manage.clone(), world.clock.clone())
}

/// An API that needs no token.
pub(crate) fn api_over(manage: Manage, clock: Arc<dyn Clock>) -> Router {
    let text = || "test".to_owned();
    let build = BuildInfo {
        version: text(),
        commit: text(),
        store: text(),
        time_zones: text(),
        time_zones_date: None,
    };
    router(Rest {
        manage,
        clock,
        ids: Arc::new(CountedIds::default()),
        access: Arc::new(RwLock::new(Access::Open)),
        certificates: Arc::default(),
        scheme: Scheme::Http,
        build,
        readiness: Arc::new(()),
        metrics: None,
        live: None,
        home: minutehand_rest::Home::Machine,
    })
}

pub(super) async fn ask(api: &Router, method: &str, path: &str, body: &str) -> (u16, String) {
    let uri = format!("{path}{}api-version=2016-03-01", if path.contains('?') { '&' } else { '?' });
    let request = Request::builder().method(method).uri(uri).header("host", "localhost");
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let answer = api.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_job_lives_through_the_api() {
    let world = World::at("2016-03-30T19:35:16Z").await;
    let api = api(&world);
    let (status, _) = ask(&api, "PUT", COLLECTION, r#"{"location":"South Central US"}"#).await;
    assert_eq!(status, 201);
    let job = format!("{COLLECTION}/jobs/j1");
    let body = r#"{"properties":{"startTime":"2015-07-13T00:00:00Z","action":{"type":"Http","request":{"uri":"http://www.bing.com/","method":"GET","authentication":{"type":"Basic","username":"u","password":"hunter2"}}},"recurrence":{"frequency":"Week"}}}"#;
    let (status, answer) = ask(&api, "PUT", &job, body).await;
    assert_eq!(status, 201);
    assert_eq!(
        answer,
        r#"{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc/jobs/j1","type":"Microsoft.Scheduler/jobCollections/jobs","name":"jc/j1","properties":{"startTime":"2015-07-13T00:00:00Z","action":{"request":{"uri":"http://www.bing.com/","method":"GET","authentication":{"username":"u","type":"Basic"}},"type":"Http"},"recurrence":{"frequency":"week","interval":1},"state":"enabled","status":{"nextExecutionTime":"2016-04-04T00:00:00Z","executionCount":0,"failureCount":0,"faultedCount":0}}}"#,
    );
    assert_eq!(ask(&api, "PUT", &job, body).await.0, 200);
    let (_, list) =
        ask(&api, "GET", &format!("{COLLECTION}/jobs?$filter=state%20eq%20Enabled"), "").await;
    assert_eq!(list, format!(r#"{{"value":[{answer}],"nextLink":null}}"#));
    let (status, _) = ask(&api, "PATCH", &job, r#"{"properties":{"state":"Disabled"}}"#).await;
    assert_eq!(status, 200);
    assert_eq!(ask(&api, "POST", &format!("{job}/run"), "").await, (200, String::new()));
    assert_eq!(ask(&api, "DELETE", &job, "").await, (200, String::new()));
    let gone = r#"{"error":{"code":"NotFound","message":"Job 'j1' cannot be found."}}"#;
    assert_eq!(ask(&api, "GET", &job, "").await, (404, gone.to_owned()));
    assert_eq!(ask(&api, "DELETE", COLLECTION, "").await, (200, String::new()));
}

#[tokio::test]
async fn a_list_is_followed_to_its_end_through_its_links() {
    let world = World::at("2016-03-30T19:35:16Z").await;
    let api = api(&world);
    ask(&api, "PUT", COLLECTION, r#"{"properties":{"sku":{"name":"P20Premium"}}}"#).await;
    let body = r#"{"properties":{"startTime":"2020-01-01","action":{"type":"Http","request":{"uri":"http://x","method":"GET"}}}}"#;
    for n in 0..520 {
        assert_eq!(ask(&api, "PUT", &format!("{COLLECTION}/jobs/j{n:03}"), body).await.0, 201);
    }
    let (mut names, mut path) = (Vec::new(), format!("{COLLECTION}/jobs"));
    loop {
        let (status, list) = ask(&api, "GET", &path, "").await;
        assert_eq!(status, 200, "{list}");
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let jobs = list["value"].as_array().unwrap();
        names.extend(jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        match list["nextLink"].as_str() {
            Some(link) => {
                let link = link.strip_prefix("http://localhost").unwrap();
                path = link
                    .replace("api-version=2016-03-01&", "")
                    .replace("&api-version=2016-03-01", "");
            }
            None => break,
        }
    }
    let expected: Vec<_> = (0..520).map(|n| format!("jc/j{n:03}")).collect();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn an_unknown_list_position_is_no_server_error() {
    let world = World::at("2016-03-30T19:35:16Z").await;
    let api = api(&world);
    ask(&api, "PUT", COLLECTION, "{}").await;
    // base64url of "C" and of "zzz": no positions of this list.
    for token in ["Qw", "enp6"] {
        let path = format!("{COLLECTION}/jobs?$skiptoken={token}");
        let (status, answer) = ask(&api, "GET", &path, "").await;
        assert_eq!((status, answer.as_str()), (200, r#"{"value":[],"nextLink":null}"#));
    }
}

#[tokio::test]
async fn a_resource_of_a_template_is_a_put_of_itself() {
    let page = include_str!("../../../shared/docs/azure-migration.md");
    let section = page.split("## An ARM template").nth(1).unwrap();
    let resource = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let world = World::at("2026-12-01T00:00:00Z").await;
    let api = api(&world);
    ask(&api, "PUT", COLLECTION, r#"{"properties":{"sku":{"name":"Standard"}}}"#).await;
    let (status, answer) = ask(&api, "PUT", &format!("{COLLECTION}/jobs/nightly"), resource).await;
    assert_eq!(
        (status, answer.as_str()),
        (
            201,
            r#"{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc/jobs/nightly","type":"Microsoft.Scheduler/jobCollections/jobs","name":"jc/nightly","properties":{"startTime":"2027-01-01T00:00:00Z","action":{"request":{"uri":"https://example.org/reports","method":"POST","headers":{"Content-Type":"application/json"},"body":"{\"kind\":\"nightly\"}","authentication":{"username":"reports","type":"Basic"}},"type":"Https","retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":3},"errorAction":{"queueMessage":{"storageAccount":"contoso","queueName":"failed-reports","message":"the nightly report failed"},"type":"StorageQueue"}},"recurrence":{"frequency":"week","interval":1,"schedule":{"minutes":[30],"hours":[2],"weekDays":["monday","friday"]}},"state":"enabled","status":{"nextExecutionTime":"2027-01-01T02:30:00Z","executionCount":0,"failureCount":0,"faultedCount":0}}}"#,
        ),
    );
}
