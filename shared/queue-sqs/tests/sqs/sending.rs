//! Requests to SQS, and answers that are partial or missing.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::work_item::{JobRef, WorkItem, decode};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage};
use minutehand_queue_sqs::{Batch, SqsQueue};
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use minutehand_testkit::{SetClock, fake_client};
use serde_json::{Value, json};

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

/// Accepts all messages of a request.
fn accepts(call: &AwsCall) -> AwsAnswer {
    answer(call, |_| None)
}

/// Fails some messages of a request, with a code and whether that is the sender's fault.
fn answer(call: &AwsCall, fails: impl Fn(&Value) -> Option<(&'static str, bool)>) -> AwsAnswer {
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
async fn a_request_has_ten_messages_each_with_its_delay() {
    let aws = FakeAws::new(accepts);
    let (queue, _) = queue(&aws);
    queue.send(&messages(23), now()).await.unwrap();
    let calls = aws.calls();
    assert_eq!(calls.iter().map(|call| entries(call).len()).collect::<Vec<_>>(), [10, 10, 3]);
    assert!(calls.iter().all(|call| call.action == "SendMessageBatch"));
    let entry = &entries(&calls[1])[2];
    assert_eq!(entry["MessageBody"], r#"{"v":1,"do":"purge","c":"c12"}"#);
    assert_eq!(entry["DelaySeconds"], 12);
    assert_eq!(entry["MessageGroupId"], "c12");
}

#[tokio::test]
async fn attempts_of_one_second_are_sent_in_packets_of_their_group() {
    let aws = FakeAws::new(accepts);
    let (queue, _) = queue(&aws);
    let attempt = |collection: &str, n: i64| QueueMessage {
        work_item: WorkItem::Attempt {
            job: JobRef {
                uid: format!("{collection}{n}"),
                collection_uid: collection.to_owned(),
                key: "k".to_owned(),
            },
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: now() }),
        },
        due_at: now() + TimeDelta::milliseconds(60_000 + n),
    };
    let large = (0..30).map(|n| attempt("large", n));
    let small = ["a", "b", "c"].map(|collection| attempt(collection, 30));
    let messages: Vec<_> = large.chain(small).collect();
    queue.send(&messages, now()).await.unwrap();
    let [call] = aws.calls().try_into().unwrap();
    let sent = entries(&call).iter().map(|entry| {
        let attempts = decode(entry["MessageBody"].as_str().unwrap()).unwrap().len();
        (attempts, entry["MessageGroupId"].as_str(), entry["DelaySeconds"].as_i64())
    });
    let large = (15, Some("large"), Some(60));
    let expected = [large, large, (3, None, Some(60))];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn no_request_is_sent_for_no_messages() {
    let aws = FakeAws::new(accepts);
    queue(&aws).0.send(&[], now()).await.unwrap();
    assert!(aws.calls().is_empty());
}

#[tokio::test]
async fn only_messages_that_were_not_accepted_are_sent_again() {
    let aws = FakeAws::new(|call| {
        let busy = entries(call).len() > 2;
        answer(call, |entry| {
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
async fn a_throttling_queue_is_retried_a_bounded_number_of_times() {
    let aws = FakeAws::new(|call| answer(call, |_| Some(("RequestThrottled", true))));
    let (queue, clock) = queue(&aws);
    let error = queue.send(&messages(2), now()).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(aws.calls().len(), 4);
    assert_eq!(clock.waits().len(), 3);
}

#[tokio::test]
async fn a_message_missing_from_the_answer_is_sent_again() {
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
async fn a_refused_message_is_reported_and_does_not_delay_the_others() {
    let aws = FakeAws::new(|call| {
        answer(call, |entry| match entry["DelaySeconds"].as_i64() {
            Some(0) => Some(("InvalidMessageContents", true)),
            _ => None,
        })
    });
    let error = queue(&aws).0.send(&messages(3), now()).await.unwrap_err();
    assert!(matches!(error, QueueError::Refused(_)), "{error:?}");
    assert_eq!(aws.calls().len(), 1);
}

#[tokio::test]
async fn errors_are_retryable_or_not() {
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
async fn messages_are_put_back_for_the_given_time() {
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

#[tokio::test]
async fn a_message_that_has_to_wait_is_sent_on_with_the_number_of_its_deliveries() {
    let aws = FakeAws::new(accepts);
    let (queue, _) = queue(&aws);
    let work_items: Vec<WorkItem> = messages(2).into_iter().map(|it| it.work_item).collect();
    queue.send_on(&work_items, 19, Duration::from_millis(1_500)).await.unwrap();
    queue.send_on(&work_items[..1], 0, Duration::from_hours(1)).await.unwrap();
    let sent: Vec<_> = aws.calls().iter().flat_map(entries).cloned().collect();
    let sent: Vec<_> = sent.iter().map(|it| (&it["MessageBody"], &it["DelaySeconds"])).collect();
    let body = |text: &str| Value::from(text);
    assert_eq!(
        sent,
        [
            (&body(r#"{"v":1,"do":"purge","c":"c0","w":19}"#), &json!(2)),
            (&body(r#"{"v":1,"do":"purge","c":"c1","w":19}"#), &json!(2)),
            (&body(r#"{"v":1,"do":"purge","c":"c0"}"#), &json!(900)),
        ]
    );
}
