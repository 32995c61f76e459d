//! Claims.

use crate::world::{JOB, at, claim, in_both_ways, scheduled};

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
