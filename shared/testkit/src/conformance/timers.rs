//! Timers: what the index of timers shows of a job, and when.

use std::collections::BTreeSet;

use minutehand_ports::store::{CollectionRecord, Due, DueTimer, JobRecord, Saved};

use super::Subject;
use super::records::{at, job, now, numbered, with_document, with_timing};

behaviours! { $ timers:
    a_job_is_in_the_index_exactly_while_it_is_due,
    the_index_is_in_the_order_of_the_instants,
    a_job_keeps_its_shard,
    jobs_are_spread_over_the_shards,
    a_change_that_is_refused_leaves_the_index,
}

/// Gives a job its next timing, and asserts that the table and the index know it as due or not.
async fn becomes(
    subject: &Subject,
    inside: &CollectionRecord,
    job: &JobRecord,
    due_at: Option<&str>,
) -> JobRecord {
    let changed = with_timing(job, due_at.map(at));
    assert_eq!(subject.replace_timing(inside, &changed).await, Saved::Kept);
    shows(subject, &changed).await;
    subject.find_job(inside, &job.name).await.unwrap()
}

async fn shows(subject: &Subject, job: &JobRecord) {
    let shown = subject.in_index(job).await.map(|(_, due)| due.due_at);
    assert_eq!(shown, job.timer.due_at);
}

async fn a_job_is_in_the_index_exactly_while_it_is_due(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for created_due in [true, false] {
        let mut j = job(if created_due { "due" } else { "not" });
        j.timer.due_at = created_due.then(now);
        let mut j = subject.with_job(&jc, &j).await;
        shows(subject, &j).await;
        for due_at in [None, Some("2030-01-01T00:00:00Z"), Some("2031-01-01T00:00:00Z"), None] {
            j = becomes(subject, &jc, &j, due_at).await;
        }
        j = becomes(subject, &jc, &j, Some("2030-01-01T00:00:00Z")).await;
        assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
        assert_eq!(subject.in_index(&j).await, None);
    }
}

async fn the_index_is_in_the_order_of_the_instants(subject: &Subject) {
    let jc = subject.collection("jc").await;
    // Each has more digits or a sign than the one before, as texts would not sort.
    let instants = [
        "1969-12-31T23:59:59.9999999Z",
        "1970-01-01T00:00:00.0000002Z",
        "1970-01-01T00:00:00.0000010Z",
        "2027-01-01T12:00:00.0000001Z",
        "9999-12-31T23:59:59.9999999Z",
    ];
    let keys: Vec<String> = (0..instants.len()).map(|n| format!("j{n}")).collect();
    for (key, instant) in keys.iter().zip(instants) {
        let mut j = job(key);
        j.timer.due_at = Some(at(instant));
        subject.with_job(&jc, &j).await;
    }
    // A sweep asks for what is due by some instant.
    for (n, instant) in instants.into_iter().enumerate() {
        let due = subject.due_until(at(instant)).await;
        let mut by_then: Vec<String> = due.iter().map(|(_, due)| key_of(due)).collect();
        by_then.sort_unstable();
        assert_eq!(by_then, keys[..=n], "{instant}");
    }
    // What one shard shows comes in order.
    let shown = subject.due_index().await;
    assert!(shown.is_sorted_by_key(|(shard, due)| (*shard, due.due_at)), "{shown:?}");
}

/// The key of the name of a job whose timer is due.
fn key_of(due: &Due) -> String {
    let DueTimer::Job(timer) = &due.what else { panic!("the timer of a job is due: {due:?}") };
    timer.job.key.clone()
}

async fn a_job_keeps_its_shard(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    let shard = subject.in_index(&j).await.unwrap().0;
    j = becomes(subject, &jc, &j, None).await;
    j = becomes(subject, &jc, &j, Some("2030-01-01T00:00:00Z")).await;
    assert_eq!(subject.in_index(&j).await.unwrap().0, shard);
}

async fn jobs_are_spread_over_the_shards(subject: &Subject) {
    subject.collection_with(&numbered("j", 100)).await;
    let due = subject.due_index().await;
    let shards: BTreeSet<u32> = due.iter().map(|(shard, _)| *shard).collect();
    assert_eq!(due.len(), 100);
    let used = u32::try_from(shards.len()).unwrap();
    assert!(used * 2 > subject.store.shards(), "{shards:?}");
}

async fn a_change_that_is_refused_leaves_the_index(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let due = subject.job(&jc, "due").await;
    let mut not = job("not");
    not.timer.due_at = None;
    let not = subject.with_job(&jc, &not).await;
    for (job, other) in [(&due, None), (&not, Some(now()))] {
        let mut late = with_timing(&with_document(job, "{}"), other);
        late.version = 7;
        assert_eq!(subject.replace_timing(&jc, &late).await, Saved::Stale);
        late.version = job.version;
        late.timer.timing.generation = 7;
        assert_eq!(subject.replace_timing(&jc, &late).await, Saved::Stale);
        assert_eq!(subject.create_job(&jc, &late, None).await, Saved::Stale);
        late.version = 7;
        assert_eq!(subject.delete_job(&jc, &late).await, Saved::Stale);
        shows(subject, job).await;
    }
}
