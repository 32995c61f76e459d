//! Deliveries: which messages, in which order, how often, and what becomes of them.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use minutehand_domain::firing::limits::{EARLY, RECEIVES_MAX, VISIBILITY};
use minutehand_ports::{ChosenLetters, HIDDEN_MAX};

use super::queues::{QueueSubject, at, message, name, receipts};
use super::subject::at_once;

behaviours! { $ deliveries of QueueSubject by check_queue:
    a_delivery_says_when_its_message_was_sent_and_is_due,
    messages_arrive_by_due_time_then_by_send_order,
    no_message_arrives_more_than_two_seconds_early,
    a_receiver_that_waits_gets_what_is_sent,
    a_receiver_that_goes_away_takes_nothing_with_it,
    an_unfinished_message_is_delivered_again_and_only_the_last_receipt_is_valid,
    a_receipt_is_valid_after_the_visibility_timeout_until_the_next_delivery,
    a_receipt_never_identifies_a_later_message,
    a_message_that_was_put_back_is_delivered_after_its_time,
    a_message_that_was_delivered_too_often_is_a_dead_letter,
    a_buried_message_is_a_dead_letter_with_its_reason,
    a_message_that_is_set_aside_waits_and_its_deliveries_do_not_count,
    a_message_that_is_set_aside_for_a_time_is_received_again_after_it,
    many_receivers_get_each_message_once,
    dead_letters_are_sent_again_or_deleted,
}

const SECOND: TimeDelta = TimeDelta::seconds(1);

async fn a_delivery_says_when_its_message_was_sent_and_is_due(subject: &QueueSubject) {
    subject.queue().send(&[message("a", 1)], at(-5)).await.unwrap();
    let taken = subject.receive_one().await;
    assert_eq!((taken.due_at, taken.sent_at, taken.receive_count), (at(1), at(-5), 1));
    subject.deliveries().finish(&[taken.receipt]).await.unwrap();
    assert!(subject.is_quiet().await);
}

async fn messages_arrive_by_due_time_then_by_send_order(subject: &QueueSubject) {
    subject.send(&[("c", -1), ("a", -9), ("d", -1), ("b", -2)]).await;
    let first = subject.deliveries().receive(3).await.unwrap();
    assert_eq!(first.iter().map(name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(subject.receive_names().await, ["d"]);
}

async fn no_message_arrives_more_than_two_seconds_early(subject: &QueueSubject) {
    let early = EARLY.num_seconds();
    subject.send(&[("later", early + 1), ("soon", early), ("now", 0)]).await;
    assert_eq!(subject.receive_names().await, ["now", "soon"]);
    subject.advance(SECOND);
    assert_eq!(subject.receive_names().await, ["later"]);
}

async fn a_receiver_that_waits_gets_what_is_sent(subject: &QueueSubject) {
    let receiving = subject.clone();
    let receiver = tokio::spawn(async move { receiving.receive_names().await });
    tokio::task::yield_now().await;
    subject.send(&[("a", 0)]).await;
    assert_eq!(receiver.await.unwrap(), ["a"]);
}

async fn a_receiver_that_goes_away_takes_nothing_with_it(subject: &QueueSubject) {
    let receiving = subject.clone();
    let receiver = tokio::spawn(async move { receiving.receive_names().await });
    tokio::task::yield_now().await;
    receiver.abort();
    assert!(receiver.await.unwrap_err().is_cancelled());
    subject.send(&[("a", 0)]).await;
    assert_eq!(subject.receive_one().await.receive_count, 1);
}

async fn an_unfinished_message_is_delivered_again_and_only_the_last_receipt_is_valid(
    subject: &QueueSubject,
) {
    let deliveries = subject.deliveries();
    subject.send(&[("a", 0)]).await;
    let first = subject.receive_one().await;
    subject.advance(VISIBILITY - SECOND);
    assert!(subject.is_quiet().await, "it is hidden");
    subject.advance(SECOND);
    let second = subject.receive_one().await;
    assert_eq!(second.receive_count, 2);
    // A void receipt does nothing.
    deliveries.finish(&[first.receipt]).await.unwrap();
    deliveries.put_back(&[(first.receipt, Duration::ZERO)]).await.unwrap();
    deliveries.set_aside(&[(first.receipt, Duration::ZERO)]).await.unwrap();
    deliveries.bury(&[first.receipt], "void").await.unwrap();
    assert!(deliveries.take_again(&[first.receipt]).await.unwrap()[0].is_none());
    assert!(subject.is_quiet().await);
    assert_eq!(subject.dead().await, 0);
    subject.advance(VISIBILITY);
    assert_eq!(subject.receive_one().await.receive_count, 3);
}

async fn a_receipt_is_valid_after_the_visibility_timeout_until_the_next_delivery(
    subject: &QueueSubject,
) {
    subject.send(&[("a", 0)]).await;
    let late = subject.receive_one().await;
    subject.advance(VISIBILITY * 2);
    subject.deliveries().finish(&[late.receipt]).await.unwrap();
    assert!(subject.is_quiet().await);
}

async fn a_receipt_never_identifies_a_later_message(subject: &QueueSubject) {
    subject.send(&[("a", 0)]).await;
    let first = subject.receive_one().await.receipt;
    subject.deliveries().finish(&[first]).await.unwrap();
    subject.send(&[("b", 0)]).await;
    let second = subject.receive_one().await.receipt;
    assert_ne!(first, second);
    subject.deliveries().finish(&[first]).await.unwrap();
    subject.deliveries().put_back(&[(second, Duration::ZERO)]).await.unwrap();
    assert_eq!(subject.receive_names().await, ["b"]);
}

async fn a_message_that_was_put_back_is_delivered_after_its_time(subject: &QueueSubject) {
    subject.send(&[("a", 0), ("b", 0)]).await;
    let received = subject.receive().await;
    let [a, b] = receipts(&received)[..] else { panic!("two were sent") };
    let deliveries = subject.deliveries();
    deliveries.put_back(&[(a, Duration::from_secs(30)), (b, Duration::ZERO)]).await.unwrap();
    assert_eq!(subject.receive_names().await, ["b"]);
    subject.advance(TimeDelta::seconds(29));
    assert!(subject.is_quiet().await);
    subject.advance(SECOND);
    let again = subject.receive_one().await;
    assert_eq!((name(&again).as_str(), again.receive_count), ("a", 2));
}

async fn a_message_that_was_delivered_too_often_is_a_dead_letter(subject: &QueueSubject) {
    subject.send(&[("poison", 0)]).await;
    for n in 1..=RECEIVES_MAX {
        let taken = subject.receive_one().await;
        assert_eq!(taken.receive_count, n);
        subject.deliveries().put_back(&[(taken.receipt, Duration::ZERO)]).await.unwrap();
    }
    // It does not delay the next message.
    assert!(subject.is_quiet().await);
    let seen = subject.letters().look(10).await.unwrap();
    assert_eq!((seen.about, seen.items.len(), seen.items[0].deliveries), (1, 1, RECEIVES_MAX));
}

async fn a_buried_message_is_a_dead_letter_with_its_reason(subject: &QueueSubject) {
    subject.send(&[("a", -2), ("b", -1)]).await;
    for taken in subject.receive().await {
        let why = format!("no {}", name(&taken));
        subject.deliveries().bury(&[taken.receipt], &why).await.unwrap();
        // Its answer was lost.
        subject.deliveries().bury(&[taken.receipt], &why).await.unwrap();
    }
    assert!(subject.is_quiet().await);
    let seen = subject.letters().look(10).await.unwrap();
    let reasons: BTreeSet<_> = seen.items.iter().filter_map(|it| it.reason.as_deref()).collect();
    assert_eq!((seen.about, reasons), (2, BTreeSet::from(["no a", "no b"])));
    let letter = seen.items.iter().find(|it| it.reason.as_deref() == Some("no a")).unwrap();
    assert_eq!(letter.work_items.as_ref().unwrap(), &[message("a", 0).work_item]);
    assert_eq!((letter.sent_at, letter.deliveries), (Some(at(0)), 1));
    assert_eq!(subject.letters().look(1).await.unwrap().items.len(), 1);
}

async fn a_message_that_is_set_aside_waits_and_its_deliveries_do_not_count(subject: &QueueSubject) {
    let deliveries = subject.deliveries();
    subject.send(&[("a", 0)]).await;
    let mut taken = subject.receive_one().await;
    for _ in 0..2 * RECEIVES_MAX {
        assert_eq!(taken.receive_count, 1);
        deliveries.set_aside(&[(taken.receipt, HIDDEN_MAX)]).await.unwrap();
        subject.advance(VISIBILITY * 10);
        assert!(subject.is_quiet().await, "it is hidden from other receivers");
        let again = deliveries.take_again(&[taken.receipt]).await.unwrap();
        // The receipt of an earlier delivery is void.
        assert!(deliveries.take_again(&[taken.receipt]).await.unwrap()[0].is_none());
        taken = again.into_iter().next().unwrap().unwrap();
        assert_eq!(name(&taken), "a");
    }
    deliveries.finish(&[taken.receipt]).await.unwrap();
    assert!(deliveries.take_again(&[taken.receipt]).await.unwrap()[0].is_none(), "it is gone");
}

async fn a_message_that_is_set_aside_for_a_time_is_received_again_after_it(subject: &QueueSubject) {
    let deliveries = subject.deliveries();
    subject.send(&[("a", 0)]).await;
    let taken = subject.receive_one().await;
    // Done twice, as after a lost answer, it counts nothing twice.
    for _ in 0..2 {
        deliveries.set_aside(&[(taken.receipt, Duration::from_secs(5))]).await.unwrap();
    }
    subject.advance(TimeDelta::seconds(4));
    assert!(subject.is_quiet().await);
    subject.advance(SECOND);
    assert_eq!(subject.receive_one().await.receive_count, 1);
}

async fn many_receivers_get_each_message_once(subject: &QueueSubject) {
    const END: &str = "the end";
    at_once(10, subject.clone(), |subject, sender| async move {
        let messages: Vec<_> = (0..100).map(|n| message(format!("{sender}-{n}"), 0)).collect();
        subject.queue().send(&messages, at(0)).await.unwrap();
    })
    .await;
    // One for each receiver, due after all others.
    subject.queue().send(&vec![message(END, 1); 8], at(0)).await.unwrap();
    let received = at_once(8, subject.clone(), |subject, _| async move {
        let mut names: Vec<String> = Vec::new();
        while !names.iter().any(|name| name == END) {
            let received = subject.deliveries().receive(37).await.unwrap();
            names.extend(received.iter().map(name));
            subject.deliveries().finish(&receipts(&received)).await.unwrap();
        }
        // The others wait for theirs.
        let all = names.len();
        names.retain(|name| name != END);
        let of_others = vec![message(END, 1); all - names.len() - 1];
        subject.queue().send(&of_others, at(0)).await.unwrap();
        names
    });
    let names: Vec<String> = received.await.into_iter().flatten().collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!((names.len(), different.len()), (1_000, 1_000));
    assert!(subject.is_quiet().await);
}

async fn dead_letters_are_sent_again_or_deleted(subject: &QueueSubject) {
    let deliveries = subject.deliveries();
    subject.send(&[("a", 0), ("b", 0), ("c", 0), ("d", 0)]).await;
    for taken in subject.receive().await {
        deliveries.bury(&[taken.receipt], "tired").await.unwrap();
    }
    let seen = subject.letters().look(10).await.unwrap();
    let id = |wanted: &str| {
        let is_wanted = |it: &&minutehand_ports::DeadLetter| {
            it.work_items.as_ref().unwrap()[0].collection_uid() == wanted
        };
        seen.items.iter().find(is_wanted).unwrap().id.clone()
    };
    let (a, b) = (id("a"), id("b"));
    let chosen = ChosenLetters::Ids(vec![b.clone(), "x".to_owned(), b]);
    let done = subject.letters().redrive(&chosen).await.unwrap();
    assert_eq!((done.count, done.not_found), (1, vec!["x".to_owned()]));
    let again = subject.receive_one().await;
    // As if it had never been delivered.
    assert_eq!((name(&again).as_str(), again.receive_count), ("b", 1));
    deliveries.finish(&[again.receipt]).await.unwrap();
    let done = subject.letters().delete(&ChosenLetters::Ids(vec![a])).await.unwrap();
    assert_eq!((done.count, subject.dead().await), (1, 2));
    assert_eq!(subject.letters().redrive(&ChosenLetters::All).await.unwrap().count, 2);
    let names: BTreeSet<_> = subject.receive_names().await.into_iter().collect();
    assert_eq!(names, BTreeSet::from(["c".to_owned(), "d".to_owned()]));
    assert_eq!(subject.letters().delete(&ChosenLetters::All).await.unwrap().count, 0);
}
