//! Removal: the jobs of a deleted collection go, page by page, and nothing else does.

use minutehand_ports::store::{CollectionRecord, Saved};

use super::Subject;
use super::records::{job_ref, numbered};

behaviours! { $ removal:
    a_purge_takes_all_jobs_of_a_deleted_collection_and_its_timer,
    a_purge_can_be_repeated,
    a_purge_leaves_the_jobs_of_other_collections,
}

/// Purges until nothing is left.
async fn purge(subject: &Subject, collection: &CollectionRecord) {
    for _ in 0..1_000 {
        if subject.store.purge(&collection.collection.uid).await.unwrap() {
            return;
        }
    }
    panic!("the purge does not end");
}

async fn a_purge_takes_all_jobs_of_a_deleted_collection_and_its_timer(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let mut jobs = Vec::new();
    // More than one call purges.
    for name in numbered("j", 130) {
        jobs.push(subject.job(&jc, &name).await);
    }
    let jc = subject.find_collection(&jc).await.unwrap();
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(subject.due_index().await.len(), 131);
    purge(subject, &jc).await;
    assert_eq!(subject.due_index().await, []);
    for job in &jobs {
        assert_eq!(subject.find_job(&jc, &job.name).await, None);
    }
}

async fn a_purge_can_be_repeated(subject: &Subject) {
    let jc = subject.collection("jc").await;
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    for _ in 0..2 {
        assert!(subject.store.purge(&jc.collection.uid).await.unwrap());
    }
    assert_eq!(subject.due_index().await, []);
}

async fn a_purge_leaves_the_jobs_of_other_collections(subject: &Subject) {
    let (gone, stays) = (subject.collection("gone").await, subject.collection("stays").await);
    subject.job(&gone, "j").await;
    let k = subject.job(&stays, "k").await;
    let gone = subject.find_collection(&gone).await.unwrap();
    assert_eq!(subject.delete_collection(&gone).await, Saved::Kept);
    purge(subject, &gone).await;
    assert_eq!(subject.find_job(&stays, &k.name).await, Some(k.clone()));
    assert_eq!(subject.in_index(&k).await.map(|(_, due)| due.due_at), k.timer.due_at);
    assert!(subject.store.read(&job_ref(&stays, &k)).await.unwrap().is_some());
}
