//! Groups: each of one ends by itself, in either way to perform it.

use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, MESSAGE_BYTES_MAX, Occurrence, Record};
use minutehand_embedded::Store;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Recorded};
use minutehand_store_dynamodb::{DynamoStore, Groups};

use crate::world::{World, at, claim, claim_at, held, in_both_ways, noise, record, scheduled};

/// More than two transactions.
const MANY: i64 = 250;

#[tokio::test]
async fn a_large_group_is_claimed_and_recorded() {
    in_both_ways(async |world: World| {
        let attempts: Vec<Attempt> = (0..MANY).map(scheduled).collect();
        let claims: Vec<ClaimRequest> =
            attempts.iter().map(|attempt| claim(attempt, "a")).collect();
        for answer in world.store.claim_all(&claims).await {
            assert_eq!(answer.unwrap(), Claimed::Won);
        }
        let claims: Vec<Claim> = attempts.iter().map(|attempt| held(attempt, "a")).collect();
        let record = record(60);
        let records: Vec<_> = claims.iter().map(|claim| (claim, &record)).collect();
        for answer in world.store.record_all(&records).await {
            assert_eq!(answer.unwrap(), Recorded::Kept);
        }
        assert_eq!(world.history().await.len(), 250);
    })
    .await;
}

#[tokio::test]
async fn failed_conditions_do_not_stop_the_rest_of_a_group() {
    in_both_ways(async |world: World| {
        // Every third is ended, every third is held; of the held ones every other lease is over.
        for n in 0..MANY {
            let attempt = scheduled(n);
            match n % 6 {
                1 | 4 => world.execute(&attempt, record(n)).await,
                2 => assert_eq!(world.claim(claim(&attempt, "a")).await, Claimed::Won),
                5 => assert_eq!(world.claim(claim_at(300, &attempt, "a")).await, Claimed::Won),
                _ => {}
            }
        }
        let claims: Vec<ClaimRequest> =
            (0..MANY).map(|n| claim_at(250, &scheduled(n), "b")).collect();
        let answers = world.store.claim_all(&claims).await;
        for (n, answer) in (0..MANY).zip(answers) {
            let expected = match n % 6 {
                1 | 4 => Claimed::Ended(record(n)),
                5 => Claimed::Held { left: TimeDelta::seconds(150) },
                _ => Claimed::Won,
            };
            assert_eq!(answer.unwrap(), expected, "{n}");
        }
        let ended: Vec<_> = (0..MANY).map(|n| (held(&scheduled(n), "b"), record(n + 1))).collect();
        let records: Vec<_> = ended.iter().map(|(claim, record)| (claim, record)).collect();
        let answers = world.store.record_all(&records).await;
        for (n, answer) in (0..MANY).zip(answers) {
            let expected = match n % 6 {
                1 | 4 => Recorded::Already(record(n)),
                5 => Recorded::Lost,
                _ => Recorded::Kept,
            };
            assert_eq!(answer.unwrap(), expected, "{n}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_same_attempt_twice_in_a_group_is_decided_in_its_order() {
    in_both_ways(async |world: World| {
        let (one, two) = (scheduled(60), scheduled(120));
        let claims = [
            claim(&one, "a"),
            claim(&two, "b"),
            claim(&one, "b"),
            claim(&one, "a"),
            claim_at(201, &one, "c"),
        ];
        let answers: Vec<Claimed> =
            world.store.claim_all(&claims).await.into_iter().map(Result::unwrap).collect();
        let held = Claimed::Held { left: TimeDelta::seconds(100) };
        assert_eq!(answers, [Claimed::Won, Claimed::Won, held, Claimed::Won, Claimed::Won]);
    })
    .await;
}

#[tokio::test]
async fn an_invalid_write_does_not_fail_the_rest_of_a_group() {
    in_both_ways(async |world: World| {
        // A sort key is at most a kilobyte long.
        let run_id = "r".repeat(1_100);
        let run = Occurrence::Run { asked_at: at(60), run_id };
        let wrong = Attempt::first(1, run);
        let claims = [scheduled(60), wrong, scheduled(120)];
        let answers = world.store.claim_all(&claims.map(|attempt| claim(&attempt, "a"))).await;
        let kept: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(kept, [true, false, true]);
        assert!(!answers[1].as_ref().unwrap_err().is_retryable());
        assert_eq!(world.history().await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_hundred_of_the_longest_messages_fit() {
    in_both_ways(async |world: World| {
        let attempts: Vec<Attempt> = (0..100).map(scheduled).collect();
        let claims: Vec<ClaimRequest> =
            attempts.iter().map(|attempt| claim(attempt, "a")).collect();
        world.store.claim_all(&claims).await;
        let ended = |(n, attempt)| {
            let message = noise(n, MESSAGE_BYTES_MAX);
            (held(attempt, "a"), Record { message, ..record(60) })
        };
        let ended: Vec<_> = (0..).zip(&attempts).map(ended).collect();
        let records: Vec<_> = ended.iter().map(|(claim, record)| (claim, record)).collect();
        for answer in world.store.record_all(&records).await {
            assert_eq!(answer.unwrap(), Recorded::Kept);
        }
    })
    .await;
}

#[tokio::test]
async fn an_empty_group_asks_for_nothing() {
    in_both_ways(async |world: World| {
        assert!(world.store.claim_all(&[]).await.is_empty());
        assert!(world.store.add_all(&[]).await.is_empty());
        assert!(world.meter.take().is_empty());
    })
    .await;
}

#[tokio::test]
async fn an_unavailable_store_fails_every_write_of_a_group() {
    for groups in [Groups::Transactions, Groups::Singles] {
        // The embedded one, as another is not ours to close.
        let embedded = Store::in_memory().unwrap();
        let store = DynamoStore::new(embedded.client(), "closed").with_groups(groups);
        embedded.close().await;
        let claims = [60, 120].map(|second| claim(&scheduled(second), "a"));
        let answers = store.claim_all(&claims).await;
        assert_eq!(answers.len(), 2);
        for answer in answers {
            assert!(answer.unwrap_err().is_retryable());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_has_each() {
    in_both_ways(async |world: World| {
        let workers = (0..8).map(|worker| {
            let store = world.store.clone();
            tokio::spawn(async move {
                let claims: Vec<ClaimRequest> =
                    (0..20).map(|n| claim(&scheduled(n), &format!("w{worker}"))).collect();
                let answers = store.claim_all(&claims).await;
                answers.into_iter().filter(|answer| matches!(answer, Ok(Claimed::Won))).count()
            })
        });
        let mut won = 0;
        for worker in workers.collect::<Vec<_>>() {
            won += worker.await.unwrap();
        }
        assert_eq!(won, 20);
    })
    .await;
}
