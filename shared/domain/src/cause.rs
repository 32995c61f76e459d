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
    /// The kind of a cause. The names are part of the API: kinds are only ever added. Behind a name stands
    /// what is said if nothing more is known.
    #[derive(Hash)]
    pub enum CauseKind: fn words {
        /// The target answered with a status other than 2xx.
        HttpStatus = "httpStatus": "HTTP error",
        /// The time of the action was over.
        Timeout = "timeout": "timeout",
        /// Nothing listens at the target's port.
        ConnectionRefused = "connectionRefused": "connection refused",
        /// The target could not be reached.
        NoConnection = "noConnection": "no connection",
        /// The connection ended before the answer.
        ConnectionClosed = "connectionClosed": "connection closed",
        /// The name of the target has no address.
        NoSuchName = "noSuchName": "no such name",
        /// The target's certificate has expired.
        CertificateExpired = "certificateExpired": "certificate expired",
        /// The target's certificate is not accepted, for another reason.
        CertificateInvalid = "certificateInvalid": "certificate not accepted",
        /// The target's certificate is for another name.
        CertificateOtherName = "certificateOtherName": "certificate for another name",
        /// The target's certificate is of an authority that is not trusted.
        UnknownAuthority = "unknownAuthority": "unknown authority",
        /// No TLS with the target.
        TlsFailed = "tlsFailed": "TLS failed",
        /// The scheduler's policy forbids the address, or the resource is the scheduler's own.
        AddressNotAllowed = "addressNotAllowed": "address not allowed",
        /// A redirect that is not followed.
        RedirectRefused = "redirectRefused": "redirect refused",
        /// The answer does not follow its protocol.
        InvalidAnswer = "invalidAnswer": "invalid answer",
        /// The request cannot be sent as it is.
        InvalidRequest = "invalidRequest": "invalid request",
        /// No token or credentials for the target could be had.
        NoCredentials = "noCredentials": "no credentials",
        /// The service refused the credentials.
        AccessDenied = "accessDenied": "access denied",
        /// There is no such queue.
        QueueNotFound = "queueNotFound": "queue not found",
        /// There is no such topic, function or bus.
        TargetNotFound = "targetNotFound": "target not found",
        /// The message is larger than the service takes.
        MessageTooLarge = "messageTooLarge": "message too large",
        /// The service takes no more requests for now.
        Throttled = "throttled": "throttled",
        /// The service answered another error.
        ServiceError = "serviceError": "service error",
        /// The action was removed before it was made.
        ActionGone = "actionGone": "action removed",
        /// The scheduler could not read the job.
        JobUnreadable = "jobUnreadable": "job unreadable",
        /// The scheduler's own processes ended again and again at this attempt.
        WorkersLost = "workersLost": "workers lost",
        /// The target answered 202, and reported nothing in time.
        NoCompletion = "noCompletion": "no completion",
        /// The target answered 202, and reported a failure later.
        FailureReported = "failureReported": "failure reported",
        /// A user cancelled it while its target was at work.
        Cancelled = "cancelled": "cancelled",
        /// A ping was owed, and none came in time.
        NoPing = "noPing": "no ping came",
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
