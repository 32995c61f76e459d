//! Handing occurrences to the queue.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

/// One occurrence that has to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Whose it is.
    pub job_uid: String,
    /// Its collection.
    pub collection_uid: String,
    /// The name of the job, as its definition is found.
    pub job_key: String,
    /// The timing under which it was sent: an older one does not start.
    pub generation: u64,
    /// The occurrence.
    pub what: Occurrence,
}

/// What is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occurrence {
    /// What the recurrence yields.
    Scheduled {
        /// The instant it yields.
        nominal_at: DateTime<Utc>,
    },
    /// One execution that a user asked for.
    Run {
        /// The instant of the call.
        asked_at: DateTime<Utc>,
        /// Tells it from other calls.
        run_id: String,
    },
}

/// A queue that delivers each message at least once, not before its delay is over.
#[async_trait]
pub trait DispatchQueue: Send + Sync {
    /// Sends messages, each to be delivered at its instant or later.
    ///
    /// When it answers, all are kept. After an error some may be, and sending all again is safe:
    /// whoever receives them counts each occurrence once.
    async fn send(
        &self,
        messages: &[(Dispatch, DateTime<Utc>)],
        now: DateTime<Utc>,
    ) -> Result<(), QueueError>;
}

/// Why messages were not taken.
#[derive(Debug, thiserror::Error)]
#[error("the queue does not take messages")]
pub struct QueueError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
