//! Deliveries, dead letters and counts, as far as they are of this queue alone.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use minutehand_domain::firing::limits::{RECEIVES_MAX, VISIBILITY};
use minutehand_ports::{
    ChosenLetters, Clock as _, DeadLetters as _, Deliveries as _, DispatchQueue as _, QueueError,
};
use minutehand_store_sql::queue::RECEIVE_MAX;
use minutehand_store_sql::{QueueStanding, SqlQueue};

use crate::world::{
    ManualClock, at, counts, in_memory, message, name, receipts, receive, receive_names,
    receive_one, seconds, send,
};

/// The longest body of a message.
const BODY_BYTES_MAX: usize = 262_144;

async fn world() -> (SqlQueue, Arc<ManualClock>) {
    let clock = ManualClock::new();
    (in_memory(clock.clone()).await, clock)
}

#[tokio::test]
async fn on_a_fast_clock_two_seconds_of_work_time_are_more_schedule_time() {
    let clock = ManualClock::with_rate(60);
    let queue = in_memory(clock.clone()).await;
    send(&queue, &[("early", 120), ("too early", 121)]).await;
    let early = receive_one(&queue).await;
    assert_eq!(name(&early), "early");
    // A delivered message is hidden in work time, independent of the schedule.
    clock.advance(VISIBILITY - seconds(1));
    assert_eq!(receive_names(&queue).await, ["too early"]);
    clock.advance(seconds(1));
    assert_eq!(receive_names(&queue).await, ["early"]);
}

#[tokio::test]
async fn a_message_that_was_delivered_too_often_goes_to_the_dead_letters() {
    let (queue, _clock) = world().await;
    send(&queue, &[("poison", 0)]).await;
    for n in 1..=RECEIVES_MAX {
        let delivery = receive_one(&queue).await;
        assert_eq!(delivery.receive_count, n);
        queue.put_back(&[(delivery.receipt, Duration::ZERO)]).await.unwrap();
    }
    // It does not delay the next message.
    send(&queue, &[("good", 0)]).await;
    assert_eq!(receive_names(&queue).await, ["good"]);
    assert_eq!(counts(&queue).await, [0, 0, 1, 1]);
    let dead = queue.look(10).await.unwrap().items;
    assert_eq!(dead[0].reason.as_deref(), Some("received 20 times and never finished"));
    assert_eq!(dead[0].deliveries, RECEIVES_MAX);
}

#[tokio::test]
async fn dead_letters_keep_all_fields_and_come_newest_first() {
    let (queue, clock) = world().await;
    send(&queue, &[("a", -2), ("b", -1)]).await;
    for delivery in receive(&queue).await {
        clock.advance(seconds(1));
        queue.bury(&[delivery.receipt], &format!("no {}", name(&delivery))).await.unwrap();
    }
    let seen = queue.look(10).await.unwrap();
    let reasons: Vec<_> = seen.items.iter().map(|letter| letter.reason.as_deref()).collect();
    assert_eq!((seen.about, reasons), (2, vec![Some("no b"), Some("no a")]));
    let a = &seen.items[1];
    assert_eq!(*a.work_items.as_ref().unwrap(), [message("a", 0).work_item]);
    assert_eq!((a.sent_at, a.deliveries), (Some(at(0)), 1));
    assert_eq!(queue.look(1).await.unwrap().items[0].id, seen.items[0].id);
    assert_eq!(counts(&queue).await, [0, 0, 0, 2]);
}

#[tokio::test]
async fn the_standing_counts_messages_by_state_and_find_the_oldest() {
    let (queue, _clock) = world().await;
    assert_eq!(queue.standing().await.unwrap(), QueueStanding::default());
    send(&queue, &[("a", -8), ("b", -7), ("c", 1), ("d", 90)]).await;
    let first = queue.receive(1).await.unwrap();
    assert_eq!(counts(&queue).await, [1, 2, 1, 0]);
    assert_eq!(queue.standing().await.unwrap().oldest_due_at, Some(at(-7)));
    // What is set aside waits.
    queue.set_aside(&[(receipts(&first)[0], Duration::from_secs(5))]).await.unwrap();
    assert_eq!(queue.standing().await.unwrap().oldest_due_at, Some(at(-8)));
    queue.bury(&receipts(&first), "why not").await.unwrap();
    assert_eq!(counts(&queue).await, [1, 2, 0, 1]);
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_with_its_whole_send() {
    let (queue, _clock) = world().await;
    let long = message("x".repeat(BODY_BYTES_MAX), 0);
    let refused = queue.send(&[message("a", 0), long], at(0)).await.unwrap_err();
    assert!(matches!(&refused, QueueError::Refused(why)
        if why.to_string().contains("bytes, and 262144 is the most")));
    assert!(!refused.is_retryable());
    assert_eq!(counts(&queue).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn large_calls_are_split_into_several_requests() {
    let (queue, _clock) = world().await;
    let all: Vec<_> = (0..2_500).map(|n| message(n.to_string(), 0)).collect();
    queue.send(&all, at(0)).await.unwrap();
    queue.send(&[], at(0)).await.unwrap();
    let mut received = Vec::new();
    while received.len() < all.len() {
        let more = receipts(&queue.receive(usize::MAX).await.unwrap());
        assert!(more.len() <= RECEIVE_MAX);
        received.extend(more);
    }
    queue.finish(&received).await.unwrap();
    assert_eq!(counts(&queue).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn what_was_sent_long_ago_is_forgotten_and_a_redrive_makes_no_letter_younger() {
    let (queue, clock) = world().await;
    let began = clock.now();
    send(&queue, &[("letter", 0), ("waits", 0), ("held", 0), ("planned", 30 * 86_400)]).await;
    let taken = receive(&queue).await;
    queue.bury(&[taken[0].receipt], "tired").await.unwrap();
    queue.put_back(&[(taken[1].receipt, Duration::ZERO)]).await.unwrap();
    clock.advance(TimeDelta::days(5));
    queue.send(&[message("young", 0)], clock.now()).await.unwrap();
    assert_eq!(queue.forget(began).await.unwrap(), 0);
    assert_eq!(queue.redrive(&ChosenLetters::All).await.unwrap().count, 1);
    // The message again, the one that waits, and the one that a worker holds.
    assert_eq!(queue.forget(began + TimeDelta::days(1)).await.unwrap(), 3);
    queue.finish(&[taken[2].receipt]).await.unwrap();
    let young = receive_one(&queue).await;
    assert_eq!(name(&young), "young");
    queue.finish(&[young.receipt]).await.unwrap();
    clock.advance(TimeDelta::days(25));
    let planned = receive_one(&queue).await;
    assert_eq!(name(&planned), "planned", "it was sent for that time");
    queue.bury(&[planned.receipt], "tired").await.unwrap();
    assert_eq!(queue.forget(clock.now()).await.unwrap(), 1, "the letter");
}

#[tokio::test]
async fn dead_letters_are_sent_again_or_deleted() {
    let clock = ManualClock::new();
    let queue = in_memory(clock).await;
    send(&queue, &[("a", 0), ("b", 0), ("c", 0), ("d", 0)]).await;
    for delivery in receive(&queue).await {
        queue.bury(&[delivery.receipt], "tired").await.unwrap();
    }
    let seen = queue.look(3).await.unwrap();
    assert_eq!((seen.about, seen.items.len()), (4, 3));
    let letter = &seen.items[0];
    assert_eq!((letter.id.as_str(), letter.deliveries), ("4", 1));
    assert_eq!(letter.reason.as_deref(), Some("tired"));
    assert!(letter.work_items.is_ok());

    let ids = |ids: &[&str]| ChosenLetters::Ids(ids.iter().map(|id| (*id).to_owned()).collect());
    let done = queue.redrive(&ids(&["2", "9", "x", "2"])).await.unwrap();
    assert_eq!((done.count, done.not_found), (1, vec!["9".to_owned(), "x".to_owned()]));
    let again = receive_one(&queue).await;
    // As if it had never been delivered.
    assert_eq!((name(&again), again.receive_count), ("b", 1));
    queue.finish(&[again.receipt]).await.unwrap();

    let done = queue.delete(&ids(&["1"])).await.unwrap();
    assert_eq!((done.count, done.goes_on), (1, false));
    assert_eq!(counts(&queue).await, [0, 0, 0, 2]);
    assert_eq!(queue.redrive(&ChosenLetters::All).await.unwrap().count, 2);
    assert_eq!(receive_names(&queue).await, ["c", "d"]);
    assert_eq!(queue.delete(&ChosenLetters::All).await.unwrap().count, 0);
}
