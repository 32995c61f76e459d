//! The examples of `shared/docs/events.md` are what the bus is given.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::cause::Cause;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;
use minutehand_events_eventbridge::{Bus, SOURCE};
use minutehand_ports::{Event, EventSink};
use minutehand_testkit::aws::{AwsAnswer, FakeAws};
use minutehand_testkit::{SetClock, fake_client};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/events.md");

#[tokio::test]
async fn every_example_is_what_the_bus_is_given() {
    let documented = examples();
    assert_eq!(documented, sent().await);
    for detail_type in documented.keys() {
        assert!(PAGE.contains(&format!("\n| `{detail_type}` | ")), "{detail_type} has no row");
    }
    assert!(PAGE.contains(&format!("The source is `{SOURCE}`.")));
}

/// The details of the page, by the heading above each.
fn examples() -> BTreeMap<String, Value> {
    let (_, section) = PAGE.split_once("\n## Examples\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let examples = section.split("\n### ").skip(1).map(|example| {
        let (detail_type, rest) = example.split_once('\n').unwrap();
        let json = rest.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        (detail_type.to_owned(), serde_json::from_str(json).unwrap())
    });
    examples.collect()
}

/// What the bus is given for the story that the page tells.
async fn sent() -> BTreeMap<String, Value> {
    let aws = FakeAws::new(|call| {
        let taken = call.body["Entries"].as_array().unwrap().iter();
        let taken: Vec<Value> = taken.map(|_| json!({"EventId": "e"})).collect();
        AwsAnswer::Done(json!({"FailedEntryCount": 0, "Entries": taken}))
    });
    let clock = SetClock::at(at("2027-01-01T08:02:00Z"));
    let bus = Bus::new(fake_client!(aws_sdk_eventbridge, aws), "jobs", Arc::new(clock));
    let job = JobRef {
        uid: "77f024baaad3d37c5e82011737dcb9a2".to_owned(),
        collection_uid: "045306deb86e4ba06cb1e4300c3a6dcb".to_owned(),
        key: "report".to_owned(),
    };
    let nominal_at = at("2027-01-01T08:00:00Z");
    let first = Attempt::first(0, Occurrence::Scheduled { nominal_at });
    let retry = Attempt { number: 1, due_at: at("2027-01-01T08:01:00Z"), ..first.clone() };
    let record = Record {
        started_at: at("2027-01-01T08:01:00.002Z"),
        ended_at: at("2027-01-01T08:01:00.25Z"),
        outcome: Outcome::Failed,
        message: String::new(),
        repeat_count: 1,
        cause: Some(Cause::http(500)),
        body_bytes: 0,
        then: None,
    };
    let late = TimeDelta::milliseconds(2);
    bus.note(Event::Executed {
        job: &job,
        collection_path: None,
        attempt: &retry,
        record: &record,
        late,
    });
    bus.note(Event::Dropped { job: &job, attempt: &first, why: SkipReason::CollectionOff });
    bus.note(Event::Finished { job: &job, state: JobState::Completed });
    bus.note(Event::Finished { job: &job, state: JobState::Faulted });
    let reason = "5 occurrences in a row failed for good, up to that at 2027-01-01T08:00:00Z.";
    bus.note(Event::Paused { job: &job, at: record.ended_at, reason });
    bus.flush().await.unwrap();
    let calls = aws.calls();
    let entries = calls[0].body["Entries"].as_array().unwrap().iter().map(|entry| {
        let detail = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
        (entry["DetailType"].as_str().unwrap().to_owned(), detail)
    });
    entries.collect()
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}
