//! How many jobs a collection holds: counted in the same transaction, never beyond the limit.

use chrono::TimeDelta;
use minutehand_ports::store::{CollectionRecord, JobRecord, Saved};

use super::Subject;
use super::records::{collection, job, named, now, numbered};

behaviours! { $ counts:
    a_create_counts_one_and_a_delete_counts_it_off,
    counting_is_no_change_of_the_collection,
    a_collection_is_full_at_its_limit_and_not_before,
    a_limit_that_sank_below_the_count_is_full,
    no_limit_is_never_full,
    a_delete_makes_room_for_one,
    a_job_that_is_there_is_stale_also_where_it_is_full,
    a_create_that_fails_leaves_no_count,
    a_create_is_stale_once_the_collection_changed,
    a_collection_that_changed_is_stale_also_where_it_is_full,
    a_delete_counts_off_once,
    a_delete_is_kept_though_the_collection_changed,
    a_job_that_has_expired_is_not_there_and_its_name_is_free,
    a_count_is_corrected_unless_a_job_was_created_meanwhile,
}

async fn a_create_counts_one_and_a_delete_counts_it_off(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let other = subject.collection("other").await;
    for (n, name) in (0..).zip(["a", "b", "c"]) {
        assert_eq!(subject.job_count(&jc).await, n);
        subject.job(&jc, name).await;
    }
    let b = subject.find_job(&jc, &named("b")).await.unwrap();
    assert_eq!(subject.delete_job(&jc, &b).await, Saved::Kept);
    assert_eq!(subject.job_names(&jc, 10).await, ["a", "c"]);
    assert_eq!(subject.job_count(&jc).await, 2);
    assert_eq!(subject.job_count(&other).await, 0);
}

async fn counting_is_no_change_of_the_collection(subject: &Subject) {
    let jc = subject.collection("jc").await;
    // All with what was read while it was empty.
    for name in ["a", "b", "c"] {
        assert_eq!(subject.create_job(&jc, &job(name), Some(3)).await, Saved::Kept);
    }
    let counted = subject.find_collection(&jc).await.unwrap();
    assert_eq!(counted, CollectionRecord { job_count: 3, ..jc });
}

async fn a_collection_is_full_at_its_limit_and_not_before(subject: &Subject) {
    for max in [0, 1, 5] {
        let jc = subject.collection(&format!("jc{max}")).await;
        for name in numbered("kept", max) {
            assert_eq!(subject.create_job(&jc, &job(&name), Some(max)).await, Saved::Kept);
        }
        for name in ["one-more", "another"] {
            assert_eq!(subject.create_job(&jc, &job(name), Some(max)).await, Saved::Full);
            assert_eq!(subject.find_job(&jc, &named(name)).await, None);
        }
        assert_eq!(subject.job_count(&jc).await, max);
        // Nor is a timer left of what was refused.
        assert_eq!(subject.due_index().await.len(), usize::try_from(max).unwrap());
        for name in subject.job_names(&jc, 10).await {
            let kept = subject.find_job(&jc, &named(&name)).await.unwrap();
            assert_eq!(subject.delete_job(&jc, &kept).await, Saved::Kept);
        }
    }
}

async fn a_limit_that_sank_below_the_count_is_full(subject: &Subject) {
    let jc = subject.collection_with(&numbered("j", 3)).await;
    assert_eq!(subject.create_job(&jc, &job("one-more"), Some(2)).await, Saved::Full);
    assert_eq!(subject.job_count(&jc).await, 3);
}

async fn no_limit_is_never_full(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for name in numbered("j", 60) {
        assert_eq!(subject.create_job(&jc, &job(&name), None).await, Saved::Kept);
    }
    assert_eq!(subject.job_count(&jc).await, 60);
}

async fn a_delete_makes_room_for_one(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    assert_eq!(subject.create_job(&jc, &job("k"), Some(1)).await, Saved::Full);
    assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
    assert_eq!(subject.create_job(&jc, &job("k"), Some(1)).await, Saved::Kept);
    assert_eq!(subject.create_job(&jc, &job("l"), Some(1)).await, Saved::Full);
    assert_eq!(subject.job_names(&jc, 10).await, ["k"]);
}

async fn a_job_that_is_there_is_stale_also_where_it_is_full(subject: &Subject) {
    let (jc, _) = subject.collection_and_job().await;
    // The caller reads again, and replaces it: there is nothing to refuse.
    assert_eq!(subject.create_job(&jc, &job("J"), Some(1)).await, Saved::Stale);
}

async fn a_create_that_fails_leaves_no_count(subject: &Subject) {
    let (jc, _) = subject.collection_and_job().await;
    for _ in 0..3 {
        let again = JobRecord { uid: "another".to_owned(), ..job("j") };
        assert_eq!(subject.create_job(&jc, &again, Some(10)).await, Saved::Stale);
    }
    assert_eq!(subject.job_count(&jc).await, 1);
    assert_eq!(subject.due_index().await.len(), 1);
}

async fn a_create_is_stale_once_the_collection_changed(subject: &Subject) {
    let read = subject.collection("jc").await;
    assert_eq!(subject.replace_collection(&read).await, Saved::Kept);
    for max in [None, Some(10)] {
        assert_eq!(subject.create_job(&read, &job("j"), max).await, Saved::Stale);
    }
    assert_eq!(subject.find_job(&read, &named("j")).await, None);
    assert_eq!(subject.job_count(&read).await, 0);
    assert!(subject.due_index().await.is_empty());
}

async fn a_collection_that_changed_is_stale_also_where_it_is_full(subject: &Subject) {
    let (read, _) = subject.collection_and_job().await;
    let now = subject.find_collection(&read).await.unwrap();
    assert_eq!(subject.replace_collection(&now).await, Saved::Kept);
    // Its new quota may have room.
    assert_eq!(subject.create_job(&read, &job("k"), Some(1)).await, Saved::Stale);
}

async fn a_delete_counts_off_once(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    subject.job(&jc, "k").await;
    assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
    for _ in 0..3 {
        assert_eq!(subject.delete_job(&jc, &j).await, Saved::Stale);
    }
    assert_eq!(subject.job_count(&jc).await, 1);
}

async fn a_delete_is_kept_though_the_collection_changed(subject: &Subject) {
    let (read, j) = subject.collection_and_job().await;
    let now = subject.find_collection(&read).await.unwrap();
    assert_eq!(subject.replace_collection(&now).await, Saved::Kept);
    assert_eq!(subject.delete_job(&read, &j).await, Saved::Kept);
    assert_eq!(subject.job_count(&read).await, 0);
}

/// A job that expires at this many seconds from now.
fn expiring(name: &str, seconds: i64) -> JobRecord {
    JobRecord { expires_at: Some(now() + TimeDelta::seconds(seconds)), ..job(name) }
}

async fn a_job_that_has_expired_is_not_there_and_its_name_is_free(subject: &Subject) {
    let jc = subject.collection("jc").await;
    subject.job(&jc, "a").await;
    for record in [expiring("b", 0), expiring("c", 1)] {
        assert_eq!(subject.create_job(&jc, &record, None).await, Saved::Kept);
    }
    assert_eq!(subject.job_names(&jc, 1).await, ["a", "c"]);
    let anew = |name: &str| JobRecord { uid: format!("another-{name}"), ..job(name) };
    assert_eq!(subject.create_job(&jc, &anew("c"), None).await, Saved::Stale);
    assert_eq!(subject.create_job(&jc, &anew("b"), None).await, Saved::Kept);
    let found = subject.find_job(&jc, &named("b")).await.unwrap();
    assert_eq!((found.uid.as_str(), found.expires_at), ("another-b", None));
    assert_eq!(subject.job_names(&jc, 10).await, ["a", "b", "c"]);
}

async fn a_count_is_corrected_unless_a_job_was_created_meanwhile(subject: &Subject) {
    let jc = subject.collection("jc").await;
    subject.job(&jc, "a").await;
    for name in ["b", "c"] {
        assert_eq!(subject.create_job(&jc, &expiring(name, 0), Some(3)).await, Saved::Kept);
    }
    assert_eq!(subject.create_job(&jc, &job("d"), Some(3)).await, Saved::Full);
    let early = subject.count(&jc).await.unwrap();
    assert_eq!((early.as_read, early.jobs), (3, 1));
    // One that exists is deleted and another one created, so the number is the same again.
    let a = subject.find_job(&jc, &named("a")).await.unwrap();
    assert_eq!(subject.delete_job(&jc, &a).await, Saved::Kept);
    assert_eq!(subject.create_job(&jc, &job("d"), Some(3)).await, Saved::Kept);
    assert_eq!(subject.correct_count(&jc, early).await, Saved::Stale);
    let now = subject.count(&jc).await.unwrap();
    assert_eq!((now.as_read, now.jobs), (3, 1));
    assert_eq!(subject.correct_count(&jc, now).await, Saved::Kept);
    assert_eq!(subject.job_count(&jc).await, 1);
    for name in ["e", "f"] {
        assert_eq!(subject.create_job(&jc, &job(name), Some(3)).await, Saved::Kept);
    }
    assert_eq!(subject.create_job(&jc, &job("g"), Some(3)).await, Saved::Full);
    assert_eq!(subject.count(&collection("gone")).await, None);
}
