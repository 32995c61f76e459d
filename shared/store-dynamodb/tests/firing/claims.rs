//! Claims: won, held, taken over, exhausted, ended, released.

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_ports::Attempts;
use minutehand_ports::store::{CLAIMS_MAX, Claimed, Recorded};
use minutehand_store_dynamodb::DynamoStore;

use crate::world::{JOB, at, claim, claim_at, held, in_both_ways, record, retry, scheduled};

fn held_until(second: i64) -> Claimed {
    Claimed::Held { lease_until: at(second) }
}

#[tokio::test]
async fn an_attempt_is_held_until_its_lease_is_over() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        assert_eq!(world.claim(claim(&attempt, "a")).await, Claimed::Won);
        assert_eq!(world.claim(claim_at(150, &attempt, "b")).await, held_until(200));
        assert_eq!(world.claim(claim_at(200, &attempt, "b")).await, held_until(200));
        assert_eq!(world.claim(claim_at(201, &attempt, "b")).await, Claimed::Won);
        assert_eq!(world.claim(claim_at(202, &attempt, "a")).await, held_until(301));
        // Another attempt of the same occurrence is another.
        assert_eq!(world.claim(claim(&retry(1, 90, &attempt), "c")).await, Claimed::Won);
    })
    .await;
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_won_again() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        for _ in 0..2 {
            assert_eq!(world.claim(claim(&attempt, "a")).await, Claimed::Won);
        }
        // It lasts longer, and is still the first.
        assert_eq!(world.claim(claim_at(190, &attempt, "a")).await, Claimed::Won);
        assert_eq!(world.claim(claim_at(250, &attempt, "b")).await, held_until(290));
        let stored = &world.raw(&format!("H#{JOB}")).await[0];
        assert_eq!(stored["claims"].as_n().unwrap(), "1");
    })
    .await;
}

#[tokio::test]
async fn the_last_claim_of_an_attempt_that_kills_its_workers_is_only_for_recording() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        let mut second = 100;
        for n in 1..CLAIMS_MAX {
            let claimed = world.claim(claim_at(second, &attempt, &format!("c{n}"))).await;
            assert_eq!(claimed, Claimed::Won, "{n}");
            second += 101;
        }
        let last = claim_at(second, &attempt, "last");
        assert_eq!(world.claim(last.clone()).await, Claimed::Exhausted);
        assert_eq!(world.claim(last).await, Claimed::Exhausted, "its answer was lost");
        let late = claim_at(second + 50, &attempt, "late");
        assert_eq!(world.claim(late).await, held_until(second + 100));
        // Who was to record it was lost as well.
        let next = claim_at(second + 101, &attempt, "next");
        assert_eq!(world.claim(next).await, Claimed::Exhausted);
        let recorded = world.record(&held(&attempt, "next"), record(60)).await;
        assert_eq!(recorded, Recorded::Kept);
    })
    .await;
}

#[tokio::test]
async fn claims_of_an_earlier_process_are_void_and_do_not_count() {
    in_both_ways(async |world| {
        let process = |n: u32| {
            DynamoStore::new(world.client.clone(), &world.table).alone(format!("process{n}"))
        };
        let attempt = scheduled(60);
        for n in 0..=2 * CLAIMS_MAX {
            let claimed = process(n).claim(&claim(&attempt, "c")).await.unwrap();
            assert_eq!(claimed, Claimed::Won, "{n}");
        }
        // The claim of this process is not void.
        let newest = process(2 * CLAIMS_MAX);
        assert_eq!(newest.claim(&claim(&attempt, "x")).await.unwrap(), held_until(200));
        let record = record(60);
        let lost = process(0).record(&held(&attempt, "c"), &record).await.unwrap();
        assert_eq!(lost, Recorded::Lost);
        let kept = newest.record(&held(&attempt, "c"), &record).await.unwrap();
        assert_eq!(kept, Recorded::Kept);
        // An attempt that has ended stays so.
        let ended = process(0).claim(&claim(&attempt, "c")).await.unwrap();
        assert_eq!(ended, Claimed::Ended(record));
    })
    .await;
}

#[tokio::test]
async fn an_ended_attempt_is_not_claimed_again() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        world.execute(&attempt, record(60)).await;
        let ended = Claimed::Ended(record(60));
        for claim_id in ["c", "other"] {
            assert_eq!(world.claim(claim_at(999, &attempt, claim_id)).await, ended);
        }
    })
    .await;
}

#[tokio::test]
async fn a_released_attempt_can_be_claimed() {
    in_both_ways(async |world| {
        let (mine, other, done) = (scheduled(60), scheduled(120), scheduled(180));
        world.claim(claim(&mine, "a")).await;
        world.claim(claim(&other, "b")).await;
        world.execute(&done, record(180)).await;
        let given = [held(&mine, "a"), held(&other, "a"), held(&done, "c"), held(&mine, "a")];
        for claim in given {
            world.store.release(&claim).await.unwrap();
        }
        assert_eq!(world.claim(claim(&mine, "x")).await, Claimed::Won);
        assert_eq!(world.claim(claim(&other, "x")).await, held_until(200));
        assert_eq!(world.claim(claim(&done, "x")).await, Claimed::Ended(record(180)));
    })
    .await;
}

#[tokio::test]
async fn runs_of_one_instant_are_claimed_apart() {
    in_both_ways(async |world| {
        let run = |run_id: &str| {
            let run_id = run_id.to_owned();
            Attempt::first(1, Occurrence::Run { asked_at: at(60), run_id })
        };
        for attempt in [run("r1"), run("r2"), scheduled(60)] {
            assert_eq!(world.claim(claim(&attempt, "a")).await, Claimed::Won);
        }
        assert_eq!(world.claim(claim(&run("r1"), "b")).await, held_until(200));
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_leads_to_nothing_expires_long_after_its_lease() {
    in_both_ways(async |world| {
        world.claim(claim(&scheduled(60), "a")).await;
        let stored = &world.raw(&format!("H#{JOB}")).await[0];
        let days = (at(200) + chrono::TimeDelta::days(60)).timestamp();
        assert_eq!(stored["expires_at"].as_n().unwrap(), &days.to_string());
    })
    .await;
}
