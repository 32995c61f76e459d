//! Waiting receivers, and what wakes them.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::firing::limits::VISIBILITY;
use minutehand_ports::{Deliveries as _, QueueError, TakenMessage};
use minutehand_store_sql::SqlQueue;
use minutehand_store_sql::sqlite::Database;
use tokio::task::JoinHandle;

use crate::world::{
    ManualClock, at, counts, in_memory, name, receive, receive_names, receive_one, seconds, send,
};

const SECOND: Duration = Duration::from_secs(1);

async fn world() -> (SqlQueue, Arc<ManualClock>) {
    let clock = ManualClock::new();
    (in_memory(clock.clone()).await, clock)
}

fn receiver(queue: &SqlQueue) -> JoinHandle<Result<Vec<TakenMessage>, QueueError>> {
    let queue = queue.clone();
    tokio::spawn(async move { queue.receive(10).await })
}

async fn received(receiver: JoinHandle<Result<Vec<TakenMessage>, QueueError>>) -> Vec<String> {
    let deliveries = receiver.await.unwrap().unwrap();
    deliveries.iter().map(|delivery| name(delivery).to_owned()).collect()
}

#[tokio::test]
async fn a_receiver_waits_until_two_seconds_before_the_first_message_is_due() {
    let (queue, clock) = world().await;
    send(&queue, &[("b", 61), ("a", 60)]).await;
    let receiver = receiver(&queue);
    clock.is_asked_for(at(58)).await;
    clock.advance(seconds(57));
    assert!(!receiver.is_finished());
    clock.advance(seconds(1));
    assert_eq!(received(receiver).await, ["a"]);
}

#[tokio::test]
async fn a_message_wakes_a_receiver_of_an_empty_queue_or_of_a_later_message() {
    let (queue, clock) = world().await;
    let first = receiver(&queue);
    send(&queue, &[("later", 60)]).await;
    clock.is_asked_for(at(58)).await;
    send(&queue, &[("sooner", 30)]).await;
    clock.is_asked_for(at(28)).await;
    send(&queue, &[("now", 0)]).await;
    assert_eq!(received(first).await, ["now"]);
}

#[tokio::test]
async fn a_receiver_waits_for_a_hidden_message_and_reads_the_clock_every_second() {
    let (queue, clock) = world().await;
    send(&queue, &[("a", 0)]).await;
    let a = receive_one(&queue).await;
    queue.put_back(&[(a.receipt, Duration::from_millis(2_500))]).await.unwrap();
    let receiver = receiver(&queue);
    clock.is_asked_to_wait(SECOND).await;
    clock.advance(seconds(2));
    clock.is_asked_to_wait(Duration::from_millis(500)).await;
    clock.advance(seconds(1));
    assert_eq!(received(receiver).await, ["a"]);
}

#[tokio::test]
async fn a_message_that_is_put_back_wakes_a_receiver() {
    let (queue, clock) = world().await;
    send(&queue, &[("a", 0), ("later", 60)]).await;
    let a = receive_one(&queue).await;
    let receiver = receiver(&queue);
    clock.is_asked_for(at(58)).await;
    queue.put_back(&[(a.receipt, Duration::ZERO)]).await.unwrap();
    assert_eq!(received(receiver).await, ["a"]);
}

#[tokio::test]
async fn a_clock_set_forward_is_noticed_within_a_second() {
    let (queue, clock) = world().await;
    send(&queue, &[("a", 3_600)]).await;
    let receiver = receiver(&queue);
    clock.is_asked_for(at(3_598)).await;
    clock.is_asked_to_wait(SECOND).await;
    clock.set(at(7_200));
    clock.advance(seconds(1));
    assert_eq!(received(receiver).await, ["a"]);
}

#[tokio::test]
async fn each_waiting_receiver_gets_a_message() {
    let (queue, _clock) = world().await;
    let one_each = |queue: SqlQueue| tokio::spawn(async move { queue.receive(1).await });
    let receivers = [one_each(queue.clone()), one_each(queue.clone()), one_each(queue.clone())];
    send(&queue, &[("a", 0), ("b", 0), ("c", 0)]).await;
    let mut names = Vec::new();
    for receiver in receivers {
        names.extend(received(receiver).await);
    }
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_receiver_takes_no_message_with_it() {
    let (queue, clock) = world().await;
    for n in 0..200 {
        let cancelled = receiver(&queue);
        send(&queue, &[("a", 0)]).await;
        // It may be cancelled at any point: before, during or after its request.
        cancelled.abort();
        let delivery = match cancelled.await {
            Ok(received) => received.unwrap().pop().unwrap(),
            Err(_) => receive_one(&queue).await,
        };
        assert_eq!(delivery.receive_count, 1, "{n}");
        queue.finish(&[delivery.receipt]).await.unwrap();
    }
    assert_eq!(counts(&queue).await, [0, 0, 0, 0]);
    // No message waited for its visibility timeout.
    clock.advance(VISIBILITY);
    send(&queue, &[("b", 0)]).await;
    assert_eq!(receive_names(&queue).await, ["b"]);
}

#[tokio::test]
async fn closing_the_database_fails_waiting_receivers() {
    let clock = ManualClock::new();
    let (database, threads) = Database::in_memory().unwrap();
    let queue = SqlQueue::open(database.clone(), clock.clone()).await.unwrap();
    send(&queue, &[("a", 60)]).await;
    let receivers = [receiver(&queue), receiver(&queue)];
    clock.is_asked_for(at(58)).await;
    database.close();
    threads.ended().await;
    for receiver in receivers {
        let error = receiver.await.unwrap().unwrap_err();
        assert!(matches!(&error, QueueError::Unavailable(why)
            if why.to_string() == "the store is closed"));
    }
    assert!(queue.standing().await.is_err());
}

#[tokio::test]
async fn a_queue_runs_until_its_last_clone_is_dropped() {
    let (queue, _clock) = world().await;
    let clone = queue.clone();
    drop(queue);
    send(&clone, &[("a", 0)]).await;
    assert_eq!(receive(&clone).await.len(), 1);
}
