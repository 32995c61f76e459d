//! The dead letters: messages that were delivered too often or cannot be read, and are kept for people.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::work_item::{UnreadableMessage, WorkItem};

use crate::QueueError;

/// The most dead letters that one request names.
pub const CHOSEN_MAX: usize = 100;

/// A message that is no longer delivered.
#[derive(Debug)]
pub struct DeadLetter {
    /// Names it in requests.
    pub id: String,
    /// When the message was sent, if that is known.
    pub sent_at: Option<DateTime<Utc>>,
    /// How often the message was delivered.
    pub deliveries: u32,
    /// Why it is no longer delivered, if that is known.
    pub reason: Option<String>,
    /// What the message asks for.
    pub work_items: Result<Vec<WorkItem>, UnreadableMessage>,
}

/// A look at the dead letters.
#[derive(Debug, Default)]
pub struct DeadLettersSeen {
    /// About how many there are.
    pub about: u64,
    /// Some of them, or all.
    pub items: Vec<DeadLetter>,
}

/// Which dead letters are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenLetters {
    /// All of them.
    All,
    /// Those with these ids, at most [`CHOSEN_MAX`].
    Ids(Vec<String>),
}

/// What was done with dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeadLettersDone {
    /// How many were moved or deleted, or will be.
    pub count: u64,
    /// Whether the queue goes on with it after the answer.
    pub goes_on: bool,
    /// The ids of those that were not found.
    pub not_found: Vec<String>,
}

/// The dead letters of an installation. `()` has none.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// About how many there are; `None` if the installation has no queue for them.
    async fn count(&self) -> Result<Option<u64>, QueueError>;

    /// Looks at dead letters, at most this many.
    async fn look(&self, max: usize) -> Result<DeadLettersSeen, QueueError>;

    /// Sends dead letters to the workers again, as if they had never been delivered.
    ///
    /// A crash in between leaves messages in both queues: an attempt is claimed once.
    async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError>;

    /// Deletes dead letters.
    async fn delete(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError>;
}

#[async_trait]
impl DeadLetters for () {
    async fn count(&self) -> Result<Option<u64>, QueueError> {
        Ok(None)
    }

    async fn look(&self, _max: usize) -> Result<DeadLettersSeen, QueueError> {
        Ok(DeadLettersSeen::default())
    }

    async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        Ok(DeadLettersDone::none_of(chosen))
    }

    async fn delete(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        Ok(DeadLettersDone::none_of(chosen))
    }
}

impl DeadLettersDone {
    /// The answer if there are no dead letters.
    fn none_of(chosen: &ChosenLetters) -> Self {
        let not_found = match chosen {
            ChosenLetters::All => Vec::new(),
            ChosenLetters::Ids(ids) => ids.clone(),
        };
        Self { not_found, ..Self::default() }
    }
}
