//! Seats: how many attempts of a collection run at the same time, if it limits them.

#![expect(clippy::float_cmp, reason = "units are whole numbers")]

use minutehand_domain::limits::Concurrent;
use minutehand_ports::Seats;
use minutehand_ports::store::Claim;
use minutehand_store_dynamodb::{DynamoStore, MeteredCall};

use crate::world::{COLLECTION, World, at, held, scheduled};

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
async fn a_seat_costs_a_unit_to_take_and_one_to_give_back() {
    let world = World::in_process().await;
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
