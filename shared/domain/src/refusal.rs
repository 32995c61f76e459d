//! Why a request is refused: a stable code for programs, a sentence for people.

use recurrence::Refused;

/// What kind of refusal it is. Each code is one that a client may tell apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A value that is missing or not allowed.
    BadRequest,
    /// A recurrence that matches nothing.
    RecurrenceNeverOccurs,
    /// A job that is longer than a job may be.
    JobTooLarge,
    /// More jobs than the collection's quota or its plan allows.
    JobQuotaExceeded,
    /// A job more frequent than the collection's quota or its plan allows.
    RecurrenceQuotaExceeded,
    /// A quota above what the plan allows.
    QuotaAbovePlan,
    /// A second Free collection in a subscription.
    FreeCollectionExists,
    /// Outbound authentication in a Free collection.
    AuthenticationNotInPlan,
    /// A collection does not move.
    LocationChanged,
    /// A job that is completed or faulted does not change.
    JobFinished,
    /// A collection that is switched off does not run jobs.
    JobCollectionDisabled,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 11] = [
        Self::BadRequest,
        Self::RecurrenceNeverOccurs,
        Self::JobTooLarge,
        Self::JobQuotaExceeded,
        Self::RecurrenceQuotaExceeded,
        Self::QuotaAbovePlan,
        Self::FreeCollectionExists,
        Self::AuthenticationNotInPlan,
        Self::LocationChanged,
        Self::JobFinished,
        Self::JobCollectionDisabled,
    ];

    /// The code as it is answered.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::RecurrenceNeverOccurs => "RecurrenceNeverOccurs",
            Self::JobTooLarge => "JobTooLarge",
            Self::JobQuotaExceeded => "JobQuotaExceeded",
            Self::RecurrenceQuotaExceeded => "RecurrenceQuotaExceeded",
            Self::QuotaAbovePlan => "QuotaAbovePlan",
            Self::FreeCollectionExists => "FreeCollectionExists",
            Self::AuthenticationNotInPlan => "AuthenticationNotInPlan",
            Self::LocationChanged => "LocationChanged",
            Self::JobFinished => "JobFinished",
            Self::JobCollectionDisabled => "JobCollectionDisabled",
        }
    }

    /// Whether the request itself is wrong, or only does not go with what is there.
    #[must_use]
    pub const fn is_conflict(self) -> bool {
        match self {
            Self::BadRequest | Self::RecurrenceNeverOccurs | Self::JobTooLarge => false,
            Self::JobQuotaExceeded
            | Self::RecurrenceQuotaExceeded
            | Self::QuotaAbovePlan
            | Self::FreeCollectionExists
            | Self::AuthenticationNotInPlan
            | Self::LocationChanged
            | Self::JobFinished
            | Self::JobCollectionDisabled => true,
        }
    }
}

/// A request that is refused. The message says what to change, and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind it is.
    pub code: Code,
    /// What to change.
    pub message: String,
}

impl Refusal {
    /// A refusal of some kind.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A value that is missing or not allowed.
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
        Self::new(code, refused.to_string())
    }
}
