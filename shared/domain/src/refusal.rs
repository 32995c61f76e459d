//! Refusals of requests: a stable code for programs, and a message for people.

use std::fmt;

pub use minutehand_recurrence::Fix;
use minutehand_recurrence::{Refused, named};

named! {
    /// The kind of a refusal. Each code is one that a client may have to tell apart.
    pub enum Code {
        /// A value is missing or invalid.
        BadRequest,
        /// The recurrence has no occurrence.
        RecurrenceNeverOccurs,
        /// The job is longer than the limit.
        JobTooLarge,
        /// The collection has as many jobs as its quota or its plan allows.
        JobQuotaExceeded,
        /// The job is more frequent than the collection's quota or its plan allows.
        RecurrenceQuotaExceeded,
        /// The quota is above the limit of the plan.
        QuotaAbovePlan,
        /// The subscription already has a Free collection.
        FreeCollectionExists,
        /// The plan Free does not include outbound authentication.
        AuthenticationNotInPlan,
        /// The location of a collection cannot change.
        LocationChanged,
        /// A job that is completed or faulted cannot change.
        JobFinished,
        /// The jobs of a disabled collection cannot run.
        JobCollectionDisabled,
        /// A job that was not paused cannot resume.
        JobNotPaused,
        /// An occurrence that has not failed for good cannot be repeated.
        OccurrenceNotFailed,
        /// An occurrence that a redrive has mended cannot be repeated.
        OccurrenceMended,
        /// An occurrence without an open attempt cannot be cancelled.
        OccurrenceNotOpen,
        /// An attempt that has ended takes no report.
        AttemptEnded,
        /// A job that expects pings has nothing to send.
        JobExpectsPings,
        /// A chain of jobs that ask for each other is too long.
        ChainTooDeep,
        /// A collection without a failure action sends no alerts.
        NoFailureAction,
    }
}

impl Code {
    /// Whether the request is valid by itself and conflicts with the present state.
    #[must_use]
    pub const fn is_conflict(self) -> bool {
        !matches!(self, Self::BadRequest | Self::RecurrenceNeverOccurs | Self::JobTooLarge)
    }
}

/// A refused request. The message says what to change, and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of the refusal.
    pub code: Code,
    /// The sentence for the caller.
    pub message: String,
    /// The path of the property to change, as the message writes it; `None` if it is not one property.
    pub target: Option<String>,
    /// What would make that property right, the likeliest first; empty if that is not known.
    pub fixes: Vec<Fix>,
}

impl Refusal {
    /// Creates a refusal.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), target: None, fixes: Vec::new() }
    }

    /// Creates a refusal of a property. The message is its path in quotation marks, and the problem.
    #[must_use]
    pub fn about(path: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self::invalid(format!("'{path}' {problem}")).with_target(path.to_string())
    }

    /// Names the property to change.
    #[must_use]
    pub fn with_target(self, path: impl Into<String>) -> Self {
        Self { target: Some(path.into()), ..self }
    }

    /// Adds what would make the property right.
    #[must_use]
    pub fn or(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }

    /// Creates a refusal because a value is missing or invalid.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::NeverOccurs { .. } => Code::RecurrenceNeverOccurs,
            _ => Code::BadRequest,
        };
        Self::new(code, refused.to_string()).with_target(refused.field()).or(refused.fixes())
    }
}
