//! The classic API through the functions: from a cloud service to the history of a job.

use serde_json::{Value, json};

use super::requests::fixture;
use super::world::World;

const SERVICE: &str = "/me/cloudservices/shop";
const FRONT_END: &str = "/me/cloudservices/shop/resources/scheduler/jobCollections/jc";
const SCHEDULER: &str = "/me/cloudservices/shop/resources/scheduler/~/jobCollections/jc";

impl World {
    /// Sends a request of the classic API; the answer's body is the second value.
    async fn classic(&self, method: &str, path: &str, body: &str) -> (u64, String) {
        let mut event = fixture("api-classic");
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        event["rawPath"] = json!(path);
        event["rawQueryString"] = json!(query);
        event["requestContext"]["http"]["method"] = json!(method);
        event["isBase64Encoded"] = json!(false);
        event["body"] = json!(body);
        let answer = self.answer(event).await;
        assert_eq!(answer["isBase64Encoded"], false, "{answer}");
        let body = answer["body"].as_str().unwrap_or_default().to_owned();
        (answer["statusCode"].as_u64().unwrap(), body)
    }
}

#[tokio::test]
async fn a_job_of_the_classic_api_runs_in_the_functions() {
    let mut world = World::new().await;
    // As the gateway hands over what the Python client sends: its type counts as binary.
    let created = world.answer(fixture("api-classic")).await;
    assert_eq!(created["statusCode"], 202, "{created}");
    let id = created["headers"]["x-ms-request-id"].as_str().unwrap();
    let (status, operation) = world.classic("GET", &format!("/me/operations/{id}"), "").await;
    assert_eq!(status, 200);
    assert!(operation.contains("<Status>Succeeded</Status>"), "{operation}");
    assert_eq!(world.classic("PUT", FRONT_END, "<Resource/>").await, (202, String::new()));

    let uri = world.target.url();
    let job = json!({"action": {"type": "http", "request": {"method": "GET", "uri": uri}}});
    let path = format!("{SCHEDULER}/jobs/job?api-version=2014-04-01");
    let (status, job) = world.classic("PUT", &path, &job.to_string()).await;
    assert_eq!(status, 201, "{job}");
    let messages = world.sent();
    assert_eq!(world.deliver(&messages).await, Vec::<String>::new());
    let (_, history) =
        world.classic("GET", &format!("{SCHEDULER}/jobs/job/history?$top=10"), "").await;
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!((&history[0]["jobId"], &history[0]["status"]), (&json!("job"), &json!("completed")));

    let (_, service) = world.classic("GET", SERVICE, "").await;
    assert!(service.contains("<Label>größe</Label>"), "{service}");
    assert!(service.contains("<Name>jc</Name>"), "{service}");
    assert_eq!(world.classic("DELETE", SERVICE, "").await, (202, String::new()));
    let (status, refused) = world.classic("GET", SCHEDULER, "").await;
    assert_eq!(status, 404);
    assert!(refused.contains("<Code>ResourceNotFound</Code>"), "{refused}");
}

#[tokio::test]
async fn the_classic_api_needs_a_token_behind_a_gateway() {
    let world = World::new().await;
    let mut event = fixture("api-classic");
    event["headers"].as_object_mut().unwrap().remove("authorization");
    let refused = world.answer(event).await;
    assert_eq!(refused["statusCode"], 403);
    let body = refused["body"].as_str().unwrap();
    assert!(body.contains("<Code>AuthenticationFailed</Code>"), "{body}");
}
