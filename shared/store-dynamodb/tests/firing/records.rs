//! Records: kept, already there, lost; and what of them is stored.

use crate::world::{JOB, at, in_both_ways, record, scheduled};

#[tokio::test]
async fn a_record_expires_sixty_days_after_its_end_and_the_claim_is_gone() {
    in_both_ways(async |world| {
        world.execute(&scheduled(60), record(60)).await;
        let stored = &world.raw(&format!("H#{JOB}")).await[0];
        let days = (at(61) + chrono::TimeDelta::days(60)).timestamp();
        assert_eq!(stored["expires_at"].as_n().unwrap(), &days.to_string());
        let mut names: Vec<&str> = stored.keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = "claim_id ended_at expires_at message outcome pk repeat_count sk started_at";
        assert_eq!(names.join(" "), expected);
    })
    .await;
}
