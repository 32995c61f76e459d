//! Why a request had no answer, in the words of .NET's `WebExceptionStatus`: the original's clients
//! and its users know them.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use rustls::CertificateError;

use crate::policy::Forbidden;
use crate::resolve::Unresolved;

/// The word for a name without an address.
const UNRESOLVED: &str = "NameResolutionFailure";

/// A request that had no answer, or none that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActionFailure {
    /// The word that .NET has for it, or that of the answer.
    pub(crate) word: Cow<'static, str>,
    /// The sentence.
    pub(crate) text: String,
}

impl ActionFailure {
    fn new(word: &'static str, text: impl Into<String>) -> Self {
        Self { word: word.into(), text: text.into() }
    }

    /// It was not sent, as it must not be or cannot be.
    pub(crate) fn canceled(text: impl Into<String>) -> Self {
        Self::new("RequestCanceled", text)
    }

    /// The address is not one that may be reached.
    pub(crate) fn forbidden(host: &str, forbidden: &Forbidden) -> Self {
        Self::canceled(format!("The target '{host}' is not allowed: {forbidden}."))
    }

    /// The answer does not say what an answer has to say.
    pub(crate) fn protocol(text: impl Into<String>) -> Self {
        Self::new("ProtocolError", text)
    }

    /// It took too long.
    pub(crate) fn timeout(limit: Duration) -> Self {
        Self::new(
            "Timeout",
            format!("The operation has timed out; the limit is {} seconds.", limit.as_secs_f64()),
        )
    }

    /// It took too long, and what was sent may have arrived.
    pub(crate) fn unanswered(limit: Duration) -> Self {
        let Self { word, text } = Self::timeout(limit);
        Self { word, text: format!("{text} Whether the message arrived is not known.") }
    }

    /// The target answered, and did not do it.
    pub(crate) fn answered(word: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self { word: word.into(), text: text.into() }
    }

    /// What went wrong below.
    pub(crate) fn of(error: &reqwest::Error, host: &str, is_https: bool) -> Self {
        match Self::known(error.source(), host) {
            Ok(failure) => failure,
            Err(kind) if error.is_connect() => Self::connecting(kind.filter(|_| is_https)),
            Err(_) if error.is_builder() => Self::canceled("No request can be made of this URL."),
            Err(kind) => Self::receiving(kind),
        }
    }

    /// What went wrong while a connection was opened.
    pub(crate) fn of_dialling(error: &(dyn Error + 'static), host: &str, is_tls: bool) -> Self {
        Self::known(Some(error), host)
            .unwrap_or_else(|kind| Self::connecting(kind.filter(|_| is_tls)))
    }

    /// What went wrong over a connection that was open.
    pub(crate) fn of_io(error: &(dyn Error + 'static), host: &str) -> Self {
        Self::known(Some(error), host).unwrap_or_else(Self::receiving)
    }

    /// What the errors from here on down say, if one of them is known; else of which kind they are.
    fn known(
        mut source: Option<&(dyn Error + 'static)>,
        host: &str,
    ) -> Result<Self, Option<ErrorKind>> {
        let mut kind = None;
        while let Some(cause) = source {
            if let Some(forbidden) = cause.downcast_ref::<Forbidden>() {
                return Ok(Self::forbidden(host, forbidden));
            }
            if cause.is::<Unresolved>() {
                return Ok(Self::unresolved(host));
            }
            if let Some(error) = cause.downcast_ref::<rustls::Error>() {
                return Ok(Self::tls(error));
            }
            if let Some(error) = cause.downcast_ref::<hyper::Error>()
                && let Some(failure) = Self::http(error)
            {
                return Ok(failure);
            }
            if let Some(error) = cause.downcast_ref::<io::Error>() {
                // The innermost knows best; wrappers are of no kind.
                kind = Some(error.kind()).filter(|kind| *kind != ErrorKind::Other).or(kind);
                // What an I/O error wraps is not its source.
                if let Some(inner) = error.get_ref() {
                    source = Some(inner);
                    continue;
                }
            }
            source = cause.source();
        }
        Err(kind)
    }

    /// Whether a name has no address.
    pub(crate) fn is_unresolved(&self) -> bool {
        self.word == UNRESOLVED
    }

    fn unresolved(host: &str) -> Self {
        let text = format!("The remote name could not be resolved: '{host}'");
        Self::new(UNRESOLVED, text)
    }

    fn connecting(over_tls: Option<ErrorKind>) -> Self {
        match over_tls {
            // The handshake was broken off: a port that is open, and no TLS behind it.
            Some(
                ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionReset
                | ErrorKind::BrokenPipe
                | ErrorKind::InvalidData,
            ) => Self::secure_channel("The server broke off the handshake"),
            _ => Self::new("ConnectFailure", "Unable to connect to the remote server"),
        }
    }

    fn receiving(kind: Option<ErrorKind>) -> Self {
        match kind {
            Some(ErrorKind::UnexpectedEof) => Self::closed(),
            _ => Self::new(
                "ReceiveFailure",
                "The underlying connection was closed: An unexpected error occurred on a receive.",
            ),
        }
    }

    fn closed() -> Self {
        Self::new(
            "ConnectionClosed",
            "The underlying connection was closed: The connection was closed unexpectedly.",
        )
    }

    fn http(error: &hyper::Error) -> Option<Self> {
        if error.is_parse() {
            let text = "The server committed a protocol violation.";
            Some(Self::new("ServerProtocolViolation", text))
        } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            Some(Self::closed())
        } else {
            None
        }
    }

    fn secure_channel(reason: &str) -> Self {
        let text = "The request was aborted: Could not create SSL/TLS secure channel.";
        Self::new("SecureChannelFailure", format!("{text} {reason}."))
    }

    fn tls(error: &rustls::Error) -> Self {
        let rustls::Error::InvalidCertificate(reason) = error else {
            return match error {
                rustls::Error::AlertReceived(alert) => {
                    Self::secure_channel(&format!("The server answered the alert {alert:?}"))
                }
                rustls::Error::General(reason) => Self::trust(reason),
                other => Self::secure_channel(&format!("The handshake failed: {other}")),
            };
        };
        match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Self::trust("The certificate has expired")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::trust("The certificate is not valid yet")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::trust("The certificate is for another name")
            }
            CertificateError::UnknownIssuer => {
                Self::trust("The certificate is of an authority that is not trusted here")
            }
            CertificateError::Revoked => Self::trust("The certificate has been revoked"),
            other => Self::trust(&format!("The certificate is not accepted: {other}")),
        }
    }

    fn trust(reason: &str) -> Self {
        let text = "The underlying connection was closed: Could not establish trust relationship \
                    for the SSL/TLS secure channel.";
        Self::new("TrustFailure", format!("{text} {reason}."))
    }
}
