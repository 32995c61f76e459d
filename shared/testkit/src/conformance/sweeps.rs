//! Timers: what the index shows, moving on, finishing.

use chrono::TimeDelta;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Due, DueTimer, Finish, JobRecord, JobTimer, LongRetry, PageRequest, Pause, SaveJob,
    Saved, TimerKey, TimerRecord,
};
use minutehand_ports::{Collections, Jobs};

use super::Subject;
use super::browse::pause_of;
use super::firing::{COLLECTION, JOB, at, collection, job, job_ref, retry, scheduled};

fn key(is_spent: bool) -> TimerKey {
    let (job_uid, state) = (JOB.to_owned(), JobState::Enabled);
    TimerKey::Job { job_uid, generation: 1, state, is_spent, left_out: Vec::new() }
}

fn advance(timer: TimerKey, from: i64, to: i64) -> Advance {
    Advance { timer, from: at(from), to: at(to), at: at(from) }
}

async fn advanced(subject: &Subject, advance: Advance) -> bool {
    subject.store.advance(&[advance]).await.remove(0).unwrap()
}

behaviours! { $ sweeps as conformance_of_sweeps:
    the_index_shows_everything_a_sweep_needs,
    a_disabled_job_is_not_due,
    a_timer_moves_only_from_where_it_was_seen,
    a_new_timing_resets_the_timer,
    a_job_finishes_once,
    a_change_takes_the_expiry_of_a_job_away,
    a_job_that_has_changed_is_not_paused,
    a_job_that_an_earlier_version_finished_leaves_the_index,
    a_collection_that_is_there_keeps_its_jobs_whatever_a_message_says,
    a_deleted_collection_is_due_until_it_is_purged,
    due_timers_are_read_in_pages_the_oldest_first,
}

async fn the_index_shows_everything_a_sweep_needs(subject: &Subject) {
    subject.and_job().await;
    let timer = JobTimer {
        job: job_ref(),
        state: JobState::Enabled,
        generation: 1,
        timetable: job("Job").timer.timetable.unwrap(),
        is_spent: false,
    };
    let due = Due { due_at: at(60), what: DueTimer::Job(timer) };
    assert_eq!(subject.due(JOB, 60).await, [due]);
    assert_eq!(subject.due(JOB, 59).await, []);
}

async fn a_disabled_job_is_not_due(subject: &Subject) {
    let off = job("Job");
    let timer = TimerRecord {
        state: JobState::Disabled,
        timetable: None,
        due_at: None,
        ..off.timer.clone()
    };
    subject.put_job(&collection(), &JobRecord { timer, ..off }).await;
    assert_eq!(subject.due(JOB, 1_000_000).await, []);
}

async fn a_timer_moves_only_from_where_it_was_seen(subject: &Subject) {
    subject.and_job().await;
    assert!(advanced(subject, advance(key(false), 60, 900)).await);
    assert!(!advanced(subject, advance(key(false), 60, 900)).await, "it was there before");
    let other = |generation, state| TimerKey::Job {
        job_uid: JOB.to_owned(),
        generation,
        state,
        is_spent: false,
        left_out: Vec::new(),
    };
    for another in [0, 2] {
        assert!(!advanced(subject, advance(other(another, JobState::Enabled), 900, 901)).await);
    }
    assert!(!advanced(subject, advance(other(1, JobState::Completed), 900, 901)).await);
    assert_eq!(subject.the_job().await.timer.due_at, Some(at(900)));
    assert!(advanced(subject, advance(key(true), 900, 2_100)).await);
    let [Due { due_at, what: DueTimer::Job(timer) }] = &subject.due(JOB, 2_100).await[..] else {
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
    assert!(!advanced(subject, advance(gone, 60, 900)).await);
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
    assert!(advanced(subject, advance(overtaken(3), 2_100, 3_000)).await);
    assert!(!advanced(subject, advance(overtaken(2), 2_100, 3_000)).await);
    let counters = subject.the_job().await.timer.counters;
    assert_eq!(counters.skipped, 3, "counted with the move alone");
    assert_eq!(counters.results().letters(), "sss");
    assert_eq!(counters.last_skip, Some(LastSkip::from(&left_out(3))));
    // What goes further is kept.
    let page = PageRequest { from: None, items_max: 10 };
    let kept = subject.store.list_left_out(JOB, page).await.unwrap().items;
    assert_eq!(kept, [left_out(3)]);
    assert_eq!(subject.due("gone", 10_000).await, [], "nothing comes to life again");
}

async fn a_new_timing_resets_the_timer(subject: &Subject) {
    subject.and_job().await;
    assert!(advanced(subject, advance(key(true), 60, 900)).await);
    assert!(subject.the_job().await.timer.is_spent);
    let old = subject.the_job().await;
    let mut timer = TimerRecord { due_at: Some(at(3_600)), is_spent: false, ..old.timer.clone() };
    timer.timing.generation = 2;
    let job = JobRecord { timer, ..old };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: true, entry: None };
    assert_eq!(Jobs::replace(&*subject.store, save).await.unwrap(), Saved::Kept);
    let now = subject.the_job().await.timer;
    assert_eq!((now.is_spent, now.due_at), (false, Some(at(3_600))));
}

async fn a_job_finishes_once(subject: &Subject) {
    subject.and_job().await;
    let expires_at = at(61) + TimeDelta::days(60);
    let state = JobState::Faulted;
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at };
    let older = Finish { version: 0, ..finish.clone() };
    assert!(!subject.store.expire_definition(&older).await.unwrap(), "another definition");
    assert!(!subject.store.finish(&older).await.unwrap(), "another definition");
    assert!(subject.store.expire_definition(&finish).await.unwrap());
    assert!(subject.store.expire_definition(&finish).await.unwrap(), "its answer was lost");
    assert_eq!(subject.the_job().await.expires_at, Some(expires_at));
    let older = Finish { generation: 2, ..finish.clone() };
    assert!(!subject.store.finish(&older).await.unwrap(), "another timing");
    assert!(subject.store.finish(&finish).await.unwrap());
    assert!(subject.store.finish(&finish).await.unwrap(), "its answer was lost");
    let other = Finish { state: JobState::Completed, ..finish.clone() };
    assert!(!subject.store.finish(&other).await.unwrap(), "it is over");
    // A change that was decided before would take the expiry from the definition for ever.
    let job = JobRecord { expires_at: None, ..subject.the_job().await };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(&*subject.store, save).await.unwrap(), Saved::Stale);
    assert_eq!(subject.the_job().await.expires_at, Some(expires_at));
    let timer = subject.the_job().await.timer;
    assert_eq!((timer.state, timer.due_at), (JobState::Faulted, None));
    let seconds = (expires_at - at(0)).num_seconds();
    assert!(subject.due(JOB, 2 * seconds).await.is_empty(), "nothing looks at it again");
    let gone = JobRef { uid: "gone".to_owned(), ..job_ref() };
    let gone = Finish { job: gone, ..finish };
    assert!(!subject.store.finish(&gone).await.unwrap());
    assert!(!subject.store.expire_definition(&gone).await.unwrap());
    // It goes without any work.
    subject.remove_expired(expires_at).await;
    assert_eq!(subject.any_job().await, None);
}

async fn a_change_takes_the_expiry_of_a_job_away(subject: &Subject) {
    subject.and_job().await;
    let (state, expires_at) = (JobState::Completed, at(61));
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at };
    assert!(subject.store.expire_definition(&finish).await.unwrap());
    // The process died before it finished the job, and the user changes the job.
    let job = JobRecord { expires_at: None, ..subject.the_job().await };
    let save = SaveJob { collection: &collection(), job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(&*subject.store, save).await.unwrap(), Saved::Kept);
    assert_eq!(subject.the_job().await.expires_at, None);
    assert!(!subject.store.finish(&finish).await.unwrap(), "it is another version");
    subject.remove_expired(at(1_000)).await;
    assert!(subject.any_job().await.is_some());
}

async fn a_job_that_has_changed_is_not_paused(subject: &Subject) {
    subject.and_job().await;
    let before = subject.the_job().await;
    let pause = |version, generation, uid: &str| Pause {
        job: JobRef { uid: uid.to_owned(), ..job_ref() },
        version,
        ..pause_of(&before, Timing { generation, ..before.timer.timing })
    };
    let changed = JobRecord { document: r#"{"changed":1}"#.to_owned(), ..before.clone() };
    assert_eq!(subject.replace_definition(&collection(), &changed).await, Saved::Kept);
    let now = subject.the_job().await;
    for (pause, of) in [
        (pause(1, 2, JOB), "an older version"),
        (pause(3, 2, JOB), "a version to come"),
        (pause(2, 1, JOB), "an older timing"),
        (pause(2, 3, JOB), "a timing to come"),
        (pause(2, 2, "gone"), "another job"),
    ] {
        assert!(!subject.store.pause(&pause).await.unwrap(), "{of}");
        assert_eq!(subject.the_job().await, now, "{of}");
    }
    assert!(subject.store.pause(&pause(2, 2, JOB)).await.unwrap());
    let paused = subject.the_job().await;
    assert_eq!((paused.timer.state, paused.timer.due_at), (JobState::Disabled, None));
    assert_eq!((paused.version, paused.sealed), (3, before.sealed));
    assert_eq!(subject.due(JOB, 1_000_000).await, []);
}

async fn a_job_that_an_earlier_version_finished_leaves_the_index(subject: &Subject) {
    let off = job("Job");
    let timer = TimerRecord { state: JobState::Faulted, due_at: Some(at(60)), ..off.timer.clone() };
    subject.put_job(&collection(), &JobRecord { timer, ..off }).await;
    let [Due { what: DueTimer::Job(timer), .. }] = &subject.due(JOB, 60).await[..] else {
        panic!("it is due to be deleted");
    };
    assert_eq!(timer.state, JobState::Faulted);
    let state = JobState::Faulted;
    let finish = Finish { job: job_ref(), version: 1, generation: 1, state, expires_at: at(60) };
    assert!(subject.store.expire_definition(&finish).await.unwrap());
    assert!(subject.store.finish(&finish).await.unwrap());
    assert!(subject.due(JOB, 60).await.is_empty());
    subject.remove_expired(at(60)).await;
    assert_eq!(subject.any_job().await, None);
}

async fn a_collection_that_is_there_keeps_its_jobs_whatever_a_message_says(subject: &Subject) {
    subject.and_job().await;
    assert!(subject.store.purge(COLLECTION).await.unwrap());
    assert_eq!(subject.the_job().await.timer.due_at, Some(at(60)));
}

async fn a_deleted_collection_is_due_until_it_is_purged(subject: &Subject) {
    let collection = collection();
    assert_eq!(Collections::create(&*subject.store, &collection, None).await.unwrap(), Saved::Kept);
    let deleted = Collections::delete(&*subject.store, &collection, at(5), None).await.unwrap();
    assert_eq!(deleted, Saved::Kept);
    let purge = || DueTimer::Purge { collection_uid: COLLECTION.to_owned() };
    assert_eq!(subject.due(COLLECTION, 5).await, [Due { due_at: at(5), what: purge() }]);
    let timer = TimerKey::Purge { collection_uid: COLLECTION.to_owned() };
    assert!(advanced(subject, advance(timer.clone(), 5, 1_205)).await);
    assert!(!advanced(subject, advance(timer, 5, 1_205)).await);
    assert_eq!(subject.due(COLLECTION, 1_204).await, []);
    assert_eq!(subject.due(COLLECTION, 1_205).await, [Due { due_at: at(1_205), what: purge() }]);
}

async fn due_timers_are_read_in_pages_the_oldest_first(subject: &Subject) {
    subject.and_job().await;
    let retries: Vec<_> = (0..7)
        .map(|n| {
            let attempt = retry(1, 1_000 - n, &scheduled(n));
            LongRetry { job: job_ref(), attempt }
        })
        .collect();
    for retry in &retries {
        subject.store.keep(retry).await.unwrap();
    }
    let (mut seen, mut from) = (Vec::new(), None);
    loop {
        let page = subject.due_page(JOB, 2_000, from, 3).await;
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
