//! Many changes at once: of those that exclude each other one is kept, and no count is lost.

use std::collections::BTreeSet;

use minutehand_domain::plan::Quota;
use minutehand_ports::store::{JobRecord, Saved};

use super::Subject;
use super::records::{at, collection, job, located, named, with_document, with_timing};
use super::subject::at_once;

behaviours! { $ races:
    fifty_creates_against_a_limit_of_ten_leave_exactly_ten,
    creates_and_deletes_leave_the_count_that_is_there,
    one_create_of_a_collection_wins,
    one_create_of_a_job_wins,
    one_replace_of_a_collection_wins_each_version,
    one_replace_of_a_job_wins_each_version,
    one_timing_wins_each_generation,
    one_delete_of_a_job_counts_it_off,
    one_delete_of_a_collection_wins,
    a_job_and_a_smaller_quota_do_not_both_win,
    no_job_outlives_the_delete_of_its_collection_uncounted,
}

fn kept(saved: &[Saved]) -> usize {
    saved.iter().filter(|saved| **saved == Saved::Kept).count()
}

async fn fifty_creates_against_a_limit_of_ten_leave_exactly_ten(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let created = at_once(50, (subject.clone(), jc.clone()), |(subject, jc), n| async move {
        subject.create_job(&jc, &job(&format!("j{n}")), Some(10)).await
    })
    .await;
    assert_eq!(kept(&created), 10);
    // None was told to read again: nothing but the count changed.
    assert_eq!(created.iter().filter(|saved| **saved == Saved::Full).count(), 40);
    assert_eq!(subject.job_count(&jc).await, 10);
    assert_eq!(subject.due_index().await.len(), 10);
}

async fn creates_and_deletes_leave_the_count_that_is_there(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let deleted = at_once(20, (subject.clone(), jc.clone()), |(subject, jc), n| async move {
        let j = subject.job(&jc, &format!("j{n}")).await;
        // Every other one goes again.
        if n % 2 == 0 { subject.delete_job(&jc, &j).await } else { Saved::Stale }
    });
    assert_eq!(kept(&deleted.await), 10);
    assert_eq!(subject.job_count(&jc).await, 10);
}

async fn one_create_of_a_collection_wins(subject: &Subject) {
    let created = at_once(20, subject.clone(), |subject, n| async move {
        let mut jc = collection("jc");
        jc.collection.uid = format!("uid-{n}");
        (subject.create_collection(&jc).await, jc)
    });
    let created = winner(created.await);
    assert_eq!(subject.find_collection(&collection("jc")).await, Some(created));
}

async fn one_create_of_a_job_wins(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let created = at_once(20, (subject.clone(), jc.clone()), |(subject, jc), n| async move {
        let j = JobRecord { uid: format!("uid-{n}"), ..job("j") };
        // With room for one, a loser is not told that it is full.
        (subject.create_job(&jc, &j, Some(1)).await, j)
    })
    .await;
    assert!(created.iter().all(|(saved, _)| *saved != Saved::Full));
    assert_eq!(subject.find_job(&jc, &named("j")).await, Some(winner(created)));
    assert_eq!(subject.job_count(&jc).await, 1);
    assert_eq!(subject.due_index().await.len(), 1);
}

async fn one_replace_of_a_collection_wins_each_version(subject: &Subject) {
    let mut jc = subject.collection("jc").await;
    for round in 0..5 {
        let replaced = at_once(10, (subject.clone(), jc), |(subject, mut jc), n| async move {
            jc.collection.definition = located(&format!("{round}-{n}"));
            (subject.replace_collection(&jc).await, jc)
        });
        jc = winner(replaced.await);
        jc.version += 1;
        assert_eq!(subject.find_collection(&jc).await.as_ref(), Some(&jc));
    }
}

/// The only one of the changes at once that was kept.
fn winner<T>(mut changes: Vec<(Saved, T)>) -> T {
    changes.retain(|(saved, _)| *saved == Saved::Kept);
    assert_eq!(changes.len(), 1);
    changes.remove(0).1
}

async fn one_replace_of_a_job_wins_each_version(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    for round in 0..5 {
        let with = (subject.clone(), jc.clone(), j);
        let replaced = at_once(10, with, |(subject, jc, j), n| async move {
            let changed = with_document(&j, &format!(r#"{{"round":{round},"n":{n}}}"#));
            (subject.replace_definition(&jc, &changed).await, changed)
        });
        j = winner(replaced.await);
        j.version += 1;
        assert_eq!(subject.find_job(&jc, &j.name).await.as_ref(), Some(&j));
    }
}

async fn one_timing_wins_each_generation(subject: &Subject) {
    let (jc, mut j) = subject.collection_and_job().await;
    for _ in 0..5 {
        let with = (subject.clone(), jc.clone(), j);
        let replaced = at_once(10, with, |(subject, jc, j), n| async move {
            let due_at = at(&format!("2030-01-01T00:00:0{n}Z"));
            let changed = with_timing(&with_document(&j, &n.to_string()), Some(due_at));
            (subject.replace_timing(&jc, &changed).await, changed)
        });
        // Definition and timing are of the same one.
        j = winner(replaced.await);
        j.version += 1;
        assert_eq!(subject.find_job(&jc, &j.name).await.as_ref(), Some(&j));
    }
}

async fn one_delete_of_a_job_counts_it_off(subject: &Subject) {
    let (jc, j) = subject.collection_and_job().await;
    for name in ["k", "l"] {
        subject.job(&jc, name).await;
    }
    let with = (subject.clone(), jc.clone(), j);
    let deleted =
        at_once(20, with, |(subject, jc, j), _| async move { subject.delete_job(&jc, &j).await });
    assert_eq!(kept(&deleted.await), 1);
    assert_eq!(subject.job_count(&jc).await, 2);
}

async fn one_delete_of_a_collection_wins(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let deleted = at_once(20, (subject.clone(), jc.clone()), |(subject, jc), _| async move {
        subject.delete_collection(&jc).await
    });
    assert_eq!(kept(&deleted.await), 1);
    assert_eq!(subject.find_collection(&jc).await, None);
}

async fn a_job_and_a_smaller_quota_do_not_both_win(subject: &Subject) {
    // The quota is set upon seeing that there is no job, the jobs are created upon seeing that
    // there is no quota.
    let quota = Quota { max_job_count: Some(1), ..Quota::default() };
    for round in 0..10 {
        let jc = subject.collection(&format!("jc{round}")).await;
        let saved = at_once(6, (subject.clone(), jc.clone()), |(subject, mut jc), n| async move {
            if n % 2 == 0 {
                return subject.create_job(&jc, &job(&format!("{round}-{n}")), Some(50)).await;
            }
            jc.collection.definition.quota = Some(quota);
            subject.replace_collection(&jc).await
        });
        assert!(kept(&saved.await) >= 1);
        let now = subject.find_collection(&jc).await.unwrap();
        let is_limited = now.collection.definition.quota == Some(quota);
        assert_eq!(is_limited, subject.job_count(&jc).await == 0);
    }
}

async fn no_job_outlives_the_delete_of_its_collection_uncounted(subject: &Subject) {
    for round in 0..10 {
        let jc = subject.collection(&format!("jc{round}")).await;
        let saved = at_once(6, (subject.clone(), jc.clone()), |(subject, jc), n| async move {
            let name = format!("{round}-{n}");
            match n {
                3 => (None, subject.delete_collection(&jc).await),
                _ => (Some(name.clone()), subject.create_job(&jc, &job(&name), None).await),
            }
        });
        let saved = saved.await;
        assert!(saved.contains(&(None, Saved::Kept)));
        assert_eq!(subject.find_collection(&jc).await, None);
        // What a purge will find is what was kept before the delete.
        let kept = saved.into_iter().filter(|(_, saved)| *saved == Saved::Kept);
        let kept: BTreeSet<_> = kept.filter_map(|(name, _)| name).collect();
        let left: BTreeSet<_> = subject.job_names(&jc, 10).await.into_iter().collect();
        assert_eq!(left, kept);
    }
}
