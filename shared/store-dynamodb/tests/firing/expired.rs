//! The removal of what has expired.

use chrono::TimeDelta;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::Attempts;

use crate::world::{JOB, World, at, claim, in_both_ways, record, scheduled};

#[tokio::test]
async fn expired_attempts_are_removed_and_claimed_ones_stay() {
    in_both_ways(async |world: World| {
        // More than are looked at in one request.
        for n in 0..150 {
            world.execute(&scheduled(60 * n), record(60 * n)).await;
        }
        world.claim(claim(&scheduled(60 * 150), "a")).await;
        let (second, kept_for) = (TimeDelta::seconds(1), HistoryDays::Sixty.span());
        let first_ended = record(0).ended_at + kept_for;
        // By the schedule only: the clock of work stands.
        let remove = async |now| world.store.remove_expired(now, at(0), None).await.unwrap();
        assert_eq!(remove(first_ended - second).await, 0);
        assert_eq!(world.history().await.len(), 151);
        assert_eq!(remove(record(60 * 9).ended_at + kept_for).await, 10);
        assert_eq!(world.history().await.len(), 141);
        assert_eq!(remove(first_ended + kept_for).await, 140);
        let left = world.history().await;
        assert_eq!((left.len(), left[0].record.is_none()), (1, true));
        // A claim of an attempt that never ended.
        let long_after = at(60 * 150) + kept_for * 2;
        assert_eq!(world.store.remove_expired(at(0), long_after, None).await.unwrap(), 1);
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
            message: "refused".to_owned(),
            target: None,
        };
        world.store.add_failure(&failed).await.unwrap();
        let expires_at = at(180) + HistoryDays::Sixty.span();
        let second = TimeDelta::seconds(1);
        let remove = async |now| world.store.remove_expired(now, now, None).await.unwrap();
        assert_eq!(remove(expires_at - second).await, 0);
        assert_eq!(remove(expires_at).await, 1);
    })
    .await;
}
