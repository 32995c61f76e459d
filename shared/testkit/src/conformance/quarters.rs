//! Counts by quarters of an hour: they agree with the counters of jobs.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::quarter::{QUARTERS_KEPT_FOR, QuarterCounts};
use minutehand_domain::recent::Mark;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_ports::store::{Advance, Counted, CountedQuarters, CounterUpdate, CountersAdd};

use super::Subject;
use super::firing::{COLLECTION, JOB, at, leaving_out, scheduled};

behaviours! { $ quarters:
    an_occurrence_counts_in_its_quarter_once,
    a_count_that_comes_too_late_adds_nothing,
    what_a_sweeper_leaves_out_counts_if_its_timer_moves,
    quarters_are_kept_for_eight_days,
}

/// The counts of the collection, with the seconds at which the quarters begin.
async fn quarters(subject: &Subject, between: [DateTime<Utc>; 2]) -> Vec<(i64, QuarterCounts)> {
    let found = subject.browse().quarters(COLLECTION, between).await.unwrap();
    let CountedQuarters::Counted(found) = found else { panic!("the store counts none") };
    found.into_iter().map(|(it, counts)| ((it.start() - at(0)).num_seconds(), counts)).collect()
}

/// The same in two hours.
async fn all(subject: &Subject) -> Vec<(i64, QuarterCounts)> {
    quarters(subject, [at(0), at(7_200)]).await
}

async fn update(subject: &Subject, all: &[(i64, Mark)]) -> CounterUpdate {
    let now = subject.snapshot().await;
    let counted = all.iter().map(|(second, mark)| Counted {
        attempt: scheduled(*second),
        ended_at: Some(at(second + 1)),
        add: CountersAdd {
            executions: 1,
            mark: Some(*mark),
            started_after: Some(TimeDelta::milliseconds(20)),
            ..CountersAdd::default()
        },
    });
    CounterUpdate {
        job_uid: JOB.to_owned(),
        as_read: now.recently_counted.clone(),
        counters: now.counters,
        counted: counted.collect(),
    }
}

async fn an_occurrence_counts_in_its_quarter_once(subject: &Subject) {
    subject.and_job().await;
    assert_eq!(all(subject).await, []);
    let marks = [(60, Mark::Ok), (120, Mark::Failed), (840, Mark::Ok), (900, Mark::Retried)];
    let first = update(subject, &marks).await;
    assert!(subject.store.add(&first).await.unwrap());
    // The answer was lost.
    assert!(subject.store.add(&first).await.unwrap());
    let more = update(subject, &[(1_860, Mark::Late), (61, Mark::Ok)]).await;
    assert!(subject.store.add(&more).await.unwrap());
    let found: Vec<_> = all(subject)
        .await
        .into_iter()
        .map(|(second, it)| {
            let starts: u64 = it.starts.0.iter().sum();
            (second, [it.ok, it.retried, it.late, it.failed, it.skipped], starts)
        })
        .collect();
    let expected =
        [(0, [3, 0, 0, 1, 0], 4), (900, [0, 1, 0, 0, 0], 1), (1_800, [0, 0, 1, 0, 0], 1)];
    assert_eq!(found, expected);
    let between = |from, to| [at(from), at(to)];
    for (from, to, seconds) in [
        (0, 900, vec![0]),
        (1, 901, vec![900]),
        (0, 1_801, vec![0, 900, 1_800]),
        (1_801, 9_000, vec![]),
    ] {
        let found = quarters(subject, between(from, to)).await;
        let found: Vec<i64> = found.into_iter().map(|(second, _)| second).collect();
        assert_eq!(found, seconds, "{from} to {to}");
    }
    let other = subject.browse().quarters("other", between(0, 9_000)).await.unwrap();
    assert_eq!(other, CountedQuarters::Counted(Vec::new()));
}

async fn a_count_that_comes_too_late_adds_nothing(subject: &Subject) {
    subject.and_job().await;
    let first = update(subject, &[(60, Mark::Ok)]).await;
    let stale = update(subject, &[(120, Mark::Ok)]).await;
    assert!(subject.store.add(&first).await.unwrap());
    assert!(!subject.store.add(&stale).await.unwrap());
    let gone = CounterUpdate { job_uid: "gone".to_owned(), ..stale };
    let gone = CounterUpdate { as_read: RecentlyCounted::default(), ..gone };
    assert!(!subject.store.add(&gone).await.unwrap());
    assert_eq!(all(subject).await.iter().map(|(_, it)| it.all()).sum::<u64>(), 1);
}

async fn what_a_sweeper_leaves_out_counts_if_its_timer_moves(subject: &Subject) {
    subject.and_job().await;
    let advance = leaving_out([100, 3_000], [60, 2_760], 46, 3_600);
    let stale = Advance { from: at(120), ..advance.clone() };
    assert!(!subject.advances(&stale).await);
    assert_eq!(all(subject).await, []);
    assert!(subject.advances(&advance).await);
    // Another sweeper has seen the timer where it was.
    assert!(!subject.advances(&advance).await);
    let found: Vec<_> = all(subject).await.iter().map(|(at, it)| (*at, it.skipped)).collect();
    assert_eq!(found, [(0, 11), (900, 12), (1_800, 11), (2_700, 12)]);
    assert_eq!(subject.snapshot().await.counters.skipped, 46);
}

async fn quarters_are_kept_for_eight_days(subject: &Subject) {
    subject.and_job().await;
    let counted = update(subject, &[(60, Mark::Ok), (960, Mark::Ok)]).await;
    assert!(subject.store.add(&counted).await.unwrap());
    subject.remove_expired(at(0) + QUARTERS_KEPT_FOR - TimeDelta::seconds(1)).await;
    assert_eq!(all(subject).await.len(), 2);
    subject.remove_expired(at(0) + QUARTERS_KEPT_FOR).await;
    assert_eq!(all(subject).await.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [900]);
}
