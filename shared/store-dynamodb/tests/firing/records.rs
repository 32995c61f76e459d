//! Records: kept, already there, lost; and what of them is stored.

use minutehand_domain::attempt::{MESSAGE_BYTES_MAX, Outcome, Record};
use minutehand_ports::store::{Claimed, Recorded};

use crate::world::{JOB, at, claim, claim_at, held, in_both_ways, record, scheduled};

#[tokio::test]
async fn a_record_is_kept_once() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        world.claim(claim(&attempt, "a")).await;
        let mine = held(&attempt, "a");
        assert_eq!(world.record(&mine, record(60)).await, Recorded::Kept);
        assert_eq!(world.record(&mine, record(60)).await, Recorded::Kept, "its answer was lost");
        let other = Record { outcome: Outcome::Failed, ..record(61) };
        let already = Recorded::Already(record(60));
        assert_eq!(world.record(&held(&attempt, "b"), other).await, already);
        assert_eq!(world.history().await[0].record, Some(record(60)));
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_lost_its_claim_records_nothing() {
    in_both_ways(async |world| {
        let attempt = scheduled(60);
        assert_eq!(world.record(&held(&attempt, "a"), record(60)).await, Recorded::Lost);
        world.claim(claim(&attempt, "a")).await;
        assert_eq!(world.claim(claim_at(201, &attempt, "b")).await, Claimed::Won);
        assert_eq!(world.record(&held(&attempt, "a"), record(60)).await, Recorded::Lost);
        assert_eq!(world.history().await[0].record, None);
        assert_eq!(world.record(&held(&attempt, "b"), record(61)).await, Recorded::Kept);
        let already = Recorded::Already(record(61));
        assert_eq!(world.record(&held(&attempt, "a"), record(60)).await, already);
    })
    .await;
}

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

#[tokio::test]
async fn a_message_of_any_length_reads_back() {
    in_both_ways(async |world| {
        let header = "X-Header: some value, and another\r\n";
        for (second, times) in [(60, 0), (120, 1), (180, 40), (240, 400)] {
            let record = Record { message: header.repeat(times), ..record(second) };
            world.execute(&scheduled(second), record).await;
        }
        let messages: Vec<usize> =
            world.history().await.into_iter().map(|e| e.record.unwrap().message.len()).collect();
        assert_eq!(messages, [400, 40, 1, 0].map(|times| times * header.len()));
        let too_long = Record { message: "ä".repeat(MESSAGE_BYTES_MAX), ..record(300) };
        world.execute(&scheduled(300), too_long).await;
        let kept = world.history().await.remove(0).record.unwrap().message;
        assert_eq!(kept, "ä".repeat(MESSAGE_BYTES_MAX / 2));
    })
    .await;
}
