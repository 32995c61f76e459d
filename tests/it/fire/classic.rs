//! Collections of the classic API and of the later one are the same, while their jobs fire.

use super::world::{World, status};

/// The collections of the later API.
const ARM: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
const VERSION: &str = "api-version=2016-03-01";
/// The cloud service of the same group, and its resources.
const SERVICE: &str = "/s/cloudservices/g";
const FRONT_END: &str = "/s/cloudservices/g/resources/scheduler/jobCollections";
const SCHEDULER: &str = "/s/cloudservices/g/resources/scheduler/~/jobCollections";

/// A job of the classic API that calls `http://j/` each hour.
const HOURLY: &str = r#"{"startTime":"2027-03-01T10:00:00Z","action":{"type":"http","request":{"uri":"http://j/","method":"GET"}},"recurrence":{"frequency":"hour","interval":1}}"#;

#[tokio::test]
async fn a_collection_of_the_classic_api_fires_and_is_changed_and_deleted_by_the_later_one() {
    let mut world = World::at("2027-03-01T09:00").await;
    assert_eq!(world.send("DELETE", &format!("{ARM}/jc?{VERSION}"), "").await.0, 200);
    let service = "<CloudService><GeoRegion>West Europe</GeoRegion></CloudService>";
    assert_eq!(world.send("PUT", SERVICE, service).await.0, 202);
    assert_eq!(world.send("PUT", &format!("{FRONT_END}/jc"), "<Resource/>").await.0, 202);
    assert_eq!(world.send("PUT", &format!("{SCHEDULER}/jc/jobs/j"), HOURLY).await.0, 201);
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 11:00"]);
    let (_, history) = world.send("GET", &format!("{SCHEDULER}/jc/jobs/j/history"), "").await;
    let newest = r#"[{"jobId":"j","timestamp":"2027-03-01T11:00:00Z","state":"enabled","status":"completed","startTime":"2027-03-01T11:00:00Z","endTime":"2027-03-01T11:00:00Z","message":"#;
    assert!(history.starts_with(newest), "{history}");
    let end = r#""retryCount":0,"repeatCount":1,"actionName":"MainAction"}]"#;
    assert!(history.ends_with(end), "{history}");

    let (_, seen) = world.send("GET", &format!("{ARM}/jc?{VERSION}"), "").await;
    assert!(seen.contains(r#""location":"West Europe""#), "{seen}");
    let disabled = world.send("POST", &format!("{ARM}/jc/disable?{VERSION}"), "").await;
    assert_eq!(disabled.0, 200);
    let (_, seen) = world.send("GET", &format!("{SCHEDULER}/jc"), "").await;
    assert!(seen.contains("<State>Stopped</State>"), "{seen}");
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.send("POST", &format!("{ARM}/jc/enable?{VERSION}"), "").await.0, 200);
    world.run_until("2027-03-01T13:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 11:00", "01 13:00"]);

    assert_eq!(world.send("DELETE", &format!("{ARM}/jc?{VERSION}"), "").await.0, 200);
    assert_eq!(world.send("GET", &format!("{SCHEDULER}/jc"), "").await.0, 404);
    let (_, service) = world.send("GET", SERVICE, "").await;
    assert!(service.contains("<Resources/>"), "{service}");
    world.run_until("2027-03-01T15:30").await;
    assert_eq!(world.calls("http://j/").len(), 3);
}

#[tokio::test]
async fn a_collection_of_the_later_api_fires_and_is_changed_and_deleted_by_the_classic_one() {
    let mut world = World::at("2027-03-01T09:00").await;
    // The collection `jc` is there, and so its group is a cloud service.
    let job = format!(r#"{{"properties":{HOURLY}}}"#);
    assert_eq!(world.send("PUT", &format!("{ARM}/jc/jobs/j?{VERSION}"), &job).await.0, 201);
    let (_, services) = world.send("GET", "/s/cloudservices", "").await;
    assert!(services.contains("<Name>g</Name>") && services.contains("<Name>jc</Name>"));
    world.run_until("2027-03-01T10:30").await;

    let jobs = format!("{SCHEDULER}/jc/jobs");
    assert_eq!(world.send("PATCH", &jobs, r#"{"state":"disabled"}"#).await.0, 200);
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(world.status("j").await, status("disabled").executions(1));
    let body = r#"{"state":"enabled","recurrence":{"interval":2}}"#;
    assert_eq!(world.send("PATCH", &format!("{jobs}/j"), body).await.0, 200);
    world.run_until("2027-03-01T14:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 12:00", "01 14:00"]);
    let (_, seen) = world.send("GET", &format!("{ARM}/jc/jobs/j?{VERSION}"), "").await;
    assert!(seen.contains(r#""interval":2"#) && seen.contains(r#""executionCount":3"#), "{seen}");

    assert_eq!(world.send("DELETE", SERVICE, "").await.0, 202);
    assert_eq!(world.send("GET", &format!("{ARM}/jc?{VERSION}"), "").await.0, 404);
    world.run_until("2027-03-01T18:30").await;
    assert_eq!(world.calls("http://j/").len(), 3);
}
