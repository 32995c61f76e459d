//! Retries in timers of their own.

use minutehand_domain::attempt::{Attempt, Occurrence, Role};
use minutehand_ports::RetryTimers;
use minutehand_ports::store::{Due, DueTimer, LongRetry, TimerKey};

use super::Subject;
use super::firing::{JOB, advance, at, job_ref, retry, scheduled};

fn long(attempt: Attempt) -> LongRetry {
    LongRetry { job: job_ref(), attempt: Attempt { is_long: true, ..attempt } }
}

fn some() -> Vec<LongRetry> {
    let run_id = "01hzzzzzzzzzzzzzzzzzzzzzzr".to_owned();
    let run = Attempt {
        asked_by: Some("token ops".to_owned()),
        ..Attempt::first(3, Occurrence::Run { asked_at: at(7), run_id })
    };
    vec![
        long(retry(1, 5_000, &scheduled(60))),
        long(retry(2, 6_000, &run)),
        long(Attempt { role: Role::Error, ..retry(1, 7_000, &scheduled(60)) }),
    ]
}

async fn keep(subject: &Subject, retries: &[LongRetry]) {
    for retry in retries {
        subject.store.keep(retry).await.unwrap();
    }
}

behaviours! { $ retries:
    a_retry_timer_is_due_with_its_attempt_and_reads_back_whole,
    a_stored_retry_timer_stays_as_it_is,
    a_job_has_retry_timers_until_each_is_removed,
}

async fn a_retry_timer_is_due_with_its_attempt_and_reads_back_whole(subject: &Subject) {
    keep(subject, &some()).await;
    let due: Vec<Due> = some()
        .into_iter()
        .map(|LongRetry { job, attempt }| Due {
            due_at: attempt.due_at,
            what: DueTimer::Retry { job, attempt },
        })
        .collect();
    assert_eq!(subject.due(JOB, 7_000).await, due);
    assert_eq!(subject.due(JOB, 4_999).await, []);
}

async fn a_stored_retry_timer_stays_as_it_is(subject: &Subject) {
    let retries = some();
    keep(subject, &retries).await;
    let LongRetry { attempt, .. } = retries[0].clone();
    let timer = TimerKey::Retry { job_uid: JOB.to_owned(), attempt: attempt.clone() };
    let advance = advance(timer, 5_000, 6_200);
    assert!(subject.advances(&advance).await);
    assert!(!subject.advances(&advance).await);
    keep(subject, &retries).await;
    keep(subject, &[retries.clone(), retries.clone()].concat()).await;
    let due = subject.due(JOB, 6_200).await;
    assert_eq!(due.iter().map(|due| due.due_at).collect::<Vec<_>>(), [at(6_000), at(6_200)]);
    // When it came back is not when it is due.
    let DueTimer::Retry { attempt: read, .. } = &due[1].what else { panic!("a retry") };
    assert_eq!(*read, attempt);
}

async fn a_job_has_retry_timers_until_each_is_removed(subject: &Subject) {
    let retries = some();
    assert_eq!(RetryTimers::list(&*subject.store, JOB, 10).await.unwrap(), []);
    keep(subject, &retries).await;
    assert_eq!(RetryTimers::list(&*subject.store, JOB, 10).await.unwrap().len(), retries.len());
    assert_eq!(RetryTimers::list(&*subject.store, "other", 10).await.unwrap(), []);
    for dropped in [&retries[..2], &retries[..], &retries[2..]] {
        for retry in dropped {
            subject.store.remove(retry).await.unwrap();
        }
    }
    assert_eq!(RetryTimers::list(&*subject.store, JOB, 10).await.unwrap(), []);
    assert_eq!(subject.due(JOB, 100_000).await, []);
}
