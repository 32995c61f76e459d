//! Timers: what the index shows, moving on, finishing.

use chrono::TimeDelta;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Collections;
use minutehand_ports::store::{
    Due, DueTimer, Finish, JobRecord, JobTimer, LongRetry, Pause, Saved, TimerKey, TimerRecord,
};

use super::Subject;
use super::browse::pause_of;
use super::firing::{
    COLLECTION, JOB, advance, at, collection, finish, job, job_ref, job_timer, retry, scheduled,
};
use super::whole_list;

behaviours! { $ sweeps:
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
    assert!(subject.advances(&advance(job_timer(false, Vec::new()), 60, 900)).await);
    assert!(
        !subject.advances(&advance(job_timer(false, Vec::new()), 60, 900)).await,
        "it was there before"
    );
    let other = |job_uid: &str, generation, state| TimerKey::Job {
        job_uid: job_uid.to_owned(),
        generation,
        state,
        is_spent: false,
        left_out: Vec::new(),
    };
    for another in [0, 2] {
        assert!(
            !subject.advances(&advance(other(JOB, another, JobState::Enabled), 900, 901)).await
        );
    }
    assert!(!subject.advances(&advance(other(JOB, 1, JobState::Completed), 900, 901)).await);
    assert_eq!(subject.the_job().await.timer.due_at, Some(at(900)));
    assert!(subject.advances(&advance(job_timer(true, Vec::new()), 900, 2_100)).await);
    let [Due { due_at, what: DueTimer::Job(timer) }] = &subject.due(JOB, 2_100).await[..] else {
        panic!("one timer of a job is due");
    };
    assert_eq!((*due_at, timer.is_spent), (at(2_100), true));
    let gone = other("gone", 1, JobState::Enabled);
    assert!(!subject.advances(&advance(gone, 60, 900)).await);
    let left_out = |occurrences| LeftOut {
        generation: 1,
        first: at(1_200),
        last: at(1_200 + 60 * i64::try_from(occurrences).unwrap()),
        occurrences,
        reason: LeftOutReason::Outage(Outage { from: at(1_190), until: at(2_000) }),
        at: at(2_050),
    };
    let overtaken = |occurrences| job_timer(true, vec![left_out(occurrences)]);
    assert!(subject.advances(&advance(overtaken(3), 2_100, 3_000)).await);
    assert!(!subject.advances(&advance(overtaken(2), 2_100, 3_000)).await);
    let counters = subject.the_job().await.timer.counters;
    assert_eq!(counters.skipped, 3, "counted with the move alone");
    assert_eq!(counters.results().letters(), "sss");
    assert_eq!(counters.last_skip, Some(LastSkip::from(&left_out(3))));
    // What goes further is kept.
    assert_eq!(subject.left_out().await, [left_out(3)]);
    assert_eq!(subject.due("gone", 10_000).await, [], "nothing comes to life again");
}

async fn a_new_timing_resets_the_timer(subject: &Subject) {
    subject.and_job().await;
    assert!(subject.advances(&advance(job_timer(true, Vec::new()), 60, 900)).await);
    assert!(subject.the_job().await.timer.is_spent);
    let old = subject.the_job().await;
    let mut timer = TimerRecord { due_at: Some(at(3_600)), is_spent: false, ..old.timer.clone() };
    timer.timing.generation = 2;
    let job = JobRecord { timer, ..old };
    assert_eq!(subject.replace_timing(&collection(), &job).await, Saved::Kept);
    let now = subject.the_job().await.timer;
    assert_eq!((now.is_spent, now.due_at), (false, Some(at(3_600))));
}

async fn a_job_finishes_once(subject: &Subject) {
    subject.and_job().await;
    let expires_at = at(61) + TimeDelta::days(60);
    let finish = finish(JobState::Faulted, expires_at);
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
    assert_eq!(subject.replace_definition(&collection(), &job).await, Saved::Stale);
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
    let finish = finish(JobState::Completed, at(61));
    assert!(subject.store.expire_definition(&finish).await.unwrap());
    // The process died before it finished the job, and the user changes the job.
    let job = JobRecord { expires_at: None, ..subject.the_job().await };
    assert_eq!(subject.replace_definition(&collection(), &job).await, Saved::Kept);
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
    let finish = finish(JobState::Faulted, at(60));
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
    assert_eq!(subject.create_collection(&collection).await, Saved::Kept);
    let deleted = Collections::delete(&*subject.store, &collection, at(5), None).await.unwrap();
    assert_eq!(deleted, Saved::Kept);
    let purge = || DueTimer::Purge { collection_uid: COLLECTION.to_owned() };
    assert_eq!(subject.due(COLLECTION, 5).await, [Due { due_at: at(5), what: purge() }]);
    let timer = TimerKey::Purge { collection_uid: COLLECTION.to_owned() };
    assert!(subject.advances(&advance(timer.clone(), 5, 1_205)).await);
    assert!(!subject.advances(&advance(timer, 5, 1_205)).await);
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
    let seen = whole_list(3, async |page| subject.due_page(JOB, 2_000, page).await).await;
    let seen: Vec<_> = seen.iter().map(|due| due.due_at).collect();
    let expected: Vec<_> = [60].into_iter().chain(994..=1_000).map(at).collect();
    assert_eq!(seen, expected);
}
