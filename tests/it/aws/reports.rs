//! Targets that answer that they go on, and report the end at the API's address.

use serde_json::{Value, json};

use super::world::World;

/// The header that says where to report.
const HEADER: &str = "x-minutehand-completion: ";

impl World {
    /// What the API answers to a report, which comes without a token.
    async fn report(&self, path: &str) -> u16 {
        let http = json!({"method": "POST"});
        let event = json!({
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {},
            "body": "",
            "requestContext": {"domainName": "jobs.example.org", "stage": "$default", "http": http},
        });
        self.event(event).await.0
    }

    /// The path at which the newest call may be reported.
    fn report_path(&self) -> String {
        let head = self.target.heads().pop().unwrap();
        let mut lines = head.lines().map(str::to_lowercase);
        let url = lines.find_map(|line| line.strip_prefix(HEADER).map(str::to_owned));
        url.unwrap().strip_prefix("https://jobs.example.org").unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_target_reports_at_the_api_and_a_worker_records_it() {
    let mut world = World::new().await;
    world.target.answer(202);
    let completion = json!({"completion": {"within": "PT2H"}});
    let job = json!({"startTime": "2030-01-01T00:00:30Z", "minutehand": completion});
    world.put_job("long", job).await;
    let sent = world.sent();
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.history("long").await.len(), 0);
    let path = world.report_path();

    world.advance(3_600);
    let wrong =
        format!("{}{}", &path[..path.len() - 1], if path.ends_with('0') { '1' } else { '0' });
    assert_eq!(world.report(&wrong).await, 404);
    assert_eq!(world.report("/ping/nothing").await, 404);
    assert_eq!(world.sent(), []);
    assert_eq!(world.report(&format!("{path}/alive")).await, 200);
    assert_eq!(world.report(&path).await, 200);
    let sent = world.sent();
    assert_eq!(sent.len(), 1);
    assert!(world.deliver(&sent).await.is_empty());
    let [record] = world.history("long").await.try_into().unwrap();
    assert_eq!(record["properties"]["status"], Value::Null, "as the original says a success");
    assert_eq!(record["properties"]["endTime"], "2030-01-01T01:00:30Z");
    assert_eq!(world.report(&format!("{path}/fail")).await, 409);
}

#[tokio::test]
async fn without_a_report_in_time_the_attempt_fails() {
    let mut world = World::new().await;
    world.target.answer(202);
    let completion = json!({"completion": {"within": "PT10M"}});
    let job = json!({"startTime": "2030-01-01T00:00:30Z", "minutehand": completion});
    world.put_job("long", job).await;
    let sent = world.sent();
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    let path = world.report_path();
    world.advance(600);
    world.sweeper.tick().await.unwrap();
    let sent = world.sent();
    assert!(world.deliver(&sent).await.is_empty());
    let [record] = world.history("long").await.try_into().unwrap();
    assert_eq!(record["properties"]["status"], "failed");
    assert_eq!(record["properties"]["minutehand"]["cause"]["kind"], "noCompletion");
    assert_eq!(world.report(&path).await, 409);
}
