//! The dead letters in SQS.
//!
//! SQS cannot list messages, only receive them. A look receives some and leaves them visible. To send or
//! delete some by their ids, they are received until all are found; the others that were received on the
//! way are hidden for [`HIDDEN_SECONDS`], and a look shows them again after that. All together are moved
//! or deleted by SQS itself, which goes on after the answer.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | a message is received | it is hidden for a while | SQS, which shows it again |
//! | it is sent to the queue again | it is in both queues | the next re-drive; a second delivery is harmless, because an attempt is claimed once |

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
};
use chrono::{DateTime, Utc};
use minutehand_domain::work_item::decode;
use minutehand_ports::{
    ChosenLetters, DeadLetter, DeadLetters, DeadLettersDone, DeadLettersSeen, QueueError,
};

use crate::error::queue_error;
use crate::send::{SqsQueue, unbuilt};

/// The most messages of a request.
const BATCH_MAX: i32 = 10;
/// How long a request waits for messages. A request that does not wait asks only some servers.
const WAIT_SECONDS: i32 = 1;
/// How long messages are hidden while some are looked for.
const HIDDEN_SECONDS: i32 = 30;
/// The most requests of one look: each finds other messages, or the same.
const LOOKS_MAX: usize = 5;
/// The most requests while some are looked for.
const ROUNDS_MAX: usize = 100;

/// The queue of dead letters, and the one that they come from.
#[derive(Clone)]
pub struct SqsDeadLetters {
    client: Client,
    url: String,
    queue: SqsQueue,
}

impl SqsDeadLetters {
    /// The dead letters at this URL, of this queue.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>, queue: SqsQueue) -> Self {
        Self { client, url: url.into(), queue }
    }

    async fn receive(&self, hidden_seconds: i32) -> Result<Vec<Message>, QueueError> {
        let received = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(BATCH_MAX)
            .wait_time_seconds(WAIT_SECONDS)
            .visibility_timeout(hidden_seconds)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .map_err(queue_error)?;
        Ok(received.messages.unwrap_or_default())
    }

    /// About how many there are, hidden ones included, and the name of the queue on AWS.
    async fn attributes(&self) -> Result<(u64, String), QueueError> {
        let found = self
            .client
            .get_queue_attributes()
            .queue_url(&self.url)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessages)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
            .attribute_names(QueueAttributeName::QueueArn)
            .send()
            .await
            .map_err(queue_error)?;
        let found = found.attributes.unwrap_or_default();
        let number = |name| found.get(&name).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        let about = number(QueueAttributeName::ApproximateNumberOfMessages)
            + number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible);
        let arn = found.get(&QueueAttributeName::QueueArn).cloned().unwrap_or_default();
        Ok((about, arn))
    }

    /// Receives messages until those with these ids are found, or no other comes. Answers the others of
    /// the ids as well.
    async fn find(&self, ids: &[String]) -> Result<(Vec<Message>, Vec<String>), QueueError> {
        let mut missing = ids.to_vec();
        let mut found = Vec::new();
        for _ in 0..ROUNDS_MAX {
            if missing.is_empty() {
                break;
            }
            let received = self.receive(HIDDEN_SECONDS).await?;
            if received.is_empty() {
                break;
            }
            for message in received {
                let id = message.message_id().unwrap_or_default();
                if let Some(position) = missing.iter().position(|missing| missing == id) {
                    missing.swap_remove(position);
                    found.push(message);
                }
            }
        }
        Ok((found, missing))
    }

    /// Deletes those with these ids, or sends them to the queue again first.
    async fn take(&self, ids: &[String], is_redrive: bool) -> Result<DeadLettersDone, QueueError> {
        let (found, not_found) = self.find(ids).await?;
        if is_redrive {
            let bodies = found.iter().filter_map(|message| message.body.clone());
            self.queue.send_bodies(bodies).await?;
        }
        let count = self.delete_received(&found).await?;
        Ok(DeadLettersDone { count, goes_on: false, not_found })
    }

    /// Deletes received messages. Answers how many.
    async fn delete_received(&self, messages: &[Message]) -> Result<u64, QueueError> {
        let mut count = 0;
        for batch in messages.chunks(BATCH_MAX.unsigned_abs() as usize) {
            let entries = batch.iter().enumerate().map(|(n, message)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(n.to_string())
                    .receipt_handle(message.receipt_handle().unwrap_or_default())
                    .build()
            });
            let deleted = self
                .client
                .delete_message_batch()
                .queue_url(&self.url)
                .set_entries(Some(entries.collect::<Result<_, _>>().map_err(unbuilt)?))
                .send()
                .await
                .map_err(queue_error)?;
            count += deleted.successful().len() as u64;
        }
        Ok(count)
    }
}

#[async_trait]
impl DeadLetters for SqsDeadLetters {
    async fn count(&self) -> Result<Option<u64>, QueueError> {
        self.attributes().await.map(|(about, _)| Some(about))
    }

    async fn look(&self, max: usize) -> Result<DeadLettersSeen, QueueError> {
        let (about, _) = self.attributes().await?;
        // By their ids: a request may find what another one has found.
        let mut seen = BTreeMap::new();
        for _ in 0..LOOKS_MAX {
            let before = seen.len();
            if about == 0 || before >= max {
                break;
            }
            let received = self.receive(0).await?;
            seen.extend(
                received
                    .iter()
                    .map(|it| (it.message_id().unwrap_or_default().to_owned(), read(it))),
            );
            if seen.len() == before {
                break;
            }
        }
        let mut items: Vec<DeadLetter> = seen.into_values().collect();
        items.sort_by_key(|letter| letter.sent_at);
        items.truncate(max);
        Ok(DeadLettersSeen { about: about.max(items.len() as u64), items })
    }

    async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        let ChosenLetters::Ids(ids) = chosen else {
            let (count, arn) = self.attributes().await?;
            if count > 0 {
                let task = self.client.start_message_move_task().source_arn(arn);
                task.send().await.map_err(queue_error)?;
            }
            return Ok(DeadLettersDone { count, goes_on: count > 0, not_found: Vec::new() });
        };
        self.take(ids, true).await
    }

    async fn delete(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        let ChosenLetters::Ids(ids) = chosen else {
            let (count, _) = self.attributes().await?;
            if count > 0 {
                self.client.purge_queue().queue_url(&self.url).send().await.map_err(queue_error)?;
            }
            return Ok(DeadLettersDone { count, goes_on: count > 0, not_found: Vec::new() });
        };
        self.take(ids, false).await
    }
}

fn read(message: &Message) -> DeadLetter {
    let none = HashMap::new();
    let attributes = message.attributes.as_ref().unwrap_or(&none);
    let number = |name| attributes.get(&name).and_then(|text| text.parse::<i64>().ok());
    let sent_at = number(MessageSystemAttributeName::SentTimestamp);
    let deliveries = number(MessageSystemAttributeName::ApproximateReceiveCount);
    DeadLetter {
        id: message.message_id().unwrap_or_default().to_owned(),
        sent_at: sent_at.and_then(DateTime::<Utc>::from_timestamp_millis),
        deliveries: deliveries.and_then(|count| count.try_into().ok()).unwrap_or(0),
        // SQS moves a message without a word.
        reason: None,
        work_items: decode(message.body().unwrap_or_default()),
    }
}
