//! Counting: once, and only on what was read.

use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobCounters;
use minutehand_domain::missed::Missed;
use minutehand_domain::recent::{LastSkip, Mark};
use minutehand_domain::recently_counted::{IsCounted, RecentlyCounted};
use minutehand_ports::store::{Counted, CounterUpdate, CountersAdd, JobSnapshot};

use super::Subject;
use super::firing::{JOB, at, job_ref, leaving_out, scheduled};

async fn count(subject: &Subject, update: &CounterUpdate) -> bool {
    subject.store.add(update).await.unwrap()
}

fn counting(as_read: &RecentlyCounted, second: i64, add: CountersAdd) -> CounterUpdate {
    let counters = JobCounters::default();
    let counted = Counted { attempt: scheduled(second), ended_at: Some(at(second + 1)), add };
    let (job_uid, as_read) = (JOB.to_owned(), as_read.clone());
    CounterUpdate { job_uid, as_read, counters, counted: vec![counted] }
}

/// Whether the attempt of this second is remembered as counted.
fn is_counted(read: &JobSnapshot, second: i64) -> bool {
    read.recently_counted.has(&scheduled(second), Some(at(second + 1))) == IsCounted::Yes
}

const OFF: SkipReason = SkipReason::CollectionOff;

fn marked(mark: Mark) -> CountersAdd {
    CountersAdd { mark: Some(mark), ..one() }
}

fn one() -> CountersAdd {
    CountersAdd { executions: 1, last_execution_at: Some(at(60)), ..CountersAdd::default() }
}

behaviours! { $ counting:
    an_update_fails_if_others_were_counted_since_the_reading,
    a_repeated_update_counts_once,
    each_counter_is_added_to_separately,
    results_and_skips_are_written_with_the_count,
    what_is_missed_since_the_last_success_is_written_with_the_count,
    skips_that_a_sweeper_counts_meanwhile_are_among_the_results,
    joined_updates_are_one_write,
    an_attempt_that_is_no_longer_remembered_is_found_among_the_evicted,
    an_update_of_a_deleted_job_counts_nothing,
}

async fn an_update_fails_if_others_were_counted_since_the_reading(subject: &Subject) {
    subject.and_job().await;
    let before = subject.snapshot().await;
    assert_eq!(before.recently_counted, RecentlyCounted::default());
    assert!(count(subject, &counting(&before.recently_counted, 60, one())).await);
    // Another attempt was decided on what was there before.
    assert!(!count(subject, &counting(&before.recently_counted, 120, one())).await);
    let after = subject.snapshot().await;
    assert!(is_counted(&after, 60));
    assert_eq!(after.counters.executions, 1);
    assert!(count(subject, &counting(&after.recently_counted, 120, one())).await);
    assert_eq!(subject.snapshot().await.counters.executions, 2);
}

async fn a_repeated_update_counts_once(subject: &Subject) {
    subject.and_job().await;
    let update = counting(&RecentlyCounted::default(), 60, one());
    assert!(count(subject, &update).await);
    assert!(count(subject, &update).await);
    assert_eq!(subject.snapshot().await.counters.executions, 1);
}

async fn each_counter_is_added_to_separately(subject: &Subject) {
    subject.and_job().await;
    let add = CountersAdd {
        executions: 5,
        failures: 4,
        faulted: 3,
        skipped: 2,
        last_execution_at: Some(at(60)),
        ..CountersAdd::default()
    };
    assert!(count(subject, &counting(&RecentlyCounted::default(), 60, add)).await);
    let now = subject.snapshot().await;
    let more = CountersAdd { skipped: 1, ..CountersAdd::default() };
    assert!(count(subject, &counting(&now.recently_counted, 120, more)).await);
    let now = subject.snapshot().await;
    let counters = now.counters;
    assert_eq!((counters.executions, counters.failures, counters.faulted), (5, 4, 3));
    assert_eq!(counters.skipped, 3);
    assert_eq!(counters.last_execution_at, Some(at(60)));
    assert_eq!(subject.the_job().await.timer.counters, counters);
}

async fn results_and_skips_are_written_with_the_count(subject: &Subject) {
    subject.and_job().await;
    let skip = |first, last| LastSkip { last: at(last), ..LastSkip::one(at(first), OFF) };
    for (second, add, results, last_skip) in [
        (60, marked(Mark::Ok), "o", None),
        // An attempt that a retry follows.
        (120, one(), "o", None),
        (180, marked(Mark::Failed), "of", None),
        (240, CountersAdd::skipped(skip(240, 240)), "ofs", Some((240, 240, 1))),
        (300, CountersAdd::skipped(skip(300, 300)), "ofss", Some((240, 300, 2))),
        (360, marked(Mark::Retried), "ofssr", Some((240, 300, 2))),
    ] {
        let now = subject.snapshot().await;
        let update = counting(&now.recently_counted, second, add);
        let update = CounterUpdate { counters: now.counters, ..update };
        assert!(count(subject, &update).await);
        // The answer was lost.
        assert!(count(subject, &update).await);
        let counters = subject.snapshot().await.counters;
        assert_eq!(counters.results().letters(), results, "{second}");
        let found = counters.last_skip.map(|it| (it.first, it.last, it.occurrences));
        let last_skip = last_skip.map(|(first, last, n)| (at(first), at(last), n));
        assert_eq!(found, last_skip, "{second}");
    }
}

async fn what_is_missed_since_the_last_success_is_written_with_the_count(subject: &Subject) {
    subject.and_job().await;
    let failed = CountersAdd { failures: 1, faulted: 1, ..marked(Mark::Failed) };
    let skipped = CountersAdd::skipped(LastSkip::one(at(240), SkipReason::Overlap));
    for (second, add, occurrences, since, last_success) in [
        (60, failed, 1, Some(60), None),
        (120, marked(Mark::Ok), 0, None, Some(120)),
        // An attempt that a retry follows.
        (180, one(), 0, None, Some(120)),
        (240, skipped, 1, Some(240), Some(120)),
        (300, failed, 2, Some(240), Some(120)),
        (360, marked(Mark::Retried), 0, None, Some(360)),
    ] {
        let now = subject.snapshot().await;
        let update = counting(&now.recently_counted, second, add);
        assert!(count(subject, &CounterUpdate { counters: now.counters, ..update }).await);
        let (since, last_success) = (since.map(at), last_success.map(at));
        let expected = Missed { occurrences, since, last_success };
        assert_eq!(subject.snapshot().await.counters.missed(), expected, "{second}");
    }
}

async fn skips_that_a_sweeper_counts_meanwhile_are_among_the_results(subject: &Subject) {
    subject.and_job().await;
    let before = subject.snapshot().await;
    let advance = leaving_out([100, 400], [120, 180], 2, 900);
    assert!(subject.advances(&advance).await);
    // Two workers, of which one has read the job before and the other one after that.
    let mut update = counting(&before.recently_counted, 60, marked(Mark::Ok));
    let after = counting(&before.recently_counted, 240, marked(Mark::Failed));
    update.join(CounterUpdate { counters: subject.snapshot().await.counters, ..after }).unwrap();
    assert!(count(subject, &update).await);
    assert_eq!(subject.snapshot().await.counters.results().letters(), "ssof");
    // One that has read the job before.
    let late = counting(&subject.snapshot().await.recently_counted, 300, marked(Mark::Late));
    assert!(count(subject, &CounterUpdate { counters: before.counters, ..late }).await);
    assert_eq!(subject.snapshot().await.counters.results().letters(), "lss");
}

async fn joined_updates_are_one_write(subject: &Subject) {
    subject.and_job().await;
    let nothing = RecentlyCounted::default();
    let skipped = CountersAdd { skipped: 1, ..CountersAdd::default() };
    let mut all = counting(&nothing, 120, one());
    all.join(counting(&nothing, 60, one())).unwrap();
    all.join(counting(&nothing, 180, skipped)).unwrap();
    // A copy of a message.
    all.join(counting(&nothing, 120, one())).unwrap();
    assert!(count(subject, &all).await);
    // The answer was lost.
    assert!(count(subject, &all).await);
    let now = subject.snapshot().await;
    assert_eq!((now.counters.executions, now.counters.skipped), (2, 1));
    for second in [60, 120, 180] {
        assert!(is_counted(&now, second), "{second}");
    }
    let later = counting(&now.recently_counted, 240, one());
    assert_eq!(all.join(later.clone()), Err(Box::new(later)));
}

async fn an_attempt_that_is_no_longer_remembered_is_found_among_the_evicted(subject: &Subject) {
    subject.and_job().await;
    let is_evicted = async |second: i64| {
        let (attempt, ended_at) = (scheduled(second), Some(at(second + 1)));
        subject.store.is_evicted(JOB, &attempt, ended_at).await.unwrap()
    };
    for n in 0..200 {
        let now = subject.snapshot().await;
        assert!(count(subject, &counting(&now.recently_counted, 60 * n, one())).await);
    }
    let now = subject.snapshot().await;
    assert_eq!(now.counters.executions, 200);
    for n in 0..200 {
        let has = now.recently_counted.has(&scheduled(60 * n), Some(at(60 * n + 1)));
        match has {
            IsCounted::Yes => assert!(!is_evicted(60 * n).await, "{n}"),
            IsCounted::IfEvicted => assert!(is_evicted(60 * n).await, "{n}"),
            IsCounted::No => panic!("{n} is counted"),
        }
        // Another one that ended then is not counted.
        assert!(!is_evicted(60 * n + 1).await);
    }
    // A copy of an update that evicted some changes nothing.
    let full = counting(&now.recently_counted, 60 * 200, one());
    assert!(count(subject, &full).await);
    assert!(count(subject, &full).await);
    assert_eq!(subject.snapshot().await.counters.executions, 201);
}

async fn an_update_of_a_deleted_job_counts_nothing(subject: &Subject) {
    assert!(!count(subject, &counting(&RecentlyCounted::default(), 60, one())).await);
    assert_eq!(subject.store.read(&job_ref()).await.unwrap(), None);
    assert_eq!(subject.due(JOB, 1_000_000).await, [], "nothing comes to life again");
}
