//! Why a request is refused: a stable code for programs and a sentence for people.

use recurrence::Refused;

/// The kind of a refusal. Clients may tell the codes apart, so a code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A value is missing or not allowed.
    BadRequest,
    /// The recurrence matches no instant.
    RecurrenceNeverOccurs,
    /// The document of the job is too long.
    JobTooLarge,
    /// The collection has as many jobs as its quota or its pricing tier allows.
    JobQuotaExceeded,
    /// The job is more frequent than the collection's quota or its pricing tier allows.
    RecurrenceQuotaExceeded,
    /// The quota allows more than the pricing tier.
    QuotaAbovePlan,
    /// The subscription already has a Free collection.
    FreeCollectionExists,
    /// The pricing tier Free does not include outbound authentication.
    AuthenticationNotInPlan,
    /// The location of a collection cannot change.
    LocationChanged,
    /// The job is completed or faulted, so it cannot change.
    JobFinished,
    /// The collection is disabled, so its jobs do not run.
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

    /// Whether the request conflicts with the state of the collection, rather than being invalid.
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

/// A refused request. The message says what to change, and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of the refusal.
    pub code: Code,
    /// The sentence for the caller.
    pub message: String,
}

impl Refusal {
    /// A refusal of one kind.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A refusal of a value that is missing or not allowed.
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
