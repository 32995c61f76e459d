//! Steps of a firing at once: of those that exclude each other one is done, and no other is half done.

use chrono::TimeDelta;
use minutehand_domain::firing::{SlotBook, TurnOrder};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::limits::{Concurrent, PerSecond};
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_ports::store::{
    Advance, Claimed, CloudServiceRecord, CollectionRecord, Counted, CounterUpdate, CountersAdd,
    JobRecord, OwnAttempt, Recorded, Saved,
};

use super::Subject;
use super::browse::pause_of;
use super::firing::{
    COLLECTION, JOB, advance, at, claim, claim_at, collection, finish, held, job_timer, record,
    scheduled, turn_of, turns_write,
};
use super::records::{cloud_service, with_document, with_timing};
use super::subject::at_once;

behaviours! { $ firing_races:
    one_of_sixty_four_workers_claims_an_attempt,
    one_of_many_workers_takes_over_a_claim_whose_lease_is_over,
    a_record_and_a_takeover_do_not_both_win,
    a_release_and_a_record_do_not_both_win,
    one_of_many_counts_on_the_same_reading,
    one_of_many_moves_a_timer,
    a_move_and_a_new_timing_leave_the_new_timing,
    a_move_and_a_delete_leave_no_timer,
    a_job_does_not_finish_and_change_at_once,
    a_job_does_not_pause_and_change_at_once,
    one_order_of_turns_wins,
    a_turn_is_given_back_or_passed_on_and_not_both,
    as_many_seats_are_taken_as_there_are,
    one_book_of_slots_wins,
    one_version_of_a_cloud_service_wins,
    a_count_is_corrected_or_a_job_is_created_and_the_number_is_right,
}

fn is_done(done: &[bool]) -> usize {
    done.iter().filter(|it| **it).count()
}

async fn one_of_sixty_four_workers_claims_an_attempt(subject: &Subject) {
    for callers in [2, 64] {
        let attempt = scheduled(60 * i64::from(callers));
        let with = (subject.clone(), attempt);
        let claims = at_once(callers, with, |(subject, attempt), n| async move {
            subject.claim(claim(&attempt, &format!("w{n}"))).await
        })
        .await;
        let won = claims.iter().filter(|it| **it == Claimed::Won).count();
        let held = Claimed::Held { left: TimeDelta::seconds(100) };
        let lost = claims.iter().filter(|it| **it == held).count();
        assert_eq!((won, lost), (1, claims.len() - 1), "{claims:?}");
    }
}

async fn one_of_many_workers_takes_over_a_claim_whose_lease_is_over(subject: &Subject) {
    for round in 0..10 {
        let attempt = scheduled(60 * round);
        assert_eq!(subject.claim(claim(&attempt, "dead")).await, Claimed::Won);
        let with = (subject.clone(), attempt);
        let claims = at_once(16, with, |(subject, attempt), n| async move {
            subject.claim(claim_at(201, &attempt, &format!("w{n}"))).await
        })
        .await;
        assert_eq!(claims.iter().filter(|it| **it == Claimed::Won).count(), 1, "{claims:?}");
    }
}

async fn a_record_and_a_takeover_do_not_both_win(subject: &Subject) {
    for round in 0..10 {
        let attempt = scheduled(60 * round);
        assert_eq!(subject.claim(claim(&attempt, "late")).await, Claimed::Won);
        let done = at_once(2, (subject.clone(), attempt), |(subject, attempt), n| async move {
            if n == 0 {
                let recorded = subject.record(&held(&attempt, "late"), record(60)).await;
                recorded == Recorded::Kept
            } else {
                subject.claim(claim_at(201, &attempt, "next")).await == Claimed::Won
            }
        });
        assert_eq!(is_done(&done.await), 1);
    }
}

async fn a_release_and_a_record_do_not_both_win(subject: &Subject) {
    for round in 0..10 {
        let attempt = scheduled(60 * round);
        assert_eq!(subject.claim(claim(&attempt, "c")).await, Claimed::Won);
        let with = (subject.clone(), held(&attempt, "c"));
        let done = at_once(2, with, |(subject, mine), n| async move {
            if n == 0 {
                return Some(subject.record(&mine, record(60)).await);
            }
            subject.store.release(&mine).await.unwrap();
            None
        });
        let recorded = done.await.into_iter().flatten().next().unwrap();
        let next = subject.claim(claim(&attempt, "next")).await;
        match recorded {
            Recorded::Kept => assert_eq!(next, Claimed::Ended(record(60))),
            Recorded::Lost => assert_eq!(next, Claimed::Won),
            Recorded::Already(other) => panic!("no other worker has recorded: {other:?}"),
        }
    }
}

async fn one_of_many_counts_on_the_same_reading(subject: &Subject) {
    subject.and_job().await;
    let counted = at_once(16, subject.clone(), |subject, n| {
        let second = 60 * i64::from(n);
        let add = CountersAdd { executions: 1, ..CountersAdd::default() };
        let attempt = Counted { attempt: scheduled(second), ended_at: Some(at(second + 1)), add };
        let update = CounterUpdate {
            job_uid: JOB.to_owned(),
            as_read: RecentlyCounted::default(),
            counters: JobCounters::default(),
            counted: vec![attempt],
        };
        async move { subject.store.add(&update).await.unwrap() }
    });
    assert_eq!(is_done(&counted.await), 1);
    assert_eq!(subject.the_job().await.timer.counters.executions, 1);
}

fn to(second: i64) -> Advance {
    advance(job_timer(false, Vec::new()), 60, second)
}

async fn one_of_many_moves_a_timer(subject: &Subject) {
    subject.and_job().await;
    let moved = at_once(16, subject.clone(), |subject, n| async move {
        let second = 900 + i64::from(n);
        subject.advances(&to(second)).await.then_some(second)
    });
    let moved: Vec<i64> = moved.await.into_iter().flatten().collect();
    let [second] = moved.as_slice() else { panic!("one moves it: {moved:?}") };
    assert_eq!(subject.the_job().await.timer.due_at, Some(at(*second)));
}

/// The collection of the job, as it is now.
async fn home(subject: &Subject) -> CollectionRecord {
    subject.find_collection(&collection()).await.unwrap()
}

async fn a_move_and_a_new_timing_leave_the_new_timing(subject: &Subject) {
    subject.and_job().await;
    let (home, job) = (home(subject).await, subject.the_job().await);
    let changed = with_timing(&job, Some(at(5_000)));
    let with = (subject.clone(), home, changed);
    let done = at_once(2, with, |(subject, home, changed), n| async move {
        if n == 0 {
            subject.advances(&to(900)).await;
            return true;
        }
        subject.replace_timing(&home, &changed).await == Saved::Kept
    });
    assert_eq!(is_done(&done.await), 2, "a move takes no change away");
    let timer = subject.the_job().await.timer;
    assert_eq!((timer.timing.generation, timer.due_at), (2, Some(at(5_000))));
}

async fn a_move_and_a_delete_leave_no_timer(subject: &Subject) {
    subject.and_job().await;
    let (home, job) = (home(subject).await, subject.the_job().await);
    let done = at_once(2, (subject.clone(), home, job), |(subject, home, job), n| async move {
        if n == 0 {
            subject.advances(&to(900)).await;
            return true;
        }
        subject.delete_job(&home, &job).await == Saved::Kept
    });
    assert_eq!(is_done(&done.await), 2, "a move takes no delete away");
    assert_eq!(subject.any_job().await, None);
    assert_eq!(subject.due(JOB, 1_000_000).await, [], "the timer came to life again");
}

/// What comes of a step of the scheduler and a change of the definition, decided on the same reading.
async fn with_a_change<F: Future<Output = bool> + Send + 'static>(
    subject: &Subject,
    step: impl Fn(Subject) -> F,
) -> (bool, bool) {
    let (home, job) = (home(subject).await, subject.the_job().await);
    let changed = JobRecord { expires_at: None, ..with_document(&job, r#"{"changed":1}"#) };
    let with = (subject.clone(), home, changed);
    let mut done = at_once(2, with, |(subject, home, changed), n| {
        let step = (n == 0).then(|| step(subject.clone()));
        async move {
            match step {
                Some(step) => (n, step.await),
                None => (n, subject.replace_definition(&home, &changed).await == Saved::Kept),
            }
        }
    })
    .await;
    done.sort_unstable();
    (done[0].1, done[1].1)
}

async fn a_job_does_not_finish_and_change_at_once(subject: &Subject) {
    subject.and_job().await;
    let finish = finish(JobState::Completed, at(100_000));
    assert!(subject.store.expire_definition(&finish).await.unwrap());
    let finishes = |subject: Subject| {
        let finish = finish.clone();
        async move { subject.store.finish(&finish).await.unwrap() }
    };
    let (is_finished, is_changed) = with_a_change(subject, finishes).await;
    assert!(is_finished != is_changed, "{is_finished} {is_changed}");
    let job = subject.the_job().await;
    assert_eq!(job.timer.state == JobState::Completed, is_finished);
    assert_eq!(job.expires_at.is_some(), is_finished);
}

async fn a_job_does_not_pause_and_change_at_once(subject: &Subject) {
    subject.and_job().await;
    let job = subject.the_job().await;
    let mut timing = job.timer.timing;
    timing.generation += 1;
    let pause = pause_of(&job, timing);
    let step = |subject: Subject| {
        let pause = pause.clone();
        async move { subject.store.pause(&pause).await.unwrap() }
    };
    let (is_paused, is_changed) = with_a_change(subject, step).await;
    assert!(is_paused != is_changed, "{is_paused} {is_changed}");
    let found = subject.the_job().await;
    let paused = (JobState::Disabled, None, r#"{"paused":1}"#);
    let changed = (JobState::Enabled, Some(at(60)), r#"{"changed":1}"#);
    let expected = if is_paused { paused } else { changed };
    assert_eq!((found.timer.state, found.timer.due_at, found.document.as_str()), expected);
    assert_eq!(subject.due(JOB, 60).await.is_empty(), is_paused);
    assert_eq!(found.sealed, job.sealed);
    // A pause that was decided on what was there before does nothing.
    assert!(!subject.store.pause(&pause).await.unwrap());
}

async fn one_order_of_turns_wins(subject: &Subject) {
    for as_read in [0, 1] {
        let stored = at_once(16, subject.clone(), |subject, n| async move {
            let order = turn_of(&scheduled(60), &format!("w{n}"));
            subject.stores(&turns_write(as_read, order.clone())).await.then_some(order)
        });
        let stored: Vec<TurnOrder> = stored.await.into_iter().flatten().collect();
        let read = subject.turns(&scheduled(120)).await;
        assert_eq!((read.number, vec![read.order]), (as_read + 1, stored));
        assert_eq!(read.own, OwnAttempt::New);
    }
}

async fn a_turn_is_given_back_or_passed_on_and_not_both(subject: &Subject) {
    let first = scheduled(60);
    assert!(subject.stores(&turns_write(0, turn_of(&first, "first"))).await);
    let passed_on = at_once(2, (subject.clone(), first), |(subject, first), n| async move {
        if n == 0 {
            subject.store.give_back_turn(&held(&first, "first")).await.unwrap();
            return false;
        }
        subject.stores(&turns_write(1, turn_of(&first, "second"))).await
    });
    let is_passed_on = is_done(&passed_on.await) == 1;
    let read = subject.turns(&scheduled(120)).await;
    let expected =
        if is_passed_on { turn_of(&scheduled(60), "second") } else { TurnOrder::default() };
    assert_eq!((read.number, read.order), (2, expected));
}

async fn as_many_seats_are_taken_as_there_are(subject: &Subject) {
    let limit = Concurrent::new(5).unwrap();
    let taken = at_once(64, subject.clone(), |subject, n| async move {
        let claim = held(&scheduled(60), &format!("w{n}"));
        subject.store.take_seat(&claim, limit, at(60)).await
    });
    // A store that is too busy says so, and has taken no seat.
    let taken: Vec<bool> = taken.await.into_iter().map(|it| it.unwrap_or(false)).collect();
    let seats = subject.store.taken_seats(COLLECTION, at(60)).await.unwrap();
    assert_eq!(u32::try_from(is_done(&taken)).unwrap(), seats);
    assert!((1..=5).contains(&seats), "{seats}");
}

async fn one_book_of_slots_wins(subject: &Subject) {
    let book =
        |number| SlotBook { number, per_second: PerSecond::new(4).unwrap(), next_at: at(60) };
    let mut as_read = None;
    for round in 1..4 {
        let opened = at_once(16, subject.clone(), |subject, n| {
            let book = book(100 * round + n);
            async move {
                let opened = subject.store.open_slots(COLLECTION, as_read, book).await;
                opened.unwrap().then_some(book)
            }
        });
        let opened: Vec<SlotBook> = opened.await.into_iter().flatten().collect();
        assert_eq!(opened.len(), 1, "{opened:?}");
        as_read = subject.store.read_slots(COLLECTION).await.unwrap();
        assert_eq!(as_read.as_slice(), opened);
    }
}

async fn one_version_of_a_cloud_service_wins(subject: &Subject) {
    for version in 1..4 {
        let saved = at_once(16, subject.clone(), |subject, n| async move {
            let label = format!("{n}");
            let service = CloudServiceRecord { label, version, ..cloud_service("Group") };
            let saved = subject.cloud_services().save(&service).await.unwrap();
            (saved == Saved::Kept).then_some(service)
        });
        let saved: Vec<_> = saved.await.into_iter().flatten().collect();
        let found = subject.cloud_services().find(&cloud_service("Group").place).await.unwrap();
        assert_eq!(found.as_slice(), saved);
    }
}

async fn a_count_is_corrected_or_a_job_is_created_and_the_number_is_right(subject: &Subject) {
    for round in 0..5 {
        let jc = subject.collection(&format!("jc{round}")).await;
        subject.job(&jc, &format!("a{round}")).await;
        let recount = subject.count(&jc).await.unwrap();
        let with = (subject.clone(), jc.clone());
        let saved = at_once(4, with, |(subject, jc), n| async move {
            if n % 2 == 0 {
                return subject.correct_count(&jc, recount).await;
            }
            let job = super::records::job(&format!("b{round}-{n}"));
            subject.create_job(&jc, &job, None).await
        });
        let _ = saved.await;
        assert_eq!(subject.job_count(&jc).await, 3);
    }
}
