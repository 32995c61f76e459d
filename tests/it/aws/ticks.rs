//! Ticks, and what they hand to the queue.

use serde_json::json;

use super::world::World;

#[tokio::test]
async fn a_job_fires_from_the_request_to_its_history() {
    let mut world = World::new().await;
    world.put_job("once", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    // It is due soon, so the API has sent it.
    let sent = world.sent();
    assert_eq!(sent.iter().map(|it| it.delay).collect::<Vec<_>>(), [30]);
    assert_eq!(world.sweeper.tick().await.unwrap()["messages"], 0);
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 1);
    let history = world.history("once").await;
    assert_eq!(history.len(), 1);
    assert_ne!(history[0]["properties"]["status"], "failed");
}

#[tokio::test]
async fn a_message_that_arrives_too_early_is_sent_again_with_its_delay() {
    let mut world = World::new().await;
    world.put_job("once", json!({"startTime": "2030-01-01T00:10:00Z"})).await;
    let sent = world.sent();
    world.advance(60);
    assert!(world.deliver(&sent).await.is_empty());
    let again = world.sent();
    assert_eq!(again.iter().map(|it| it.delay).collect::<Vec<_>>(), [540]);
    assert_eq!(again[0].body, sent[0].body);
    assert_eq!(world.target.calls(), 0);
}

#[tokio::test]
async fn a_doubled_tick_fires_once() {
    let mut world = World::new().await;
    let recurrence = json!({"frequency": "minute", "interval": 1});
    let start = "2030-01-01T00:20:00Z";
    world.put_job("minutely", json!({"startTime": start, "recurrence": recurrence})).await;
    assert!(world.sent().is_empty(), "it is due too late for the API to send it");
    world.advance(20 * 60 - 60);
    // How far the second comes before the first has moved the timer on is open.
    let (one, two) = tokio::join!(world.sweeper.tick(), world.sweeper.tick());
    assert!(one.is_ok() && two.is_ok());
    let mut sent = world.sent();
    sent.sort_by_key(|message| message.delay);
    let mut passed = 0;
    for message in sent {
        world.advance(message.delay - passed);
        passed = message.delay;
        // Once for each tick that sent it, and once more.
        assert!(world.deliver(std::slice::from_ref(&message)).await.is_empty());
        assert!(world.deliver(&[message]).await.is_empty());
    }
    // From 00:20 to the end of the horizon, 14 minutes from 00:19.
    assert_eq!(world.target.calls(), 14);
    assert_eq!(world.history("minutely").await.len(), 14);
}

#[tokio::test]
async fn a_missing_tick_is_caught_up() {
    let mut world = World::new().await;
    let recurrence = json!({"frequency": "minute", "interval": 5});
    let start = "2030-01-01T01:00:00Z";
    world.put_job("five", json!({"startTime": start, "recurrence": recurrence})).await;
    world.advance(60 * 60 + 120);
    world.sweeper.tick().await.unwrap();
    let sent = world.sent();
    assert_eq!(sent.iter().map(|it| it.delay).collect::<Vec<_>>(), [0, 180, 480, 780]);
}

#[tokio::test]
async fn a_pass_counts_its_work() {
    let mut world = World::new().await;
    let start = "2030-01-01T00:20:00Z";
    world.put_job("once", json!({"startTime": start})).await;
    world.advance(19 * 60);
    world.sweeper.tick().await.unwrap();
    assert_eq!(world.sent().len(), 1);
    let line = world.counted(world.sweeper.tally());
    for metric in ["Swept", "Timers", "Dispatched"] {
        assert_eq!(line[metric], 1, "{metric} in {line}");
    }
}
