//! Seats: how many attempts of a collection run at the same time, if it limits them.

use minutehand_domain::limits::Concurrent;
use minutehand_ports::store::Claim;

use super::Subject;
use super::firing::{COLLECTION, at, held, scheduled};
use super::subject::at_once;

behaviours! { $ seats:
    so_many_seats_are_taken_and_given_back,
    to_give_back_the_first_seat_that_nobody_took_does_nothing,
    a_seat_is_free_again_when_its_lease_is_over,
    hundreds_of_seats_whose_leases_are_over_make_room,
    claims_that_ask_at_once_get_no_more_seats_than_there_are,
}

/// A claim with a lease until then.
fn until(id: &str, lease: i64) -> Claim {
    Claim { lease_until: at(lease), ..held(&scheduled(60), id) }
}

async fn takes(subject: &Subject, claim: &Claim, limit: u32, now: i64) -> bool {
    let limit = Concurrent::new(limit).unwrap();
    subject.store.take_seat(claim, limit, at(now)).await.unwrap()
}

async fn taken(subject: &Subject, now: i64) -> u32 {
    subject.store.taken_seats(COLLECTION, at(now)).await.unwrap()
}

async fn so_many_seats_are_taken_and_given_back(subject: &Subject) {
    assert_eq!(taken(subject, 60).await, 0);
    let claims = ["a", "b", "c"].map(|id| until(id, 160));
    assert!(takes(subject, &claims[0], 2, 60).await);
    assert!(takes(subject, &claims[1], 2, 60).await);
    assert!(!takes(subject, &claims[2], 2, 60).await);
    // To take a seat again changes nothing, as if an answer was lost.
    assert!(takes(subject, &claims[1], 2, 60).await);
    assert_eq!(taken(subject, 60).await, 2);
    for _ in 0..2 {
        subject.store.give_back_seat(&claims[0]).await.unwrap();
    }
    subject.store.give_back_seat(&claims[2]).await.unwrap();
    assert_eq!(taken(subject, 60).await, 1);
    assert!(takes(subject, &claims[2], 2, 60).await);
    // A higher limit has more seats, a lower one none until enough are given back.
    assert!(takes(subject, &claims[0], 3, 60).await);
    assert!(!takes(subject, &until("d", 160), 2, 60).await);
    subject.store.give_back_seat(&claims[0]).await.unwrap();
    assert!(!takes(subject, &until("d", 160), 2, 60).await);
    subject.store.give_back_seat(&claims[1]).await.unwrap();
    assert!(takes(subject, &until("d", 160), 2, 60).await);
}

async fn to_give_back_the_first_seat_that_nobody_took_does_nothing(subject: &Subject) {
    subject.store.give_back_seat(&until("a", 160)).await.unwrap();
    assert_eq!(taken(subject, 60).await, 0);
    assert!(takes(subject, &until("a", 160), 1, 60).await);
}

async fn a_seat_is_free_again_when_its_lease_is_over(subject: &Subject) {
    for (n, lease) in [(0, 160), (1, 170), (2, 180)] {
        assert!(takes(subject, &until(&format!("dead{n}"), lease), 3, 60).await);
    }
    let next = until("next", 270);
    assert!(!takes(subject, &next, 3, 160).await);
    assert_eq!(taken(subject, 160).await, 3);
    assert!(takes(subject, &next, 3, 161).await);
    assert_eq!(taken(subject, 161).await, 3);
    assert!(!takes(subject, &until("another", 270), 3, 161).await);
    assert_eq!(taken(subject, 171).await, 2);
    // All that are over make room at once.
    assert!(takes(subject, &until("another", 290), 1, 271).await);
    assert_eq!(taken(subject, 160).await, 1);
}

async fn hundreds_of_seats_whose_leases_are_over_make_room(subject: &Subject) {
    for n in 0..100 {
        assert!(takes(subject, &until(&format!("dead{n}"), 160), 100, 60).await);
    }
    assert!(!takes(subject, &until("one", 260), 100, 160).await);
    for n in 0..100 {
        assert!(takes(subject, &until(&format!("next{n}"), 260), 100, 161).await, "{n}");
    }
    assert!(!takes(subject, &until("more", 260), 100, 161).await);
    assert_eq!(taken(subject, 60).await, 100);
}

async fn claims_that_ask_at_once_get_no_more_seats_than_there_are(subject: &Subject) {
    for n in 0..3 {
        assert!(takes(subject, &until(&format!("dead{n}"), 100), 5, 60).await);
    }
    let asked = at_once(40, subject.clone(), |subject, n| async move {
        takes(&subject, &until(&format!("c{n}"), 260), 5, 161).await
    });
    let seats = asked.await.into_iter().filter(|got| *got).count();
    assert_eq!(taken(subject, 161).await as usize, seats);
    assert!((1..=5).contains(&seats), "{seats}");
}
