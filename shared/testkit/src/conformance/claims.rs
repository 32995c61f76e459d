//! Claims: won, held, taken over, exhausted, ended, released.

use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_ports::store::{CLAIMS_MAX, Claimed, Recorded};

use super::Subject;
use super::firing::{at, claim, claim_at, held, record, retry, scheduled};

fn held_for(seconds: i64) -> Claimed {
    Claimed::Held { left: TimeDelta::seconds(seconds) }
}

behaviours! { $ claims:
    an_attempt_is_held_until_its_lease_is_over,
    a_claim_whose_answer_was_lost_is_won_again,
    the_last_claim_of_an_attempt_that_kills_its_workers_is_only_for_recording,
    an_ended_attempt_is_not_claimed_again,
    a_released_attempt_can_be_claimed,
    runs_of_one_instant_are_claimed_apart,
}

async fn an_attempt_is_held_until_its_lease_is_over(subject: &Subject) {
    let attempt = scheduled(60);
    assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    assert_eq!(subject.claim(claim_at(150, &attempt, "b")).await, held_for(50));
    assert_eq!(subject.claim(claim_at(200, &attempt, "b")).await, held_for(0));
    assert_eq!(subject.claim(claim_at(201, &attempt, "b")).await, Claimed::Won);
    assert_eq!(subject.claim(claim_at(202, &attempt, "a")).await, held_for(99));
    // Another attempt of the same occurrence is another.
    assert_eq!(subject.claim(claim(&retry(1, 90, &attempt), "c")).await, Claimed::Won);
}

async fn a_claim_whose_answer_was_lost_is_won_again(subject: &Subject) {
    let attempt = scheduled(60);
    // It is still the first, however often its worker asks.
    for _ in 0..2 * CLAIMS_MAX {
        assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    }
    subject.store.may_act(&held(&attempt, "a")).await.unwrap();
    // It lasts longer, and is still the first.
    assert_eq!(subject.claim(claim_at(190, &attempt, "a")).await, Claimed::Won);
    assert_eq!(subject.claim(claim_at(250, &attempt, "b")).await, held_for(40));
}

async fn the_last_claim_of_an_attempt_that_kills_its_workers_is_only_for_recording(
    subject: &Subject,
) {
    let attempt = scheduled(60);
    let mut second = 100;
    for n in 1..CLAIMS_MAX {
        let claimed = subject.claim(claim_at(second, &attempt, &format!("c{n}"))).await;
        assert_eq!(claimed, Claimed::Won, "{n}");
        second += 101;
    }
    let last = claim_at(second, &attempt, "last");
    assert_eq!(subject.claim(last.clone()).await, Claimed::Exhausted);
    assert_eq!(subject.claim(last).await, Claimed::Exhausted, "its answer was lost");
    let late = claim_at(second + 50, &attempt, "late");
    assert_eq!(subject.claim(late).await, held_for(50));
    // Who was to record it was lost as well.
    let next = claim_at(second + 101, &attempt, "next");
    assert_eq!(subject.claim(next).await, Claimed::Exhausted);
    let recorded = subject.record(&held(&attempt, "next"), record(60)).await;
    assert_eq!(recorded, Recorded::Kept);
}

async fn an_ended_attempt_is_not_claimed_again(subject: &Subject) {
    let attempt = scheduled(60);
    subject.execute(&attempt, record(60)).await;
    let ended = Claimed::Ended(record(60));
    for claim_id in ["c", "other"] {
        assert_eq!(subject.claim(claim_at(999, &attempt, claim_id)).await, ended);
    }
}

async fn a_released_attempt_can_be_claimed(subject: &Subject) {
    let (mine, other, done) = (scheduled(60), scheduled(120), scheduled(180));
    subject.claim(claim(&mine, "a")).await;
    subject.claim(claim(&other, "b")).await;
    subject.execute(&done, record(180)).await;
    let given = [held(&mine, "a"), held(&other, "a"), held(&done, "c"), held(&mine, "a")];
    for claim in given {
        subject.store.release(&claim).await.unwrap();
    }
    assert_eq!(subject.claim(claim(&mine, "x")).await, Claimed::Won);
    assert_eq!(subject.claim(claim(&other, "x")).await, held_for(100));
    assert_eq!(subject.claim(claim(&done, "x")).await, Claimed::Ended(record(180)));
}

async fn runs_of_one_instant_are_claimed_apart(subject: &Subject) {
    let run = |run_id: &str| {
        let run_id = run_id.to_owned();
        Attempt::first(1, Occurrence::Run { asked_at: at(60), run_id })
    };
    for attempt in [run("r1"), run("r2"), scheduled(60)] {
        assert_eq!(subject.claim(claim(&attempt, "a")).await, Claimed::Won);
    }
    assert_eq!(subject.claim(claim(&run("r1"), "b")).await, held_for(100));
}
