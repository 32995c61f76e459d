//! Open attempts: their targets are at work, and one ending ends them.

use minutehand_domain::attempt::{Attempt, Outcome, Record};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::Waited;
use minutehand_domain::limits::Concurrent;
use minutehand_ports::RetryTimers;
use minutehand_ports::store::{
    AttemptSeen, Claim, Claimed, DueTimer, LeaveOpen, LeftOpen, LongRetry, OpenAttempt, OpenSpan,
    OwnAttempt, Recorded, Said, TurnsWrite,
};

use super::Subject;
use super::firing::{
    COLLECTION, JOB, at, claim, claim_at, held, job_ref, record, retry, scheduled, turn_of,
    turns_write,
};
use super::subject::at_once;

behaviours! { $ open_attempts:
    an_open_attempt_is_not_claimed_and_has_the_timer_of_its_deadline,
    an_attempt_is_left_open_under_its_claim_alone,
    a_deadline_takes_the_timer_in_which_a_retry_waited,
    the_first_ending_counts,
    a_report_counts_until_the_deadline,
    a_report_before_the_answer_is_kept_and_the_attempt_is_not_made_again,
    only_a_target_ends_an_attempt_that_is_not_open,
    an_ending_that_was_said_is_recorded_once,
    an_open_attempt_keeps_its_turn,
    an_open_attempt_keeps_its_seat,
    an_open_attempt_is_that_of_the_next_process,
    progress_is_noted_until_the_end,
    of_endings_that_come_at_once_one_counts,
}

/// An attempt at the second 60 is open for ten minutes, and held for a day.
fn open(has_seat: bool) -> LeaveOpen {
    LeaveOpen { started_at: at(61), until: at(661), held_until: at(86_400), has_seat }
}

fn ending(second: i64, by: EndedBy) -> Ending {
    Ending::new(at(second), by, "rows: 7")
}

fn seen(attempt: &Attempt, ending: Option<Ending>) -> OpenAttempt {
    OpenAttempt {
        attempt: attempt.clone(),
        claim_id: "a".to_owned(),
        open: Some(OpenSpan { started_at: at(61), until: at(661) }),
        ending,
        progress: None,
    }
}

impl Subject {
    async fn leaves_open(&self, claim: &Claim, has_seat: bool) -> LeftOpen {
        self.store.leave_open(claim, &open(has_seat)).await.unwrap()
    }

    async fn is_open(&self, attempt: &Attempt) {
        assert_eq!(self.claim(claim(attempt, "a")).await, Claimed::Won);
        assert_eq!(self.leaves_open(&held(attempt, "a"), false).await, LeftOpen::Open);
    }

    async fn says(&self, attempt: &Attempt, ending: &Ending) -> Said {
        self.store.say(JOB, attempt, ending).await.unwrap()
    }

    async fn sees(&self, attempt: &Attempt) -> AttemptSeen {
        self.store.see(JOB, attempt).await.unwrap()
    }

    async fn ends(&self, claim: &Claim, record: Record) -> Recorded {
        self.store.record_ending(claim, &record).await.unwrap()
    }
}

async fn an_open_attempt_is_not_claimed_and_has_the_timer_of_its_deadline(subject: &Subject) {
    let attempt = scheduled(60);
    assert_eq!(subject.sees(&attempt).await, AttemptSeen::Nothing);
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    assert_eq!(subject.sees(&attempt).await, AttemptSeen::Claimed);
    for _ in 0..2 {
        // The answer may be lost.
        assert_eq!(subject.leaves_open(&held(&attempt, "a"), false).await, LeftOpen::Open);
    }
    let as_seen = Box::new(seen(&attempt, None));
    assert_eq!(subject.sees(&attempt).await, AttemptSeen::Open(as_seen.clone()));
    // However late it is by the clock of work.
    for (now, id) in [(100, "a"), (100, "b"), (1_000, "b"), (1_000_000, "b")] {
        let claimed = subject.claim(claim_at(now, &attempt, id)).await;
        assert_eq!(claimed, Claimed::Open(as_seen.clone()), "{now} {id}");
    }
    let timer = Attempt {
        due_at: at(661),
        is_long: true,
        waited: Some(Waited::Completion),
        ..attempt.clone()
    };
    let due = subject.due(JOB, 661).await;
    let [due] = due.as_slice() else { panic!("{due:?}") };
    assert_eq!(due.due_at, at(661));
    assert_eq!(due.what, DueTimer::Retry { job: job_ref(), attempt: timer.clone() });
    assert_eq!(RetryTimers::list(&*subject.store, JOB, 10).await.unwrap(), [timer]);
    let entry = subject.history().await.remove(0);
    assert_eq!((entry.attempt, entry.record, entry.waits), (attempt, None, false));
}

async fn an_attempt_is_left_open_under_its_claim_alone(subject: &Subject) {
    let attempt = scheduled(60);
    assert_eq!(subject.leaves_open(&held(&attempt, "a"), false).await, LeftOpen::Lost);
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    assert_eq!(subject.leaves_open(&held(&attempt, "b"), false).await, LeftOpen::Lost);
    assert_eq!(subject.record(&held(&attempt, "a"), record(60)).await, Recorded::Kept);
    let already = LeftOpen::Already(record(60));
    assert_eq!(subject.leaves_open(&held(&attempt, "a"), false).await, already);
    assert_eq!(subject.due(JOB, 10_000).await, []);
}

async fn a_deadline_takes_the_timer_in_which_a_retry_waited(subject: &Subject) {
    let attempt = Attempt { is_long: true, ..retry(1, 300, &scheduled(60)) };
    let timer = LongRetry { job: job_ref(), attempt: attempt.clone() };
    subject.store.keep(&timer).await.unwrap();
    subject.is_open(&attempt).await;
    let due = subject.due(JOB, 10_000).await;
    let at_due: Vec<_> = due.iter().map(|due| due.due_at).collect();
    assert_eq!(at_due, [at(661)]);
    subject.store.remove(&timer).await.unwrap();
    assert_eq!(subject.due(JOB, 10_000).await, []);
}

async fn the_first_ending_counts(subject: &Subject) {
    for (n, first) in EndedBy::ALL.into_iter().enumerate() {
        let attempt = retry(u32::try_from(n).unwrap(), 60, &scheduled(60));
        subject.is_open(&attempt).await;
        let first = ending(100, first);
        assert_eq!(subject.says(&attempt, &first).await, Said::First);
        for other in EndedBy::ALL {
            let said = subject.says(&attempt, &ending(101, other)).await;
            assert_eq!(said, Said::Already(first.clone()));
        }
        let as_seen = Box::new(seen(&attempt, Some(first)));
        assert_eq!(subject.sees(&attempt).await, AttemptSeen::Open(as_seen.clone()));
        assert_eq!(subject.claim(claim(&attempt, "b")).await, Claimed::Open(as_seen));
    }
}

async fn a_report_counts_until_the_deadline(subject: &Subject) {
    let attempt = scheduled(60);
    subject.is_open(&attempt).await;
    for by in [EndedBy::Success, EndedBy::Failure] {
        assert_eq!(subject.says(&attempt, &ending(662, by)).await, Said::Late);
    }
    let at_last = ending(661, EndedBy::Success);
    assert_eq!(subject.says(&attempt, &at_last).await, Said::First);
    let other = scheduled(120);
    subject.is_open(&other).await;
    let deadline = ending(700, EndedBy::Deadline);
    assert_eq!(subject.says(&other, &deadline).await, Said::First);
    assert_eq!(subject.says(&other, &at_last).await, Said::Already(deadline));
}

async fn a_report_before_the_answer_is_kept_and_the_attempt_is_not_made_again(subject: &Subject) {
    let attempt = scheduled(60);
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    let early = ending(62, EndedBy::Success);
    assert_eq!(subject.says(&attempt, &early).await, Said::First);
    // Its worker holds it.
    assert!(matches!(subject.claim(claim(&attempt, "b")).await, Claimed::Held { .. }));
    let left = subject.leaves_open(&held(&attempt, "a"), false).await;
    assert_eq!(left, LeftOpen::Over(early.clone()));
    assert_eq!(subject.due(JOB, 10_000).await, []);
    // Its worker died.
    let as_seen = OpenAttempt { open: None, ..seen(&attempt, Some(early)) };
    let claimed = subject.claim(claim_at(201, &attempt, "b")).await;
    assert_eq!(claimed, Claimed::Open(Box::new(as_seen)));
    assert_eq!(subject.ends(&held(&attempt, "a"), record(60)).await, Recorded::Kept);
    assert_eq!(subject.claim(claim(&attempt, "c")).await, Claimed::Ended(record(60)));
}

async fn only_a_target_ends_an_attempt_that_is_not_open(subject: &Subject) {
    let attempt = scheduled(60);
    for by in EndedBy::ALL {
        assert_eq!(subject.says(&attempt, &ending(62, by)).await, Said::Nothing);
    }
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    for by in [EndedBy::Deadline, EndedBy::Cancel] {
        assert_eq!(subject.says(&attempt, &ending(62, by)).await, Said::Nothing);
    }
    assert_eq!(subject.ends(&held(&attempt, "a"), record(60)).await, Recorded::Lost);
    assert_eq!(subject.record(&held(&attempt, "a"), record(60)).await, Recorded::Kept);
    for by in EndedBy::ALL {
        assert_eq!(subject.says(&attempt, &ending(62, by)).await, Said::Nothing);
    }
}

async fn an_ending_that_was_said_is_recorded_once(subject: &Subject) {
    let attempt = scheduled(60);
    subject.is_open(&attempt).await;
    let late = held(&attempt, "another");
    assert_eq!(subject.ends(&late, record(60)).await, Recorded::Lost, "nothing was said");
    let said = ending(100, EndedBy::Failure);
    assert_eq!(subject.says(&attempt, &said).await, Said::First);
    let failed = Record { outcome: Outcome::Failed, ..record(61) };
    assert_eq!(subject.ends(&late, failed.clone()).await, Recorded::Kept);
    let again = subject.ends(&held(&attempt, "a"), record(62)).await;
    assert_eq!(again, Recorded::Already(failed.clone()));
    assert_eq!(subject.sees(&attempt).await, AttemptSeen::Recorded(failed.clone()));
    assert_eq!(subject.claim(claim(&attempt, "b")).await, Claimed::Ended(failed.clone()));
    // It is known who said it.
    assert_eq!(subject.says(&attempt, &ending(101, EndedBy::Success)).await, Said::Already(said));
    assert_eq!(subject.history().await.remove(0).record, Some(failed));
}

fn turn(attempt: &Attempt, as_read: u64, claim_id: &str) -> TurnsWrite {
    turns_write(as_read, turn_of(attempt, claim_id))
}

async fn an_open_attempt_keeps_its_turn(subject: &Subject) {
    let (first, second) = (scheduled(60), scheduled(120));
    assert!(subject.stores(&turn(&first, 0, "a")).await);
    assert_eq!(subject.claim(claim(&first, "a")).await, Claimed::Won);
    let claim =
        Claim { attempt: Attempt { takes_turn: true, ..first.clone() }, ..held(&first, "a") };
    assert_eq!(subject.leaves_open(&claim, false).await, LeftOpen::Open);
    let read = subject.turns(&second).await;
    let holder = read.order.holder.clone().unwrap();
    assert_eq!((read.number, holder.lease_until), (2, at(86_400)));
    // What was decided before is decided anew.
    assert!(!subject.stores(&turn(&second, 1, "b")).await);
    // Another process that stores who waits leaves it whose it is.
    let next = subject.next_process();
    let stored = TurnsWrite { order: read.order, ..turn(&second, 2, "b") };
    assert!(next.stores(&stored).await);
    let next = next.next_process();
    let read = next.turns(&second).await;
    assert_eq!(read.order.holder, Some(holder));
    assert_eq!(next.turns(&first).await.own, OwnAttempt::Begun);
    assert_eq!(next.says(&first, &ending(100, EndedBy::Success)).await, Said::First);
    assert_eq!(next.ends(&claim, record(60)).await, Recorded::Kept);
    let read = next.turns(&second).await;
    assert_eq!(read.order.holder, None);
}

async fn an_open_attempt_keeps_its_seat(subject: &Subject) {
    let limit = Concurrent::new(1).unwrap();
    let (first, other) = (held(&scheduled(60), "a"), held(&scheduled(120), "b"));
    assert!(subject.store.take_seat(&first, limit, at(60)).await.unwrap());
    assert_eq!(subject.claim(claim(&first.attempt, "a")).await, Claimed::Won);
    assert_eq!(subject.leaves_open(&first, true).await, LeftOpen::Open);
    let next = subject.next_process();
    for subject in [subject, &next] {
        // Long after the lease of its claim.
        assert!(!subject.store.take_seat(&other, limit, at(10_000)).await.unwrap());
        assert_eq!(subject.store.taken_seats(COLLECTION, at(10_000)).await.unwrap(), 1);
    }
    for _ in 0..2 {
        next.store.give_back_seat(&first).await.unwrap();
    }
    assert_eq!(next.store.taken_seats(COLLECTION, at(10_000)).await.unwrap(), 0);
    let late = Claim { lease_until: at(10_100), ..other };
    assert!(next.store.take_seat(&late, limit, at(10_000)).await.unwrap());
}

async fn an_open_attempt_is_that_of_the_next_process(subject: &Subject) {
    let attempt = scheduled(60);
    subject.is_open(&attempt).await;
    let next = subject.next_process();
    let as_seen = AttemptSeen::Open(Box::new(seen(&attempt, None)));
    assert_eq!(next.sees(&attempt).await, as_seen);
    assert!(matches!(next.claim(claim(&attempt, "b")).await, Claimed::Open(_)));
    assert_eq!(next.says(&attempt, &ending(100, EndedBy::Cancel)).await, Said::First);
    assert_eq!(next.ends(&held(&attempt, "a"), record(60)).await, Recorded::Kept);
}

async fn progress_is_noted_until_the_end(subject: &Subject) {
    let attempt = scheduled(60);
    let notes =
        async |line: &str| subject.store.note_progress(&job_ref(), &attempt, line).await.unwrap();
    assert!(!notes("0 %").await);
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    assert!(notes("1 %").await);
    assert_eq!(subject.leaves_open(&held(&attempt, "a"), false).await, LeftOpen::Open);
    assert!(notes("50 %").await);
    let progress = Some("50 %".to_owned());
    let as_seen = OpenAttempt { progress, ..seen(&attempt, None) };
    assert_eq!(subject.sees(&attempt).await, AttemptSeen::Open(Box::new(as_seen)));
    assert_eq!(subject.says(&attempt, &ending(100, EndedBy::Success)).await, Said::First);
    assert!(!notes("100 %").await);
}

async fn of_endings_that_come_at_once_one_counts(subject: &Subject) {
    for round in 0..5 {
        let attempt = retry(round, 60, &scheduled(60));
        subject.is_open(&attempt).await;
        let said = at_once(8, (subject.clone(), attempt), |(subject, attempt), n| async move {
            let by = EndedBy::ALL[n as usize % EndedBy::ALL.len()];
            subject.says(&attempt, &ending(100, by)).await
        })
        .await;
        assert_eq!(said.iter().filter(|it| **it == Said::First).count(), 1, "{said:?}");
    }
}
