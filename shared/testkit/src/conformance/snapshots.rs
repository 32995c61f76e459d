//! The last look before an attempt starts.

use minutehand_domain::collection::CollectionState;
use minutehand_domain::plan::Plan;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claimed, JobRecord, Saved};

use super::Subject;
use super::firing::{at, claim, collection, held, job, job_ref, scheduled};

behaviours! { $ snapshots:
    a_snapshot_has_everything_that_decides_on_a_start,
    a_snapshot_shows_that_its_collection_is_off,
    a_snapshot_shows_whether_its_collection_has_a_failure_action,
    a_deleted_job_has_no_snapshot_even_if_its_name_is_taken,
    what_was_read_ahead_is_not_used_after_a_change,
}

async fn a_snapshot_has_everything_that_decides_on_a_start(subject: &Subject) {
    subject.and_job().await;
    let snapshot = subject.snapshot().await;
    let job = job("Job");
    assert_eq!(snapshot.name, job.name);
    assert_eq!((&snapshot.document, &snapshot.sealed), (&job.document, &job.sealed));
    assert_eq!((snapshot.state, snapshot.timing), (job.timer.state, job.timer.timing));
    assert_eq!(snapshot.timetable, job.timer.timetable);
    assert_eq!(snapshot.counters, job.timer.counters);
    assert_eq!(snapshot.recently_counted, RecentlyCounted::default());
    assert!(!snapshot.is_spent);
    assert_eq!(snapshot.plan, Plan::Standard);
    assert_eq!(snapshot.collection_on_since, Some(at(-1_000)));
}

async fn a_snapshot_shows_that_its_collection_is_off(subject: &Subject) {
    subject.and_job().await;
    let mut off = subject.find_collection(&collection()).await.unwrap();
    off.collection.definition.state = CollectionState::Disabled;
    assert_eq!(subject.replace_collection(&off).await, Saved::Kept);
    assert_eq!(subject.snapshot().await.collection_on_since, None);
}

async fn a_snapshot_shows_whether_its_collection_has_a_failure_action(subject: &Subject) {
    subject.and_job().await;
    assert!(!subject.snapshot().await.has_failure_action);
    let action = r#"{"type":"Http","request":{"uri":"https://example.org/","method":"POST"}}"#;
    for (action, expected) in [(action, true), ("null", false)] {
        subject.set_failure_action(action).await;
        assert_eq!(subject.snapshot().await.has_failure_action, expected);
    }
}

async fn a_deleted_job_has_no_snapshot_even_if_its_name_is_taken(subject: &Subject) {
    subject.and_job().await;
    let at_home = collection();
    assert_eq!(subject.delete_job(&at_home, &job("Job")).await, Saved::Kept);
    let other = JobRecord { uid: "other".to_owned(), ..job("Job") };
    subject.put_job(&at_home, &other).await;
    let refs = [
        job_ref(),
        JobRef { uid: "other".to_owned(), ..job_ref() },
        // Its timer is there, and its definition is another's.
        JobRef { uid: "other".to_owned(), key: "nope".to_owned(), ..job_ref() },
        JobRef { uid: "other".to_owned(), collection_uid: "nope".to_owned(), ..job_ref() },
    ];
    for (n, job) in refs.iter().enumerate() {
        assert_eq!(subject.store.read(job).await.unwrap().is_some(), n == 1, "{job:?}");
    }

    let mut now = collection();
    now.job_count = 1;
    assert_eq!(subject.delete_collection(&now).await, Saved::Kept);
    assert_eq!(subject.store.read(&refs[1]).await.unwrap(), None);
}

async fn what_was_read_ahead_is_not_used_after_a_change(subject: &Subject) {
    subject.and_job().await;
    for (second, changes) in [(60, false), (120, true)] {
        let attempt = scheduled(second);
        let claim_id = format!("c{second}");
        assert_eq!(subject.claim(claim(&attempt, &claim_id)).await, Claimed::Won);
        let held = held(&attempt, &claim_id);
        // Whether a store reads ahead is its own affair.
        if let Some(ahead) = subject.store.prefetch(&held).await {
            assert_eq!(ahead.version, 1);
        }
        if changes {
            let document = r#"{"a":1}"#.to_owned();
            let changed = JobRecord { document, ..job("Job") };
            assert_eq!(subject.replace_definition(&collection(), &changed).await, Saved::Kept);
        }
        let read = subject.store.read_for_start(&held).await.unwrap().unwrap();
        assert_eq!(read.version, if changes { 2 } else { 1 });
    }
    assert_eq!(subject.delete_job(&collection(), &subject.the_job().await).await, Saved::Kept);
    let gone = held(&scheduled(180), "gone");
    assert_eq!(subject.store.read_for_start(&gone).await.unwrap(), None);
}
