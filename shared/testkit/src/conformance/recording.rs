//! Records: kept, already there, lost; and what of them is stored.

use minutehand_domain::attempt::{MESSAGE_BYTES_MAX, Outcome, Record};
use minutehand_domain::cause::Cause;
use minutehand_ports::store::{Claimed, Recorded};

use super::Subject;
use super::firing::{claim, claim_at, held, record, scheduled};

behaviours! { $ recording:
    a_record_is_kept_once,
    a_worker_that_lost_its_claim_records_nothing,
    a_message_of_any_length_reads_back,
    why_an_attempt_failed_reads_back,
}

async fn a_record_is_kept_once(subject: &Subject) {
    let attempt = scheduled(60);
    subject.claim(claim(&attempt, "a")).await;
    let mine = held(&attempt, "a");
    assert_eq!(subject.record(&mine, record(60)).await, Recorded::Kept);
    assert_eq!(subject.record(&mine, record(60)).await, Recorded::Kept, "its answer was lost");
    let other = Record { outcome: Outcome::Failed, ..record(61) };
    let already = Recorded::Already(record(60));
    assert_eq!(subject.record(&held(&attempt, "b"), other.clone()).await, already);
    subject.record(&mine, other).await;
    assert_eq!(subject.history().await[0].record, Some(record(60)));
}

async fn a_worker_that_lost_its_claim_records_nothing(subject: &Subject) {
    let attempt = scheduled(60);
    assert_eq!(subject.record(&held(&attempt, "a"), record(60)).await, Recorded::Lost);
    subject.claim(claim(&attempt, "a")).await;
    assert_eq!(subject.claim(claim_at(201, &attempt, "b")).await, Claimed::Won);
    assert_eq!(subject.record(&held(&attempt, "a"), record(60)).await, Recorded::Lost);
    assert_eq!(subject.history().await[0].record, None);
    assert_eq!(subject.record(&held(&attempt, "b"), record(61)).await, Recorded::Kept);
    let already = Recorded::Already(record(61));
    assert_eq!(subject.record(&held(&attempt, "a"), record(60)).await, already);
}

async fn a_message_of_any_length_reads_back(subject: &Subject) {
    let header = "X-Header: some value, and another\r\n";
    for (second, times) in [(60, 0), (120, 1), (180, 40), (240, 400)] {
        let record = Record { message: header.repeat(times), ..record(second) };
        subject.execute(&scheduled(second), record).await;
    }
    let messages: Vec<usize> =
        subject.history().await.into_iter().map(|e| e.record.unwrap().message.len()).collect();
    assert_eq!(messages, [400, 40, 1, 0].map(|times| times * header.len()));
    let too_long = Record { message: "ä".repeat(MESSAGE_BYTES_MAX), ..record(300) };
    subject.execute(&scheduled(300), too_long).await;
    let kept = subject.history().await.remove(0).record.unwrap().message;
    assert_eq!(kept, "ä".repeat(MESSAGE_BYTES_MAX / 2));
}

async fn why_an_attempt_failed_reads_back(subject: &Subject) {
    let cause = Some(Cause::http(500));
    let record = Record { outcome: Outcome::Failed, cause, ..record(60) };
    subject.execute(&scheduled(60), record.clone()).await;
    assert_eq!(subject.history().await[0].record, Some(record));
}
