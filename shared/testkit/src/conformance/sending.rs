//! Sending: what was accepted arrives.

use std::collections::BTreeSet;

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::QueueMessage;

use super::queues::{QueueSubject, at, message};

behaviours! { $ sending of QueueSubject by check_queue:
    what_was_sent_arrives_as_it_was_sent,
    more_messages_than_a_request_takes_arrive_once_each,
    a_send_of_nothing_sends_nothing,
    a_send_whose_answer_was_lost_can_be_repeated,
}

fn job(uid: &str) -> JobRef {
    JobRef { uid: uid.to_owned(), collection_uid: "c".to_owned(), key: "Grüße".to_owned() }
}

fn attempt(uid: &str) -> WorkItem {
    let attempt = Attempt::first(7, Occurrence::Scheduled { nominal_at: at(-60) });
    WorkItem::Attempt { job: job(uid), attempt }
}

async fn what_was_sent_arrives_as_it_was_sent(subject: &QueueSubject) {
    // Two attempts of one second may share a message.
    let work_items = [
        attempt("one"),
        attempt("two"),
        WorkItem::CheckFinished { job: job("three"), generation: 3 },
        WorkItem::DeleteJob { job: job("four"), generation: 4 },
        WorkItem::PurgeCollection { collection_uid: "five".to_owned() },
    ];
    let messages = work_items.clone().map(|work_item| QueueMessage { work_item, due_at: at(-60) });
    subject.queue().send(&messages, at(0)).await.unwrap();
    let mut arrived = subject.arrived().await;
    arrived.sort_by_key(|item| work_items.iter().position(|it| it == item));
    assert_eq!(arrived, work_items);
}

async fn more_messages_than_a_request_takes_arrive_once_each(subject: &QueueSubject) {
    let all: Vec<_> = (0..250).map(|n| message(n.to_string(), 0)).collect();
    subject.queue().send(&all, at(0)).await.unwrap();
    let arrived = subject.arrived().await;
    let names: BTreeSet<_> = arrived.iter().map(WorkItem::collection_uid).collect();
    assert_eq!((arrived.len(), names.len()), (250, 250));
}

async fn a_send_of_nothing_sends_nothing(subject: &QueueSubject) {
    subject.queue().send(&[], at(0)).await.unwrap();
    subject.send(&[("a", 0)]).await;
    assert_eq!(subject.arrived().await, [message("a", 0).work_item]);
}

async fn a_send_whose_answer_was_lost_can_be_repeated(subject: &QueueSubject) {
    for _ in 0..2 {
        subject.send(&[("a", 0)]).await;
    }
    // Workers recognize what is done, so it may arrive once or twice, and not less.
    let arrived = subject.arrived().await;
    assert!(matches!(arrived.len(), 1 | 2), "{arrived:?}");
    assert!(arrived.iter().all(|item| *item == message("a", 0).work_item));
}
