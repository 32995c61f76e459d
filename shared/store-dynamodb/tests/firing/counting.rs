//! Counting: once, and only on what was read.

use std::sync::Arc;

use domain::recently_counted::RecentlyCounted;
use minutehand_store_dynamodb::Groups;
use ports::store::{Counted, CounterUpdate, CountersAdd, JobSnapshot};
use ports::{Counters, Snapshots};

use crate::world::{JOB, World, at, job_ref, scheduled};

const WAYS: [Groups; 2] = [Groups::Transactions, Groups::Singles];

async fn read(world: &World) -> Arc<JobSnapshot> {
    world.store.read(&job_ref()).await.unwrap().unwrap()
}

async fn count(world: &World, update: &CounterUpdate) -> bool {
    world.store.add(update).await.unwrap()
}

fn counting(as_read: &RecentlyCounted, second: i64, add: CountersAdd) -> CounterUpdate {
    let counted = Counted { attempt: scheduled(second), ended_at: Some(at(second + 1)), add };
    CounterUpdate { job_uid: JOB.to_owned(), as_read: as_read.clone(), counted: vec![counted] }
}

fn one() -> CountersAdd {
    CountersAdd { executions: 1, last_execution_at: Some(at(60)), ..CountersAdd::default() }
}

#[tokio::test]
async fn an_update_fails_if_others_were_counted_since_the_reading() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let before = read(&world).await;
        assert_eq!(before.recently_counted, RecentlyCounted::default());
        assert!(count(&world, &counting(&before.recently_counted, 60, one())).await);
        // Another attempt was decided on what was there before.
        assert!(!count(&world, &counting(&before.recently_counted, 120, one())).await);
        let after = read(&world).await;
        assert!(after.recently_counted.has(&scheduled(60), Some(at(61))));
        assert_eq!(after.counters.executions, 1);
        assert!(count(&world, &counting(&after.recently_counted, 120, one())).await);
        assert_eq!(read(&world).await.counters.executions, 2);
    }
}

#[tokio::test]
async fn a_repeated_update_counts_once() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let update = counting(&RecentlyCounted::default(), 60, one());
        assert!(count(&world, &update).await);
        assert!(count(&world, &update).await);
        assert_eq!(read(&world).await.counters.executions, 1);
    }
}

#[tokio::test]
async fn each_counter_is_added_to_separately() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let add = CountersAdd {
            executions: 5,
            failures: 4,
            faulted: 3,
            skipped: 2,
            last_execution_at: Some(at(60)),
        };
        assert!(count(&world, &counting(&RecentlyCounted::default(), 60, add)).await);
        let now = read(&world).await;
        let more = CountersAdd { skipped: 1, ..CountersAdd::default() };
        assert!(count(&world, &counting(&now.recently_counted, 120, more)).await);
        let now = read(&world).await;
        let counters = now.counters;
        assert_eq!((counters.executions, counters.failures, counters.faulted), (5, 4, 3));
        assert_eq!(counters.skipped, 3);
        assert_eq!(counters.last_execution_at, Some(at(60)));
        assert_eq!(world.job().await.timer.counters, counters);
    }
}

#[tokio::test]
async fn joined_updates_are_one_write() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let nothing = RecentlyCounted::default();
        let skipped = CountersAdd { skipped: 1, ..CountersAdd::default() };
        let mut all = counting(&nothing, 120, one());
        all.join(counting(&nothing, 60, one())).unwrap();
        all.join(counting(&nothing, 180, skipped)).unwrap();
        // A copy of a message.
        all.join(counting(&nothing, 120, one())).unwrap();
        assert!(count(&world, &all).await);
        // The answer was lost.
        assert!(count(&world, &all).await);
        let now = read(&world).await;
        assert_eq!((now.counters.executions, now.counters.skipped), (2, 1));
        for second in [60, 120, 180] {
            assert!(now.recently_counted.has(&scheduled(second), None), "{second}");
        }
        let later = counting(&now.recently_counted, 240, one());
        assert_eq!(all.join(later.clone()), Err(later));
    }
}

#[tokio::test]
async fn an_update_of_a_deleted_job_counts_nothing() {
    for groups in WAYS {
        let world = World::new(groups).await;
        assert!(!count(&world, &counting(&RecentlyCounted::default(), 60, one())).await);
        assert!(world.raw(&format!("T#{JOB}")).await.is_empty());
    }
}
