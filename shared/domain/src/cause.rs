//! Why an attempt failed, in a few words: what someone has to know first who looks at a failure.
//!
//! The message of an attempt has the words of the original service, which its clients parse; a cause is for
//! people and for counting.

use std::fmt;
use std::time::Duration;

use minutehand_recurrence::named;
use serde_json::{Value, json};

use crate::duration::in_words;

/// The most characters of the text of a cause.
const TEXT_CHARS_MAX: usize = 60;

named! {
    /// The kind of a cause. The names are part of the API: kinds are only ever added.
    #[derive(Hash)]
    pub enum CauseKind {
        /// The target answered with a status other than 2xx.
        HttpStatus = "httpStatus",
        /// The time of the action was over.
        Timeout = "timeout",
        /// Nothing listens at the target's port.
        ConnectionRefused = "connectionRefused",
        /// The target could not be reached.
        NoConnection = "noConnection",
        /// The connection ended before the answer.
        ConnectionClosed = "connectionClosed",
        /// The name of the target has no address.
        NoSuchName = "noSuchName",
        /// The target's certificate has expired.
        CertificateExpired = "certificateExpired",
        /// The target's certificate is not accepted, for another reason.
        CertificateInvalid = "certificateInvalid",
        /// The target's certificate is for another name.
        CertificateOtherName = "certificateOtherName",
        /// The target's certificate is of an authority that is not trusted.
        UnknownAuthority = "unknownAuthority",
        /// No TLS with the target.
        TlsFailed = "tlsFailed",
        /// The scheduler's policy forbids the address, or the resource is the scheduler's own.
        AddressNotAllowed = "addressNotAllowed",
        /// A redirect that is not followed.
        RedirectRefused = "redirectRefused",
        /// The answer does not follow its protocol.
        InvalidAnswer = "invalidAnswer",
        /// The request cannot be sent as it is.
        InvalidRequest = "invalidRequest",
        /// No token or credentials for the target could be had.
        NoCredentials = "noCredentials",
        /// The service refused the credentials.
        AccessDenied = "accessDenied",
        /// There is no such queue.
        QueueNotFound = "queueNotFound",
        /// There is no such topic, function or bus.
        TargetNotFound = "targetNotFound",
        /// The message is larger than the service takes.
        MessageTooLarge = "messageTooLarge",
        /// The service takes no more requests for now.
        Throttled = "throttled",
        /// The service answered another error.
        ServiceError = "serviceError",
        /// The action was removed before it was made.
        ActionGone = "actionGone",
        /// The scheduler could not read the job.
        JobUnreadable = "jobUnreadable",
        /// The scheduler's own processes ended again and again at this attempt.
        WorkersLost = "workersLost",
        /// The target answered 202, and reported nothing in time.
        NoCompletion = "noCompletion",
        /// The target answered 202, and reported a failure later.
        FailureReported = "failureReported",
        /// A user cancelled it while its target was at work.
        Cancelled = "cancelled",
        /// A ping was owed, and none came in time.
        NoPing = "noPing",
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// What kind of failure it was.
    pub kind: CauseKind,
    /// The same in a few words, with what tells it from others of its kind.
    text: String,
}

impl From<CauseKind> for Cause {
    fn from(kind: CauseKind) -> Self {
        Self { kind, text: kind.words().to_owned() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl CauseKind {
    /// Whether someone who reads its words asks at once which address, name or certificate it was.
    #[must_use]
    pub const fn leaves_open(self) -> bool {
        matches!(
            self,
            Self::NoSuchName
                | Self::CertificateInvalid
                | Self::CertificateOtherName
                | Self::UnknownAuthority
                | Self::TlsFailed
                | Self::AddressNotAllowed
                | Self::RedirectRefused
                | Self::InvalidAnswer
                | Self::InvalidRequest
                | Self::NoCredentials
        )
    }

    /// What is said of it if nothing more is known.
    const fn words(self) -> &'static str {
        match self {
            Self::HttpStatus => "HTTP error",
            Self::Timeout => "timeout",
            Self::ConnectionRefused => "connection refused",
            Self::NoConnection => "no connection",
            Self::ConnectionClosed => "connection closed",
            Self::NoSuchName => "no such name",
            Self::CertificateExpired => "certificate expired",
            Self::CertificateInvalid => "certificate not accepted",
            Self::CertificateOtherName => "certificate for another name",
            Self::UnknownAuthority => "unknown authority",
            Self::TlsFailed => "TLS failed",
            Self::AddressNotAllowed => "address not allowed",
            Self::RedirectRefused => "redirect refused",
            Self::InvalidAnswer => "invalid answer",
            Self::InvalidRequest => "invalid request",
            Self::NoCredentials => "no credentials",
            Self::AccessDenied => "access denied",
            Self::QueueNotFound => "queue not found",
            Self::TargetNotFound => "target not found",
            Self::MessageTooLarge => "message too large",
            Self::Throttled => "throttled",
            Self::ServiceError => "service error",
            Self::ActionGone => "action removed",
            Self::JobUnreadable => "job unreadable",
            Self::WorkersLost => "workers lost",
            Self::NoCompletion => "no completion",
            Self::FailureReported => "failure reported",
            Self::Cancelled => "cancelled",
            Self::NoPing => "no ping came",
        }
    }
}

impl Cause {
    /// The status of an answer that is not a success.
    #[must_use]
    pub fn http(status: u16) -> Self {
        Self { kind: CauseKind::HttpStatus, text: format!("HTTP {status}") }
    }

    /// The time of the action was over.
    #[must_use]
    pub fn timeout(limit: Duration) -> Self {
        let text = format!("timeout after {} s", limit.as_secs_f64());
        Self { kind: CauseKind::Timeout, text }
    }

    /// The target reported nothing in this time.
    #[must_use]
    pub fn no_completion(within: Duration) -> Self {
        let text = format!("no completion within {}", in_words(within));
        Self { kind: CauseKind::NoCompletion, text }
    }

    /// The target reported a failure, with a text of which the first line says most.
    #[must_use]
    pub fn reported(text: &str) -> Self {
        let kind = CauseKind::FailureReported;
        match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => Self { kind, text: short(line) },
            None => kind.into(),
        }
    }

    /// No ping came until this time of day.
    #[must_use]
    pub fn no_ping(until: &str) -> Self {
        Self { kind: CauseKind::NoPing, text: format!("no ping came until {until}") }
    }

    /// The error of a service for messages, by the word that it has for it, or the detail beside it.
    #[must_use]
    pub fn service(word: &str, detail: &str) -> Self {
        let known = |text: &str| {
            SERVICE_WORDS.iter().find(|(_, words)| words.iter().any(|word| has_word(text, word)))
        };
        match known(word).or_else(|| known(detail)) {
            Some((kind, _)) => (*kind).into(),
            None => Self { kind: CauseKind::ServiceError, text: short(word) },
        }
    }

    /// The few words.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As the API and events have it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind.name(), "text": self.text})
    }

    /// As it is stored: the kind and the text.
    #[must_use]
    pub fn to_stored(&self) -> String {
        format!("{} {}", self.kind.name(), self.text)
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote; `None` for a kind of a later version, too.
    #[must_use]
    pub fn read_stored(stored: &str) -> Option<Self> {
        let (kind, text) = stored.split_once(' ')?;
        Some(Self { kind: CauseKind::read_name(kind)?, text: short(text) })
    }
}

/// The words of services, and what they mean. A word stands in an answer as a whole, in any case.
const SERVICE_WORDS: [(CauseKind, &[&str]); 5] = [
    (CauseKind::QueueNotFound, &["QueueNotFound", "NonExistentQueue", "QueueDoesNotExist"]),
    (
        CauseKind::Throttled,
        &[
            "ThrottlingException",
            "Throttling",
            "ThrottledException",
            "Throttled",
            "RequestThrottled",
            "TooManyRequestsException",
            "TooManyRequests",
            "LimitExceededException",
            "ServerBusy",
            "OverLimit",
            "KmsThrottled",
        ],
    ),
    (
        CauseKind::MessageTooLarge,
        &[
            "MessageSizeExceeded",
            "RequestBodyTooLarge",
            "RequestEntityTooLarge",
            "MessageTooLong",
            "RequestTooLargeException",
            "InvalidMessageContents",
            "BatchRequestTooLong",
        ],
    ),
    (
        CauseKind::AccessDenied,
        &[
            "AccessDenied",
            "AccessDeniedException",
            "AuthorizationFailure",
            "AuthorizationError",
            "AuthorizationErrorException",
            "AuthenticationFailed",
            "Unauthorized",
            "UnauthorizedAccess",
            "Forbidden",
            "InvalidClientTokenId",
            "UnrecognizedClientException",
            "SignatureDoesNotMatch",
            "InvalidSignatureException",
            "ExpiredToken",
            "ExpiredTokenException",
            "NotAuthorizedException",
            "AuthorizationPermissionMismatch",
        ],
    ),
    (
        CauseKind::TargetNotFound,
        &["NotFound", "NotFoundException", "ResourceNotFoundException", "ResourceNotFound"],
    ),
];

/// Whether a text has a word, not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    text.split(|c| !is_part(c)).any(|part| part.eq_ignore_ascii_case(word))
}

fn short(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_a_few_words() {
        for (cause, text) in [
            (Cause::http(500), "HTTP 500"),
            (Cause::timeout(Duration::from_mins(1)), "timeout after 60 s"),
            (Cause::timeout(Duration::from_millis(1_500)), "timeout after 1.5 s"),
            (CauseKind::ConnectionRefused.into(), "connection refused"),
        ] {
            assert_eq!(cause.to_string(), text);
        }
    }

    #[test]
    fn words_of_services_have_a_meaning() {
        for (word, detail, kind, text) in [
            ("QueueDoesNotExist", "", CauseKind::QueueNotFound, "queue not found"),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                "",
                CauseKind::QueueNotFound,
                "queue not found",
            ),
            (
                "NotFound",
                "QueueNotFound The queue is not there.",
                CauseKind::TargetNotFound,
                "target not found",
            ),
            ("BadRequest", "QueueNotFound", CauseKind::QueueNotFound, "queue not found"),
            ("ThrottlingException", "Rate exceeded", CauseKind::Throttled, "throttled"),
            ("AccessDenied", "", CauseKind::AccessDenied, "access denied"),
            ("MessageSizeExceeded", "", CauseKind::MessageTooLarge, "message too large"),
            ("InternalFailure", "", CauseKind::ServiceError, "InternalFailure"),
            ("NotFoundish", "", CauseKind::ServiceError, "NotFoundish"),
        ] {
            let cause = Cause::service(word, detail);
            assert_eq!((cause.kind, cause.to_string().as_str()), (kind, text), "{word}");
        }
    }

    #[test]
    fn a_stored_cause_reads_back() {
        for kind in CauseKind::ALL {
            let cause = Cause::from(kind);
            assert_eq!(Cause::read_stored(&cause.to_stored()), Some(cause));
        }
        assert_eq!(Cause::read_stored("ofALaterVersion words"), None);
        assert_eq!(Cause::read_stored("timeout"), None);
    }
}
