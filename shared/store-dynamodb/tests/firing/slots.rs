//! Slots: when the attempts of a collection may start, if it limits them.

#![expect(clippy::float_cmp, reason = "units are whole numbers")]

use chrono::TimeDelta;
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{SLOTS_AHEAD, Slot, SlotBook, Waited};
use minutehand_domain::limits::PerSecond;
use minutehand_ports::store::{Claimed, SlotRequest};
use minutehand_ports::{Attempts, Slots};
use minutehand_store_dynamodb::MeteredCall;

use crate::world::{COLLECTION, World, at, claim, held, scheduled};

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

impl World {
    async fn opens(&self, as_read: Option<SlotBook>, book: SlotBook) -> bool {
        self.store.open_slots(COLLECTION, as_read, book).await.unwrap()
    }

    async fn takes(&self, request: SlotRequest<'_>) -> Option<Slot> {
        self.store.take_slot(request).await.unwrap()
    }

    async fn book(&self) -> Option<SlotBook> {
        self.store.read_slots(COLLECTION).await.unwrap()
    }
}

fn with_slot(attempt: &Attempt) -> Attempt {
    let slot = Slot { at: at(600), book: 0 };
    Attempt { waited: Some(Waited::Slot(slot)), ..attempt.clone() }
}

#[tokio::test]
async fn a_slot_costs_a_unit_to_take_and_one_to_read() {
    let world = World::in_process().await;
    let units = |call| world.meter.take().get(&call).copied().unwrap_or_default().units;
    assert!(world.opens(None, book(0, 60, 4)).await);
    assert_eq!(units(MeteredCall::Slots), 1.0);
    assert!(world.takes(request(4, 60)).await.is_some());
    assert_eq!(units(MeteredCall::Slots), 1.0);
    assert!(world.book().await.is_some());
    assert_eq!(units(MeteredCall::ReadSlots), 1.0);
    let first = scheduled(60);
    world.claim(claim(&first, "one")).await;
    world.store.postpone(&held(&first, "one"), TimeDelta::seconds(500), at(100)).await.unwrap();
    assert_eq!(units(MeteredCall::Postpone), 1.0);
    // With its slot it is claimed by one write.
    drop(world.meter.take());
    assert_eq!(world.claim(claim(&with_slot(&first), "two")).await, Claimed::Won);
    let claims = world.meter.take()[&MeteredCall::Claim];
    assert_eq!((claims.units, claims.failed_conditions), (1.0, 0));
}
