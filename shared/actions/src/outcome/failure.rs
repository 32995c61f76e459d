//! Failures of requests, in the words of .NET's `WebExceptionStatus`. Azure Scheduler used them, and
//! its clients parse them.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::message::NO_TRUST;
use rustls::CertificateError;

use crate::net::{Forbidden, HttpError, INTERIM_ANSWERS_MAX, NoAddress, OutOf};

/// The word for a name that has no address.
const UNRESOLVED: &str = "NameResolutionFailure";

/// What the verifier says of a server that shows the certificate of an authority as its own. Tools that make
/// certificates which are signed by themselves make such ones.
const SIGNED_BY_ITSELF: &str = "CaUsedAsEndEntity";

/// A request without an answer, or with an answer that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActionFailure {
    /// The word of .NET for the failure, or the word in the answer.
    pub(crate) word: Cow<'static, str>,
    /// The description.
    pub(crate) text: String,
    /// The same in a few words.
    pub(crate) cause: Cause,
    /// What this process has run out of, if that is the reason. It says nothing about the target.
    pub(crate) out_of: Option<OutOf>,
}

impl ActionFailure {
    fn new(cause: impl Into<Cause>, word: &'static str, text: impl Into<String>) -> Self {
        Self { word: word.into(), text: text.into(), cause: cause.into(), out_of: None }
    }

    /// This process has run out of something that a connection needs.
    fn out_of(out_of: OutOf) -> Self {
        let text = format!("This scheduler is {out_of}, so no connection could be opened.");
        Self { out_of: Some(out_of), ..Self::new(CauseKind::NoConnection, "InternalError", text) }
    }

    /// The request was not sent, because it is impossible.
    pub(crate) fn canceled(text: impl Into<String>) -> Self {
        Self::new(CauseKind::InvalidRequest, "RequestCanceled", text)
    }

    /// The target is not allowed.
    pub(crate) fn not_allowed(text: impl Into<String>) -> Self {
        Self::new(CauseKind::AddressNotAllowed, "RequestCanceled", text)
    }

    /// The policy forbids the address.
    pub(crate) fn forbidden(host: &str, forbidden: &Forbidden) -> Self {
        Self::not_allowed(format!("The target '{host}' is not allowed: {forbidden}."))
    }

    /// There is nothing to prove who sends the request.
    pub(crate) fn no_credentials(text: impl Into<String>) -> Self {
        Self::new(CauseKind::NoCredentials, "RequestCanceled", text)
    }

    /// The answer violates the protocol.
    pub(crate) fn protocol(text: impl Into<String>) -> Self {
        Self::new(CauseKind::InvalidAnswer, "ProtocolError", text)
    }

    /// The answer redirects to where no request is sent.
    pub(crate) fn redirect(text: impl Into<String>) -> Self {
        Self::new(CauseKind::RedirectRefused, "ProtocolError", text)
    }

    /// The time limit was exceeded.
    pub(crate) fn timeout(limit: Duration) -> Self {
        Self::new(
            Cause::timeout(limit),
            "Timeout",
            format!("The operation has timed out; the limit is {} seconds.", limit.as_secs_f64()),
        )
    }

    /// The time limit was exceeded after the message may have been sent.
    pub(crate) fn message_timeout(limit: Duration) -> Self {
        let timeout = Self::timeout(limit);
        let text = format!("{} Whether the message arrived is not known.", timeout.text);
        Self { text, ..timeout }
    }

    /// The target answered that it did not accept the request.
    pub(crate) fn rejected(word: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        let (word, text) = (word.into(), text.into());
        Self { cause: Cause::service(&word, &text), word, text, out_of: None }
    }

    /// The connection broke, so that the message was not sent, or perhaps not.
    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::new(CauseKind::ConnectionClosed, "ConnectionClosed", text)
    }

    /// An error of the HTTP client.
    pub(crate) fn from_http_error(error: &HttpError, host: &str, is_https: bool) -> Self {
        match error {
            HttpError::Url => Self::canceled("The URL cannot be requested."),
            HttpError::InterimAnswers => Self::protocol(format!(
                "The server sent more than {INTERIM_ANSWERS_MAX} interim answers (1xx)."
            )),
            HttpError::Request(error) => match Self::from_sources(Some(error), host) {
                Ok(failure) => failure,
                Err(kind) if error.is_connect() => Self::connecting(kind, is_https),
                Err(kind) => Self::receiving(kind),
            },
            HttpError::Body(error) => Self::from_connection_error(error, host),
        }
    }

    /// An error while a connection was opened.
    pub(crate) fn from_dial_error(error: &(dyn Error + 'static), host: &str, is_tls: bool) -> Self {
        Self::from_sources(Some(error), host).unwrap_or_else(|kind| Self::connecting(kind, is_tls))
    }

    /// An error of an open connection.
    pub(crate) fn from_connection_error(error: &(dyn Error + 'static), host: &str) -> Self {
        Self::from_sources(Some(error), host).unwrap_or_else(Self::receiving)
    }

    /// The failure for the first known error in a chain of sources; otherwise the kind of the I/O
    /// error in the chain.
    fn from_sources(
        mut source: Option<&(dyn Error + 'static)>,
        host: &str,
    ) -> Result<Self, Option<ErrorKind>> {
        let mut kind = None;
        while let Some(cause) = source {
            if let Some(out_of) = cause.downcast_ref::<OutOf>() {
                return Ok(Self::out_of(*out_of));
            }
            if let Some(no_address) = cause.downcast_ref::<NoAddress>() {
                return Ok(match no_address {
                    NoAddress::OutOf(out_of) => Self::out_of(*out_of),
                    NoAddress::Forbidden(forbidden) => Self::forbidden(host, forbidden),
                    NoAddress::Unresolved => Self::unresolved(host),
                });
            }
            if let Some(error) = cause.downcast_ref::<rustls::Error>() {
                return Ok(Self::from_tls(error));
            }
            if let Some(error) = cause.downcast_ref::<hyper::Error>()
                && let Some(failure) = Self::from_hyper(error)
            {
                return Ok(failure);
            }
            if let Some(error) = cause.downcast_ref::<io::Error>() {
                // The innermost error is the most specific; wrappers have the kind `Other`.
                kind = Some(error.kind()).filter(|kind| *kind != ErrorKind::Other).or(kind);
                // `source` of an I/O error skips the error that it wraps.
                if let Some(inner) = error.get_ref() {
                    source = Some(inner);
                    continue;
                }
            }
            source = cause.source();
        }
        Err(kind)
    }

    /// Whether the name of the host has no address.
    pub(crate) fn is_unresolved(&self) -> bool {
        self.word == UNRESOLVED
    }

    fn unresolved(host: &str) -> Self {
        let text = format!("The remote name could not be resolved: '{host}'");
        Self::new(CauseKind::NoSuchName, UNRESOLVED, text)
    }

    fn connecting(kind: Option<ErrorKind>, is_tls: bool) -> Self {
        match kind {
            // The server ended the handshake: typically a port that is open, but without TLS.
            Some(
                ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionReset
                | ErrorKind::BrokenPipe
                | ErrorKind::InvalidData,
            ) if is_tls => Self::secure_channel("The server broke off the handshake"),
            kind => {
                let cause = match kind {
                    Some(ErrorKind::ConnectionRefused) => CauseKind::ConnectionRefused,
                    _ => CauseKind::NoConnection,
                };
                Self::new(cause, "ConnectFailure", "Unable to connect to the remote server")
            }
        }
    }

    fn receiving(kind: Option<ErrorKind>) -> Self {
        match kind {
            Some(ErrorKind::UnexpectedEof) => Self::closed(),
            _ => Self::new(
                CauseKind::ConnectionClosed,
                "ReceiveFailure",
                "The underlying connection was closed: An unexpected error occurred on a receive.",
            ),
        }
    }

    fn closed() -> Self {
        Self::broken(
            "The underlying connection was closed: The connection was closed unexpectedly.",
        )
    }

    fn from_hyper(error: &hyper::Error) -> Option<Self> {
        if error.is_parse() {
            let text = "The server committed a protocol violation.";
            Some(Self::new(CauseKind::InvalidAnswer, "ServerProtocolViolation", text))
        } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            Some(Self::closed())
        } else {
            None
        }
    }

    fn secure_channel(reason: &str) -> Self {
        let text = "The request was aborted: Could not create SSL/TLS secure channel.";
        Self::new(CauseKind::TlsFailed, "SecureChannelFailure", format!("{text} {reason}."))
    }

    fn from_tls(error: &rustls::Error) -> Self {
        let rustls::Error::InvalidCertificate(reason) = error else {
            return match error {
                rustls::Error::AlertReceived(alert) => {
                    Self::secure_channel(&format!("The server answered the alert {alert:?}"))
                }
                rustls::Error::General(reason) => {
                    Self::trust(CauseKind::CertificateInvalid, reason)
                }
                other => Self::secure_channel(&format!("The handshake failed: {other}")),
            };
        };
        let (kind, reason) = match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                (CauseKind::CertificateExpired, "The certificate has expired")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                (CauseKind::CertificateInvalid, "The certificate is not valid yet")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                (CauseKind::CertificateOtherName, "The certificate is for another name")
            }
            CertificateError::UnknownIssuer => (
                CauseKind::UnknownAuthority,
                "The certificate is of an authority that is not trusted here",
            ),
            CertificateError::Revoked => {
                (CauseKind::CertificateInvalid, "The certificate has been revoked")
            }
            // The verifier wraps its own errors, and its type is not ours to name.
            CertificateError::Other(other) if format!("{other:?}").contains(SIGNED_BY_ITSELF) => (
                CauseKind::UnknownAuthority,
                "The certificate is that of an authority, such as one that is signed by itself",
            ),
            other => {
                let reason = format!("The certificate is not accepted: {other}");
                return Self::trust(CauseKind::CertificateInvalid, &reason);
            }
        };
        Self::trust(kind, reason)
    }

    fn trust(kind: CauseKind, reason: &str) -> Self {
        Self::new(kind, "TrustFailure", format!("{NO_TRUST} {reason}."))
    }
}
