//! Counting: once, and only on what was read.

use std::sync::Arc;

use chrono::TimeDelta;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage, SkipReason};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::recent::{LastSkip, Mark};
use minutehand_domain::recently_counted::{IsCounted, RecentlyCounted};
use minutehand_ports::store::{
    Advance, Counted, CounterUpdate, CountersAdd, JobSnapshot, TimerKey,
};
use minutehand_ports::{Counters, Snapshots, Timers};
use minutehand_store_dynamodb::{BatchingStore, Groups};

use crate::world::{JOB, World, at, job_ref, scheduled};

const WAYS: [Groups; 2] = [Groups::Transactions, Groups::Singles];

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

/// Whether the attempt of this second is remembered as counted.
fn is_counted(read: &JobSnapshot, second: i64) -> bool {
    read.recently_counted.has(&scheduled(second), Some(at(second + 1))) == IsCounted::Yes
}

const OFF: SkipReason = SkipReason::CollectionOff;

fn marked(mark: Mark) -> CountersAdd {
    CountersAdd { mark: Some(mark), ..one() }
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
            ..CountersAdd::default()
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
async fn results_and_skips_are_written_with_the_count() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let skip = |first, last| LastSkip { last: at(last), ..LastSkip::one(at(first), OFF) };
        for (second, add, results, last_skip) in [
            (60, marked(Mark::Ok), "o", None),
            // An attempt that a retry follows.
            (120, one(), "o", None),
            (180, marked(Mark::Failed), "of", None),
            (240, CountersAdd::skipped(skip(240, 240)), "ofs", Some((240, 240, 1))),
            (300, CountersAdd::skipped(skip(300, 300)), "ofss", Some((240, 300, 2))),
            (360, marked(Mark::Retried), "ofssr", Some((240, 300, 2))),
        ] {
            let now = read(&world).await;
            let update = counting(&now.recently_counted, second, add);
            let update = CounterUpdate { counters: now.counters, ..update };
            assert!(count(&world, &update).await);
            // The answer was lost.
            assert!(count(&world, &update).await);
            let counters = read(&world).await.counters;
            assert_eq!(counters.results().letters(), results, "{second}");
            let found = counters.last_skip.map(|it| (it.first, it.last, it.occurrences));
            let last_skip = last_skip.map(|(first, last, n)| (at(first), at(last), n));
            assert_eq!(found, last_skip, "{second}");
        }
    }
}

#[tokio::test]
async fn skips_that_a_sweeper_counts_meanwhile_are_among_the_results() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        let before = read(&world).await;
        let reason = LeftOutReason::Outage(Outage { from: at(100), until: at(400) });
        let (first, last, occurrences) = (at(120), at(180), 2);
        let left_out = LeftOut { generation: 1, first, last, occurrences, reason, at: at(410) };
        let timer = TimerKey::Job {
            job_uid: JOB.to_owned(),
            generation: 1,
            state: JobState::Enabled,
            is_spent: false,
            left_out: vec![left_out],
        };
        let advance = Advance { timer, from: at(60), to: at(900) };
        assert!(world.store.advance(&[advance]).await.remove(0).unwrap());
        // Two workers, of which one has read the job before and the other one after that.
        let mut update = counting(&before.recently_counted, 60, marked(Mark::Ok));
        let after = counting(&before.recently_counted, 240, marked(Mark::Failed));
        update.join(CounterUpdate { counters: read(&world).await.counters, ..after }).unwrap();
        assert!(count(&world, &update).await);
        assert_eq!(read(&world).await.counters.results().letters(), "ssof");
        // One that has read the job before.
        let late = counting(&read(&world).await.recently_counted, 300, marked(Mark::Late));
        assert!(count(&world, &CounterUpdate { counters: before.counters, ..late }).await);
        assert_eq!(read(&world).await.counters.results().letters(), "lss");
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
        assert_eq!(all.join(later.clone()), Err(Box::new(later)));
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

#[tokio::test]
async fn an_update_of_a_deleted_job_counts_nothing() {
    for groups in WAYS {
        let world = World::new(groups).await;
        assert!(!count(&world, &counting(&RecentlyCounted::default(), 60, one())).await);
        assert!(world.raw(&format!("T#{JOB}")).await.is_empty());
    }
}
