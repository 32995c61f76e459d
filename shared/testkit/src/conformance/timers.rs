//! Timers: what the index of timers shows of a job, and when.

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::job::JobState;
use minutehand_ports::store::{CollectionRecord, JobRecord, Saved};

use super::Subject;
use super::records::{at, job, now, numbered, with_document, with_timing};
use super::subject::{Item, text};

behaviours! { $ timers as conformance_of_timers:
    a_job_is_in_the_index_exactly_while_it_is_due,
    the_index_has_what_a_sweep_needs_and_no_more,
    the_index_is_in_the_order_of_the_instants,
    a_job_keeps_its_shard,
    jobs_are_spread_over_sixty_four_shards,
    a_change_that_is_refused_leaves_the_index,
}

async fn in_index(subject: &Subject, job: &JobRecord) -> bool {
    let key = text(&job.name.key());
    subject.due_index().await.iter().any(|item| item.get("job_key") == Some(&key))
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
    let timer = subject.timer(job).await;
    let is_due = job.timer.due_at.is_some();
    for attribute in ["due_at", "due_shard"] {
        assert_eq!(timer.contains_key(attribute), is_due, "{attribute}");
    }
    assert_eq!(in_index(subject, job).await, is_due);
}

fn number(item: &Item, attribute: &str) -> i64 {
    item.get(attribute).unwrap().as_n().unwrap().parse().unwrap()
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
        assert!(!in_index(subject, &j).await);
    }
}

async fn the_index_has_what_a_sweep_needs_and_no_more(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let j = subject.job(&jc, "J").await;
    let due = subject.due_index().await;
    let [timer] = due.as_slice() else { panic!("one timer is due: {due:?}") };
    assert_eq!(timer.get("state"), Some(&text(JobState::Enabled.name())));
    assert_eq!(timer.get("collection_uid"), Some(&text(&jc.collection.uid)));
    assert_eq!(timer.get("job_key"), Some(&text("j")));
    assert_eq!(timer.get("timetable"), Some(&text("a rule")));
    assert_eq!(number(timer, "generation"), 0);
    assert_eq!(number(timer, "due_at"), j.timer.due_at.unwrap().timestamp() * 10_000_000);
    // A firing would pay for it twice.
    for attribute in ["executions", "failures", "faulted", "settled", "last_at"] {
        assert!(!timer.contains_key(attribute), "{attribute}");
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
    let ticks: Vec<i64> = {
        let mut ticks = Vec::new();
        for (n, instant) in instants.into_iter().enumerate() {
            let mut j = job(&format!("j{n}"));
            j.timer.due_at = Some(at(instant));
            ticks.push(number(&subject.timer(&subject.with_job(&jc, &j).await).await, "due_at"));
        }
        ticks
    };
    assert_eq!(ticks, [-1, 2, 10, 17_988_048_000_000_001, 2_534_023_007_999_999_999]);
    // A sweep asks for what is due by some instant.
    for (n, instant) in ticks.iter().enumerate() {
        let mut by_then = subject.due_by(*instant).await;
        by_then.sort_unstable();
        let keys: Vec<_> = (0..=n).map(|n| format!("j{n}")).collect();
        assert_eq!(by_then, keys);
    }
}

async fn a_job_keeps_its_shard(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let mut j = subject.job(&jc, "j").await;
    let shard = number(&subject.timer(&j).await, "due_shard");
    j = becomes(subject, &jc, &j, None).await;
    j = becomes(subject, &jc, &j, Some("2030-01-01T00:00:00Z")).await;
    assert_eq!(number(&subject.timer(&j).await, "due_shard"), shard);
}

async fn jobs_are_spread_over_sixty_four_shards(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for name in numbered("j", 100) {
        subject.job(&jc, &name).await;
    }
    let due = subject.due_index().await;
    let shards: std::collections::BTreeSet<_> =
        due.iter().map(|timer| number(timer, "due_shard")).collect();
    assert_eq!(due.len(), 100);
    assert!(shards.iter().all(|shard| (0..64).contains(shard)), "{shards:?}");
    assert!(shards.len() > 32, "{shards:?}");
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
    let [timer] = subject.due_index().await.try_into().unwrap();
    let ticks = due.timer.due_at.unwrap().timestamp() * 10_000_000;
    assert_eq!(timer.get("due_at"), Some(&AttributeValue::N(ticks.to_string())));
}
