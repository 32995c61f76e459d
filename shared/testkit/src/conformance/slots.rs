//! Slots: when the attempts of a collection may start, if it limits them.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{SLOTS_AHEAD, Slot, SlotBook, Waited};
use minutehand_domain::limits::PerSecond;
use minutehand_ports::store::{Claimed, OwnAttempt, SlotRequest};

use super::Subject;
use super::firing::{COLLECTION, JOB, at, claim, held, record, scheduled};
use super::subject::at_once;

fn limit(per_second: u32) -> PerSecond {
    PerSecond::new(per_second).unwrap()
}

fn book(number: u32, next: i64, per_second: u32) -> SlotBook {
    SlotBook { number, per_second: limit(per_second), next_at: at(next) }
}

fn request(per_second: u32, now: i64) -> SlotRequest<'static> {
    SlotRequest {
        collection_uid: COLLECTION,
        per_second: limit(per_second),
        not_before: at(now),
        not_after: at(now) + SLOTS_AHEAD,
    }
}

impl Subject {
    async fn opens(&self, as_read: Option<SlotBook>, book: SlotBook) -> bool {
        self.store.open_slots(COLLECTION, as_read, book).await.unwrap()
    }

    async fn takes(&self, request: SlotRequest<'_>) -> Option<Slot> {
        self.store.take_slot(request).await.unwrap()
    }

    /// Lets an attempt wait, for a claim at second 100.
    async fn postpones(&self, attempt: &Attempt, claim_id: &str) {
        let (claim, hold) = (held(attempt, claim_id), TimeDelta::seconds(500));
        self.store.postpone(&claim, hold, at(100)).await.unwrap();
    }

    async fn book(&self) -> Option<SlotBook> {
        self.store.read_slots(COLLECTION).await.unwrap()
    }
}

fn slot(at: DateTime<Utc>, book: u32) -> Slot {
    Slot { at, book }
}

behaviours! { $ slots:
    a_book_reads_back_and_is_stored_only_in_place_of_the_one_that_was_read,
    a_slot_at_either_end_of_the_time_that_is_asked_for_is_taken,
    slots_follow_each_other_within_the_time_that_is_asked_for,
    attempts_that_ask_at_once_get_slots_of_their_own,
    an_attempt_that_is_postponed_waits_for_who_has_its_slot,
    however_often_it_is_postponed_an_attempt_is_not_taken_for_one_whose_workers_died,
}

async fn a_book_reads_back_and_is_stored_only_in_place_of_the_one_that_was_read(subject: &Subject) {
    assert_eq!(subject.book().await, None);
    assert_eq!(subject.takes(request(4, 60)).await, None);
    let one = book(0, 60, 4);
    assert!(subject.opens(None, one).await);
    assert!(!subject.opens(None, one).await);
    assert_eq!(subject.book().await, Some(one));
    let other = book(1, 70, 2);
    assert!(!subject.opens(Some(book(0, 61, 4)), other).await);
    assert!(!subject.opens(Some(book(1, 60, 4)), other).await);
    assert!(subject.opens(Some(one), other).await);
    assert_eq!(subject.book().await, Some(other));
}

async fn a_slot_at_either_end_of_the_time_that_is_asked_for_is_taken(subject: &Subject) {
    assert!(subject.opens(None, book(0, 60, 1)).await);
    for (from, until, expected) in [
        (61, 70, None),
        (50, 59, None),
        (60, 70, Some(60)),
        (50, 61, Some(61)),
        (62, 62, Some(62)),
        (64, 64, None),
    ] {
        let asked = SlotRequest { not_before: at(from), not_after: at(until), ..request(1, 60) };
        let found = subject.takes(asked).await.map(|slot| slot.at);
        assert_eq!(found, expected.map(at), "{from} to {until}");
    }
}

async fn slots_follow_each_other_within_the_time_that_is_asked_for(subject: &Subject) {
    assert!(subject.opens(None, book(3, 60, 4)).await);
    let quarter = TimeDelta::milliseconds(250);
    assert_eq!(subject.takes(request(4, 60)).await, Some(slot(at(60), 3)));
    assert_eq!(subject.takes(request(4, 60)).await, Some(slot(at(60) + quarter, 3)));
    // It is in the past, or under another limit, or too far away.
    assert_eq!(subject.takes(request(4, 61)).await, None);
    assert_eq!(subject.takes(request(5, 60)).await, None);
    assert_eq!(subject.takes(request(4, 60 - 3_600)).await, None);
    assert_eq!(subject.takes(request(4, 61 - 3_600)).await, Some(slot(at(60) + quarter * 2, 3)));
}

async fn attempts_that_ask_at_once_get_slots_of_their_own(subject: &Subject) {
    assert!(subject.opens(None, book(0, 60, 10)).await);
    let asked =
        at_once(
            40,
            subject.clone(),
            |subject, _| async move { subject.takes(request(10, 60)).await },
        );
    let mut taken = asked.await;
    taken.sort_by_key(|slot| slot.unwrap().at);
    for (n, slot) in (0..).zip(taken) {
        assert_eq!(slot.unwrap().at, at(60) + TimeDelta::milliseconds(100 * n));
    }
}

fn with_slot(attempt: &Attempt) -> Attempt {
    Attempt { waited: Some(Waited::Slot(slot(at(600), 0))), ..attempt.clone() }
}

async fn an_attempt_that_is_postponed_waits_for_who_has_its_slot(subject: &Subject) {
    let first = scheduled(60);
    assert_eq!(subject.claim(claim(&first, "one")).await, Claimed::Won);
    subject.postpones(&first, "another").await;
    assert!(!subject.history().await[0].waits);
    for _ in 0..2 {
        subject.postpones(&first, "one").await;
    }
    // It has left a trace, and no worker has it.
    let entry = &subject.history().await[0];
    assert!(entry.waits && entry.record.is_none());
    assert_eq!(subject.turns(&first).await.own, OwnAttempt::New);
    let seen = subject.store.attempts_between(JOB, at(60), at(60)).await.unwrap();
    assert_eq!(seen.len(), 1);
    // A copy of its first message waits as for a lease.
    let waits = Claimed::Held { left: TimeDelta::seconds(500) };
    assert_eq!(subject.claim(claim(&first, "copy")).await, waits);
    let slot = with_slot(&first);
    for _ in 0..2 {
        assert_eq!(subject.claim(claim(&slot, "two")).await, Claimed::Won);
    }
    assert!(!subject.history().await[0].waits);
    assert!(matches!(subject.claim(claim(&slot, "three")).await, Claimed::Held { .. }));
    subject.record(&held(&slot, "two"), record(60)).await;
    assert!(matches!(subject.claim(claim(&slot, "four")).await, Claimed::Ended(_)));
    // What has ended stays so.
    subject.postpones(&first, "two").await;
    assert!(!subject.history().await[0].waits);
}

async fn however_often_it_is_postponed_an_attempt_is_not_taken_for_one_whose_workers_died(
    subject: &Subject,
) {
    let first = scheduled(60);
    for n in 0..30 {
        let (attempt, id) = (with_slot(&first), format!("claim{n}"));
        assert_eq!(subject.claim(claim(&attempt, &id)).await, Claimed::Won, "{n}");
        subject.postpones(&attempt, &id).await;
    }
}
