//! Performing actions.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::Cause;
use minutehand_domain::chain::Depth;
use minutehand_domain::missed::Missed;
use minutehand_domain::sign::Signing;

use super::Bytes;

/// What a target is told of the attempt that calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptContext {
    /// Tells this attempt from all others. It is the same if the attempt is made twice, so that a
    /// target can leave out the second call.
    pub execution_id: String,
    /// The job's name, in the spelling in which it was first given.
    pub job: String,
    /// The path of the job: subscription, resource group, collection and name, separated by slashes.
    pub job_path: String,
    /// The job's unique id.
    pub job_uid: String,
    /// The unique id of the job's collection.
    pub collection_uid: String,
    /// The instant of the occurrence.
    pub expected_at: DateTime<Utc>,
    /// When the action is sent, on the clock of work. Tokens and signatures expire by this clock.
    pub sent_at: DateTime<Utc>,
    /// The region this installation runs in.
    pub region: String,
    /// How its requests are signed, if they are.
    pub signed: Option<SignedAs>,
    /// How long the action may take by the job's own words.
    pub time_max: Option<Duration>,
    /// What the job has missed since its last success.
    pub missed: Missed,
    /// How deep its requests are in a chain of jobs that ask for each other.
    pub depth: Depth,
    /// Where the target may report the end, if it may answer 202 first.
    pub completion_url: Option<String>,
}

impl AttemptContext {
    /// How long the action may take, which is at most this in any case.
    #[must_use]
    pub fn time_max(&self, most: Duration) -> Duration {
        self.time_max.map_or(most, |own| own.min(most))
    }
}

/// How the requests of an attempt are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAs {
    /// Tells the message from all others. It is the same for all attempts at an occurrence.
    pub message_id: String,
    /// The secrets that sign.
    pub signing: Signing,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionOutcome {
    /// Whether it succeeded.
    pub outcome: Outcome,
    /// Whether the target has taken the work on and says later how it ended, if its job lets it: it answered
    /// 202.
    pub is_accepted: bool,
    /// Why it failed, if it did.
    pub cause: Option<Cause>,
    /// What happened, in the words that clients of the history parse. It holds no secret.
    pub message: String,
    /// How long the target asked to wait before another attempt. The policy of the job decides.
    pub retry_after: Option<TimeDelta>,
    /// The body with which the target answered, if the action failed and bodies of failures are kept.
    pub body: Option<FailureBody>,
}

/// The body of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureBody {
    /// Its beginning. No secret is in it as it was sent, though perhaps in another encoding.
    Read(Bytes),
    /// It was not read: too many others are in memory.
    NoRoom,
}

/// The action was not performed, and nothing was sent, because this process or its machine has run out
/// of something. It says nothing about the target, so it is not an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an action could not begin: out of {out_of}")]
pub struct NotMade {
    /// What has run out, as a part of a sentence.
    pub out_of: &'static str,
}

/// Performs actions.
#[async_trait]
pub trait ActionSender: Send + Sync {
    /// Performs an action within its time limit. Any failure of the target is an outcome, not an error.
    ///
    /// # Errors
    ///
    /// If the action was not even begun. It must be tried again later.
    async fn send(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade>;
}
