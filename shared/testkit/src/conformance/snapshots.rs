//! The last look before an attempt starts.

use minutehand_domain::document::load_collection_shown;
use minutehand_domain::plan::Plan;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claimed, JobRecord, Saved};
use minutehand_ports::{Collections, Jobs};

use super::Subject;
use super::firing::{at, claim, collection, held, job, job_ref, scheduled, switched_off};

behaviours! { $ snapshots as conformance_of_snapshots:
    a_snapshot_has_everything_that_decides_on_a_start,
    a_snapshot_shows_that_its_collection_is_off,
    a_snapshot_shows_whether_its_collection_has_a_failure_action,
    a_deleted_job_has_no_snapshot_even_if_its_name_is_taken,
    what_was_read_ahead_is_not_used_after_a_change,
}

async fn a_snapshot_has_everything_that_decides_on_a_start(subject: &Subject) {
    subject.and_job().await;
    let snapshot = subject.store.read(&job_ref()).await.unwrap().unwrap();
    let job = job("Job");
    assert_eq!(snapshot.name, job.name);
    assert_eq!((&snapshot.document, &snapshot.sealed), (&job.document, &job.sealed));
    assert_eq!((snapshot.state, snapshot.timing), (job.timer.state, job.timer.timing));
    assert_eq!(
        (&snapshot.timetable, snapshot.counters),
        (&job.timer.timetable, job.timer.counters)
    );
    assert_eq!(
        (&snapshot.recently_counted, snapshot.is_spent),
        (&RecentlyCounted::default(), false)
    );
    assert_eq!(snapshot.plan, Plan::Standard);
    assert_eq!(snapshot.collection_on_since, Some(at(-1_000)));
}

async fn a_snapshot_shows_that_its_collection_is_off(subject: &Subject) {
    subject.and_job().await;
    let off = switched_off(collection());
    assert_eq!(Collections::replace(&*subject.store, &off, None).await.unwrap(), Saved::Kept);
    let snapshot = subject.store.read(&job_ref()).await.unwrap().unwrap();
    assert_eq!(snapshot.collection_on_since, None);
}

async fn a_snapshot_shows_whether_its_collection_has_a_failure_action(subject: &Subject) {
    subject.and_job().await;
    let has = async || subject.store.read(&job_ref()).await.unwrap().unwrap().has_failure_action;
    assert!(!has().await);
    let action = r#"{"type":"Http","request":{"uri":"https://example.org/","method":"POST"}}"#;
    for (action, expected) in [(action, true), ("null", false)] {
        let document = format!(r#"{{"properties":{{"minutehand":{{"onFailure":{action}}}}}}}"#);
        let document = serde_json::from_str(&document).unwrap();
        let mut now =
            subject.store.read_collection(&job_ref().collection_uid).await.unwrap().unwrap();
        now.collection.definition = load_collection_shown(&document).unwrap();
        assert_eq!(Collections::replace(&*subject.store, &now, None).await.unwrap(), Saved::Kept);
        assert_eq!(has().await, expected);
    }
}

async fn a_deleted_job_has_no_snapshot_even_if_its_name_is_taken(subject: &Subject) {
    subject.and_job().await;
    let at_home = collection();
    let deleted = Jobs::delete(&*subject.store, &at_home, &job("Job"), None).await.unwrap();
    assert_eq!(deleted, Saved::Kept);
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
    let deleted = Collections::delete(&*subject.store, &now, at(5), None).await.unwrap();
    assert_eq!(deleted, Saved::Kept);
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
            let saved = subject.replace_definition(&collection(), &changed).await;
            assert_eq!(saved, Saved::Kept);
        }
        let read = subject.store.read_for_start(&held).await.unwrap().unwrap();
        assert_eq!(read.version, if changes { 2 } else { 1 });
    }
    assert_eq!(subject.delete_job(&collection(), &subject.the_job().await).await, Saved::Kept);
    let gone = held(&scheduled(180), "gone");
    assert_eq!(subject.store.read_for_start(&gone).await.unwrap(), None);
}
