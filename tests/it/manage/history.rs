//! Claims and records, read through the API.

use axum::Router;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Recorded};
use minutehand_ports::{Attempts, Collections, Jobs};
use serde_json::Value;

use super::api::{COLLECTION, api, ask, group};
use super::world::{World, instant, named};

const JOB: &str = r#"{"properties":{"action":{"type":"Http","request":{"uri":"http://x","method":"GET"}},"recurrence":{"frequency":"Minute"}}}"#;
const NOW: &str = "2027-03-01T12:00:00Z";

struct JobHistory {
    world: World,
    api: Router,
    reference: JobRef,
}

impl JobHistory {
    async fn new() -> Self {
        let world = World::at(NOW).await;
        let api = api(&world);
        ask(&api, "PUT", COLLECTION, "{}").await;
        assert_eq!(ask(&api, "PUT", &format!("{COLLECTION}/jobs/j"), JOB).await.0, 201);
        let store = world.store.as_ref();
        let found = Collections::find(store, &group(), &named("jc")).await.unwrap().unwrap();
        let collection_uid = found.collection.uid;
        let job = Jobs::find(store, &collection_uid, &named("j")).await.unwrap().unwrap();
        let job = JobRef { uid: job.uid, collection_uid, key: job.name.key() };
        Self { world, api, reference: job }
    }

    /// Claims attempts and records how they ended.
    async fn execute(&self, attempts: &[(Attempt, Record)]) {
        for (attempt, record) in attempts {
            let claim = Claim {
                job: self.reference.clone(),
                attempt: attempt.clone(),
                claim_id: "c".to_owned(),
                lease_until: record.ended_at,
            };
            let request = ClaimRequest { claim: claim.clone(), now: record.started_at };
            let claimed = self.world.store.claim(&request).await.unwrap();
            assert_eq!(claimed, Claimed::Won);
            let recorded = self.world.store.record(&claim, record).await.unwrap();
            assert_eq!(recorded, Recorded::Kept);
        }
    }

    async fn list(&self, query: &str) -> Value {
        self.page(&format!("{COLLECTION}/jobs/j/history?{query}")).await
    }

    async fn page(&self, path: &str) -> Value {
        let (status, list) = ask(&self.api, "GET", path, "").await;
        assert_eq!(status, 200, "{list}");
        serde_json::from_str(&list).unwrap()
    }
}

fn messages(list: &Value) -> Vec<&str> {
    let items = list["value"].as_array().unwrap().iter();
    items.map(|item| item["properties"]["message"].as_str().unwrap()).collect()
}

fn ended(at: DateTime<Utc>, outcome: Outcome, message: &str) -> Record {
    let message = message.to_owned();
    Record {
        started_at: at,
        ended_at: at,
        outcome,
        message,
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: None,
    }
}

/// The n-th minute before now, of which every fourth failed.
fn minute(n: i64) -> (Attempt, Record) {
    let nominal_at = instant(NOW) - TimeDelta::minutes(n);
    let outcome = if n % 4 == 0 { Outcome::Failed } else { Outcome::Succeeded };
    let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
    (attempt, ended(nominal_at, outcome, &n.to_string()))
}

#[tokio::test]
async fn history_lists_the_newest_attempt_first_in_any_order_of_ends() {
    let job = JobHistory::new().await;
    let (first, _) = minute(30);
    let at = |minutes| instant(NOW) - TimeDelta::minutes(minutes);
    let retry = |number, minutes| Attempt { number, due_at: at(minutes), ..first.clone() };
    let error = Attempt { role: Role::Error, ..retry(0, 10) };
    let run_id = "r1".to_owned();
    let run = Attempt::first(1, Occurrence::Run { asked_at: at(5), run_id });
    let failed = |message| ended(at(1), Outcome::Failed, message);
    job.execute(&[
        (error, failed("the error action")),
        (run, failed("the run")),
        (first.clone(), failed("the first")),
        (retry(2, 12), failed("the second retry")),
        (retry(1, 20), failed("the first retry")),
        (minute(29).0, failed("a later occurrence")),
    ])
    .await;
    assert_eq!(
        messages(&job.list("").await),
        [
            "the run",
            "a later occurrence",
            "the error action",
            "the second retry",
            "the first retry",
            "the first"
        ]
    );
}

#[tokio::test]
async fn windows_and_filters_are_answered_as_asked() {
    let job = JobHistory::new().await;
    let minutes: Vec<_> = (1..=60).map(minute).collect();
    job.execute(&minutes).await;
    assert_eq!(messages(&job.list("$top=5").await), ["1", "2", "3", "4", "5"]);
    assert_eq!(messages(&job.list("$top=5&$skip=5").await), ["6", "7", "8", "9", "10"]);
    assert_eq!(messages(&job.list("$skip=58").await), ["59", "60"]);
    let failed = job.list("$filter=status%20eq%20Failed&$top=3&$skip=1").await;
    assert_eq!(messages(&failed), ["8", "12", "16"]);
    assert_eq!(failed["value"][0]["properties"]["status"], "failed");
    let completed = job.list("$filter=status%20eq%20Completed").await;
    assert_eq!(messages(&completed).len(), 45);
    assert_eq!(completed["value"][0]["properties"]["status"], Value::Null);
}

#[tokio::test]
async fn a_long_history_is_followed_through_its_links() {
    let job = JobHistory::new().await;
    let minutes: Vec<_> = (1..=620).map(minute).collect();
    job.execute(&minutes).await;
    let (mut all, mut path) = (Vec::new(), format!("{COLLECTION}/jobs/j/history"));
    loop {
        let list = job.page(&path).await;
        all.extend(messages(&list).into_iter().map(str::to_owned));
        let Some(link) = list["nextLink"].as_str() else {
            break;
        };
        let link = link.strip_prefix("http://localhost").unwrap();
        path = link.replace("api-version=2016-03-01&", "");
    }
    assert_eq!(all, (1..=620).map(|n: i64| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn history_expires_after_sixty_days_on_the_clock_of_the_schedule() {
    let job = JobHistory::new().await;
    job.execute(&[minute(2), minute(1)]).await;
    assert_eq!(messages(&job.list("").await), ["1", "2"]);
    job.world.now_is("2027-04-30T11:58:00Z");
    assert_eq!(messages(&job.list("").await), ["1"]);
    job.world.now_is("2027-04-30T11:59:00Z");
    assert_eq!(messages(&job.list("$top=5").await), [""; 0]);
}

#[tokio::test]
async fn a_recreated_job_has_a_history_of_its_own() {
    let job = JobHistory::new().await;
    job.execute(&[minute(1)]).await;
    let path = format!("{COLLECTION}/jobs/j");
    assert_eq!(ask(&job.api, "DELETE", &path, "").await.0, 200);
    assert_eq!(ask(&job.api, "GET", &format!("{path}/history"), "").await.0, 404);
    assert_eq!(ask(&job.api, "PUT", &path, JOB).await.0, 201);
    assert_eq!(messages(&job.list("").await), [""; 0]);
    // Another definition of the same job keeps it.
    let job = JobHistory::new().await;
    job.execute(&[minute(1)]).await;
    let hourly = JOB.replace("Minute", "Hour");
    assert_eq!(ask(&job.api, "PUT", &path, &hourly).await.0, 200);
    assert_eq!(messages(&job.list("").await), ["1"]);
}

#[tokio::test]
async fn a_position_of_another_list_is_no_server_error() {
    let job = JobHistory::new().await;
    job.execute(&[minute(1)]).await;
    let says = "The list has no such position. Follow 'nextLink', or send the 'position' of the answer \
                before it, without changing it.";
    // base64url of "C", "zzz" and "0".
    for position in ["Qw", "enp6", "MA"] {
        let path = format!("{COLLECTION}/jobs/j/history?$skiptoken={position}");
        let (status, answer) = ask(&job.api, "GET", &path, "").await;
        assert_eq!(status, 400, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["message"], says);
    }
}
