//! Timers: what the index shows, moving on, finishing.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Due, DueTimer, Finish, JobRecord, JobTimer, LongRetry, PageRequest, SaveJob, Saved,
    TimerKey, TimerRecord,
};
use minutehand_ports::{Collections, History, Jobs, Removal, RetryTimers, Timers};
use minutehand_store_dynamodb::{BatchingStore, Groups};

use crate::world::{COLLECTION, JOB, World, at, collection, job, job_ref};

const WAYS: [Groups; 2] = [Groups::Transactions, Groups::Singles];

/// How long a test waits to be woken. It takes microseconds.
const WAKE_MAX: Duration = Duration::from_secs(10);

fn key(is_spent: bool) -> TimerKey {
    let (job_uid, state) = (JOB.to_owned(), JobState::Enabled);
    TimerKey::Job { job_uid, generation: 1, state, is_spent, left_out: Vec::new() }
}

fn advance(timer: TimerKey, from: i64, to: i64) -> Advance {
    Advance { timer, from: at(from), to: at(to) }
}

async fn advanced(world: &World, advance: Advance) -> bool {
    world.store.advance(&[advance]).await.remove(0).unwrap()
}

#[tokio::test]
async fn the_index_shows_everything_a_sweep_needs() {
    let world = World::with_job(Groups::Singles).await;
    let timer = JobTimer {
        job: job_ref(),
        state: JobState::Enabled,
        generation: 1,
        timetable: job("Job").timer.timetable.unwrap(),
        is_spent: false,
    };
    let due = Due { due_at: at(60), what: DueTimer::Job(timer) };
    assert_eq!(world.due(JOB, 60).await, [due]);
    assert_eq!(world.due(JOB, 59).await, []);
}

/// The sweeper sleeps until the first timer is due, and a dispatcher may set an earlier one.
#[tokio::test]
async fn the_sweeper_is_woken_when_timers_are_moved() {
    let world = World::with_job(Groups::Transactions).await;
    let store = BatchingStore::new(Arc::new(world.store.clone()));
    let changes = store.timer_changes();
    let next = async || tokio::time::timeout(WAKE_MAX, changes.next()).await.unwrap();
    for moves in [[(60, 120), (60, 90)], [(90, 95), (120, 180)]] {
        let advances = moves.map(|(from, to)| advance(key(false), from, to));
        store.advance(&advances).await;
        let first = moves.iter().map(|(_, to)| at(*to)).min();
        assert_eq!(Some(next().await), first);
    }
}

#[tokio::test]
async fn a_disabled_job_is_not_due() {
    let world = World::new(Groups::Singles).await;
    let off = job("Job");
    let timer = TimerRecord {
        state: JobState::Disabled,
        timetable: None,
        due_at: None,
        ..off.timer.clone()
    };
    world.put_job(&collection(), &JobRecord { timer, ..off }).await;
    assert_eq!(world.due(JOB, 1_000_000).await, []);
}

#[tokio::test]
async fn a_timer_moves_only_from_where_it_was_seen() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        assert!(advanced(&world, advance(key(false), 60, 900)).await);
        assert!(!advanced(&world, advance(key(false), 60, 900)).await, "it was there before");
        let other = |generation, state| TimerKey::Job {
            job_uid: JOB.to_owned(),
            generation,
            state,
            is_spent: false,
            left_out: Vec::new(),
        };
        assert!(!advanced(&world, advance(other(2, JobState::Enabled), 900, 901)).await);
        assert!(!advanced(&world, advance(other(1, JobState::Completed), 900, 901)).await);
        assert_eq!(world.job().await.timer.due_at, Some(at(900)));
        assert!(advanced(&world, advance(key(true), 900, 2_100)).await);
        let [Due { due_at, what: DueTimer::Job(timer) }] = &world.due(JOB, 2_100).await[..] else {
            panic!("one timer of a job is due");
        };
        assert_eq!((*due_at, timer.is_spent), (at(2_100), true));
        let gone = TimerKey::Job {
            job_uid: "gone".to_owned(),
            generation: 1,
            state: JobState::Enabled,
            is_spent: false,
            left_out: Vec::new(),
        };
        assert!(!advanced(&world, advance(gone, 60, 900)).await);
        let left_out = |occurrences| LeftOut {
            generation: 1,
            first: at(1_200),
            last: at(1_200 + 60 * i64::try_from(occurrences).unwrap()),
            occurrences,
            reason: LeftOutReason::Outage(Outage { from: at(1_190), until: at(2_000) }),
            at: at(2_050),
        };
        let overtaken = |occurrences| TimerKey::Job {
            job_uid: JOB.to_owned(),
            generation: 1,
            state: JobState::Enabled,
            is_spent: true,
            left_out: vec![left_out(occurrences)],
        };
        assert!(advanced(&world, advance(overtaken(3), 2_100, 3_000)).await);
        assert!(!advanced(&world, advance(overtaken(2), 2_100, 3_000)).await);
        let counters = world.job().await.timer.counters;
        assert_eq!(counters.skipped, 3, "counted with the move alone");
        assert_eq!(counters.results().letters(), "sss");
        assert_eq!(counters.last_skip, Some(LastSkip::from(&left_out(3))));
        // What goes further is kept.
        let page = PageRequest { from: None, items_max: 10 };
        let kept = world.store.list_left_out(JOB, page).await.unwrap().items;
        assert_eq!(kept, [left_out(3)]);
        assert!(world.raw("T#gone").await.is_empty(), "nothing comes to life again");
    }
}

#[tokio::test]
async fn a_new_timing_resets_the_timer() {
    let world = World::with_job(Groups::Singles).await;
    assert!(advanced(&world, advance(key(true), 60, 900)).await);
    assert!(world.job().await.timer.is_spent);
    let old = world.job().await;
    let mut timer = TimerRecord { due_at: Some(at(3_600)), is_spent: false, ..old.timer.clone() };
    timer.timing.generation = 2;
    let job = JobRecord { timer, ..old };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: true, entry: None };
    assert_eq!(Jobs::replace(&world.store, save).await.unwrap(), Saved::Kept);
    let now = world.job().await.timer;
    assert_eq!((now.is_spent, now.due_at), (false, Some(at(3_600))));
}

#[tokio::test]
async fn a_job_finishes_once() {
    let world = World::with_job(Groups::Singles).await;
    let expires_at = at(61) + TimeDelta::days(60);
    let state = JobState::Faulted;
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at };
    let older = Finish { version: 0, ..finish.clone() };
    assert!(!world.store.expire_definition(&older).await.unwrap(), "another definition");
    assert!(!world.store.finish(&older).await.unwrap(), "another definition");
    assert!(world.store.expire_definition(&finish).await.unwrap());
    assert!(world.store.expire_definition(&finish).await.unwrap(), "its answer was lost");
    assert_eq!(world.job().await.expires_at, Some(expires_at));
    let older = Finish { generation: 2, ..finish.clone() };
    assert!(!world.store.finish(&older).await.unwrap(), "another timing");
    assert!(world.store.finish(&finish).await.unwrap());
    assert!(world.store.finish(&finish).await.unwrap(), "its answer was lost");
    let other = Finish { state: JobState::Completed, ..finish.clone() };
    assert!(!world.store.finish(&other).await.unwrap(), "it is over");
    // A change that was decided before would take the expiry from the definition for ever.
    let job = JobRecord { expires_at: None, ..world.job().await };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(&world.store, save).await.unwrap(), Saved::Stale);
    assert_eq!(world.job().await.expires_at, Some(expires_at));
    let timer = world.job().await.timer;
    assert_eq!((timer.state, timer.due_at), (JobState::Faulted, None));
    let seconds = (expires_at - at(0)).num_seconds();
    assert!(world.due(JOB, 2 * seconds).await.is_empty(), "nothing looks at it again");
    let gone = JobRef { uid: "gone".to_owned(), ..job_ref() };
    let gone = Finish { job: gone, ..finish };
    assert!(!world.store.finish(&gone).await.unwrap());
    assert!(!world.store.expire_definition(&gone).await.unwrap());
    // It goes without any work.
    assert_eq!(world.store.remove_expired(expires_at, at(0), None).await.unwrap(), 2);
}

#[tokio::test]
async fn a_change_takes_the_expiry_of_a_job_away() {
    let world = World::with_job(Groups::Singles).await;
    let (state, expires_at) = (JobState::Completed, at(61));
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at };
    assert!(world.store.expire_definition(&finish).await.unwrap());
    // The process died before it finished the job, and the user changes the job.
    let job = JobRecord { expires_at: None, ..world.job().await };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(&world.store, save).await.unwrap(), Saved::Kept);
    assert_eq!(world.job().await.expires_at, None);
    assert!(!world.store.finish(&finish).await.unwrap(), "it is another version");
    assert_eq!(world.store.remove_expired(at(1_000), at(0), None).await.unwrap(), 0);
}

#[tokio::test]
async fn a_job_that_an_earlier_version_finished_leaves_the_index() {
    let world = World::embedded(Groups::Singles).await;
    let off = job("Job");
    let timer = TimerRecord { state: JobState::Faulted, due_at: Some(at(60)), ..off.timer.clone() };
    world.put_job(&collection(), &JobRecord { timer, ..off }).await;
    let [Due { what: DueTimer::Job(timer), .. }] = &world.due(JOB, 60).await[..] else {
        panic!("it is due to be deleted");
    };
    assert_eq!(timer.state, JobState::Faulted);
    let state = JobState::Faulted;
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at: at(60) };
    assert!(world.store.expire_definition(&finish).await.unwrap());
    assert!(world.store.finish(&finish).await.unwrap());
    assert!(world.due(JOB, 60).await.is_empty());
    assert_eq!(world.store.remove_expired(at(60), at(0), None).await.unwrap(), 2);
}

#[tokio::test]
async fn a_collection_that_is_there_keeps_its_jobs_whatever_a_message_says() {
    for groups in WAYS {
        let world = World::with_job(groups).await;
        assert!(world.store.purge(COLLECTION).await.unwrap());
        assert_eq!(world.job().await.timer.due_at, Some(at(60)));
    }
}

#[tokio::test]
async fn a_deleted_collection_is_due_until_it_is_purged() {
    for groups in WAYS {
        let world = World::new(groups).await;
        let collection = collection();
        assert_eq!(
            Collections::create(&world.store, &collection, None).await.unwrap(),
            Saved::Kept
        );
        let deleted = Collections::delete(&world.store, &collection, at(5), None).await.unwrap();
        assert_eq!(deleted, Saved::Kept);
        let purge = || DueTimer::Purge { collection_uid: COLLECTION.to_owned() };
        assert_eq!(world.due(COLLECTION, 5).await, [Due { due_at: at(5), what: purge() }]);
        let timer = TimerKey::Purge { collection_uid: COLLECTION.to_owned() };
        assert!(advanced(&world, advance(timer.clone(), 5, 1_205)).await);
        assert!(!advanced(&world, advance(timer, 5, 1_205)).await);
        assert_eq!(world.due(COLLECTION, 1_204).await, []);
        assert_eq!(world.due(COLLECTION, 1_205).await, [Due { due_at: at(1_205), what: purge() }]);
    }
}

#[tokio::test]
async fn due_timers_are_read_in_pages_the_oldest_first() {
    let world = World::with_job(Groups::Singles).await;
    let retries: Vec<_> = (0..7)
        .map(|n| {
            let attempt = crate::world::retry(1, 1_000 - n, &crate::world::scheduled(n));
            LongRetry { job: job_ref(), attempt }
        })
        .collect();
    for retry in &retries {
        world.store.keep(retry).await.unwrap();
    }
    let (mut seen, mut from) = (Vec::new(), None);
    loop {
        let page = world.due_page(JOB, 2_000, from, 3).await;
        assert!(page.items.len() <= 3);
        seen.extend(page.items.iter().map(|due| due.due_at));
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let expected: Vec<_> = [60].into_iter().chain(994..=1_000).map(at).collect();
    assert_eq!(seen, expected);
}
