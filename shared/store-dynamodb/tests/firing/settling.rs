//! Counting: once, and only on what was read.

use domain::settled::Settled;
use ports::FiringStore;
use ports::firing::{CountersAdd, Settlement, Sight};
use store_dynamodb::Groups;

use crate::world::{JOB, World, at, job_ref, scheduled};

const WAYS: [Groups; 2] = [Groups::Transactions, Groups::Singles];

async fn look(world: &World) -> Sight {
    world.store.look(&[job_ref()]).await.unwrap().remove(0).unwrap()
}

async fn settle(world: &World, settlement: &Settlement) -> bool {
    world.store.settle(std::slice::from_ref(settlement)).await.remove(0).unwrap()
}

fn counting(as_read: &Settled, second: i64, add: CountersAdd) -> Settlement {
    let mut settled = as_read.clone();
    settled.add(&scheduled(second), at(second + 1));
    Settlement { job_uid: JOB.to_owned(), as_read: as_read.clone(), settled, add }
}

fn one() -> CountersAdd {
    CountersAdd { executions: 1, last_execution_at: Some(at(60)), ..CountersAdd::default() }
}

#[tokio::test]
async fn what_was_counted_in_between_is_seen() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let before = look(&world).await;
        assert_eq!(before.settled, Settled::default());
        assert!(settle(&world, &counting(&before.settled, 60, one())).await);
        // Another attempt was decided on what was there before.
        assert!(!settle(&world, &counting(&before.settled, 120, one())).await);
        let after = look(&world).await;
        assert!(after.settled.has(&scheduled(60), at(61)));
        assert_eq!(after.counters.executions, 1);
        assert!(settle(&world, &counting(&after.settled, 120, one())).await);
        assert_eq!(look(&world).await.counters.executions, 2);
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_counts_nothing_twice() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let settlement = counting(&Settled::default(), 60, one());
        assert!(settle(&world, &settlement).await);
        assert!(settle(&world, &settlement).await);
        assert_eq!(look(&world).await.counters.executions, 1);
    }
}

#[tokio::test]
async fn every_sum_is_its_own() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let add = CountersAdd {
            executions: 5,
            failures: 4,
            faulted: 3,
            skipped: 2,
            last_execution_at: Some(at(60)),
        };
        assert!(settle(&world, &counting(&Settled::default(), 60, add)).await);
        let now = look(&world).await;
        let more = CountersAdd { skipped: 1, ..CountersAdd::default() };
        assert!(settle(&world, &counting(&now.settled, 120, more)).await);
        let now = look(&world).await;
        let counters = now.counters;
        assert_eq!((counters.executions, counters.failures, counters.faulted), (5, 4, 3));
        assert_eq!(counters.skipped, 3);
        assert_eq!(counters.last_execution_at, Some(at(60)));
        assert_eq!(world.job().await.timer.counters, counters);
    }
}

#[tokio::test]
async fn what_is_only_skipped_is_counted_without_a_memory() {
    let world = World::with_job(Groups::Singles).await;
    let nothing = Settled::default();
    let skipped = Settlement {
        job_uid: JOB.to_owned(),
        as_read: nothing.clone(),
        settled: nothing,
        add: CountersAdd { skipped: 9, ..CountersAdd::default() },
    };
    assert!(settle(&world, &skipped).await);
    let now = look(&world).await;
    assert_eq!(now.counters.skipped, 9);
    assert!(settle(&world, &counting(&now.settled, 60, one())).await);
}

#[tokio::test]
async fn a_job_that_is_gone_counts_nothing() {
    for groups in WAYS {
        let world = World::new(groups).await;
        assert!(!settle(&world, &counting(&Settled::default(), 60, one())).await);
        assert!(world.raw(&format!("T#{JOB}")).await.is_empty());
    }
}
