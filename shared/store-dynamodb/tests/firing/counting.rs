//! Counting: once, and only on what was read. What comes together is read and counted together.

use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::join_all;
use minutehand_domain::job::JobCounters;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_ports::store::{Counted, CounterUpdate, CountersAdd, JobSnapshot};
use minutehand_ports::{Counters, Snapshots};
use minutehand_store_dynamodb::{MeteredCall, gathering};

use crate::world::{JOB, World, at, job_ref, scheduled};

async fn read(world: &World) -> Arc<JobSnapshot> {
    world.store.read(&job_ref()).await.unwrap().unwrap()
}

async fn count(world: &World, update: &CounterUpdate) -> bool {
    world.store.add(update).await.unwrap()
}

fn counting(as_read: &RecentlyCounted, second: i64, add: CountersAdd) -> CounterUpdate {
    let counters = JobCounters::default();
    let counted = Counted { attempt: scheduled(second), ended_at: Some(at(second + 1)), add };
    let (job_uid, as_read) = (JOB.to_owned(), as_read.clone());
    CounterUpdate { job_uid, as_read, counters, counted: vec![counted] }
}

fn one() -> CountersAdd {
    CountersAdd { executions: 1, last_execution_at: Some(at(60)), ..CountersAdd::default() }
}

#[tokio::test]
async fn what_is_evicted_expires_with_its_history() {
    let world = World::with_job().await;
    for n in 0..60 {
        let now = read(&world).await;
        assert!(count(&world, &counting(&now.recently_counted, 60 * n, one())).await);
    }
    let days = |days: i64| at(40 * 60) + TimeDelta::days(days);
    assert_eq!(world.expire(days(59)).await, 0);
    assert_eq!(world.expire(days(60)).await, 1);
}

#[tokio::test]
async fn updates_on_the_same_reading_are_one_write_and_one_on_another_reading_fails() {
    let world = World::in_process().await.and_job().await;
    let (_, counters) = gathering(&Arc::new(world.store.clone()));
    let before = read(&world).await.recently_counted.clone();
    assert!(count(&world, &counting(&before, 0, one())).await);
    let now = read(&world).await.recently_counted.clone();
    let _ = world.meter.take();
    let updates: Vec<_> = (1..=40).map(|n| counting(&now, 60 * n, one())).collect();
    let late = counting(&before, 60 * 41, one());
    let calls = updates.iter().chain([&late]).map(|update| counters.add(update));
    let counted: Vec<bool> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(counted, [vec![true; 40], vec![false]].concat());
    assert_eq!(read(&world).await.counters.executions, 41);
    let wrote = world.meter.consumed_by(MeteredCall::Count);
    assert_eq!((wrote.requests, wrote.failed_conditions), (1, 1));
}

#[tokio::test]
async fn jobs_that_are_read_together_share_the_switch_of_their_collection() {
    let world = World::in_process().await.and_job().await;
    let (snapshots, _) = gathering(&Arc::new(world.store.clone()));
    let job = job_ref();
    assert!(snapshots.read(&job).await.unwrap().is_some());
    let _ = world.meter.take();
    // So few that all are asked before the first one is read.
    let read = join_all((0..100).map(|_| snapshots.read(&job))).await;
    assert!(read.into_iter().all(|snapshot| snapshot.unwrap().is_some()));
    // A timer and a switch. The definition is known.
    let consumed = world.meter.consumed_by(MeteredCall::Snapshot);
    assert_eq!((consumed.requests, consumed.units), (1, 2.0));
}
