//! When items expire.

use chrono::TimeDelta;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::Attempts;

use crate::world::{JOB, World, at, claim_at, in_both_ways, record, scheduled};

#[tokio::test]
async fn expired_attempts_are_removed_and_claimed_ones_stay() {
    in_both_ways(async |world: World| {
        // More than are looked at in one request.
        for n in 0..150 {
            world.execute(&scheduled(60 * n), record(60 * n)).await;
        }
        world.claim(claim_at(60 * 150, &scheduled(60 * 150), "a")).await;
        let (second, kept_for) = (TimeDelta::seconds(1), HistoryDays::Sixty.span());
        let first_ended = record(0).ended_at + kept_for;
        assert_eq!(world.expire(first_ended - second).await, 0);
        assert_eq!(world.history().await.len(), 151);
        assert_eq!(world.expire(record(60 * 9).ended_at + kept_for).await, 10);
        assert_eq!(world.history().await.len(), 141);
        // The last one is a claim of an attempt that never ended.
        assert_eq!(world.expire(record(60 * 149).ended_at + kept_for).await, 140);
        let left = world.history().await;
        assert_eq!((left.len(), left[0].record.is_none()), (1, true));
        assert_eq!(world.expire(at(60 * 150 + 100) + kept_for).await, 1);
        assert_eq!(world.history().await.len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_failure_that_is_listed_expires_with_its_history() {
    in_both_ways(async |world: World| {
        let failed = FailedOccurrence {
            job_uid: JOB.to_owned(),
            collection_path: CollectionPlace::read("sub/group/jc").unwrap(),
            job: "Job".to_owned(),
            nominal_at: at(60),
            is_run: false,
            attempts: 5,
            ended_at: at(180),
            cause: None,
            said: None,
            message: "refused".to_owned(),
            target: None,
        };
        world.store.add_failure(&failed).await.unwrap();
        let expires_at = at(180) + HistoryDays::Sixty.span();
        let second = TimeDelta::seconds(1);
        assert_eq!(world.expire(expires_at - second).await, 0);
        assert_eq!(world.expire(expires_at).await, 1);
    })
    .await;
}
