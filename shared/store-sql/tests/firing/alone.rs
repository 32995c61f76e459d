//! What earlier processes held.

use chrono::TimeDelta;
use minutehand_domain::attempt::{Outcome, Record};
use minutehand_domain::firing::{TurnHolder, TurnOrder};
use minutehand_domain::limits::Concurrent;
use minutehand_ports::store::{CLAIMS_MAX, Claimed, Recorded, TurnsWrite};
use minutehand_ports::{Attempts, Seats, Turns};

use crate::world::{World, at, attempt, claim, request};

fn record() -> Record {
    Record {
        started_at: at(101),
        ended_at: at(102),
        outcome: Outcome::Succeeded,
        message: "done".to_owned(),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: None,
    }
}

#[tokio::test]
async fn a_claim_of_an_earlier_process_is_taken_over_at_once_and_does_not_count() {
    let mut world = World::with_job().await;
    let running = attempt(60);
    for _ in 0..2 * CLAIMS_MAX {
        // Its id may be the same.
        let claimed = world.store.claim(&request(&running, "a")).await.unwrap();
        assert_eq!(claimed, Claimed::Won);
        let other = world.store.claim(&request(&running, "b")).await.unwrap();
        assert_eq!(other, Claimed::Held { left: TimeDelta::seconds(100) });
        world = world.next();
    }
    assert_eq!(world.store.record(&claim(&running, "a"), &record()).await.unwrap(), Recorded::Lost);
    world.store.release(&claim(&running, "a")).await.unwrap();
    assert_eq!(world.store.claim(&request(&running, "c")).await.unwrap(), Claimed::Won);
    let recorded = world.store.record(&claim(&running, "c"), &record()).await.unwrap();
    assert_eq!(recorded, Recorded::Kept);
    let world = world.next();
    let again = world.store.record(&claim(&running, "c"), &record()).await.unwrap();
    assert_eq!(again, Recorded::Already(record()));
}

#[tokio::test]
async fn a_turn_of_an_earlier_process_is_free() {
    let world = World::with_job().await;
    let (first, job) = (attempt(60), claim(&attempt(60), "a").job.uid);
    let holder =
        TurnHolder { attempt: first.clone(), claim_id: "a".to_owned(), lease_until: at(200) };
    let order = TurnOrder { holder: Some(holder.clone()), waiting: Vec::new() };
    let write = TurnsWrite { job_uid: job.clone(), as_read: 0, order, left_out: None };
    assert!(world.store.write_turns(&write).await.unwrap());
    let read = world.store.read_turns(&job, &attempt(120)).await.unwrap();
    assert_eq!(read.order.holder, Some(holder));
    let world = world.next();
    let read = world.store.read_turns(&job, &attempt(120)).await.unwrap();
    assert_eq!((read.number, read.order.holder), (1, None));
    world.store.give_back_turn(&claim(&first, "a")).await.unwrap();
    assert_eq!(world.store.read_turns(&job, &first).await.unwrap().number, 1);
}

#[tokio::test]
async fn a_seat_of_an_earlier_process_is_free_and_a_limit_that_sank_takes_none_away() {
    let world = World::with_job().await;
    let limit = |n| Concurrent::new(n).unwrap();
    let seat = |id: &str| claim(&attempt(60), id);
    let uid = seat("a").job.collection_uid;
    for (id, max, is_taken) in [("a", 2, true), ("b", 2, true), ("c", 2, false), ("a", 1, true)] {
        let taken = world.store.take_seat(&seat(id), limit(max), at(100)).await.unwrap();
        assert_eq!(taken, is_taken, "{id}");
    }
    // A lease lasts to its end.
    assert_eq!(world.store.taken_seats(&uid, at(200)).await.unwrap(), 2);
    assert_eq!(world.store.taken_seats(&uid, at(201)).await.unwrap(), 0);
    world.store.give_back_seat(&seat("b")).await.unwrap();
    assert_eq!(world.store.taken_seats(&uid, at(100)).await.unwrap(), 1);
    let world = world.next();
    assert_eq!(world.store.taken_seats(&uid, at(100)).await.unwrap(), 0);
    assert!(world.store.take_seat(&seat("a"), limit(1), at(100)).await.unwrap());
    assert_eq!(world.store.taken_seats(&uid, at(100)).await.unwrap(), 1);
}
