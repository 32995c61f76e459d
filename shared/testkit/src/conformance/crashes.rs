//! Crashes: what was answered is there for the next process.

use chrono::TimeDelta;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Pulse, SlotBook};
use minutehand_domain::limits::{Concurrent, PerSecond};
use minutehand_ports::RetryTimers;
use minutehand_ports::store::{Claimed, LongRetry, PulseOf, Recorded, Saved};

use super::Subject;
use super::firing::{
    COLLECTION, JOB, advance, at, claim, held, job_ref, job_timer, record, retry, scheduled,
    turn_of, turns_write,
};

behaviours! { $ crashes:
    what_was_stored_is_there_for_the_next_process,
    what_was_deleted_is_gone_for_the_next_process,
    a_step_that_was_answered_is_not_done_again_by_the_next_process,
}

async fn what_was_stored_is_there_for_the_next_process(subject: &Subject) {
    subject.and_job().await;
    let job = subject.the_job().await;
    let retry = LongRetry { job: job_ref(), attempt: retry(1, 5_000, &scheduled(60)) };
    subject.store.keep(&retry).await.unwrap();
    let row = LeftOut::one(1, at(60), LeftOutReason::TooLate, at(61));
    subject.store.leave_out(JOB, &row).await.unwrap();
    let pulse = Pulse { beat_at: Some(at(50)), ..Pulse::default() };
    assert!(subject.store.beat(PulseOf::Workers, None, &pulse).await.unwrap());
    let book = SlotBook { number: 3, per_second: PerSecond::new(4).unwrap(), next_at: at(60) };
    assert!(subject.store.open_slots(COLLECTION, None, book).await.unwrap());
    let seat = held(&scheduled(60), "seat");
    let limit = Concurrent::new(1).unwrap();
    assert!(subject.store.take_seat(&seat, limit, at(60)).await.unwrap());

    let next = subject.next_process();
    assert_eq!(next.the_job().await, job);
    assert_eq!(RetryTimers::list(&*next.store, JOB, 10).await.unwrap().len(), 1);
    assert_eq!(next.left_out().await, [row]);
    assert_eq!(next.store.read_pulses().await.unwrap().workers.beat_at, Some(at(50)));
    assert_eq!(next.store.read_slots(COLLECTION).await.unwrap(), Some(book));
    assert_eq!(next.store.taken_seats(COLLECTION, at(60)).await.unwrap(), 1);
    assert_eq!(next.due(JOB, 5_000).await.len(), 2);
}

async fn what_was_deleted_is_gone_for_the_next_process(subject: &Subject) {
    subject.and_job().await;
    let collection = subject.find_collection(&super::firing::collection()).await.unwrap();
    let job = subject.the_job().await;
    assert_eq!(subject.delete_job(&collection, &job).await, Saved::Kept);
    let next = subject.next_process();
    assert_eq!(next.any_job().await, None);
    assert_eq!(next.store.read(&job_ref()).await.unwrap(), None);
    assert_eq!(next.due(JOB, 1_000_000).await, []);
    assert_eq!(next.find_collection(&collection).await.unwrap().job_count, 0);
}

async fn a_step_that_was_answered_is_not_done_again_by_the_next_process(subject: &Subject) {
    subject.and_job().await;
    let (running, ended) = (scheduled(60), scheduled(120));
    assert_eq!(subject.claim(claim(&running, "a")).await, Claimed::Won);
    subject.execute(&ended, record(120)).await;
    let advance = advance(job_timer(false, Vec::new()), 60, 900);
    assert!(subject.advances(&advance).await);
    let turns = turns_write(0, turn_of(&running, "a"));
    assert!(subject.stores(&turns).await);

    let next = subject.next_process();
    let held_by_a = Claimed::Held { left: TimeDelta::seconds(100) };
    assert_eq!(next.claim(claim(&running, "b")).await, held_by_a);
    assert_eq!(next.claim(claim(&ended, "b")).await, Claimed::Ended(record(120)));
    let already = Recorded::Already(record(120));
    assert_eq!(next.record(&held(&ended, "b"), record(121)).await, already);
    assert!(!next.advances(&advance).await);
    assert!(!next.stores(&turns).await);
    let read = next.turns(&ended).await;
    assert_eq!((read.number, read.order), (1, turns.order));
}
