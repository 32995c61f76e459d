//! Sends messages in packets and batches, and puts received messages back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, QueueAttributeName, SendMessageBatchRequestEntry,
};
use chrono::{DateTime, Utc};
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use minutehand_domain::work_item::{SHARED_GROUP, WorkItem, encode_waiting, pack};
use minutehand_ports::{Clock, DispatchQueue, QueueError, QueueMessage};

use crate::error::{is_temporary, queue_error};
use crate::receive::SqsReceipt;

/// The most messages of a request.
const BATCH_MAX: usize = 10;
/// The most bytes of a request: a quarter of the limit of SQS, and the limit of its emulators.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// The most concurrent requests of one [`send`](DispatchQueue::send).
pub const IN_FLIGHT_MAX: usize = 16;
/// The longest delay of a message.
const DELAY_SECONDS_MAX: i64 = 900;
/// How often a batch is sent that the queue accepts only in part.
const TRIES_MAX: u32 = 4;
/// The pause before the second try; each further pause is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The longest visibility timeout: twelve hours.
const HIDDEN_SECONDS_MAX: i32 = 12 * 60 * 60;

/// A queue in SQS.
#[derive(Clone)]
pub struct SqsQueue {
    client: Client,
    url: String,
    clock: Arc<dyn Clock>,
}

/// A message in the form of SQS.
struct OutgoingMessage {
    body: String,
    delay_seconds: i32,
    /// The queue delivers messages of other groups first while one group has many under way.
    /// A message without a group stands alone.
    group: Option<String>,
}

impl SqsQueue {
    /// The queue at this URL. The clock is used for pauses between tries.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client, url: url.into(), clock }
    }

    /// About how many messages wait to be received.
    ///
    /// # Errors
    ///
    /// If the queue does not say it.
    pub async fn waiting(&self) -> Result<u64, QueueError> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let found = self.client.get_queue_attributes().queue_url(&self.url);
        let found = found.attribute_names(name.clone()).send().await.map_err(queue_error)?;
        let number = found.attributes.and_then(|all| all.get(&name)?.parse().ok());
        Ok(number.unwrap_or_default())
    }

    /// Delivers messages again after these times, instead of their visibility timeout.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue does not change all messages. The others are delivered again at
    /// their visibility timeout.
    pub async fn put_back(&self, receipts: &[(SqsReceipt, Duration)]) -> Result<(), QueueError> {
        let mut refused = None;
        for batch in receipts.chunks(BATCH_MAX) {
            let entries = batch.iter().enumerate().map(|(n, (receipt, after))| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(n.to_string())
                    .receipt_handle(&receipt.0)
                    .visibility_timeout(hidden_seconds(*after))
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
        refused.map_or(Ok(()), |code| Err(QueueError::Refused(code.into())))
    }

    /// Sends work items of a received message on, as messages of their own, which are delivered after
    /// this time. They say that they were delivered so often. The received message can be deleted then.
    ///
    /// # Errors
    ///
    /// As [`send`](DispatchQueue::send).
    pub async fn send_on(
        &self,
        work_items: &[WorkItem],
        deliveries: u32,
        after: Duration,
    ) -> Result<(), QueueError> {
        let delay_seconds = i64::from(hidden_seconds(after)).min(DELAY_SECONDS_MAX);
        let delay_seconds = i32::try_from(delay_seconds).unwrap_or_default();
        self.send_all(work_items.iter().map(|work_item| OutgoingMessage {
            body: encode_waiting(work_item, deliveries),
            delay_seconds,
            group: Some(work_item.collection_uid().to_owned()),
        }))
        .await
    }

    /// Sends messages again as they were written, to be delivered at once.
    pub(crate) async fn send_bodies(
        &self,
        bodies: impl Iterator<Item = String>,
    ) -> Result<(), QueueError> {
        let message = |body| OutgoingMessage { body, delay_seconds: 0, group: None };
        self.send_all(bodies.map(message)).await
    }

    async fn send_all(
        &self,
        messages: impl Iterator<Item = OutgoingMessage>,
    ) -> Result<(), QueueError> {
        iter(batches(messages))
            .map(|batch| self.send_batch(batch))
            .buffer_unordered(IN_FLIGHT_MAX)
            .try_collect::<()>()
            .await
    }

    async fn send_batch(&self, mut left: Vec<OutgoingMessage>) -> Result<(), QueueError> {
        let mut refused = None;
        let mut backoff = FIRST_BACKOFF;
        for attempt in 1.. {
            let sent = self.send_once(&left).await?;
            let mut again = Vec::new();
            let mut code = String::new();
            for (message, result) in left.into_iter().zip(sent) {
                match result {
                    EntryResult::Accepted => {}
                    EntryResult::TryAgain(why) => {
                        code = why;
                        again.push(message);
                    }
                    EntryResult::Refused(why) => refused = Some(why),
                }
            }
            left = again;
            if left.is_empty() {
                break;
            }
            if attempt == TRIES_MAX {
                return Err(QueueError::Unavailable(
                    format!("{} messages of a batch were not accepted: {code}", left.len()).into(),
                ));
            }
            self.clock.wait(backoff).await;
            backoff *= 2;
        }
        refused.map_or(Ok(()), |code| Err(QueueError::Refused(code.into())))
    }

    /// Sends a batch once. Returns a result for each message, in order.
    async fn send_once(
        &self,
        messages: &[OutgoingMessage],
    ) -> Result<Vec<EntryResult>, QueueError> {
        let entries = messages.iter().enumerate().map(|(n, message)| {
            SendMessageBatchRequestEntry::builder()
                .id(n.to_string())
                .message_body(&message.body)
                .delay_seconds(message.delay_seconds)
                .set_message_group_id(message.group.clone())
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
        // A message that the answer does not mention was not accepted.
        let missing = || EntryResult::TryAgain("the answer does not mention them".to_owned());
        let mut results: Vec<EntryResult> = messages.iter().map(|_| missing()).collect();
        let accepted = sent.successful().iter().map(|entry| (entry.id(), EntryResult::Accepted));
        let failed = sent.failed().iter().map(|entry| {
            let code = entry.code().to_owned();
            let result = if entry.sender_fault() && !is_temporary(&code) {
                EntryResult::Refused(code)
            } else {
                EntryResult::TryAgain(code)
            };
            (entry.id(), result)
        });
        for (id, result) in accepted.chain(failed) {
            let slot = id.parse().ok().and_then(|n: usize| results.get_mut(n));
            if let Some(slot) = slot {
                *slot = result;
            }
        }
        Ok(results)
    }
}

/// The result of one message of a batch.
enum EntryResult {
    Accepted,
    TryAgain(String),
    Refused(String),
}

#[async_trait]
impl DispatchQueue for SqsQueue {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        let work_items = messages.iter().map(|message| (&message.work_item, message.due_at));
        self.send_all(pack(work_items, now).into_iter().map(|packet| OutgoingMessage {
            body: packet.encode(),
            delay_seconds: delay_seconds(packet.due_at, now),
            // One group for all that share packets would be held up as one noisy collection.
            group: Some(packet.group()).filter(|group| *group != SHARED_GROUP).map(str::to_owned),
        }))
        .await
    }
}

/// How long the queue delays a message: never longer than until it is due.
fn delay_seconds(due_at: DateTime<Utc>, now: DateTime<Utc>) -> i32 {
    let seconds = (due_at - now).num_seconds().clamp(0, DELAY_SECONDS_MAX);
    i32::try_from(seconds).unwrap_or_default()
}

/// Whole seconds, rounded up: a message that is delivered too early may still be claimed by another
/// worker.
fn hidden_seconds(after: Duration) -> i32 {
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(HIDDEN_SECONDS_MAX).min(HIDDEN_SECONDS_MAX)
}

/// Splits messages into requests, each with as many as fit.
fn batches(messages: impl Iterator<Item = OutgoingMessage>) -> Vec<Vec<OutgoingMessage>> {
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for message in messages {
        let longer = bytes + message.body.len();
        if batch.len() == BATCH_MAX || (longer > BATCH_BYTES_MAX && !batch.is_empty()) {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += message.body.len();
        batch.push(message);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// The code above sets all required fields, so this error does not occur.
pub(crate) fn unbuilt(error: BuildError) -> QueueError {
    QueueError::Refused(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_delayed_until_it_is_due_at_most_fifteen_minutes() {
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
    fn a_hidden_time_is_rounded_up_and_limited() {
        for (ms, seconds) in [(0, 0), (1, 1), (1_000, 1), (100_500, 101), (u64::MAX, 43_200)] {
            assert_eq!(hidden_seconds(Duration::from_millis(ms)), seconds, "{ms} ms");
        }
    }

    #[test]
    fn a_request_holds_ten_messages_and_no_more_bytes_than_the_limit() {
        let lengths = |bodies: &[usize]| -> Vec<usize> {
            let messages = bodies
                .iter()
                .map(|length| ("x".repeat(*length), 0, None))
                .map(|(body, delay_seconds, group)| OutgoingMessage { body, delay_seconds, group });
            batches(messages).iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[1; 25]), [10, 10, 5]);
        assert_eq!(lengths(&[100_000, 100_000, 100_000, 1]), [2, 2]);
        // The queue refuses a message that is too long by itself.
        assert_eq!(lengths(&[1, 300_000, 1]), [1, 1, 1]);
    }
}
