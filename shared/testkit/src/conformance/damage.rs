//! Damage: a row that cannot be read is an error that names it, and is never read as something else.
//! Rows beside it are found. What may be wrong with a row is the matter of each back end.

use minutehand_ports::StoreError;

use super::Subject;
use super::back_end::SpoiledRow;
use super::firing::{JOB, held, record, scheduled};
use super::records::{job_ref, segment};
use super::subject::first_page;

behaviours! { $ damage:
    a_damaged_collection_is_an_error,
    a_damaged_definition_is_an_error_and_jobs_beside_it_are_found,
    a_damaged_timer_is_an_error,
    a_damaged_attempt_is_neither_claimed_nor_recorded,
}

/// Asserts that an answer is about a damaged row, which does not get better by asking again.
#[track_caller]
fn assert_corrupt<T>(answer: Result<T, StoreError>) {
    match answer {
        Err(error @ StoreError::Corrupt { .. }) => assert!(!error.is_retryable(), "{error}"),
        Err(other) => panic!("another error: {other:?}"),
        Ok(_) => panic!("the damaged row was read"),
    }
}

async fn a_damaged_collection_is_an_error(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let other = subject.collection("other").await;
    subject.spoil(SpoiledRow::Collection(&jc)).await;
    let sub = segment("Sub");
    assert_corrupt(subject.try_find_collection(&jc).await);
    assert_corrupt(subject.collections_page(&sub, None, first_page(100)).await);
    assert_eq!(subject.find_collection(&other).await, Some(other));
}

async fn a_damaged_definition_is_an_error_and_jobs_beside_it_are_found(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let (j, k) = (subject.job(&jc, "j").await, subject.job(&jc, "k").await);
    subject.spoil(SpoiledRow::Definition(&j)).await;
    assert_corrupt(subject.try_find_job(&jc, &j.name).await);
    assert_corrupt(subject.jobs_page(&jc, first_page(100)).await);
    assert_corrupt(subject.next_process().store.read(&job_ref(&jc, &j)).await);
    assert_eq!(subject.find_job(&jc, &k.name).await, Some(k));
}

async fn a_damaged_timer_is_an_error(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let (j, k) = (subject.job(&jc, "j").await, subject.job(&jc, "k").await);
    subject.spoil(SpoiledRow::Timer(&j)).await;
    assert_corrupt(subject.try_find_job(&jc, &j.name).await);
    assert_corrupt(subject.store.read(&job_ref(&jc, &j)).await);
    assert_eq!(subject.find_job(&jc, &k.name).await, Some(k));
}

async fn a_damaged_attempt_is_neither_claimed_nor_recorded(subject: &Subject) {
    let attempt = scheduled(60);
    subject.execute(&attempt, record(60)).await;
    subject.spoil(SpoiledRow::Attempts(JOB)).await;
    let request = super::firing::claim_at(400, &attempt, "next");
    assert_corrupt(subject.store.claim(&request).await);
    assert_corrupt(subject.store.record(&held(&attempt, "next"), &record(61)).await);
    // Another attempt of the same job is claimed as always.
    subject.execute(&scheduled(120), record(120)).await;
}
