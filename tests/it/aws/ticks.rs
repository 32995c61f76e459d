//! Ticks, and what they hand to the queue.

use std::collections::BTreeSet;

use minutehand_sweeper::Tick;
use serde_json::{Value, json};

use super::world::{COLLECTION, World};

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
    // From 00:20 to the common end of plans.
    assert_eq!(world.target.calls(), 5);
    assert_eq!(world.history("minutely").await.len(), 5);
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
    // In the last fifth of a second, so that each comes shortly before it is due.
    assert_eq!(sent.iter().map(|it| it.delay).collect::<Vec<_>>(), [0, 179, 479]);
}

/// How many attempts each message has, and its group.
fn packets(world: &World) -> Vec<(usize, Option<String>)> {
    let calls = world.sqs.calls();
    let entries = calls.iter().filter(|call| call.action == "SendMessageBatch");
    let entries = entries.flat_map(|call| call.body["Entries"].as_array().unwrap());
    let packet = |entry: &Value| {
        let body: Value = serde_json::from_str(entry["MessageBody"].as_str().unwrap()).unwrap();
        let group = entry["MessageGroupId"].as_str().map(str::to_owned);
        (body["a"].as_array().unwrap().len(), group)
    };
    entries.map(packet).collect()
}

#[tokio::test]
async fn attempts_of_one_second_share_messages_whichever_shards_their_timers_are_in() {
    const JOBS: usize = 40;
    let mut world = World::new().await;
    let other = COLLECTION.replace("/jc", "/other");
    assert_eq!(world.call("PUT", &other, "{}").await.0, 201);
    let at = "2030-01-01T00:20:00Z";
    for n in 0..JOBS {
        world.put_job(&format!("j{n}"), json!({"startTime": at})).await;
    }
    let job = json!({"properties": {"startTime": at, "action": {
        "type": "http", "request": {"method": "GET", "uri": world.target.url()},
    }}});
    for n in 0..2 {
        let (status, _) = world.call("PUT", &format!("{other}/jobs/{n}"), &job.to_string()).await;
        assert_eq!(status, 201);
    }
    assert!(world.sent().is_empty(), "they are due too late for the API to send them");
    world.advance(20 * 60 - 60);
    assert_eq!(world.sweeper.tick().await.unwrap()["messages"], JOBS + 2);
    let packets = packets(&world);
    // A large collection has packets of its own, of equal size.
    assert_eq!(packets.iter().map(|(attempts, _)| *attempts).collect::<Vec<_>>(), [20, 20, 2]);
    let groups: BTreeSet<_> = packets.iter().map(|(_, group)| group).collect();
    assert_eq!(groups.len(), 2, "{groups:?}");
    let sent = world.sent();
    assert!(sent.iter().all(|it| it.delay == 59), "{sent:?}");
    world.advance(60);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), JOBS + 2);
    // What a firing costs: the page about costs takes the figures from here.
    let requests = world.sqs.calls().len();
    println!("{} firings: {requests} requests that send {} messages", JOBS + 2, sent.len());
    assert_eq!(requests, 1);
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

#[tokio::test]
async fn a_pass_counts_the_occurrences_that_it_sends_again_because_the_queue_lost_them() {
    let mut world = World::new().await;
    let recurrence = json!({"frequency": "hour", "interval": 1});
    let start = "2030-01-01T01:00:00Z";
    world.put_job("hourly", json!({"startTime": start, "recurrence": recurrence})).await;
    world.advance(60 * 60 - 60);
    world.sweeper.tick().await.unwrap();
    assert_eq!(world.sent().len(), 1, "the message that is lost");
    assert_eq!(world.counted(world.sweeper.tally())["Healed"], Value::Null);
    world.advance(60 * 60);
    world.sweeper.tick().await.unwrap();
    assert_eq!(world.sent().len(), 2, "the lost occurrence, and the next one");
    let line = world.counted(world.sweeper.tally());
    assert_eq!((&line["Healed"], &line["Trouble"]), (&json!(1), &json!(1)), "{line}");
}

#[tokio::test]
async fn sweepers_divide_the_timers_and_one_that_is_dead_delays_its_part_by_a_minute() {
    const JOBS: u64 = 40;
    let world = World::new().await;
    for n in 0..JOBS {
        world.put_job(&format!("job-{n}"), json!({"startTime": "2030-01-01T00:20:00Z"})).await;
    }
    world.advance(19 * 60);
    let mut swept = [0, 0];
    for (minute, swept) in [19, 20].into_iter().zip(&mut swept) {
        // The second of three never answers.
        for part in [0, 2] {
            let at = format!("2030-01-01T00:{minute}:00Z");
            let tick = Tick::read(&json!({"part": part, "of": 3, "at": at})).unwrap();
            let pass = world.sweeper.sweep(tick).await.unwrap();
            assert!([21, 22].contains(&pass["shards"].as_u64().unwrap()), "{pass}");
            *swept += pass["timers"].as_u64().unwrap();
        }
        world.advance(60);
    }
    assert!((1..JOBS).contains(&swept[0]), "{swept:?}");
    assert_eq!(swept[0] + swept[1], JOBS, "{swept:?}");
}
