//! Why a command did not do its work, and the exit code that says so.

use std::fmt;

use minutehand_client::Error;

/// The work could not be done: network, file, or a failure of the server.
pub(crate) const FAILED: u8 = 1;
/// An argument or a job is invalid.
pub(crate) const REFUSED: u8 = 2;
/// The collection or job does not exist.
pub(crate) const NOT_FOUND: u8 = 3;
/// The token is missing, unknown or not allowed to do this.
pub(crate) const NOT_ALLOWED: u8 = 4;
/// The action of a job failed, or a check of `doctor` did.
pub(crate) const ACTION_FAILED: u8 = 5;
/// A person interrupted the command.
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command did not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// What happened, and to what; empty if everything has been said.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// A failure of an argument, a file's content, or a job.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(REFUSED, message)
    }

    /// A failure of a file, a process or the network.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(FAILED, message)
    }

    /// A failure that has been printed already.
    pub(crate) fn said(code: u8) -> Self {
        Self::new(code, "")
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Some(refusal) = error.refusal() else {
            let failure = Self::failed(error.to_string());
            return match &error {
                Error::NotReached { .. } => failure.hint(
                    "is it running? `minutehand serve` starts one here; --server or \
                     MINUTEHAND_URL names another",
                ),
                Error::Setup(_) => Self { code: REFUSED, ..failure },
                _ => failure,
            };
        };
        let code = match refusal.status.as_u16() {
            401 | 403 => NOT_ALLOWED,
            404 => NOT_FOUND,
            429 => FAILED,
            400..500 => REFUSED,
            _ => FAILED,
        };
        let failure = Self::new(code, refusal.message.clone());
        match (refusal.status.as_u16(), refusal.code.as_str(), &refusal.request_id) {
            (401, _, _) => failure.hint(
                "`minutehand login` keeps a token; MINUTEHAND_TOKEN gives one for a single command",
            ),
            (404, "ResourceNotFound", _) => {
                failure.hint("`minutehand collection create NAME` makes a collection")
            }
            (500.., _, Some(id)) => failure.hint(format!("the server's log has more under {id}")),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use minutehand_client::ServerRefusal;

    use super::*;

    #[test]
    fn the_exit_code_follows_the_answer() {
        for (status, code) in [
            (400, 2),
            (401, 4),
            (403, 4),
            (404, 3),
            (409, 2),
            (412, 2),
            (429, 1),
            (500, 1),
            (503, 1),
        ] {
            let refusal = ServerRefusal {
                status: http_status(status),
                code: "X".to_owned(),
                message: "m".to_owned(),
                target: None,
                request_id: None,
            };
            assert_eq!(Failure::from(Error::Refused(refusal)).code, code, "{status}");
        }
    }

    fn http_status(code: u16) -> minutehand_client::StatusCode {
        minutehand_client::StatusCode::from_u16(code).unwrap()
    }
}
