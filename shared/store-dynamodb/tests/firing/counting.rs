//! Counting: once, and only on what was read.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::recently_counted::{IsCounted, RecentlyCounted};
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

/// Whether the attempt of this second is remembered as counted.
fn is_counted(read: &JobSnapshot, second: i64) -> bool {
    read.recently_counted.has(&scheduled(second), Some(at(second + 1))) == IsCounted::Yes
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
        assert!(is_counted(&after, 60));
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
            assert!(is_counted(&now, second), "{second}");
        }
        let later = counting(&now.recently_counted, 240, one());
        assert_eq!(all.join(later.clone()), Err(later));
    }
}

#[tokio::test]
async fn an_attempt_that_is_no_longer_remembered_is_found_among_the_evicted() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let is_evicted = async |second: i64| {
            let (attempt, ended_at) = (scheduled(second), Some(at(second + 1)));
            world.store.is_evicted(JOB, &attempt, ended_at).await.unwrap()
        };
        for n in 0..200 {
            let now = read(&world).await;
            assert!(count(&world, &counting(&now.recently_counted, 60 * n, one())).await);
        }
        let now = read(&world).await;
        assert_eq!(now.counters.executions, 200);
        for n in 0..200 {
            let has = now.recently_counted.has(&scheduled(60 * n), Some(at(60 * n + 1)));
            match has {
                IsCounted::Yes => assert!(!is_evicted(60 * n).await, "{n}"),
                IsCounted::IfEvicted => assert!(is_evicted(60 * n).await, "{n}"),
                IsCounted::No => panic!("{n} is counted"),
            }
            // Another one that ended then is not counted.
            assert!(!is_evicted(60 * n + 1).await);
        }
        // A copy of an update that evicted some changes nothing.
        let full = counting(&now.recently_counted, 60 * 200, one());
        assert!(count(&world, &full).await);
        assert!(count(&world, &full).await);
        assert_eq!(read(&world).await.counters.executions, 201);
    }
}

#[tokio::test]
async fn what_is_evicted_expires_with_its_history() {
    let world = World::with_job(Groups::Singles).await;
    for n in 0..60 {
        let now = read(&world).await;
        assert!(count(&world, &counting(&now.recently_counted, 60 * n, one())).await);
    }
    let days = |days: i64| at(40 * 60) + TimeDelta::days(days);
    assert_eq!(world.store.remove_expired(days(59), days(59)).await.unwrap(), 0);
    assert_eq!(world.store.remove_expired(days(60), days(60)).await.unwrap(), 1);
}

#[tokio::test]
async fn an_update_of_a_deleted_job_counts_nothing() {
    for groups in WAYS {
        let world = World::new(groups).await;
        assert!(!count(&world, &counting(&RecentlyCounted::default(), 60, one())).await);
        assert!(world.raw(&format!("T#{JOB}")).await.is_empty());
    }
}
