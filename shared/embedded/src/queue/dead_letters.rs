//! The dead letters of the queue, for people.
//!
//! A dead letter becomes a message again in one transaction: it is in one of the two tables.

use async_trait::async_trait;
use minutehand_domain::work_item;
use minutehand_ports::{ChosenLetters, DeadLetters, DeadLettersDone, DeadLettersSeen, QueueError};
use rusqlite::Connection;

use super::thread::Kind;
use super::{BuriedMessage, Queue, table};

#[async_trait]
impl DeadLetters for Queue {
    async fn count(&self) -> Result<Option<u64>, QueueError> {
        self.stats().await.map(|stats| Some(stats.dead_letters))
    }

    async fn look(&self, max: usize) -> Result<DeadLettersSeen, QueueError> {
        let letters = self.dead_letters(max).await?;
        let about = self.stats().await?.dead_letters;
        Ok(DeadLettersSeen { about, items: letters.into_iter().map(seen).collect() })
    }

    async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        self.take_dead_letters(chosen, true).await
    }

    async fn delete(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        self.take_dead_letters(chosen, false).await
    }
}

impl Queue {
    async fn take_dead_letters(
        &self,
        chosen: &ChosenLetters,
        is_redrive: bool,
    ) -> Result<DeadLettersDone, QueueError> {
        let ids = match chosen {
            ChosenLetters::All => None,
            ChosenLetters::Ids(ids) => Some(ids),
        };
        // An id that is no number is that of no dead letter.
        let numbers: Option<Vec<i64>> =
            ids.map(|ids| ids.iter().filter_map(|id| id.parse().ok()).collect());
        let n_messages = numbers.as_ref().map_or(1, Vec::len);
        let kind = if is_redrive { Kind::Send } else { Kind::Finish };
        let take = move |connection: &Connection| {
            table::take_dead_letters(connection, numbers.as_deref(), is_redrive)
        };
        let (found, count) = self.ask(kind, n_messages, take).await?;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let missing = ids.into_iter().flatten().filter(|id| !found.contains(id));
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        Ok(DeadLettersDone { count, goes_on: false, not_found: missing.cloned().collect() })
    }
}

fn seen(letter: BuriedMessage) -> minutehand_ports::DeadLetter {
    minutehand_ports::DeadLetter {
        id: letter.number.to_string(),
        sent_at: Some(letter.sent_at),
        deliveries: letter.receive_count,
        reason: Some(letter.reason),
        work_items: work_item::decode(&letter.body),
    }
}
