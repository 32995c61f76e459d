//! Jobs that expect pings, which come at the API's address without a token.

use std::fs;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive_objects::{Location, Objects};
use minutehand_ports::Clock as _;
use serde_json::{Value, json};

use super::world::{COLLECTION, Sent, World};

const JOBS: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/jobs";
/// The time between two passes of the sweeper.
const PASS: i64 = 60;
/// How the time goes by.
const STEP: i64 = 10;

/// The functions, and what waits in the queue.
struct Pinged {
    world: World,
    waiting: Vec<(DateTime<Utc>, Sent)>,
    seconds: i64,
}

impl Pinged {
    async fn new() -> Self {
        Self::of(World::new().await).await
    }

    async fn of(mut world: World) -> Self {
        let alert = json!({"type": "Http", "format": "ntfy",
            "request": {"uri": format!("{}topic", world.target.url()), "method": "POST"}});
        let alerts = json!({"properties": {"minutehand": {"onFailure": alert}}});
        assert_eq!(world.put("", &alerts).await, 201);
        assert_eq!(world.sent(), []);
        Self { world, waiting: Vec::new(), seconds: 0 }
    }

    /// A job that expects a ping every ten minutes, until five minutes after; and the path for its pings.
    async fn expect(&mut self, name: &str) -> String {
        let action = json!({"type": "Expect", "expect": {"early": "PT2M", "grace": "PT5M"}});
        let recurrence = json!({"frequency": "minute", "interval": 10});
        let properties = json!({"startTime": "2030-01-01T00:10:00Z", "recurrence": recurrence,
            "action": action});
        let body = json!({"properties": properties});
        assert_eq!(self.world.put(&format!("/jobs/{name}"), &body).await, 201);
        self.take_sent();
        let (status, answer) = self.world.call("POST", &format!("{JOBS}/{name}/pingUrl"), "").await;
        assert_eq!(status, 200, "{answer}");
        let url = answer["url"].as_str().unwrap();
        url.strip_prefix("https://jobs.example.org").unwrap().to_owned()
    }

    /// What the API answers to a ping, which comes without a token.
    async fn ping(&mut self, method: &str, path: &str) -> u16 {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        self.ping_with(method, (path, query), "").await
    }

    async fn ping_with(&mut self, method: &str, (path, query): (&str, &str), body: &str) -> u16 {
        let http = json!({"method": method});
        let event = json!({
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": query,
            "headers": {},
            "body": body,
            "requestContext": {"domainName": "jobs.example.org", "stage": "$default", "http": http},
        });
        let status = self.world.event(event).await.0;
        self.take_sent();
        status
    }

    fn take_sent(&mut self) {
        let now = self.world.clock.0.now();
        let sent = self.world.sent().into_iter();
        self.waiting.extend(sent.map(|it| (now + TimeDelta::seconds(it.delay), it)));
    }

    /// Goes on to so many seconds after the beginning. The sweeper comes each minute, the queue at once.
    async fn run_to(&mut self, seconds: i64) {
        while self.seconds < seconds {
            self.world.advance(STEP);
            self.seconds += STEP;
            if self.seconds % PASS == 0 {
                self.world.sweeper.tick().await.unwrap();
            }
            self.take_sent();
            self.deliver().await;
        }
    }

    async fn deliver(&mut self) {
        let now = self.world.clock.0.now();
        loop {
            let due: Vec<Sent> =
                self.waiting.extract_if(.., |it| it.0 <= now).map(|(_, sent)| sent).collect();
            if due.is_empty() {
                return;
            }
            // Of the deadline and the occurrence itself, which are due at once, one may find the other at work.
            let again = now + TimeDelta::seconds(STEP);
            for id in self.world.deliver(&due).await {
                let n: usize = id.trim_start_matches('m').parse().unwrap();
                self.waiting.push((again, due[n].clone()));
            }
            self.take_sent();
        }
    }

    /// How the attempts of a job ended, the oldest first.
    async fn ended(&self, name: &str) -> Vec<String> {
        let history = self.world.history(name).await;
        let line = |entry: &Value| {
            let properties = &entry["properties"];
            let end = properties["endTime"].as_str().unwrap().to_owned();
            let cause = properties["minutehand"]["cause"]["kind"].as_str();
            format!("{} {}", &end[11..19], cause.unwrap_or("paid"))
        };
        // Alerts stand there, too.
        let own = |entry: &&Value| entry["properties"]["actionName"] == "MainAction";
        history.iter().filter(own).rev().map(line).collect()
    }
}

#[tokio::test]
async fn a_ping_pays_and_a_missing_one_fails_and_alerts_in_time() {
    let mut pinged = Pinged::new().await;
    let paid = pinged.expect("paid").await;
    let missing = pinged.expect("missing").await;
    pinged.run_to(9 * 60).await;
    assert_eq!(pinged.ping("GET", &paid).await, 200);
    pinged.run_to(14 * 60 + 50).await;
    assert_eq!(pinged.ended("paid").await, ["00:09:00 paid"]);
    assert_eq!(pinged.ended("missing").await, [""; 0]);
    assert_eq!(pinged.world.target.calls(), 0);
    // The grace is over at 00:15.
    pinged.run_to(15 * 60 + 70).await;
    assert_eq!(pinged.ended("missing").await, ["00:15:00 noPing"]);
    assert_eq!(pinged.ended("paid").await, ["00:09:00 paid"]);
    assert_eq!(pinged.world.target.calls(), 1, "the alert");
    assert_eq!(pinged.ping("POST", &missing).await, 200, "a late one changes nothing");
    // By each method.
    pinged.run_to(20 * 60).await;
    assert_eq!(pinged.ping("HEAD", &missing).await, 200);
    assert_eq!(pinged.ping("POST", &paid).await, 200);
    pinged.run_to(27 * 60).await;
    assert_eq!(pinged.ended("paid").await, ["00:09:00 paid", "00:20:00 paid"]);
    assert_eq!(pinged.ended("missing").await, ["00:15:00 noPing", "00:20:00 paid"]);
}

#[tokio::test]
async fn a_start_counts_until_its_end_and_a_failure_is_one() {
    const RID: &str = "0123abcd-4567-4890-8bcd-ef0123456789";
    let mut pinged = Pinged::new().await;
    let path = pinged.expect("j").await;
    pinged.run_to(12 * 60).await;
    assert_eq!(pinged.ping("GET", &format!("{path}/start?rid={RID}")).await, 200);
    pinged.run_to(16 * 60).await;
    assert_eq!(pinged.ended("j").await, [""; 0], "its grace counts from the start");
    assert_eq!(pinged.ping("GET", &format!("{path}/0?rid={RID}")).await, 200);
    pinged.run_to(20 * 60).await;
    assert_eq!(pinged.ping("POST", &format!("{path}/fail")).await, 200);
    pinged.run_to(30 * 60).await;
    assert_eq!(pinged.ping("POST", &format!("{path}/start")).await, 200);
    pinged.run_to(35 * 60 + 70).await;
    assert_eq!(
        pinged.ended("j").await,
        ["00:16:00 paid", "00:20:00 failureReported", "00:35:00 noPing"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_archive_the_whole_body_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Folder(folder.path().to_owned());
    let objects = Objects::open(&location, |_| None, DateTime::default).unwrap();
    objects.create_mark("archive").await.unwrap();
    let mut pinged = Pinged::of(World::without_collection(objects).await).await;
    let path = pinged.expect("j").await;
    for (second, body) in [(10 * 60, "7 rows".to_owned()), (20 * 60, "x".repeat(2_000))] {
        pinged.run_to(second).await;
        assert_eq!(pinged.ping_with("POST", (&path, ""), &body).await, 200);
        pinged.run_to(second + STEP).await;
        let history = pinged.world.history("j").await;
        let own = history.first().unwrap();
        let is_long = body.len() > 1_024;
        let bytes = own["properties"]["minutehand"]["bodyBytes"].as_u64();
        assert_eq!(bytes, is_long.then_some(2_000), "{own}");
        let id = own["name"].as_str().unwrap().rsplit('/').next().unwrap();
        let (status, kept) =
            pinged.world.call("GET", &format!("{JOBS}/j/history/{id}/body"), "").await;
        assert_eq!(status, if is_long { 200 } else { 404 }, "{kept}");
        let days = fs::read_dir(folder.path().join("bodies/v1")).into_iter().flatten();
        let days: Vec<_> = days.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(days, if is_long { vec!["date=2030-01-01"] } else { vec![] });
    }
}

#[tokio::test]
async fn wrong_keys_are_answered_alike_and_malformed_ones_read_nothing() {
    let mut pinged = Pinged::new().await;
    let path = pinged.expect("j").await;
    for other in ["/ping/x", "/ping/0123abcd-4567-4890-8bcd-ef0123456789", &path[..path.len() - 1]]
    {
        assert_eq!(pinged.ping("GET", other).await, 404, "{other}");
    }
    let (status, answer) = pinged.world.call("POST", &format!("{JOBS}/j/rotatePing"), "").await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(pinged.ping("GET", &path).await, 404);
    let (status, _) = pinged.world.call("DELETE", &format!("{COLLECTION}/jobs/j"), "").await;
    assert_eq!(status, 200);
    let left = pinged.world.items().await.into_keys().filter(|(pk, _)| pk.starts_with("P#"));
    assert_eq!(left.count(), 0, "the key went with its job");
}
