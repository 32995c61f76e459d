//! Answers that get lost after the database has done what it was asked.

use minutehand_ports::store::{Claimed, StoreError};
use minutehand_ports::{Attempts as _, Deliveries as _, QueueError};
use minutehand_testkit::postgres::PostgresServer;

use crate::liveness::Process;
use crate::way::Way;

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_the_callers_own_when_it_asks_again() {
    let Some(server) = PostgresServer::start() else { return };
    let way = Way::to(&server);
    let here = Process::connect(way.address()).await;
    assert_eq!(here.claims(&here.request(1, 1)).await, Claimed::Won, "it has a connection");
    let lost = here.request(2, 2);
    way.loses_answers(true);
    let answer = here.store.claim(&lost).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    way.loses_answers(false);
    assert_eq!(here.count_of_claims(2).await, 1, "the database has done it");
    // A worker that asks under another id, for the next delivery, is told that it is held.
    let other = here.request_again(&lost.claim, 3);
    assert!(matches!(here.claims(&other).await, Claimed::Held { .. }));
    assert_eq!(here.claims(&lost).await, Claimed::Won);
    assert_eq!(here.count_of_claims(2).await, 1, "it is still the first");
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_can_be_given_back() {
    let Some(server) = PostgresServer::start() else { return };
    let way = Way::to(&server);
    let here = Process::connect(way.address()).await;
    assert_eq!(here.claims(&here.request(1, 1)).await, Claimed::Won, "it has a connection");
    let lost = here.request(2, 2);
    way.loses_answers(true);
    assert!(here.store.claim(&lost).await.is_err());
    way.loses_answers(false);
    here.store.release(&lost.claim).await.unwrap();
    let other = here.request_again(&lost.claim, 3);
    assert_eq!(here.claims(&other).await, Claimed::Won);
}

#[tokio::test]
async fn messages_whose_receiver_has_no_answer_are_received_by_the_next_one_at_once() {
    let Some(server) = PostgresServer::start() else { return };
    let way = Way::to(&server);
    let here = Process::connect(way.address()).await;
    here.send("first").await;
    let first = here.receives().await;
    assert_eq!(first.receive_count, 1);
    for name in ["second", "third"] {
        here.send(name).await;
    }
    way.loses_answers(true);
    let answer = here.queue.receive(1).await;
    assert!(matches!(answer, Err(QueueError::Unavailable(_))), "{answer:?}");
    way.loses_answers(false);
    assert_eq!(here.queue.standing().await.unwrap().hidden, 2, "the database has done it");
    let again = here.queue.receive(10).await.unwrap();
    let counts: Vec<u32> = again.iter().map(|it| it.receive_count).collect();
    assert_eq!(counts, [1, 1], "the lost delivery does not count, and the first has its worker");
    // The same for a message that was set aside and is taken again.
    here.queue.set_aside(&[(first.receipt, minutehand_ports::HIDDEN_MAX)]).await.unwrap();
    way.loses_answers(true);
    assert!(here.queue.take_again(&[first.receipt]).await.is_err());
    way.loses_answers(false);
    let taken = here.receives().await;
    assert_eq!((taken.receipt.id, taken.receive_count), (first.receipt.id, 1));
}
