//! Another watcher, which is pinged while jobs fire.

use minutehand_testkit::aws::AwsAnswer;
use serde_json::json;

use super::world::World;

/// What the queue answers about its messages.
fn waiting(messages: &str) -> AwsAnswer {
    AwsAnswer::Done(json!({"Attributes": {"ApproximateNumberOfMessages": messages}}))
}

#[tokio::test]
async fn a_watcher_is_pinged_unless_messages_wait_for_executors() {
    let mut world = World::new().await;
    let sweeper = world.pinging_sweeper();
    let queue_says = |answer| world.trouble.lock().unwrap().sqs = answer;
    // Nothing was ever to be done.
    queue_says(Some(waiting("0")));
    sweeper.tick().await.unwrap();
    assert_eq!(world.target.calls(), 1);
    queue_says(Some(waiting("3")));
    sweeper.tick().await.unwrap();
    assert_eq!(world.target.calls(), 1, "no executor gives a sign of life");
    queue_says(None);

    world.put_job("once", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    let sent = world.sent();
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 2, "the job");
    sweeper.tick().await.unwrap();
    assert_eq!(world.target.calls(), 3);
    world.advance(240);
    world.trouble.lock().unwrap().sqs = Some(waiting("1"));
    sweeper.tick().await.unwrap();
    assert_eq!(world.target.calls(), 3, "the executors are silent by now");
}
