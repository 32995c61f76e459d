//! Performing actions.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::action::Target;
use domain::attempt::Outcome;

/// What a target is told of the execution that reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptContext {
    /// Tells this attempt from all others, and is the same if it is made twice: whoever receives it
    /// can leave out a double by it.
    pub execution_id: String,
    /// The job, as it was first named.
    pub job: String,
    /// Its identity.
    pub job_uid: String,
    /// The identity of its collection.
    pub collection_uid: String,
    /// The instant of the occurrence.
    pub expected_at: DateTime<Utc>,
    /// When it is sent, in the time in which work is done: what authorizes it expires by that.
    pub sent_at: DateTime<Utc>,
    /// Where we run.
    pub region: String,
}

/// What became of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Whether it was done.
    pub outcome: Outcome,
    /// What happened, in words that clients know how to read. It holds no secret.
    pub message: String,
}

/// Performs actions.
#[async_trait]
pub trait ActionSender: Send + Sync {
    /// Performs one, within its time limit. Whatever goes wrong is an outcome, not an error.
    async fn send(&self, target: &Target, occasion: &AttemptContext) -> Sent;
}
