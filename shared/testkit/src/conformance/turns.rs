//! Turns: which attempt of a job runs, if the job lets none overlap.

use chrono::DateTime;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome};
use minutehand_domain::firing::{LeftOut, LeftOutReason, TurnOrder, Waiter};
use minutehand_ports::RetryTimers;
use minutehand_ports::store::{Claimed, LongRetry, OwnAttempt, TurnsRead, TurnsWrite};

use super::Subject;
use super::firing::{JOB, at, claim, held, job_ref, record, scheduled, turn_of, turns_write};

/// The longest attempt: a retry of a run that repeats an occurrence.
fn long(n: u32) -> Attempt {
    let run_id = format!("01hzzzzzzzzzzzzzzzzzzzz{n:03}x-621355968000000000");
    let asked_at = DateTime::from_timestamp(253_402_300_799, 0).unwrap();
    let run = Occurrence::Run { asked_at, run_id };
    Attempt { number: 12, ..Attempt::first(u64::MAX, run) }
}

fn order(holder: Option<(&Attempt, &str)>, waiting: &[Waiter]) -> TurnOrder {
    let order = holder.map(|(attempt, claim_id)| turn_of(attempt, claim_id));
    TurnOrder { waiting: waiting.to_vec(), ..order.unwrap_or_default() }
}

behaviours! { $ turns:
    an_order_reads_back_and_is_stored_only_on_the_one_that_was_read,
    an_attempt_that_has_ended_no_longer_has_the_turn,
    an_occurrence_is_left_out_together_with_the_order,
    a_row_keeps_its_reason_beside_that_of_an_outage,
    a_turn_is_given_back_by_the_claim_that_has_it,
    the_timer_of_a_retry_keeps_that_it_takes_its_turn,
}

async fn an_order_reads_back_and_is_stored_only_on_the_one_that_was_read(subject: &Subject) {
    let (first, second) = (scheduled(60), scheduled(120));
    let nothing = TurnsRead { number: 0, order: TurnOrder::default(), own: OwnAttempt::New };
    assert_eq!(subject.turns(&first).await, nothing);
    let waits = [Waiter { attempt: long(1), until: at(900) }];
    let one = order(Some((&first, "one")), &waits);
    assert!(subject.stores(&turns_write(0, one.clone())).await);
    // It was there before, and what is written again was.
    assert!(!subject.stores(&turns_write(0, one.clone())).await);
    let read = TurnsRead { number: 1, order: one, own: OwnAttempt::New };
    assert_eq!(subject.turns(&second).await, read);
    let free = order(None, &[]);
    assert!(!subject.stores(&turns_write(2, free.clone())).await);
    assert!(subject.stores(&turns_write(1, free.clone())).await);
    assert!(!subject.stores(&turns_write(1, order(Some((&second, "two")), &[]))).await);
    let read = TurnsRead { number: 2, order: free, own: OwnAttempt::New };
    assert_eq!(subject.turns(&second).await, read);
}

async fn an_attempt_that_has_ended_no_longer_has_the_turn(subject: &Subject) {
    let (first, second) = (scheduled(60), scheduled(120));
    assert!(subject.stores(&turns_write(0, order(Some((&first, "one")), &[]))).await);
    assert_eq!(subject.claim(claim(&first, "one")).await, Claimed::Won);
    let while_it_runs = subject.turns(&second).await;
    assert_eq!(while_it_runs.order.holder, turn_of(&first, "one").holder);
    assert_eq!(subject.turns(&first).await.own, OwnAttempt::Begun);
    let ended = record(60);
    subject.record(&held(&first, "one"), ended.clone()).await;
    let after = subject.turns(&second).await;
    assert_eq!((after.number, after.order.holder), (1, None));
    let own = subject.turns(&first).await.own;
    let OwnAttempt::Ended(kept) = own else { panic!("{own:?}") };
    assert_eq!((kept.outcome, kept.started_at), (Outcome::Succeeded, ended.started_at));
}

async fn an_occurrence_is_left_out_together_with_the_order(subject: &Subject) {
    let (first, second) = (scheduled(60), scheduled(120));
    let order = order(Some((&first, "one")), &[]);
    assert!(subject.stores(&turns_write(0, order.clone())).await);
    let row = LeftOut::one(1, at(120), LeftOutReason::Overlap, at(121));
    let leaves_out =
        |as_read| TurnsWrite { left_out: Some(row.clone()), ..turns_write(as_read, order.clone()) };
    assert!(!subject.stores(&leaves_out(0)).await);
    assert_eq!(subject.turns(&second).await.own, OwnAttempt::New);
    assert_eq!(subject.left_out().await, []);
    assert!(subject.stores(&leaves_out(1)).await);
    assert_eq!(subject.turns(&second).await.own, OwnAttempt::LeftOut);
    // Others are as they were.
    assert_eq!(subject.turns(&scheduled(180)).await.own, OwnAttempt::New);
    assert_eq!(subject.turns(&first).await.number, 2);
    assert_eq!(subject.left_out().await, [row]);
}

async fn a_row_keeps_its_reason_beside_that_of_an_outage(subject: &Subject) {
    let outage = minutehand_domain::firing::Outage { from: at(50), until: at(700) };
    let rows = [
        LeftOut::one(1, at(60), LeftOutReason::Overlap, at(61)),
        LeftOut::one(1, at(60), LeftOutReason::TooLate, at(62)),
        LeftOut {
            last: at(600),
            occurrences: 10,
            ..LeftOut::one(1, at(60), LeftOutReason::Outage(outage), at(701))
        },
    ];
    for row in &rows {
        subject.store.leave_out(JOB, row).await.unwrap();
    }
    assert_eq!(subject.left_out().await, rows);
}

async fn a_turn_is_given_back_by_the_claim_that_has_it(subject: &Subject) {
    let first = scheduled(60);
    let waits = [Waiter { attempt: scheduled(30), until: at(900) }];
    assert!(subject.stores(&turns_write(0, order(Some((&first, "one")), &waits))).await);
    subject.store.give_back_turn(&held(&first, "another")).await.unwrap();
    assert_eq!(subject.turns(&first).await.order.holder, turn_of(&first, "one").holder);
    for _ in 0..2 {
        subject.store.give_back_turn(&held(&first, "one")).await.unwrap();
        let read = subject.turns(&first).await;
        assert_eq!((read.number, read.order), (2, order(None, &waits)));
    }
}

async fn the_timer_of_a_retry_keeps_that_it_takes_its_turn(subject: &Subject) {
    for (number, under_policy, takes_turn) in [(1, false, false), (2, true, false), (3, true, true)]
    {
        let attempt = Attempt { number, under_policy, takes_turn, is_long: true, ..scheduled(60) };
        subject.store.keep(&LongRetry { job: job_ref(), attempt: attempt.clone() }).await.unwrap();
        let listed = RetryTimers::list(&*subject.store, JOB, 10).await.unwrap();
        assert_eq!(listed.last(), Some(&attempt));
    }
}
