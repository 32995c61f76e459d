//! Sending in batches, and putting back what was received.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{ChangeMessageVisibilityBatchRequestEntry, SendMessageBatchRequestEntry};
use chrono::{DateTime, Utc};
use domain::work_item::encode;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use ports::{Clock, DispatchQueue, QueueError, QueueMessage};

use crate::error::{asks_for_patience, queue_error};
use crate::receive::SqsReceipt;

/// The most messages of a request.
const BATCH_MAX: usize = 10;
/// The most bytes of a request: a quarter of what SQS takes, and all of what its imitations do.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// The most requests of one [`send`](DispatchQueue::send) under way at once.
pub const IN_FLIGHT_MAX: usize = 16;
/// The longest delay of a message.
const DELAY_SECONDS_MAX: i64 = 900;
/// How often what a queue took in part is sent.
const TRIES_MAX: u32 = 4;
/// The wait before the second try; each further one is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The longest that a message may stay away, twelve hours.
const AWAY_SECONDS_MAX: i32 = 12 * 60 * 60;

/// A queue of SQS.
#[derive(Clone)]
pub struct SqsQueue {
    client: Client,
    url: String,
    clock: Arc<dyn Clock>,
}

/// A message as it is sent.
struct OutgoingMessage {
    body: String,
    delay_seconds: i32,
}

impl SqsQueue {
    /// The queue at this URL. It waits by this clock before it sends again.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client, url: url.into(), clock }
    }

    /// Lets messages come back after such a time, instead of the queue's own.
    ///
    /// # Errors
    ///
    /// If the queue does not answer, or not for all: those come back when it says.
    pub async fn put_back(&self, receipts: &[(SqsReceipt, Duration)]) -> Result<(), QueueError> {
        let mut refused = None;
        for batch in receipts.chunks(BATCH_MAX) {
            let entries = batch.iter().enumerate().map(|(n, (receipt, after))| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(n.to_string())
                    .receipt_handle(&receipt.0)
                    .visibility_timeout(away_seconds(*after))
                    .build()
            });
            let entries = entries.collect::<Result<Vec<_>, _>>().map_err(unbuilt)?;
            let changed = self
                .client
                .change_message_visibility_batch()
                .queue_url(&self.url)
                .set_entries(Some(entries))
                .send()
                .await
                .map_err(queue_error)?;
            if let Some(failed) = changed.failed().first() {
                refused = Some(failed.code().to_owned());
            }
        }
        match refused {
            None => Ok(()),
            Some(code) => Err(QueueError::Refused(code.into())),
        }
    }

    async fn send_batch(&self, mut left: Vec<OutgoingMessage>) -> Result<(), QueueError> {
        let mut refused = None;
        let mut backoff = FIRST_BACKOFF;
        for attempt in 1.. {
            let sent = self.send_once(&left).await?;
            let mut again = Vec::new();
            let mut code = String::new();
            for (letter, fate) in left.into_iter().zip(sent) {
                match fate {
                    Fate::Taken => {}
                    Fate::Later(why) => {
                        code = why;
                        again.push(letter);
                    }
                    Fate::Refused(why) => refused = Some(why),
                }
            }
            left = again;
            if left.is_empty() {
                break;
            }
            if attempt == TRIES_MAX {
                return Err(QueueError::Unavailable(
                    format!("{} messages of a batch were not taken: {code}", left.len()).into(),
                ));
            }
            self.clock.wait(backoff).await;
            backoff *= 2;
        }
        match refused {
            None => Ok(()),
            Some(code) => Err(QueueError::Refused(code.into())),
        }
    }

    /// Sends a batch once; what became of each letter is in its order.
    async fn send_once(&self, letters: &[OutgoingMessage]) -> Result<Vec<Fate>, QueueError> {
        let entries = letters.iter().enumerate().map(|(n, letter)| {
            SendMessageBatchRequestEntry::builder()
                .id(n.to_string())
                .message_body(&letter.body)
                .delay_seconds(letter.delay_seconds)
                .build()
        });
        let sent = self
            .client
            .send_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(entries.collect::<Result<_, _>>().map_err(unbuilt)?))
            .send()
            .await
            .map_err(queue_error)?;
        // What is not said to be taken is not taken.
        let silent = || Fate::Later("the queue says nothing of them".to_owned());
        let mut fates: Vec<Fate> = letters.iter().map(|_| silent()).collect();
        let taken = sent.successful().iter().map(|entry| (entry.id(), Fate::Taken));
        let failed = sent.failed().iter().map(|entry| {
            let code = entry.code().to_owned();
            let fate = if entry.sender_fault() && !asks_for_patience(&code) {
                Fate::Refused(code)
            } else {
                Fate::Later(code)
            };
            (entry.id(), fate)
        });
        for (id, fate) in taken.chain(failed) {
            let slot = id.parse().ok().and_then(|n: usize| fates.get_mut(n));
            if let Some(slot) = slot {
                *slot = fate;
            }
        }
        Ok(fates)
    }
}

/// What became of a letter.
enum Fate {
    Taken,
    Later(String),
    Refused(String),
}

#[async_trait]
impl DispatchQueue for SqsQueue {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        let letters = messages.iter().map(|message| OutgoingMessage {
            body: encode(&message.work_item),
            delay_seconds: delay_seconds(message.due_at, now),
        });
        iter(batches(letters))
            .map(|batch| self.send_batch(batch))
            .buffer_unordered(IN_FLIGHT_MAX)
            .try_collect::<()>()
            .await
    }
}

/// How long the queue shall hold a message: never longer than until it is due.
fn delay_seconds(due_at: DateTime<Utc>, now: DateTime<Utc>) -> i32 {
    let seconds = (due_at - now).num_seconds().clamp(0, DELAY_SECONDS_MAX);
    i32::try_from(seconds).unwrap_or_default()
}

/// Whole seconds, rounded up: what comes back too early is held still.
fn away_seconds(after: Duration) -> i32 {
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(AWAY_SECONDS_MAX).min(AWAY_SECONDS_MAX)
}

/// Letters in requests: as many as one may hold.
fn batches(letters: impl Iterator<Item = OutgoingMessage>) -> Vec<Vec<OutgoingMessage>> {
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for letter in letters {
        let longer = bytes + letter.body.len();
        if batch.len() == BATCH_MAX || (longer > BATCH_BYTES_MAX && !batch.is_empty()) {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += letter.body.len();
        batch.push(letter);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// What would only be missing if the code above forgot it.
fn unbuilt(error: BuildError) -> QueueError {
    QueueError::Refused(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_held_until_it_is_due_and_no_longer_than_the_queue_can() {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        let in_ms = |ms| now + chrono::TimeDelta::milliseconds(ms);
        for (ms, expected) in
            [(-5_000, 0), (0, 0), (999, 0), (1_999, 1), (840_000, 840), (9_999_999, 900)]
        {
            assert_eq!(delay_seconds(in_ms(ms), now), expected, "{ms} ms");
        }
        assert_eq!(delay_seconds(DateTime::<Utc>::MAX_UTC, DateTime::<Utc>::MIN_UTC), 900);
    }

    #[test]
    fn a_message_does_not_come_back_before_its_time() {
        for (ms, seconds) in [(0, 0), (1, 1), (1_000, 1), (100_500, 101), (u64::MAX, 43_200)] {
            assert_eq!(away_seconds(Duration::from_millis(ms)), seconds, "{ms} ms");
        }
    }

    #[test]
    fn a_request_holds_ten_messages_and_no_more_bytes_than_may_be() {
        let lengths = |letters: &[usize]| -> Vec<usize> {
            let letters = letters
                .iter()
                .map(|length| OutgoingMessage { body: "x".repeat(*length), delay_seconds: 0 });
            batches(letters).iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[1; 25]), [10, 10, 5]);
        assert_eq!(lengths(&[100_000, 100_000, 100_000, 1]), [2, 2]);
        // One that is too long by itself is for the queue to refuse.
        assert_eq!(lengths(&[1, 300_000, 1]), [1, 1, 1]);
    }
}
