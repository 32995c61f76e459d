//! Claims: won, held, taken over, exhausted, ended, released.

use chrono::TimeDelta;
use minutehand_ports::Attempts;
use minutehand_ports::store::{CLAIMS_MAX, Claimed, Recorded};
use minutehand_store_dynamodb::DynamoStore;

use crate::world::{JOB, at, claim, held, in_both_ways, record, scheduled};

fn held_for(seconds: i64) -> Claimed {
    Claimed::Held { left: TimeDelta::seconds(seconds) }
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
        assert_eq!(newest.claim(&claim(&attempt, "x")).await.unwrap(), held_for(100));
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
async fn a_claim_that_leads_to_nothing_expires_long_after_its_lease() {
    in_both_ways(async |world| {
        world.claim(claim(&scheduled(60), "a")).await;
        let stored = &world.raw(&format!("H#{JOB}")).await[0];
        let days = (at(200) + chrono::TimeDelta::days(60)).timestamp();
        assert_eq!(stored["expires_at"].as_n().unwrap(), &days.to_string());
    })
    .await;
}
