//! Attempts that have to wait because the process has run out of something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use minutehand_domain::action::Target;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::firing::limits::RECEIVES_MAX;
use minutehand_ports::{ActionOutcome, ActionSender, AttemptContext, NotMade};
use minutehand_testkit::aws::AwsAnswer;
use serde_json::{Value, json};

use super::world::{Sent, World, batch_of, failures};

/// A process that may open no more files, until a test says that it may.
#[derive(Default)]
struct Files(AtomicBool);

#[async_trait]
impl ActionSender for Files {
    async fn send(&self, _: &Target, _: &AttemptContext) -> Result<ActionOutcome, NotMade> {
        if self.0.load(Ordering::SeqCst) {
            return Ok(ActionOutcome {
                outcome: Outcome::Succeeded,
                is_accepted: false,
                cause: None,
                message: "called".to_owned(),
                retry_after: None,
                body: None,
            });
        }
        Err(NotMade { out_of: "open files" })
    }
}

/// A job that is due now, and its message.
async fn due(world: &mut World) -> Sent {
    world.put_job("waits", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    world.advance(30);
    let [sent] = world.sent().try_into().unwrap();
    sent
}

#[tokio::test]
async fn an_attempt_that_waits_for_three_hours_is_sent_on_and_runs_once() {
    /// How often the message had failed for other reasons when the attempt first waited.
    const FAILED_BEFORE: u32 = 7;
    let mut world = World::new().await;
    let first = due(&mut world).await;
    let files = Arc::new(Files::default());
    let executor = world.executor_with(files.clone());
    let mut message = first.clone();
    for minute in 0..180 {
        let receives = if minute == 0 { FAILED_BEFORE + 1 } else { 1 };
        let batch = batch_of(std::slice::from_ref(&message), receives);
        let answer = executor.perform(batch, world.ends_at()).await;
        assert!(
            failures(&answer).is_empty(),
            "minute {minute}: the queue deletes what was sent on"
        );
        let [next] = world.sent().try_into().unwrap();
        assert_eq!(next.delay, 5);
        let mut body: Value = serde_json::from_str(&next.body).unwrap();
        assert_eq!(body["w"], json!(FAILED_BEFORE), "minute {minute}");
        body.as_object_mut().unwrap().remove("w");
        assert_eq!(body, serde_json::from_str::<Value>(&first.body).unwrap());
        message = next;
        world.advance(60);
    }
    assert!(world.history("waits").await.is_empty(), "it is not a failure of the target");
    files.0.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        // The queue may deliver the last message twice.
        let batch = batch_of(std::slice::from_ref(&message), 1);
        assert!(failures(&executor.perform(batch, world.ends_at()).await).is_empty());
    }
    assert!(world.sent().is_empty());
    assert_eq!(world.history("waits").await.len(), 1);
    let line = world.counted(executor.tally());
    assert_eq!((&line["Fired"], &line["DeadLetters"]), (&json!(1), &Value::Null));
    assert!(world.put_back().is_empty());
}

#[tokio::test]
async fn an_attempt_that_cannot_be_sent_on_comes_back_and_its_delivery_counts() {
    let mut world = World::new().await;
    let sent = due(&mut world).await;
    let executor = world.executor_with(Arc::new(Files::default()));
    world.trouble.lock().unwrap().sqs = Some(AwsAnswer::Silence);
    let batch = batch_of(std::slice::from_ref(&sent), RECEIVES_MAX);
    assert_eq!(failures(&executor.perform(batch, world.ends_at()).await), ["m0"]);
    assert_eq!(world.put_back(), [("r0".to_owned(), 5)]);
    assert!(world.history("waits").await.is_empty());
}
