//! The list of occurrences that failed for good.

use chrono::TimeDelta;
use minutehand_domain::cause::CauseKind;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::{FailedOccurrence, FailureKey};

use super::Subject;
use super::firing::{JOB, at};
use super::records::segment;
use super::subject::whole_list;

behaviours! { $ failures:
    a_failure_is_listed_once_however_often_it_is_added,
    failures_come_by_day_the_newest_first_in_pages,
    a_failure_that_is_mended_leaves_the_list,
}

/// An occurrence that ended at this second, each of another job.
fn failed(second: i64) -> FailedOccurrence {
    FailedOccurrence {
        job_uid: format!("{JOB}-{second}"),
        collection_path: CollectionPlace::read("sub/group/jc").unwrap(),
        job: "Job".to_owned(),
        nominal_at: at(second - 60),
        is_run: false,
        attempts: 5,
        ended_at: at(second),
        cause: Some(CauseKind::ConnectionRefused.into()),
        said: Some("No, \"never\".".to_owned()),
        message: "refused".to_owned(),
        target: Some("request http://example.org".to_owned()),
    }
}

/// What the list of a day has, which is the day of the clock's start and so many days.
async fn listed(subject: &Subject, of: &str, days: i64, items_max: u32) -> Vec<FailedOccurrence> {
    let (of, day) = (segment(of), (at(0) + TimeDelta::days(days)).date_naive());
    whole_list(items_max, async |page| subject.browse().failures(&of, day, page).await).await
}

async fn a_failure_is_listed_once_however_often_it_is_added(subject: &Subject) {
    let run =
        FailedOccurrence { is_run: true, target: None, cause: None, said: None, ..failed(300) };
    for failed in [failed(120), failed(120), run.clone()] {
        subject.store.add_failure(&failed).await.unwrap();
    }
    assert_eq!(listed(subject, "sub", 0, 10).await, [run, failed(120)]);
}

async fn failures_come_by_day_the_newest_first_in_pages(subject: &Subject) {
    const DAY: i64 = 86_400;
    let other = CollectionPlace::read("other/group/jc").unwrap();
    let other = FailedOccurrence { collection_path: other, ..failed(120) };
    for failed in [failed(180), failed(120), failed(240), failed(DAY + 120), other.clone()] {
        subject.store.add_failure(&failed).await.unwrap();
    }
    for items_max in [1, 2, 3, 100] {
        let found = listed(subject, "sub", 0, items_max).await;
        assert_eq!(found, [240, 180, 120].map(failed), "{items_max}");
    }
    assert_eq!(listed(subject, "sub", 1, 10).await, [failed(DAY + 120)]);
    assert_eq!(listed(subject, "other", 0, 10).await, [other]);
    assert_eq!(listed(subject, "sub", 2, 10).await, []);
}

async fn a_failure_that_is_mended_leaves_the_list(subject: &Subject) {
    for failed in [failed(120), failed(180)] {
        subject.store.add_failure(&failed).await.unwrap();
    }
    let mended = failed(120);
    let FailedOccurrence { job_uid, collection_path, nominal_at, ended_at, .. } = &mended;
    let (nominal_at, ended_at) = (*nominal_at, *ended_at);
    for ended_at in [ended_at + TimeDelta::seconds(1), ended_at, ended_at] {
        let failure = FailureKey { job_uid, collection_path, nominal_at, ended_at };
        subject.store.remove_failure(failure).await.unwrap();
    }
    assert_eq!(listed(subject, "sub", 0, 10).await, [failed(180)]);
}
