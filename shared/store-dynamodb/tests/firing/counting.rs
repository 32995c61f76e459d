//! Counting: once, and only on what was read.

use std::sync::Arc;

use chrono::TimeDelta;
use minutehand_domain::job::JobCounters;
use minutehand_domain::recently_counted::{IsCounted, RecentlyCounted};
use minutehand_ports::store::{Counted, CounterUpdate, CountersAdd, JobSnapshot};
use minutehand_ports::{Counters, Snapshots};
use minutehand_store_dynamodb::{BatchingStore, Groups};

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

const WAYS: [Groups; 2] = [Groups::Transactions, Groups::Singles];

fn one() -> CountersAdd {
    CountersAdd { executions: 1, last_execution_at: Some(at(60)), ..CountersAdd::default() }
}

#[tokio::test]
async fn what_is_evicted_expires_with_its_history() {
    let world = World::with_job(Groups::Singles).await;
    for n in 0..60 {
        let now = read(&world).await;
        assert!(count(&world, &counting(&now.recently_counted, 60 * n, one())).await);
    }
    let days = |days: i64| at(40 * 60) + TimeDelta::days(days);
    assert_eq!(world.store.remove_expired(days(59), days(59), None).await.unwrap(), 0);
    assert_eq!(world.store.remove_expired(days(60), days(60), None).await.unwrap(), 1);
}

/// Calls that are made at the same time are looked up as one group.
#[tokio::test]
async fn evicted_attempts_are_found_in_each_order_in_which_a_group_asks_for_them() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        // So many that the list forgets some twice, and two items hold them.
        for n in 0..100 {
            let now = read(&world).await;
            assert!(count(&world, &counting(&now.recently_counted, 60 * n, one())).await);
        }
        let now = read(&world).await;
        let evicted = (0..100).filter(|n| {
            let has = now.recently_counted.has(&scheduled(60 * n), Some(at(60 * n + 1)));
            has == IsCounted::IfEvicted
        });
        let evicted: Vec<i64> = evicted.collect();
        let (first, last) = (evicted[0], evicted[evicted.len() - 1]);
        let store = BatchingStore::new(Arc::new(world.store.clone()));
        let is_evicted = async |n: i64| {
            let (attempt, ended_at) = (scheduled(60 * n), Some(at(60 * n + 1)));
            store.is_evicted(JOB, &attempt, ended_at).await.unwrap()
        };
        for [one, other] in [[first, last], [last, first]] {
            let found = futures_util::future::join(is_evicted(one), is_evicted(other)).await;
            assert_eq!(found, (true, true), "{one} {other}");
        }
    }
}
