//! Jobs: what is conditional about creating, replacing and deleting them.

use chrono::TimeDelta;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::recent::{LastSkip, Mark, Recent};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{AskedRun, JobRecord, Saved, TimerRecord};

use super::Subject;
use super::records::{at, job, job_ref, latest, named, now, with_document, with_timing};

behaviours! { $ jobs:
    what_was_never_created_is_not_found,
    a_job_is_kept_as_it_was_given,
    a_name_matches_in_any_case_and_is_answered_as_first_given,
    the_same_name_in_another_collection_is_another_job,
    a_second_create_is_stale_and_changes_nothing,
    a_replace_is_kept_as_the_next_version,
    a_replace_of_a_definition_leaves_the_timer,
    a_replace_of_a_timing_changes_both,
    a_replace_of_an_older_version_is_stale_and_changes_nothing,
    a_timing_of_another_generation_is_stale_and_changes_nothing,
    a_timing_of_a_job_that_is_over_is_stale_and_changes_nothing,
    a_replace_of_what_is_missing_is_stale_and_creates_nothing,
    a_replace_of_a_namesake_is_stale_and_changes_nothing,
    counters_survive_a_change_of_the_timing,
    a_delete_takes_definition_and_timer,
    a_delete_of_an_older_version_is_stale_and_changes_nothing,
    a_delete_of_what_is_missing_is_stale,
    a_delete_of_a_namesake_is_stale_and_changes_nothing,
    a_deleted_job_begins_anew_when_it_is_created_again,
    a_run_that_is_asked_for_under_a_key_is_kept_once,
}

/// Another job that has the same name and version.
fn namesake(record: &JobRecord) -> JobRecord {
    JobRecord { uid: "another".to_owned(), ..record.clone() }
}

async fn what_was_never_created_is_not_found(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.find_job(&jc, &named("j")).await, None);
}

async fn a_job_is_kept_as_it_was_given(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.create_job(&jc, &job("j"), None).await, Saved::Kept);
    assert_eq!(subject.find_job(&jc, &named("j")).await, Some(job("j")));
}

async fn a_name_matches_in_any_case_and_is_answered_as_first_given(subject: &Subject) {
    let jc = subject.collection("jc").await;
    subject.job(&jc, "My_Job-1.x").await;
    let asked = named("mY_jOB-1.X");
    assert_eq!(subject.create_job(&jc, &job(asked.as_str()), None).await, Saved::Stale);
    let found = subject.find_job(&jc, &asked).await.unwrap();
    assert_eq!(found.name.as_str(), "My_Job-1.x");
    assert_eq!(subject.job_names(&jc, 10).await, ["My_Job-1.x"]);
}

async fn the_same_name_in_another_collection_is_another_job(subject: &Subject) {
    let (a, b) = (subject.collection("a").await, subject.collection("b").await);
    let in_a = subject.job(&a, "j").await;
    let in_b = subject.with_job(&b, &namesake(&with_document(&in_a, r#"{"in":"b"}"#))).await;
    assert_eq!(subject.delete_job(&a, &in_a).await, Saved::Kept);
    assert_eq!(subject.find_job(&a, &in_a.name).await, None);
    assert_eq!(subject.find_job(&b, &in_b.name).await, Some(in_b));
    assert_eq!((subject.job_count(&a).await, subject.job_count(&b).await), (0, 1));
}

async fn a_second_create_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    let other = with_timing(&with_document(&j, "{}"), None);
    for second in [j.clone(), other.clone(), namesake(&other)] {
        assert_eq!(subject.create_job(&jc, &second, None).await, Saved::Stale);
    }
    assert_eq!(subject.find_job(&jc, &j.name).await, Some(j));
}

async fn a_replace_is_kept_as_the_next_version(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    for n in 0..3_u8 {
        j.document = format!(r#"{{"n":{n}}}"#);
        j.sealed = (n != 1).then(|| vec![n]);
        assert_eq!(subject.replace_definition(&jc, &j).await, Saved::Kept);
        j.version += 1;
        assert_eq!(subject.find_job(&jc, &j.name).await.as_ref(), Some(&j));
    }
}

async fn a_replace_of_a_definition_leaves_the_timer(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    // What is in the record of it does not matter then.
    let changed = with_timing(&with_document(&j, "{}"), None);
    assert_eq!(subject.replace_definition(&jc, &changed).await, Saved::Kept);
    let kept = subject.find_job(&jc, &j.name).await.unwrap();
    assert_eq!(kept, JobRecord { version: 2, timer: j.timer, ..changed });
}

async fn a_replace_of_a_timing_changes_both(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    let due_at = at("2031-01-01T00:00:00Z");
    for (state, due_at, anchor) in [
        (JobState::Disabled, None, None),
        (JobState::Enabled, Some(due_at), Some(at("2030-01-01T00:00:00Z"))),
        (JobState::Disabled, None, Some(at("2030-01-01T00:00:00Z"))),
        (JobState::Enabled, None, None),
    ] {
        j = with_timing(&with_document(&j, &format!(r#"{{"due":"{due_at:?}"}}"#)), due_at);
        j.timer.state = state;
        j.timer.timing =
            Timing { anchor, since: due_at.unwrap_or_else(now), used: 7, ..j.timer.timing };
        assert_eq!(subject.replace_timing(&jc, &j).await, Saved::Kept);
        j.version += 1;
        assert_eq!(subject.find_job(&jc, &j.name).await.as_ref(), Some(&j));
    }
}

async fn a_replace_of_an_older_version_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, first) = subject.collection_and_job().await;
    assert_eq!(subject.replace_definition(&jc, &first).await, Saved::Kept);
    let second = subject.find_job(&jc, &first.name).await;
    let mut late = with_timing(&with_document(&first, "{}"), None);
    for version in [0, 1, 3] {
        late.version = version;
        assert_eq!(subject.replace_definition(&jc, &late).await, Saved::Stale, "{version}");
        assert_eq!(subject.replace_timing(&jc, &late).await, Saved::Stale, "{version}");
    }
    assert_eq!(subject.find_job(&jc, &first.name).await, second);
}

async fn a_timing_of_another_generation_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    for _ in 0..2 {
        assert_eq!(subject.replace_timing(&jc, &with_timing(&j, None)).await, Saved::Kept);
        j = subject.find_job(&jc, &j.name).await.unwrap();
    }
    // The definition's version is the one that was read.
    let mut other = with_document(&j, "{}");
    for generation in [1, 2, 4] {
        other.timer.timing.generation = generation;
        assert_eq!(subject.replace_timing(&jc, &other).await, Saved::Stale, "{generation}");
    }
    assert_eq!(subject.find_job(&jc, &j.name).await, Some(j));
}

async fn a_timing_of_a_job_that_is_over_is_stale_and_changes_nothing(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for state in [JobState::Completed, JobState::Faulted] {
        let mut over = job(state.name());
        over.timer = TimerRecord { state, timetable: None, due_at: None, ..over.timer };
        let over = subject.with_job(&jc, &over).await;
        let mut again = with_timing(&with_document(&over, "{}"), Some(now()));
        again.timer.state = JobState::Enabled;
        assert_eq!(subject.replace_timing(&jc, &again).await, Saved::Stale);
        assert_eq!(subject.find_job(&jc, &over.name).await, Some(over));
    }
}

async fn a_replace_of_what_is_missing_is_stale_and_creates_nothing(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.replace_definition(&jc, &job("j")).await, Saved::Stale);
    let timing = with_timing(&job("j"), Some(now()));
    assert_eq!(subject.replace_timing(&jc, &timing).await, Saved::Stale);
    assert_eq!(subject.find_job(&jc, &named("j")).await, None);
    assert_eq!(subject.job_count(&jc).await, 0);
    assert!(subject.due_index().await.is_empty());
}

async fn a_replace_of_a_namesake_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, before) = subject.collection_and_job().await;
    assert_eq!(subject.delete_job(&jc, &before).await, Saved::Kept);
    let after = subject.with_job(&jc, &namesake(&before)).await;
    assert_eq!(before.version, after.version);
    let changed = with_timing(&with_document(&before, "{}"), None);
    assert_eq!(subject.replace_definition(&jc, &changed).await, Saved::Stale);
    assert_eq!(subject.replace_timing(&jc, &changed).await, Saved::Stale);
    assert_eq!(subject.find_job(&jc, &after.name).await, Some(after));
}

async fn counters_survive_a_change_of_the_timing(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let counters = JobCounters {
        executions: 12,
        failures: 3,
        faulted: 1,
        skipped: 2,
        last_execution_at: Some(at("2026-12-31T23:59:59.9999999Z")),
        recent: Recent::default().and(Mark::Ok),
        last_skip: Some(LastSkip::one(now(), SkipReason::Overtaken)),
        latest: Some(latest()),
    };
    let mut ran = job("j");
    ran.timer.counters = counters;
    let ran = subject.with_job(&jc, &ran).await;
    // It ran once more since it was read: what is in the record is not what is kept.
    let mut changed = with_timing(&ran, None);
    changed.timer.counters = JobCounters::default();
    assert_eq!(subject.replace_timing(&jc, &changed).await, Saved::Kept);
    let kept = subject.find_job(&jc, &ran.name).await.unwrap();
    assert_eq!(kept.timer.counters, counters);
    assert_eq!(kept.timer.timing, changed.timer.timing);
}

async fn a_delete_takes_definition_and_timer(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
    assert_eq!(subject.find_job(&jc, &j.name).await, None);
    assert_eq!(subject.store.read(&job_ref(&jc, &j)).await.unwrap(), None);
    assert!(subject.due_index().await.is_empty());
}

async fn a_delete_of_an_older_version_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, first) = subject.collection_and_job().await;
    assert_eq!(subject.replace_definition(&jc, &first).await, Saved::Kept);
    assert_eq!(subject.delete_job(&jc, &first).await, Saved::Stale);
    let second = JobRecord { version: 2, ..first };
    assert_eq!(subject.find_job(&jc, &second.name).await.as_ref(), Some(&second));
    assert_eq!(subject.job_count(&jc).await, 1);
    assert_eq!(subject.delete_job(&jc, &second).await, Saved::Kept);
    assert_eq!(subject.job_count(&jc).await, 0);
}

async fn a_delete_of_what_is_missing_is_stale(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.delete_job(&jc, &job("j")).await, Saved::Stale);
    assert_eq!(subject.job_count(&jc).await, 0);
}

async fn a_delete_of_a_namesake_is_stale_and_changes_nothing(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    assert_eq!(subject.delete_job(&jc, &namesake(&j)).await, Saved::Stale);
    assert_eq!(subject.find_job(&jc, &j.name).await, Some(j));
    assert_eq!(subject.job_count(&jc).await, 1);
}

async fn a_deleted_job_begins_anew_when_it_is_created_again(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let mut ran = job("j");
    ran.sealed = Some(vec![1]);
    ran.timer.counters =
        JobCounters { executions: 12, last_execution_at: Some(now()), ..JobCounters::default() };
    let ran = subject.with_job(&jc, &ran).await;
    assert_eq!(subject.delete_job(&jc, &ran).await, Saved::Kept);
    let anew = JobRecord { uid: "another".to_owned(), ..job("j") };
    assert_eq!(subject.with_job(&jc, &anew).await, anew);
}

async fn a_run_that_is_asked_for_under_a_key_is_kept_once(subject: &Subject) {
    let asked = |key: &str, run_id: &str, minutes: i64| AskedRun {
        key: key.to_owned(),
        generation: u64::MAX,
        asked_at: at("2026-12-31T23:59:59.9999999Z"),
        run_id: run_id.to_owned(),
        asked_by: (run_id == "a").then(|| "token ops".to_owned()),
        expires_at: now() + TimeDelta::minutes(minutes),
    };
    let keep = async |job: &str, asked: &AskedRun, instead_of: Option<&str>| {
        subject.store.keep_asked(job, asked, instead_of, now()).await.unwrap()
    };
    let first = asked("k1", "a", 5);
    assert_eq!(keep("u1", &first, None).await, None);
    // The answer was lost.
    assert_eq!(keep("u1", &first, None).await, None);
    for instead_of in [None, Some("z")] {
        assert_eq!(keep("u1", &asked("k1", "b", 5), instead_of).await, Some(first.clone()));
    }
    // Other keys and other jobs have their own.
    assert_eq!(keep("u1", &asked("k2", "b", 0), None).await, None);
    assert_eq!(keep("u2", &asked("k1", "b", 5), None).await, None);
    // What is replaced by its id, and what has expired.
    assert_eq!(keep("u1", &asked("k1", "c", 5), Some("a")).await, None);
    assert_eq!(keep("u1", &first, Some("b")).await, Some(asked("k1", "c", 5)));
    assert_eq!(keep("u1", &asked("k2", "d", 5), None).await, None);
    assert_eq!(keep("u1", &first, Some("c")).await, None);
}
