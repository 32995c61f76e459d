//! Brakes: what processes share of origins that do not answer.

use chrono::{DateTime, Utc};
use minutehand_domain::firing::{BRAKED_EVERY, BRAKED_FOR, SharedBrake};

use super::Subject;
use super::firing::at;
use super::subject::at_once;

behaviours! { $ brakes:
    calls_without_an_answer_are_counted_until_the_origin_answers,
    an_origin_gets_one_call_of_all_that_ask_and_the_next_one_later,
    what_is_forgotten_is_counted_anew,
    an_origin_hangs_after_five_calls_without_an_answer_until_it_is_forgotten,
}

const ORIGIN: &str = "request https://hangs.example:8443";
const OTHER: &str = "request http://other.example";

async fn counted(subject: &Subject, origin: &str, now: DateTime<Utc>) -> SharedBrake {
    subject.brakes().count_unanswered(origin, now).await.unwrap()
}

async fn takes(subject: &Subject, now: DateTime<Utc>) -> bool {
    subject.brakes().take_call(ORIGIN, now).await.unwrap()
}

async fn known(subject: &Subject) -> Vec<(String, SharedBrake)> {
    let mut known = subject.brakes().read_brakes().await.unwrap();
    known.sort_by(|(one, _), (other, _)| one.cmp(other));
    known
}

async fn calls_without_an_answer_are_counted_until_the_origin_answers(subject: &Subject) {
    assert_eq!(known(subject).await, []);
    let mut expected = SharedBrake::first(at(60));
    assert_eq!(counted(subject, ORIGIN, at(60)).await, expected);
    for second in [60, 61, 90] {
        expected = expected.counted(at(second));
        assert_eq!(counted(subject, ORIGIN, at(second)).await, expected);
    }
    let other = counted(subject, OTHER, at(70)).await;
    assert_eq!(other, SharedBrake::first(at(70)));
    let both = [(OTHER.to_owned(), other), (ORIGIN.to_owned(), expected)];
    assert_eq!(known(subject).await, both);
    for _ in 0..2 {
        subject.brakes().release_brake(ORIGIN).await.unwrap();
        assert_eq!(known(subject).await, both[..1]);
    }
    assert_eq!(counted(subject, ORIGIN, at(95)).await, SharedBrake::first(at(95)));
}

async fn an_origin_gets_one_call_of_all_that_ask_and_the_next_one_later(subject: &Subject) {
    assert!(takes(subject, at(60)).await, "nothing is known of it");
    let brake = counted(subject, ORIGIN, at(60)).await;
    let asked =
        at_once(20, subject.clone(), |subject, _| async move { takes(&subject, at(61)).await });
    assert_eq!(asked.await.into_iter().filter(|took| *took).count(), 1);
    let called = brake.called(at(61));
    assert_eq!(called.next_at, at(61) + BRAKED_EVERY);
    assert_eq!(known(subject).await, [(ORIGIN.to_owned(), called)]);
    // To count does not move the next call.
    assert_eq!(counted(subject, ORIGIN, at(81)).await, called.counted(at(81)));
    let soon = called.next_at - chrono::TimeDelta::seconds(1);
    assert!(!takes(subject, soon).await);
    assert!(takes(subject, called.next_at).await);
    assert!(!takes(subject, called.next_at).await);
}

async fn what_is_forgotten_is_counted_anew(subject: &Subject) {
    let brake = counted(subject, ORIGIN, at(60)).await.called(at(60));
    assert!(takes(subject, at(60)).await);
    let last = at(60) + BRAKED_FOR;
    assert_eq!(counted(subject, ORIGIN, last).await, brake.counted(last));
    let later = last + BRAKED_FOR + chrono::TimeDelta::seconds(1);
    assert_eq!(counted(subject, ORIGIN, later).await, SharedBrake::first(later));
    assert_eq!(known(subject).await, [(ORIGIN.to_owned(), SharedBrake::first(later))]);
}

async fn an_origin_hangs_after_five_calls_without_an_answer_until_it_is_forgotten(
    subject: &Subject,
) {
    let hanging = async |now| subject.hanging().hanging_origins(now).await.unwrap();
    counted(subject, OTHER, at(60)).await;
    for n in 1..=5 {
        assert_eq!(hanging(at(60)).await, [""; 0], "before call {n}");
        counted(subject, ORIGIN, at(60 + n)).await;
    }
    let until = at(65) + BRAKED_FOR;
    for now in [at(65), until] {
        assert_eq!(hanging(now).await, [ORIGIN]);
    }
    assert_eq!(hanging(until + chrono::TimeDelta::seconds(1)).await, [""; 0]);
}
