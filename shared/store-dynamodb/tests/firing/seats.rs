//! Seats: how many attempts of a collection run at the same time, if it limits them.

#![expect(clippy::float_cmp, reason = "units are whole numbers")]

use minutehand_domain::limits::Concurrent;
use minutehand_ports::Seats;
use minutehand_ports::store::Claim;
use minutehand_store_dynamodb::{DynamoStore, Groups, MeteredCall};

use crate::world::{COLLECTION, World, at, held, in_both_ways, scheduled};

/// A claim with a lease until then.
fn until(id: &str, lease: i64) -> Claim {
    Claim { lease_until: at(lease), ..held(&scheduled(60), id) }
}

async fn takes(store: &DynamoStore, claim: &Claim, limit: u32, now: i64) -> bool {
    store.take_seat(claim, Concurrent::new(limit).unwrap(), at(now)).await.unwrap()
}

async fn taken(store: &DynamoStore, now: i64) -> u32 {
    store.taken_seats(COLLECTION, at(now)).await.unwrap()
}

#[tokio::test]
async fn so_many_seats_are_taken_and_given_back() {
    in_both_ways(async |world| {
        let store = &world.store;
        assert_eq!(taken(store, 60).await, 0);
        let claims = ["a", "b", "c"].map(|id| until(id, 160));
        assert!(takes(store, &claims[0], 2, 60).await);
        assert!(takes(store, &claims[1], 2, 60).await);
        assert!(!takes(store, &claims[2], 2, 60).await);
        // To take a seat again changes nothing, as if an answer was lost.
        assert!(takes(store, &claims[1], 2, 60).await);
        assert_eq!(taken(store, 60).await, 2);
        for _ in 0..2 {
            store.give_back_seat(&claims[0]).await.unwrap();
        }
        store.give_back_seat(&claims[2]).await.unwrap();
        assert_eq!(taken(store, 60).await, 1);
        assert!(takes(store, &claims[2], 2, 60).await);
        // A higher limit has more seats, a lower one none until enough are given back.
        assert!(takes(store, &claims[0], 3, 60).await);
        assert!(!takes(store, &until("d", 160), 2, 60).await);
        store.give_back_seat(&claims[0]).await.unwrap();
        assert!(!takes(store, &until("d", 160), 2, 60).await);
        store.give_back_seat(&claims[1]).await.unwrap();
        assert!(takes(store, &until("d", 160), 2, 60).await);
    })
    .await;
}

#[tokio::test]
async fn to_give_back_the_first_seat_that_nobody_took_does_nothing() {
    in_both_ways(async |world| {
        world.store.give_back_seat(&until("a", 160)).await.unwrap();
        assert_eq!(taken(&world.store, 60).await, 0);
        assert!(takes(&world.store, &until("a", 160), 1, 60).await);
    })
    .await;
}

#[tokio::test]
async fn a_seat_is_free_again_when_its_lease_is_over() {
    in_both_ways(async |world| {
        let store = &world.store;
        for (n, lease) in [(0, 160), (1, 170), (2, 180)] {
            assert!(takes(store, &until(&format!("dead{n}"), lease), 3, 60).await);
        }
        let next = until("next", 270);
        assert!(!takes(store, &next, 3, 160).await);
        assert_eq!(taken(store, 160).await, 3);
        assert!(takes(store, &next, 3, 161).await);
        assert_eq!(taken(store, 161).await, 3);
        assert!(!takes(store, &until("another", 270), 3, 161).await);
        assert_eq!(taken(store, 171).await, 2);
        // All that are over make room at once.
        assert!(takes(store, &until("another", 290), 1, 271).await);
        assert_eq!(taken(store, 160).await, 1);
    })
    .await;
}

#[tokio::test]
async fn hundreds_of_seats_whose_leases_are_over_make_room() {
    in_both_ways(async |world| {
        let store = &world.store;
        for n in 0..100 {
            assert!(takes(store, &until(&format!("dead{n}"), 160), 100, 60).await);
        }
        assert!(!takes(store, &until("one", 260), 100, 160).await);
        for n in 0..100 {
            assert!(takes(store, &until(&format!("next{n}"), 260), 100, 161).await, "{n}");
        }
        assert!(!takes(store, &until("more", 260), 100, 161).await);
        assert_eq!(taken(store, 60).await, 100);
    })
    .await;
}

#[tokio::test]
async fn claims_that_ask_at_once_get_no_more_seats_than_there_are() {
    in_both_ways(async |world| {
        for n in 0..3 {
            assert!(takes(&world.store, &until(&format!("dead{n}"), 100), 5, 60).await);
        }
        let claims: Vec<_> = (0..40).map(|n| until(&format!("c{n}"), 260)).collect();
        let asked = claims.iter().map(|claim| takes(&world.store, claim, 5, 161));
        let got = futures_util::future::join_all(asked).await;
        let seats = got.into_iter().filter(|got| *got).count();
        assert_eq!(taken(&world.store, 161).await as usize, seats);
        assert!((1..=5).contains(&seats), "{seats}");
    })
    .await;
}

#[tokio::test]
async fn the_seats_of_an_earlier_process_are_void() {
    let world = World::embedded(Groups::Transactions).await;
    let (one, two) = (world.store.clone().alone("p1"), world.store.clone().alone("p2"));
    assert!(takes(&one, &until("a", 160), 1, 60).await);
    assert!(!takes(&one, &until("b", 160), 1, 60).await);
    assert_eq!((taken(&one, 60).await, taken(&two, 60).await), (1, 0));
    assert!(takes(&two, &until("b", 160), 1, 60).await);
    assert_eq!((taken(&one, 60).await, taken(&two, 60).await), (0, 1));
}

#[tokio::test]
async fn a_seat_costs_a_unit_to_take_and_one_to_give_back() {
    let world = World::embedded(Groups::Singles).await;
    let consumed = |call| world.meter.take().get(&call).copied().unwrap_or_default();
    let (first, second) = (until("a", 160), until("b", 160));
    assert!(takes(&world.store, &first, 10, 60).await);
    assert_eq!(consumed(MeteredCall::Seats).failed_conditions, 1);
    for _ in 0..3 {
        assert!(takes(&world.store, &second, 10, 60).await);
        let took = consumed(MeteredCall::Seats);
        assert_eq!((took.units, took.failed_conditions), (1.0, 0));
        world.store.give_back_seat(&second).await.unwrap();
        assert_eq!(consumed(MeteredCall::Seats).units, 1.0);
    }
    assert_eq!(taken(&world.store, 60).await, 1);
    assert_eq!(consumed(MeteredCall::ReadSeats).units, 1.0);
    // An item of twenty claims is one of a unit.
    for n in 2..20 {
        let claim = until(&format!("01hzzzzzzzzzzzzzzzzzzzzzz{n:02}"), 160);
        assert!(takes(&world.store, &claim, 20, 60).await);
        assert_eq!(consumed(MeteredCall::Seats).units, 1.0, "{n}");
    }
}
