//! What has ended, as the archive has it.

use crate::attempt::{Attempt, Record};
use crate::journal::JournalEntry;

/// A finished attempt, or a change that a user made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedItem {
    /// A finished attempt.
    Attempt {
        /// The job.
        job_uid: String,
        /// What was attempted.
        attempt: Attempt,
        /// How it ended.
        record: Record,
    },
    /// A change.
    Change {
        /// The collection.
        collection_uid: String,
        /// The change.
        entry: JournalEntry,
    },
}
