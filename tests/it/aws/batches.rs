//! Batches of messages: each has an outcome of its own.

use chrono::TimeDelta;
use minutehand_domain::firing::limits::{LEASE, RECEIVES_MAX};
use minutehand_domain::work_item::{
    PACKET_RECEIVES_MAX, WorkItem, decode, decode_one, encode, pack,
};
use minutehand_ports::store::{Claim, ClaimRequest, Claimed};
use minutehand_ports::{Attempts, Clock};
use minutehand_queue_sqs::Batch;
use minutehand_testkit::aws::AwsAnswer;
use serde_json::{Value, json};

use super::world::{Sent, World, batch_of, failures};

fn fixture(name: &str) -> Batch {
    let path = format!("{}/events/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A job that is due now, and its message.
async fn due(world: &mut World, name: &str) -> Vec<Sent> {
    world.put_job(name, json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    world.advance(30);
    world.sent()
}

#[tokio::test]
async fn an_unreadable_message_fails_alone() {
    let world = World::new().await;
    // The jobs of the others are gone, which is an end too.
    let answer = world.executor.perform(fixture("sqs-mixed"), world.ends_at()).await;
    assert_eq!(
        failures(&answer),
        ["2e1424d4-f796-459a-8184-9c92662be6da", "8d0f2b7a-0f4c-4a53-9d0f-3c0b7f6f8f11"]
    );
    // An unknown message comes back at once, a message of a newer version after its delay.
    assert_eq!(world.put_back(), [("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a1".to_owned(), 0)]);
    let line = world.counted(world.executor.tally());
    assert_eq!((&line["MessagesUnreadable"], &line["DeadLetters"]), (&json!(2), &Value::Null));
}

#[tokio::test]
async fn messages_of_the_first_version_are_performed() {
    let world = World::new().await;
    for name in ["sqs-good", "sqs-packet", "sqs-first-version"] {
        let answer = world.executor.perform(fixture(name), world.ends_at()).await;
        assert!(failures(&answer).is_empty(), "{name}");
    }
}

/// A packet of the attempts of these jobs, which are due now.
async fn due_packet(world: &mut World, names: &[&str]) -> Sent {
    for name in names {
        world.put_job(name, json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    }
    world.advance(30);
    let bodies: Vec<_> = world.sent().into_iter().map(|it| it.body).collect();
    let work_items: Vec<_> = bodies.iter().flat_map(|body| decode(body).unwrap()).collect();
    let now = world.clock.now();
    let packets = pack(work_items.iter().map(|work_item| (work_item, now)), now);
    let [packet] = &packets[..] else { panic!("{packets:?}") };
    Sent { body: packet.encode(), delay: 0 }
}

#[tokio::test]
async fn a_packet_is_performed_completely_and_once() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["one", "two", "three"]).await;
    assert!(world.deliver(std::slice::from_ref(&packet)).await.is_empty());
    assert_eq!(world.target.calls(), 3);
    for name in ["one", "two", "three"] {
        assert_eq!(world.history(name).await.len(), 1, "{name}");
    }
    // None is done again.
    assert!(world.deliver(&[packet]).await.is_empty());
    assert_eq!(world.target.calls(), 3);
    assert!(world.sent().is_empty() && world.put_back().is_empty());
}

/// Claims an attempt as a worker would that died then.
async fn claim(world: &World, work_item: &WorkItem) {
    let WorkItem::Attempt { job, attempt } = work_item else { panic!("{work_item:?}") };
    let now = world.clock.work_now();
    let claim = Claim {
        job: job.clone(),
        attempt: attempt.clone(),
        claim_id: "of a dead worker".to_owned(),
        lease_until: now + LEASE,
    };
    let claimed = world.jobs.claim(&ClaimRequest { claim, now }).await;
    assert_eq!(claimed.unwrap(), Claimed::Won);
}

#[tokio::test]
async fn an_attempt_of_a_packet_that_has_to_come_later_is_a_message_of_its_own() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["free", "held", "other"]).await;
    let held = decode(&packet.body).unwrap().swap_remove(1);
    claim(&world, &held).await;
    let answer = world.executor.perform(batch_of(&[packet], 1), world.ends_at()).await;
    assert!(failures(&answer).is_empty(), "the packet is done");
    assert_eq!(world.target.calls(), 2);
    let [later] = world.sent().try_into().unwrap();
    assert_eq!((&later.body, later.delay), (&encode(&held), LEASE.num_seconds() + 1));
    assert!(world.put_back().is_empty());
    world.advance(LEASE.num_seconds() + 1);
    assert!(world.deliver(&[later]).await.is_empty());
    assert_eq!(world.target.calls(), 3);
}

#[tokio::test]
async fn a_packet_comes_again_if_an_attempt_cannot_be_sent_on() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["free", "held", "other"]).await;
    claim(&world, &decode(&packet.body).unwrap()[1]).await;
    world.trouble.lock().unwrap().sqs = Some(AwsAnswer::Silence);
    let batch = batch_of(std::slice::from_ref(&packet), 1);
    assert_eq!(failures(&world.executor.perform(batch, world.ends_at()).await), ["m0"]);
    assert_eq!(world.put_back(), [("r0".to_owned(), LEASE.num_seconds() + 1)]);
    world.trouble.lock().unwrap().sqs = None;
    world.sent();
    world.advance(LEASE.num_seconds() + 1);
    let answer = world.executor.perform(batch_of(&[packet], 2), world.ends_at()).await;
    assert!(failures(&answer).is_empty());
    assert_eq!(world.target.calls(), 3);
    assert!(world.sent().is_empty());
}

#[tokio::test]
async fn the_retries_of_an_invocation_share_messages() {
    let mut world = World::new().await;
    world.target.answer(500);
    let action = json!({
        "type": "http",
        "request": {"method": "GET", "uri": world.target.url()},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT30S", "retryCount": 4},
    });
    for n in 0..9 {
        let start = json!({"startTime": "2030-01-01T00:00:30Z", "action": action});
        world.put_job(&format!("j{n}"), start).await;
    }
    world.advance(30);
    let due = world.sent();
    assert!(world.deliver(&due).await.is_empty());
    assert_eq!(world.target.calls(), 9);
    let retries = world.sent();
    let attempts: usize = retries.iter().map(|sent| decode(&sent.body).unwrap().len()).sum();
    assert_eq!(attempts, 9);
    // Who comes while others are sent, goes with the next ones.
    assert!(retries.len() < 9, "{} messages", retries.len());
}

#[tokio::test]
async fn a_throttled_packet_comes_back_whole_and_later_than_another_one() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["one", "two", "three"]).await;
    let executor = world.throttled_executor();
    let batch = batch_of(&[packet.clone(), packet.clone(), packet.clone(), packet], 1);
    assert_eq!(failures(&executor.perform(batch, world.ends_at()).await), ["m0", "m1", "m2", "m3"]);
    assert!(world.sent().is_empty(), "no message is added");
    let pauses: Vec<_> = world.put_back().into_iter().map(|(_, pause)| pause).collect();
    assert!(pauses.iter().all(|pause| (5..=15).contains(pause)), "{pauses:?}");
    assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    assert_eq!(world.target.calls(), 0);
}

#[tokio::test]
async fn an_attempt_of_a_packet_that_hangs_comes_back_after_its_lease() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["hangs", "too"]).await;
    world.target.hold(true);
    let ends_at = world.clock.work_now() + TimeDelta::milliseconds(3_200);
    let answer = world.executor.perform(batch_of(&[packet], 1), ends_at).await;
    assert!(failures(&answer).is_empty());
    world.target.hold(false);
    let sent = world.sent();
    // When SQS would deliver the packet again: at 120 s, and the invocation ends at 90 s.
    assert_eq!(sent.iter().map(|it| it.delay).collect::<Vec<_>>(), [34, 34]);
    world.advance(LEASE.num_seconds() + 1);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.history("hangs").await.len(), 1);
}

#[tokio::test]
async fn a_packet_that_was_delivered_too_often_is_divided() {
    let mut world = World::new().await;
    let packet = due_packet(&mut world, &["one", "two", "three"]).await;
    let work_items = decode(&packet.body).unwrap();
    world.trouble.lock().unwrap().sqs = Some(AwsAnswer::Silence);
    let batch = batch_of(std::slice::from_ref(&packet), PACKET_RECEIVES_MAX + 1);
    assert_eq!(failures(&world.executor.perform(batch, world.ends_at()).await), ["m0"]);
    world.trouble.lock().unwrap().sqs = None;
    world.sent();
    let batch = batch_of(&[packet], PACKET_RECEIVES_MAX + 2);
    assert!(failures(&world.executor.perform(batch, world.ends_at()).await).is_empty());
    let sent = world.sent();
    let bodies: Vec<_> = sent.iter().map(|it| it.body.clone()).collect();
    assert_eq!(bodies, work_items.iter().map(encode).collect::<Vec<_>>());
    assert_eq!(world.target.calls(), 0);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 3);
}

#[tokio::test]
async fn a_message_delivered_for_the_last_time_counts_as_a_dead_letter() {
    let world = World::new().await;
    let bad = [Sent { body: "hello".to_owned(), delay: 0 }];
    for (receives, dead) in [(RECEIVES_MAX - 1, Value::Null), (RECEIVES_MAX, json!(1))] {
        let answer = world.executor.perform(batch_of(&bad, receives), world.ends_at()).await;
        assert_eq!(failures(&answer), ["m0"]);
        assert_eq!(world.counted(world.executor.tally())["DeadLetters"], dead);
    }
}

#[tokio::test]
async fn two_executors_with_the_same_message_fire_once() {
    let mut world = World::new().await;
    let sent = due(&mut world, "once").await;
    world.target.hold(true);
    let other = world.other_executor();
    let (one, two) =
        tokio::join!(world.executor.perform(batch_of(&sent, 1), world.ends_at()), async {
            // The first has claimed it by the time that its request is there.
            while world.target.calls() == 0 {
                tokio::task::yield_now().await;
            }
            let answer = other.perform(batch_of(&sent, 2), world.ends_at()).await;
            world.target.hold(false);
            answer
        });
    assert!(failures(&one).is_empty());
    assert_eq!(failures(&two), ["m0"]);
    let lease = LEASE.num_seconds();
    assert_eq!(world.put_back(), [("r0".to_owned(), lease + 1)]);
    assert_eq!(world.target.calls(), 1);
    // When it comes back it finds what became of it.
    world.advance(lease + 1);
    assert!(failures(&other.perform(batch_of(&sent, 3), world.ends_at()).await).is_empty());
    assert_eq!(world.target.calls(), 1);
}

#[tokio::test]
async fn an_attempt_is_taken_over_when_its_lease_is_over() {
    let mut world = World::new().await;
    let sent = due(&mut world, "once").await;
    claim(&world, &decode_one(&sent[0].body).unwrap()).await;
    assert_eq!(world.deliver(&sent).await, ["m0"]);
    assert_eq!(world.target.calls(), 0);
    world.advance(LEASE.num_seconds() + 1);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 1);
}

#[tokio::test]
async fn an_invocation_ends_in_time_and_a_hanging_message_returns_after_its_lease() {
    let mut world = World::new().await;
    let mut sent = due(&mut world, "hangs").await;
    world.target.hold(true);
    sent.push(Sent { body: r#"{"v":1,"do":"purge","c":"gone"}"#.to_owned(), delay: 0 });
    let ends_at = world.clock.work_now() + TimeDelta::milliseconds(3_200);
    let answer = world.executor.perform(batch_of(&sent, 1), ends_at).await;
    assert_eq!(failures(&answer), ["m0"], "the other is done");
    assert!(world.put_back().is_empty(), "it comes back when the queue says");
    world.target.hold(false);
    world.advance(LEASE.num_seconds() + 1);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.history("hangs").await.len(), 1);
}

#[tokio::test]
async fn a_batch_fires_together_and_is_counted_once() {
    let mut world = World::new().await;
    for n in 0..5 {
        world.put_job(&format!("j{n}"), json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    }
    world.advance(30);
    let sent = world.sent();
    assert_eq!(sent.len(), 5);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 5);
    let line = world.counted(world.executor.tally());
    assert_eq!((&line["Fired"], &line["Failed"]), (&json!(5), &Value::Null));
    assert_eq!(line["LateBy"].as_array().unwrap().len(), 5);
}
