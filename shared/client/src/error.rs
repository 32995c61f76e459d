//! Why a call did not succeed.

use std::time::Duration;

use http::StatusCode;

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with a failure.
    #[error("{0}")]
    Refused(ServerRefusal),
    /// No connection: the server does not run, the name is unknown, or TLS failed.
    #[error("cannot reach {server}: {why}")]
    NotReached {
        /// The server.
        server: String,
        /// The causes, outermost first.
        why: String,
    },
    /// The connection broke after the request was sent. The change may have been made.
    #[error("the connection to {server} broke before its answer was complete: {why}")]
    Broken {
        /// The server.
        server: String,
        /// The causes, outermost first.
        why: String,
    },
    /// A limit of [`Limits`](crate::Limits) was reached.
    #[error("{server} did not answer within {} s", .after.as_secs())]
    TimedOut {
        /// The server.
        server: String,
        /// The limit.
        after: Duration,
    },
    /// The answer is not one of Minutehand's.
    #[error("{server} did not answer as a Minutehand server does: {why}")]
    NotUnderstood {
        /// The server.
        server: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The options of the client do not fit together, or a file of certificates cannot be used.
    #[error("{0}")]
    Setup(String),
}

impl Error {
    /// What the server refused, if it did.
    #[must_use]
    pub fn refusal(&self) -> Option<&ServerRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the server answered that the thing does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == StatusCode::NOT_FOUND)
    }

    /// Whether the server answered that the token does not allow the request.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == StatusCode::FORBIDDEN)
    }

    /// Whether the server answered that a new thing has the name of another one.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == StatusCode::PRECONDITION_FAILED)
    }
}

/// A failure that the server answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ServerRefusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// The code, which is for programs.
    pub code: String,
    /// The message, which says what to change.
    pub message: String,
    /// The property that the failure is about, if the server names it.
    pub target: Option<String>,
    /// The path of the request, with its query.
    pub path: Box<str>,
    /// The id of the request, under which the server's log has more.
    pub request_id: Option<String>,
}

/// The causes of an error on one line, outermost first, each said once.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let says = error.to_string();
        if !text.contains(&says) {
            text = format!("{text}: {says}");
        }
        cause = error.source();
    }
    text
}
