//! The dead letters: what is asked of SQS, and what its answers mean.

use std::sync::{Arc, Mutex};

use chrono::DateTime;
use minutehand_ports::{ChosenLetters, DeadLetters};
use minutehand_queue_sqs::{SqsDeadLetters, SqsQueue};
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use minutehand_testkit::{SetClock, fake_client};
use serde_json::{Value, json};

const DEAD: &str = "https://sqs.eu-west-1.amazonaws.com/1/dead";
const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/1/q";
const ARN: &str = "arn:aws:sqs:eu-west-1:1:dead";

fn letters(aws: &FakeAws) -> SqsDeadLetters {
    let clock = Arc::new(SetClock::at(DateTime::UNIX_EPOCH));
    let queue = SqsQueue::new(fake_client!(aws_sdk_sqs, aws), QUEUE, clock);
    SqsDeadLetters::new(fake_client!(aws_sdk_sqs, aws), DEAD, queue)
}

/// A queue of dead letters with these ids, which shows two in a request, in turns.
fn with(ids: &'static [&'static str]) -> FakeAws {
    let next = Mutex::new(0);
    FakeAws::new(move |call: &AwsCall| {
        let done = |call: &AwsCall| {
            let entries = call.body["Entries"].as_array().unwrap().iter();
            let entries: Vec<Value> = entries
                .map(|entry| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": ""}))
                .collect();
            json!({"Successful": entries, "Failed": []})
        };
        AwsAnswer::Done(match call.action.as_str() {
            "GetQueueAttributes" => json!({"Attributes": {
                "ApproximateNumberOfMessages": ids.len().to_string(),
                "ApproximateNumberOfMessagesNotVisible": "1",
                "QueueArn": ARN,
            }}),
            "ReceiveMessage" => {
                let mut next = next.lock().unwrap();
                let shown = ids.iter().cycle().skip(*next).take(ids.len().min(2));
                let shown = shown.map(|id| json!({
                    "MessageId": id,
                    "ReceiptHandle": format!("receipt of {id}"),
                    "Body": format!(r#"{{"v":1,"do":"purge","c":"{id}"}}"#),
                    "Attributes": {"SentTimestamp": "1893456000123", "ApproximateReceiveCount": "21"},
                }));
                *next += 2;
                json!({"Messages": shown.collect::<Vec<_>>()})
            }
            "SendMessageBatch" | "DeleteMessageBatch" => done(call),
            "StartMessageMoveTask" => json!({"TaskHandle": "t"}),
            "PurgeQueue" => json!({}),
            other => panic!("{other}"),
        })
    })
}

fn ids(ids: &[&str]) -> ChosenLetters {
    ChosenLetters::Ids(ids.iter().map(|id| (*id).to_owned()).collect())
}

fn actions(aws: &FakeAws) -> Vec<String> {
    aws.calls().into_iter().map(|call| call.action).collect()
}

#[tokio::test]
async fn a_look_hides_nothing_and_shows_each_once() {
    let aws = with(&["a", "b", "c"]);
    let seen = letters(&aws).look(10).await.unwrap();
    assert_eq!(seen.about, 4);
    let mut shown: Vec<&str> = seen.items.iter().map(|letter| letter.id.as_str()).collect();
    shown.sort_unstable();
    assert_eq!(shown, ["a", "b", "c"]);
    let letter = &seen.items[0];
    assert_eq!(letter.sent_at, DateTime::from_timestamp_millis(1_893_456_000_123));
    assert_eq!((letter.deliveries, letter.work_items.as_ref().unwrap().len()), (21, 1));
    let received = aws.calls().into_iter().filter(|call| call.action == "ReceiveMessage");
    assert!(received.into_iter().all(|call| call.body["VisibilityTimeout"] == 0));
    let none = with(&[]);
    assert!(letters(&none).look(10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn letters_are_found_by_their_ids_sent_again_and_then_deleted() {
    let aws = with(&["a", "b", "c"]);
    let done = letters(&aws).redrive(&ids(&["c", "a"])).await.unwrap();
    assert_eq!((done.count, done.goes_on, done.not_found.len()), (2, false, 0));
    let calls = aws.calls();
    assert_eq!(
        actions(&aws),
        ["ReceiveMessage", "ReceiveMessage", "SendMessageBatch", "DeleteMessageBatch"]
    );
    let [_, _, sent, deleted] = calls.as_slice() else { panic!() };
    assert_eq!((&sent.body["QueueUrl"], &deleted.body["QueueUrl"]), (&json!(QUEUE), &json!(DEAD)));
    assert_eq!(sent.body["Entries"][0]["MessageBody"], r#"{"v":1,"do":"purge","c":"a"}"#);
    assert_eq!(deleted.body["Entries"][1]["ReceiptHandle"], "receipt of c");

    let aws = with(&["a"]);
    let done = letters(&aws).delete(&ids(&["gone"])).await.unwrap();
    assert_eq!((done.count, done.not_found), (0, vec!["gone".to_owned()]));
    assert!(actions(&aws).iter().all(|action| action == "ReceiveMessage"));
    // It ends, although a message comes back for ever.
    assert!(actions(&aws).len() <= 100);
}

#[tokio::test]
async fn sqs_moves_and_deletes_all_by_itself() {
    let aws = with(&["a", "b"]);
    let done = letters(&aws).redrive(&ChosenLetters::All).await.unwrap();
    assert_eq!((done.count, done.goes_on), (3, true));
    assert_eq!(actions(&aws), ["GetQueueAttributes", "StartMessageMoveTask"]);
    assert_eq!(aws.calls()[1].body["SourceArn"], ARN);
    let aws = with(&["a", "b"]);
    assert_eq!(letters(&aws).delete(&ChosenLetters::All).await.unwrap().count, 3);
    assert_eq!(actions(&aws), ["GetQueueAttributes", "PurgeQueue"]);
}
