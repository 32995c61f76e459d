//! Events on the bus, and events that the bus does not accept.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::cause::CauseKind;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;
use minutehand_events_eventbridge::Bus;
use minutehand_ports::{Event, EventSink};
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use minutehand_testkit::{SetClock, fake_client};
use serde_json::{Value, json};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_893_456_000 + second, 0).unwrap()
}

fn bus(aws: &FakeAws) -> (Bus, SetClock) {
    let clock = SetClock::at(at(0));
    (Bus::new(fake_client!(aws_sdk_eventbridge, aws), "jobs", Arc::new(clock.clone())), clock)
}

fn job() -> JobRef {
    JobRef { uid: "u1".to_owned(), collection_uid: "c1".to_owned(), key: "nightly".to_owned() }
}

fn record(outcome: Outcome) -> Record {
    let message = "the target said hunter2".to_owned();
    Record {
        started_at: at(1),
        ended_at: at(2),
        outcome,
        message,
        repeat_count: 3,
        cause: Some(CauseKind::NoSuchName.into()),
        body_bytes: 0,
        then: None,
    }
}

fn entries(call: &AwsCall) -> &Vec<Value> {
    call.body["Entries"].as_array().unwrap()
}

/// Accepts all events.
fn accepts(call: &AwsCall) -> AwsAnswer {
    let accepted: Vec<Value> = entries(call).iter().map(|_| json!({"EventId": "e"})).collect();
    AwsAnswer::Done(json!({"FailedEntryCount": 0, "Entries": accepted}))
}

fn finish(bus: &Bus, n: usize) {
    for _ in 0..n {
        bus.note(Event::Finished { job: &job(), state: JobState::Completed });
    }
}

#[tokio::test]
async fn failures_skips_and_ends_are_events_without_requests_or_answers() {
    let aws = FakeAws::new(accepts);
    let (bus, _) = bus(&aws);
    let job = job();
    let attempt = Attempt::first(4, Occurrence::Scheduled { nominal_at: at(0) });
    let late = TimeDelta::milliseconds(1_000);
    for outcome in [Outcome::Succeeded, Outcome::Failed] {
        let (job, attempt, record) = (&job, &attempt, &record(outcome));
        bus.note(Event::Executed { job, collection_path: None, attempt, record, late });
    }
    bus.note(Event::Retried { job: &job, attempt: &attempt });
    bus.note(Event::Dropped { job: &job, attempt: &attempt, why: SkipReason::Gone });
    bus.note(Event::Dropped { job: &job, attempt: &attempt, why: SkipReason::CollectionOff });
    bus.note(Event::Overtaken { job: &job, occurrences: 7 });
    bus.note(Event::Finished { job: &job, state: JobState::Faulted });
    bus.flush().await.unwrap();

    let calls = aws.calls();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    let entries = entries(call);
    let events: Vec<(&str, Value)> = entries
        .iter()
        .map(|entry| {
            assert_eq!(
                (&entry["Source"], &entry["EventBusName"]),
                (&json!("minutehand"), &json!("jobs"))
            );
            let detail = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
            (entry["DetailType"].as_str().unwrap(), detail)
        })
        .collect();
    let job = |more: Value| {
        let mut detail = json!({"jobUid": "u1", "collectionUid": "c1", "job": "nightly"});
        detail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        detail
    };
    assert_eq!(
        events,
        [
            (
                "Execution Failed",
                job(json!({
                    "attempt": attempt.id().to_string(),
                    "action": "main",
                    "try": 0,
                    "isRun": false,
                    "occurrence": "2030-01-01T00:00:00Z",
                    "dueAt": "2030-01-01T00:00:00Z",
                    "startedAt": "2030-01-01T00:00:01Z",
                    "endedAt": "2030-01-01T00:00:02Z",
                    "lateMs": 1000,
                    "repeatCount": 3,
                    "cause": {"kind": "noSuchName", "text": "no such name"},
                }))
            ),
            (
                "Occurrences Skipped",
                job(json!({
                    "occurrences": 1,
                    "reason": "CollectionOff",
                    "occurrence": "2030-01-01T00:00:00Z",
                }))
            ),
            ("Occurrences Skipped", job(json!({"occurrences": 7, "reason": "Overtaken"}))),
            ("Job Faulted", job(json!({"state": "faulted"}))),
        ]
    );
    assert_eq!(entries[0]["Time"], json!(1_893_456_002));
    assert!(!call.body.to_string().contains("hunter2"));
}

#[tokio::test]
async fn a_request_has_ten_events_and_no_event_is_sent_twice() {
    let aws = FakeAws::new(accepts);
    let (bus, _) = bus(&aws);
    finish(&bus, 23);
    bus.flush().await.unwrap();
    bus.flush().await.unwrap();
    let sizes: Vec<usize> = aws.calls().iter().map(|call| entries(call).len()).collect();
    assert_eq!(sizes, [10, 10, 3]);
}

#[tokio::test]
async fn only_events_that_were_not_accepted_are_put_again() {
    let aws = FakeAws::new(|call| {
        let result = |n: usize| match n {
            1 => json!({"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}),
            _ => json!({"EventId": "e"}),
        };
        let results: Vec<Value> = (0..entries(call).len()).map(result).collect();
        AwsAnswer::Done(json!({"FailedEntryCount": 1, "Entries": results}))
    });
    let (bus, clock) = bus(&aws);
    finish(&bus, 3);
    // The second of three is not accepted until it comes alone.
    bus.flush().await.unwrap();
    let sizes: Vec<usize> = aws.calls().iter().map(|call| entries(call).len()).collect();
    assert_eq!(sizes, [3, 1]);
    assert_eq!(clock.waits().len(), 1);
}

#[tokio::test]
async fn events_are_lost_after_a_bounded_number_of_tries() {
    let aws = FakeAws::new(|call| {
        let busy = json!({"ErrorCode": "InternalFailure", "ErrorMessage": ""});
        let results = vec![busy; entries(call).len()];
        AwsAnswer::Done(json!({"FailedEntryCount": results.len(), "Entries": results}))
    });
    let (bus, _) = bus(&aws);
    finish(&bus, 2);
    let lost = bus.flush().await.unwrap_err();
    assert_eq!((lost.events, lost.why.as_str()), (2, "InternalFailure"));
    assert_eq!(aws.calls().len(), 3);
}

#[tokio::test]
async fn a_failed_request_loses_its_own_events_only() {
    for (answer, why) in [
        (AwsAnswer::Failed(400, "AccessDeniedException"), "AccessDeniedException"),
        (AwsAnswer::Failed(400, "ThrottlingException"), "ThrottlingException"),
        (AwsAnswer::Silence, "dispatch failure"),
    ] {
        let aws =
            FakeAws::new(
                move |call| {
                    if entries(call).len() == 10 { answer.clone() } else { accepts(call) }
                },
            );
        let (bus, _) = bus(&aws);
        finish(&bus, 12);
        let lost = bus.flush().await.unwrap_err();
        assert_eq!((lost.events, lost.why.as_str()), (10, why));
        assert_eq!(aws.calls().len(), 2);
    }
}
