//! What is prefetched is used as long as nothing of it changed.

use std::sync::Arc;

use chrono::TimeDelta;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::JobState;
use minutehand_domain::journal::{DocumentChange, JournalEntry, Operation, SCHEDULER};
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{
    Advance, Counted, CounterUpdate, CountersAdd, Finish, JobRecord, Pause, SaveJob, Saved,
    TimerKey,
};
use minutehand_ports::{Attempts, Collections, Counters, Jobs, Snapshots, Timers};

use crate::world::{World, at, attempt, claim};

/// Whether a start uses what was prefetched before a change.
async fn is_used(world: &World, change: impl AsyncFnOnce(&World)) -> bool {
    let claim = claim(&attempt(60), "claim");
    let prefetched = world.store.prefetch(&claim).await.unwrap();
    change(world).await;
    let started = world.store.read_for_start(&claim).await.unwrap();
    // If it is read anew, it is what is stored now.
    assert_eq!(started, world.store.read(&claim.job).await.unwrap());
    started.is_some_and(|started| Arc::ptr_eq(&started, &prefetched))
}

async fn replace(world: &World, job: JobRecord, timer_changes: bool) {
    let collection = world.collection().await;
    let save = SaveJob { collection: &collection, job: &job, timer_changes, entry: None };
    assert_eq!(Jobs::replace(&world.store, save).await.unwrap(), Saved::Kept);
}

fn finish(job: &JobRecord) -> Finish {
    Finish {
        job: claim(&attempt(60), "").job,
        version: job.version,
        generation: job.timer.timing.generation,
        state: JobState::Completed,
        expires_at: at(1_000),
    }
}

#[tokio::test]
async fn it_is_used_once_while_nothing_changes() {
    let world = World::with_job().await;
    assert!(is_used(&world, async |_| ()).await);
    let claim = claim(&attempt(60), "claim");
    let prefetched = world.store.prefetch(&claim).await.unwrap();
    let first = world.store.read_for_start(&claim).await.unwrap().unwrap();
    let second = world.store.read_for_start(&claim).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&prefetched, &first) && !Arc::ptr_eq(&prefetched, &second));
}

#[tokio::test]
async fn a_change_of_the_job_or_its_collection_is_seen_at_the_start() {
    let world = World::with_job().await;
    let definition = async |world: &World| {
        let job = JobRecord { document: "{}".to_owned(), ..world.job().await };
        replace(world, job, false).await;
    };
    assert!(!is_used(&world, definition).await);
    let timing = async |world: &World| {
        let mut job = world.job().await;
        job.timer.timing.generation += 1;
        replace(world, job, true).await;
    };
    assert!(!is_used(&world, timing).await);
    let collection = async |world: &World| {
        let mut collection = world.collection().await;
        collection.collection.definition.state = CollectionState::Disabled;
        let replaced = Collections::replace(&world.store, &collection, None).await;
        assert_eq!(replaced.unwrap(), Saved::Kept);
    };
    assert!(!is_used(&world, collection).await);
    let spent = async |world: &World| {
        let timer = world.job().await.timer;
        let key = TimerKey::Job {
            job_uid: claim(&attempt(60), "").job.uid,
            generation: timer.timing.generation,
            state: JobState::Enabled,
            is_spent: true,
            left_out: Vec::new(),
        };
        let from = timer.due_at.unwrap();
        let advance = Advance { timer: key, from, to: from + TimeDelta::seconds(60), at: from };
        assert!(world.store.advance(&[advance]).await.remove(0).unwrap());
    };
    assert!(!is_used(&world, spent).await);
    let paused = async |world: &World| {
        let job = world.job().await;
        let timing = job.timer.timing;
        let pause = Pause {
            job: claim(&attempt(60), "").job,
            version: job.version,
            timing: Timing { generation: timing.generation + 1, ..timing },
            document: "{\"paused\":1}".to_owned(),
            ended: EarlierTiming::ending(&timing, None),
            entry: JournalEntry {
                at: at(60),
                who: SCHEDULER.to_owned(),
                request_id: String::new(),
                operation: Operation::Paused,
                job: None,
                difference: DocumentChange::default(),
                run: None,
            },
        };
        assert!(world.store.pause(&pause).await.unwrap());
    };
    assert!(!is_used(&world, paused).await);
}

#[tokio::test]
async fn the_end_of_a_job_is_seen_at_the_start() {
    let world = World::with_job().await;
    let finished = async |world: &World| {
        let finish = finish(&world.job().await);
        assert!(world.store.expire_definition(&finish).await.unwrap());
        assert!(world.store.finish(&finish).await.unwrap());
    };
    assert!(!is_used(&world, finished).await);
    for is_collection in [false, true] {
        let world = World::with_job().await;
        let deleted = async |world: &World| {
            let (collection, job) = (world.collection().await, world.job().await);
            let deleted = if is_collection {
                Collections::delete(&world.store, &collection, at(0), None).await
            } else {
                Jobs::delete(&world.store, &collection, &job, None).await
            };
            assert_eq!(deleted.unwrap(), Saved::Kept);
        };
        assert!(!is_used(&world, deleted).await);
    }
}

#[tokio::test]
async fn counts_and_moves_leave_it_as_it_is() {
    let world = World::with_job().await;
    let claim = claim(&attempt(60), "claim");
    let prefetched = world.store.prefetch(&claim).await.unwrap();
    let counted = Counted {
        attempt: attempt(30),
        ended_at: Some(at(31)),
        add: CountersAdd { executions: 1, ..CountersAdd::default() },
    };
    let update = CounterUpdate {
        job_uid: claim.job.uid.clone(),
        as_read: RecentlyCounted::default(),
        counters: prefetched.counters,
        counted: vec![counted],
    };
    assert!(world.store.add(&update).await.unwrap());
    let from = world.job().await.timer.due_at.unwrap();
    let timer = TimerKey::Job {
        job_uid: claim.job.uid.clone(),
        generation: 0,
        state: JobState::Enabled,
        is_spent: false,
        left_out: Vec::new(),
    };
    let advance = Advance { timer, from, to: from + TimeDelta::seconds(60), at: from };
    assert!(world.store.advance(&[advance]).await.remove(0).unwrap());
    let started = world.store.read_for_start(&claim).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&started, &prefetched));
    // What is counted on it is decided anew.
    let late = CounterUpdate { as_read: started.recently_counted.clone(), ..update };
    let other = Counted { attempt: attempt(90), ..late.counted[0].clone() };
    assert!(!world.store.add(&CounterUpdate { counted: vec![other], ..late }).await.unwrap());
}

#[tokio::test]
async fn what_was_prefetched_for_a_claim_goes_with_it() {
    let world = World::with_job().await;
    let claim = claim(&attempt(60), "claim");
    for is_release in [true, false] {
        let prefetched = world.store.prefetch(&claim).await.unwrap();
        if is_release {
            world.store.release(&claim).await.unwrap();
        } else {
            world.store.postpone(&claim, TimeDelta::seconds(500), at(100)).await.unwrap();
        }
        let started = world.store.read_for_start(&claim).await.unwrap().unwrap();
        assert!(!Arc::ptr_eq(&started, &prefetched));
    }
}
