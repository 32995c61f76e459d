//! What is asked of SQS, and what becomes of what it answers in part, or not at all.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::work_item::WorkItem;
use minutehand_queue_sqs::{Batch, SqsQueue};
use ports::{DispatchQueue, QueueError, QueueMessage};
use serde_json::{Value, json};
use testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use testkit::{SetClock, fake_client};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_893_456_000, 0).unwrap()
}

fn queue(aws: &FakeAws) -> (SqsQueue, SetClock) {
    let clock = SetClock::at(now());
    let url = "https://sqs.eu-west-1.amazonaws.com/1/q";
    (SqsQueue::new(fake_client!(aws_sdk_sqs, aws), url, Arc::new(clock.clone())), clock)
}

fn messages(n: usize) -> Vec<QueueMessage> {
    let message = |n: usize| QueueMessage {
        work_item: WorkItem::PurgeCollection { collection_uid: format!("c{n}") },
        due_at: now() + TimeDelta::seconds(i64::try_from(n).unwrap()),
    };
    (0..n).map(message).collect()
}

fn entries(call: &AwsCall) -> &Vec<Value> {
    call.body["Entries"].as_array().unwrap()
}

/// All of a request is taken.
fn taken(call: &AwsCall) -> AwsAnswer {
    fate(call, |_| None)
}

/// Some of a request fail: with a code, and whether that is the sender's fault.
fn fate(call: &AwsCall, fails: impl Fn(&Value) -> Option<(&'static str, bool)>) -> AwsAnswer {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in entries(call) {
        let id = &entry["Id"];
        match fails(entry) {
            None => successful.push(json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": ""})),
            Some((code, fault)) => {
                failed.push(json!({"Id": id, "Code": code, "SenderFault": fault}));
            }
        }
    }
    AwsAnswer::Done(json!({"Successful": successful, "Failed": failed}))
}

#[tokio::test]
async fn ten_go_in_a_request_each_with_its_delay() {
    let aws = FakeAws::new(taken);
    let (queue, _) = queue(&aws);
    queue.send(&messages(23), now()).await.unwrap();
    let calls = aws.calls();
    assert_eq!(calls.iter().map(|call| entries(call).len()).collect::<Vec<_>>(), [10, 10, 3]);
    assert!(calls.iter().all(|call| call.action == "SendMessageBatch"));
    let entry = &entries(&calls[1])[2];
    assert_eq!(entry["MessageBody"], r#"{"v":1,"do":"purge","c":"c12"}"#);
    assert_eq!(entry["DelaySeconds"], 12);
}

#[tokio::test]
async fn nothing_is_asked_for_nothing() {
    let aws = FakeAws::new(taken);
    queue(&aws).0.send(&[], now()).await.unwrap();
    assert!(aws.calls().is_empty());
}

#[tokio::test]
async fn what_was_not_taken_is_sent_again_and_no_more_than_that() {
    let aws = FakeAws::new(|call| {
        let busy = entries(call).len() > 2;
        fate(call, |entry| {
            let late = entry["DelaySeconds"].as_i64() > Some(7);
            (busy && late).then_some(("InternalError", false))
        })
    });
    let (queue, clock) = queue(&aws);
    queue.send(&messages(10), now()).await.unwrap();
    let calls = aws.calls();
    assert_eq!(calls.iter().map(|call| entries(call).len()).collect::<Vec<_>>(), [10, 2]);
    assert_eq!(entries(&calls[1])[0]["MessageBody"], r#"{"v":1,"do":"purge","c":"c8"}"#);
    assert_eq!(clock.waits(), [Duration::from_millis(100)]);
}

#[tokio::test]
async fn a_queue_that_stays_busy_is_asked_a_bounded_number_of_times() {
    let aws = FakeAws::new(|call| fate(call, |_| Some(("RequestThrottled", true))));
    let (queue, clock) = queue(&aws);
    let error = queue.send(&messages(2), now()).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(aws.calls().len(), 4);
    assert_eq!(clock.waits().len(), 3);
}

#[tokio::test]
async fn what_the_queue_says_nothing_of_is_not_taken() {
    let silent = json!({"Successful": [], "Failed": []});
    let answers = [
        AwsAnswer::Done(silent),
        AwsAnswer::Done(
            json!({"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": ""}], "Failed": []}),
        ),
    ];
    let aws = FakeAws::in_turn(answers);
    queue(&aws).0.send(&messages(1), now()).await.unwrap();
    assert_eq!(aws.calls().len(), 2);
}

#[tokio::test]
async fn one_that_is_refused_is_told_and_does_not_keep_others_back() {
    let aws = FakeAws::new(|call| {
        fate(call, |entry| match entry["DelaySeconds"].as_i64() {
            Some(0) => Some(("InvalidMessageContents", true)),
            _ => None,
        })
    });
    let error = queue(&aws).0.send(&messages(3), now()).await.unwrap_err();
    assert!(matches!(error, QueueError::Refused(_)), "{error:?}");
    assert_eq!(aws.calls().len(), 1);
}

#[tokio::test]
async fn errors_are_told_apart_by_whether_they_pass() {
    for (answer, passes) in [
        (AwsAnswer::Failed(403, "AccessDenied"), false),
        (AwsAnswer::Failed(400, "AWS.SimpleQueueService.NonExistentQueue"), false),
        (AwsAnswer::Failed(400, "com.amazonaws.sqs#RequestThrottled"), true),
        (AwsAnswer::Failed(400, "ThrottlingException"), true),
        (AwsAnswer::Failed(500, "InternalFailure"), true),
        (AwsAnswer::Failed(503, "ServiceUnavailable"), true),
        (AwsAnswer::Silence, true),
    ] {
        let aws = FakeAws::in_turn([answer.clone()]);
        let error = queue(&aws).0.send(&messages(1), now()).await.unwrap_err();
        assert_eq!(error.is_retryable(), passes, "{answer:?}: {error:?}");
    }
}

#[tokio::test]
async fn messages_are_put_back_for_as_long_as_is_asked() {
    let record = |n: u32| json!({"messageId": n.to_string(), "receiptHandle": format!("r{n}")});
    let records: Vec<Value> = (0..11).map(record).collect();
    let batch: Batch = serde_json::from_value(json!({"Records": records})).unwrap();
    let after = Duration::from_millis(4_200);
    let receipts: Vec<_> = batch.deliveries().into_iter().map(|it| (it.receipt, after)).collect();
    let aws = FakeAws::new(|call| {
        let done = entries(call).iter().map(|entry| json!({"Id": entry["Id"]}));
        AwsAnswer::Done(json!({"Successful": done.collect::<Vec<_>>(), "Failed": []}))
    });
    queue(&aws).0.put_back(&receipts).await.unwrap();
    let calls = aws.calls();
    assert_eq!(calls.iter().map(|call| entries(call).len()).collect::<Vec<_>>(), [10, 1]);
    assert_eq!(
        entries(&calls[1])[0],
        json!({"Id": "0", "ReceiptHandle": "r10", "VisibilityTimeout": 5})
    );
}
