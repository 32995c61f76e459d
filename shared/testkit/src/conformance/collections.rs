//! Collections: what is conditional about creating, replacing and deleting them.

use chrono::{DateTime, Utc};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{CollectionRecord, Due, DueTimer, Saved};

use super::Subject;
use super::records::{
    at, collection, collection_in, job, job_ref, located, named, now, place, with_document,
};
use super::subject::first_page;

behaviours! { $ collections:
    what_was_never_created_is_not_found,
    a_collection_is_kept_as_it_was_given,
    a_name_matches_in_any_case_and_is_answered_as_first_given,
    a_collection_is_read_by_its_id_while_it_exists,
    the_sealed_secrets_change_with_the_collection,
    the_same_name_elsewhere_is_another_collection,
    a_second_create_is_stale_and_changes_nothing,
    a_replace_is_kept_as_the_next_version,
    a_replace_of_an_older_version_is_stale_and_changes_nothing,
    a_replace_of_what_is_missing_is_stale_and_creates_nothing,
    a_replace_of_a_namesake_is_stale_and_changes_nothing,
    a_replace_is_stale_once_the_jobs_are_others,
    a_replace_leaves_the_place_the_name_and_the_count,
    a_delete_frees_the_name,
    a_delete_of_an_older_version_is_stale,
    a_delete_of_what_is_missing_is_stale,
    a_delete_of_a_namesake_is_stale,
    a_delete_is_kept_whatever_jobs_there_are,
    the_jobs_of_a_deleted_collection_are_out_of_reach,
    nothing_is_created_in_a_deleted_collection,
    the_switch_follows_the_collection,
    the_time_of_a_state_is_kept_and_may_be_unknown,
    a_refused_change_leaves_the_switch,
    a_deleted_collection_is_due_to_be_purged_at_once,
}

/// The same collection, defined otherwise.
fn moved(record: &CollectionRecord) -> CollectionRecord {
    let mut record = record.clone();
    record.collection.definition = located("Elsewhere");
    record
}

/// Another collection that has the same name and version.
fn namesake(record: &CollectionRecord) -> CollectionRecord {
    let mut record = record.clone();
    "another".clone_into(&mut record.collection.uid);
    record
}

fn switched(record: &CollectionRecord, state: CollectionState, on_since: &str) -> CollectionRecord {
    let mut record = CollectionRecord { on_since: at(on_since), ..record.clone() };
    record.collection.definition.state = state;
    record
}

/// Since when the collection of a job is on, as workers see it.
async fn on_since(subject: &Subject, job: &JobRef) -> Option<DateTime<Utc>> {
    subject.store.read(job).await.unwrap().unwrap().collection_on_since
}

async fn what_was_never_created_is_not_found(subject: &Subject) {
    assert_eq!(subject.find_collection(&collection("jc")).await, None);
}

async fn a_collection_is_kept_as_it_was_given(subject: &Subject) {
    let jc = collection("jc");
    assert_eq!(subject.create_collection(&jc).await, Saved::Kept);
    assert_eq!(subject.find_collection(&jc).await, Some(jc));
}

async fn a_name_matches_in_any_case_and_is_answered_as_first_given(subject: &Subject) {
    subject.with_collection(&collection_in("SUB ä Ü", "Group (1)", "My.Collection")).await;
    let asked = collection_in("sub Ä ü", "gROUP (1)", "mY.cOLLECTION");
    assert_eq!(subject.create_collection(&asked).await, Saved::Stale);
    let found = subject.find_collection(&asked).await.unwrap();
    assert_eq!(found.collection.name.as_str(), "My.Collection");
    assert_eq!(found.place.subscription.as_str(), "SUB ä Ü");
    assert_eq!(found.place.group.as_str(), "Group (1)");
}

async fn a_collection_is_read_by_its_id_while_it_exists(subject: &Subject) {
    let (jc, other) = (subject.collection("jc").await, subject.collection("other").await);
    let uid = &jc.collection.uid;
    assert_eq!(subject.read_collection(uid).await.as_ref(), Some(&jc));
    assert_eq!(subject.read_collection("nope").await, None);
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(subject.read_collection(uid).await, None);
    // Its name belongs to another collection now.
    let after = subject.with_collection(&namesake(&jc)).await;
    assert_eq!(subject.read_collection(uid).await, None);
    for record in [after, other] {
        assert_eq!(subject.read_collection(&record.collection.uid).await, Some(record));
    }
}

async fn the_sealed_secrets_change_with_the_collection(subject: &Subject) {
    let with = |sealed| CollectionRecord { sealed, ..collection("jc") };
    let mut jc = subject.with_collection(&with(Some((0..=u8::MAX).collect()))).await;
    assert_eq!(jc, with(Some((0..=u8::MAX).collect())));
    for sealed in [Some(vec![1]), None, None, Some(Vec::new()), Some(vec![2])] {
        jc.sealed = sealed;
        assert_eq!(subject.replace_collection(&jc).await, Saved::Kept);
        jc.version += 1;
        assert_eq!(subject.find_collection(&jc).await.as_ref(), Some(&jc));
        assert_eq!(subject.read_collection(&jc.collection.uid).await.as_ref(), Some(&jc));
        let (subscription, page) = (&jc.place.subscription, first_page(10));
        let listed = subject.collections_page(subscription, None, page).await.unwrap();
        assert_eq!(listed.items.as_slice(), std::slice::from_ref(&jc));
    }
}

async fn the_same_name_elsewhere_is_another_collection(subject: &Subject) {
    // The last four would be two if names were only put side by side.
    let all = [
        ("s", "g", "n"),
        ("s", "h", "n"),
        ("t", "g", "n"),
        ("s", "x", "n1"),
        ("s", "1x", "n"),
        ("s", "y-n", "n"),
        ("s-y", "n", "n"),
    ]
    .map(|(subscription, group, name)| collection_in(subscription, group, name));
    for record in &all {
        subject.with_collection(record).await;
    }
    for record in &all {
        assert_eq!(subject.find_collection(record).await.as_ref(), Some(record));
        assert_eq!(subject.delete_collection(record).await, Saved::Kept);
    }
}

async fn a_second_create_is_stale_and_changes_nothing(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for second in [jc.clone(), moved(&jc), namesake(&moved(&jc))] {
        assert_eq!(subject.create_collection(&second).await, Saved::Stale);
    }
    assert_eq!(subject.find_collection(&jc).await, Some(jc));
}

async fn a_replace_is_kept_as_the_next_version(subject: &Subject) {
    let mut jc = subject.collection("jc").await;
    for (n, location) in ["One", "Two", "Three"].into_iter().enumerate() {
        jc.collection.definition = located(location);
        jc.on_since = at(&format!("2028-01-0{}T00:00:00Z", n + 1));
        assert_eq!(subject.replace_collection(&jc).await, Saved::Kept);
        jc.version += 1;
        assert_eq!(subject.find_collection(&jc).await.as_ref(), Some(&jc));
    }
}

async fn a_replace_of_an_older_version_is_stale_and_changes_nothing(subject: &Subject) {
    let first = subject.collection("jc").await;
    assert_eq!(subject.replace_collection(&first).await, Saved::Kept);
    let second = subject.find_collection(&first).await;
    let mut late = moved(&first);
    late.on_since = at("2030-01-01T00:00:00Z");
    for version in [0, 1, 3] {
        late.version = version;
        assert_eq!(subject.replace_collection(&late).await, Saved::Stale, "{version}");
    }
    assert_eq!(subject.find_collection(&first).await, second);
}

async fn a_replace_of_what_is_missing_is_stale_and_creates_nothing(subject: &Subject) {
    let jc = collection("jc");
    assert_eq!(subject.replace_collection(&jc).await, Saved::Stale);
    assert_eq!(subject.find_collection(&jc).await, None);
    assert_eq!(subject.read_collection(&jc.collection.uid).await, None);
}

async fn a_replace_of_a_namesake_is_stale_and_changes_nothing(subject: &Subject) {
    let before = subject.collection("jc").await;
    assert_eq!(subject.delete_collection(&before).await, Saved::Kept);
    let after = subject.with_collection(&namesake(&before)).await;
    assert_eq!(before.version, after.version);
    assert_eq!(subject.replace_collection(&moved(&before)).await, Saved::Stale);
    assert_eq!(subject.find_collection(&before).await, Some(after));
}

async fn a_replace_is_stale_once_the_jobs_are_others(subject: &Subject) {
    let (empty, j) = subject.collection_and_job().await;
    assert_eq!(subject.replace_collection(&moved(&empty)).await, Saved::Stale);
    let with_one = subject.find_collection(&empty).await.unwrap();
    assert_eq!(subject.delete_job(&with_one, &j).await, Saved::Kept);
    assert_eq!(subject.replace_collection(&moved(&with_one)).await, Saved::Stale);
    assert_eq!(subject.find_collection(&empty).await, Some(empty));
}

async fn a_replace_leaves_the_place_the_name_and_the_count(subject: &Subject) {
    let jc = subject.collection("Jc").await;
    subject.job(&jc, "j").await;
    let mut read = subject.find_collection(&jc).await.unwrap();
    read.collection.name = named("jC");
    read.place = place("sUB", "gROUP");
    assert_eq!(subject.replace_collection(&read).await, Saved::Kept);
    let kept = subject.find_collection(&jc).await.unwrap();
    assert_eq!(kept.collection.name.as_str(), "Jc");
    assert_eq!((kept.place.subscription.as_str(), kept.place.group.as_str()), ("Sub", "Group"));
    assert_eq!(subject.job_count(&jc).await, 1);
}

async fn a_delete_frees_the_name(subject: &Subject) {
    let (jc, _) = subject.collection_and_job().await;
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(subject.find_collection(&jc).await, None);
    let anew = subject.with_collection(&namesake(&jc)).await;
    assert_eq!(anew, namesake(&jc));
    assert_eq!(subject.job_count(&anew).await, 0);
}

async fn a_delete_of_an_older_version_is_stale(subject: &Subject) {
    let first = subject.collection("jc").await;
    assert_eq!(subject.replace_collection(&first).await, Saved::Kept);
    assert_eq!(subject.delete_collection(&first).await, Saved::Stale);
    let second = subject.find_collection(&first).await.unwrap();
    assert_eq!(subject.delete_collection(&second).await, Saved::Kept);
    assert_eq!(subject.delete_collection(&second).await, Saved::Stale);
}

async fn a_delete_of_what_is_missing_is_stale(subject: &Subject) {
    assert_eq!(subject.delete_collection(&collection("jc")).await, Saved::Stale);
    assert!(subject.due_index().await.is_empty(), "there is nothing to purge");
}

async fn a_delete_of_a_namesake_is_stale(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.delete_collection(&namesake(&jc)).await, Saved::Stale);
    assert_eq!(subject.find_collection(&jc).await, Some(jc));
    assert!(subject.due_index().await.is_empty(), "there is nothing to purge");
}

async fn a_delete_is_kept_whatever_jobs_there_are(subject: &Subject) {
    let (empty, _) = subject.collection_and_job().await;
    assert_eq!(subject.delete_collection(&empty).await, Saved::Kept);
    assert_eq!(subject.find_collection(&empty).await, None);
}

async fn the_jobs_of_a_deleted_collection_are_out_of_reach(subject: &Subject) {
    let (before, j) = subject.collection_and_job().await;
    assert_eq!(subject.delete_collection(&before).await, Saved::Kept);
    // There is nothing to count off, and nothing comes of trying.
    assert_eq!(subject.delete_job(&before, &j).await, Saved::Stale);
    assert_eq!(subject.find_collection(&before).await, None);
    let after = subject.with_collection(&namesake(&before)).await;
    assert_eq!(subject.find_job(&after, &j.name).await, None);
    assert!(subject.job_names(&after, 10).await.is_empty());
    assert_eq!(subject.replace_definition(&after, &j).await, Saved::Stale);
    assert_eq!(subject.delete_job(&after, &j).await, Saved::Stale);
    // Nor does the old one, read before the delete, count anything off the new one.
    assert_eq!(subject.delete_job(&before, &j).await, Saved::Stale);
    assert_eq!(subject.job_count(&after).await, 0);
}

async fn nothing_is_created_in_a_deleted_collection(subject: &Subject) {
    let before = subject.collection("jc").await;
    assert_eq!(subject.delete_collection(&before).await, Saved::Kept);
    assert_eq!(subject.create_job(&before, &job("j"), None).await, Saved::Stale);
    assert_eq!(subject.create_job(&before, &job("j"), Some(0)).await, Saved::Stale);
    let after = subject.with_collection(&namesake(&before)).await;
    assert_eq!(subject.create_job(&before, &job("j"), None).await, Saved::Stale);
    for inside in [&before, &after] {
        assert_eq!(subject.find_job(inside, &named("j")).await, None);
    }
    assert_eq!(subject.job_count(&after).await, 0);
}

async fn the_switch_follows_the_collection(subject: &Subject) {
    let (mut jc, j) = subject.collection_and_job().await;
    assert_eq!(on_since(subject, &job_ref(&jc, &j)).await, Some(now()));
    jc = subject.find_collection(&jc).await.unwrap();
    for (state, on, since) in [
        (CollectionState::Disabled, false, "2027-01-01T12:00:00Z"),
        (CollectionState::Enabled, true, "2027-02-01T00:00:00.0000001Z"),
        (CollectionState::Suspended, false, "2027-02-01T00:00:00.0000001Z"),
    ] {
        assert_eq!(subject.replace_collection(&switched(&jc, state, since)).await, Saved::Kept);
        jc = subject.find_collection(&jc).await.unwrap();
        assert_eq!(on_since(subject, &job_ref(&jc, &j)).await, on.then(|| at(since)));
    }
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(subject.store.read(&job_ref(&jc, &j)).await.unwrap(), None);
}

async fn the_time_of_a_state_is_kept_and_may_be_unknown(subject: &Subject) {
    let unknown = CollectionRecord { state_since: None, ..collection("jc") };
    let mut jc = subject.with_collection(&unknown).await;
    assert_eq!(jc.state_since, None);
    for since in [None, Some(at("2027-02-01T00:00:00.0000001Z")), Some(at("2027-03-01T00:00:00Z"))]
    {
        let changed = CollectionRecord { state_since: since, ..jc.clone() };
        assert_eq!(subject.replace_collection(&changed).await, Saved::Kept);
        jc = subject.find_collection(&jc).await.unwrap();
        assert_eq!(jc.state_since, since);
    }
}

async fn a_refused_change_leaves_the_switch(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    assert_eq!(subject.replace_definition(&jc, &with_document(&j, "{}")).await, Saved::Kept);
    let before = on_since(subject, &job_ref(&jc, &j)).await;
    let off = switched(&jc, CollectionState::Disabled, "2030-01-01T00:00:00Z");
    // One job came.
    assert_eq!(subject.replace_collection(&off).await, Saved::Stale);
    assert_eq!(subject.create_collection(&off).await, Saved::Stale);
    let older = CollectionRecord { version: 0, ..off };
    assert_eq!(subject.delete_collection(&older).await, Saved::Stale);
    assert_eq!(on_since(subject, &job_ref(&jc, &j)).await, before);
}

async fn a_deleted_collection_is_due_to_be_purged_at_once(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    let due = subject.due_index().await;
    let [(_, purge)] = due.as_slice() else { panic!("one timer is due: {due:?}") };
    let what = DueTimer::Purge { collection_uid: jc.collection.uid };
    assert_eq!(*purge, Due { due_at: now(), what });
}
