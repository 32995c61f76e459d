//! Why a command did not do its work, and the exit code that says so.

use std::fmt;

use minutehand_client::{CollectionPath, Error, named_in};

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
    /// What does not exist, if that is the reason.
    pub(crate) missing: Option<Box<Missing>>,
}

/// A collection or a job that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) collection: CollectionPath,
    /// `None` if it is the collection.
    pub(crate) job: Option<String>,
}

/// What to do without a token, or with a wrong one.
pub(crate) const TOKEN_HINT: &str =
    "`minutehand login` keeps a token; MINUTEHAND_TOKEN gives one for a single command";

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, missing: None }
    }

    /// A failure of an argument, a file's content, or a job.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(REFUSED, message)
    }

    /// A failure of a file, a process or the network.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(FAILED, message)
    }

    /// What becomes of an error while this is done.
    pub(crate) fn cannot<E: fmt::Display>(do_what: impl fmt::Display) -> impl Fn(E) -> Self {
        move |error| Self::failed(format!("cannot {do_what}: {error}"))
    }

    /// A failure that has been printed already.
    pub(crate) fn said(code: u8) -> Self {
        Self::new(code, "")
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// What a call has found; `None` if there is no such thing.
pub(crate) fn found<T>(answer: Result<T, Error>) -> Result<Option<T>> {
    match answer {
        Err(error) if error.is_not_found() => Ok(None),
        answer => Ok(Some(answer?)),
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
                Error::NotReached { why, .. } => failure.hint(unreached(why)),
                Error::Broken { server, why }
                    if server.starts_with("http://") && why.contains("HTTP version") =>
                {
                    failure.hint("the server seems to speak TLS: write https:// in its address")
                }
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
        let missing = if code == NOT_FOUND { named_in(&refusal.path) } else { None };
        let missing = missing.map(|(collection, job)| {
            // Of a job, the message says that its collection is missing if it is.
            let job = job.filter(|_| refusal.code != "ResourceNotFound");
            Box::new(Missing { collection, job })
        });
        let failure = Self { missing, ..Self::new(code, refusal.message.clone()) };
        match (refusal.status.as_u16(), refusal.code.as_str(), &refusal.request_id) {
            (401, _, _) => failure.hint(TOKEN_HINT),
            (404, "ResourceNotFound", _) => {
                failure.hint("`minutehand collection create NAME` makes a collection")
            }
            (500.., _, Some(id)) => failure.hint(format!("the server's log has more under {id}")),
            _ => failure,
        }
    }
}

/// What to do if no connection to a server is made.
fn unreached(why: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if has(&["InvalidContentType", "received corrupt message"]) {
        "the server seems to speak HTTP without TLS: write http:// in its address"
    } else if has(&["UnknownIssuer", "unknown issuer"]) {
        "the certificate is of an authority that this machine does not know: --ca FILE trusts it, and \
         `minutehand login` keeps that"
    } else if has(&["NotValidForName", "not valid for name"]) {
        "the certificate is for another name: use one of its names in the address of the server"
    } else if has(&["certificate expired", "Expired"]) {
        "the certificate of the server has expired: it needs a new one"
    } else if has(&["CaUsedAsEndEntity"]) {
        "the certificate is one for an authority: the server needs one with CA:FALSE"
    } else if has(&["tunnel error"]) {
        "the proxy that HTTPS_PROXY names did not open a connection to it: NO_PROXY=HOST goes around the \
         proxy"
    } else {
        "is it running? `minutehand serve` starts one here; --server or MINUTEHAND_URL names another"
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
                path: Box::default(),
                request_id: None,
            };
            assert_eq!(Failure::from(Error::Refused(refusal)).code, code, "{status}");
        }
    }

    #[test]
    fn what_is_missing_is_known_by_the_path() {
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/\
                    jobs/j?api-version=x";
        for (code, job) in [("NotFound", Some("j")), ("ResourceNotFound", None)] {
            let refusal = ServerRefusal {
                status: http_status(404),
                code: code.to_owned(),
                message: "m".to_owned(),
                target: None,
                path: path.into(),
                request_id: None,
            };
            let missing = Failure::from(Error::Refused(refusal)).missing.unwrap();
            assert_eq!(
                (missing.collection.to_string().as_str(), missing.job.as_deref()),
                ("s/g/c", job)
            );
        }
    }

    #[test]
    fn a_server_that_is_not_reached_gets_advice_that_fits() {
        for (why, says) in [
            ("received corrupt message of type InvalidContentType", "write http://"),
            ("invalid peer certificate: UnknownIssuer", "--ca FILE"),
            ("invalid peer certificate: certificate not valid for name \"a\"", "another name"),
            ("invalid peer certificate: certificate expired", "has expired"),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:FALSE"),
            ("tunnel error: unsuccessful", "NO_PROXY=HOST"),
            ("Connection refused (os error 111)", "is it running?"),
        ] {
            assert!(unreached(why).contains(says), "{why}");
        }
    }

    fn http_status(code: u16) -> minutehand_client::StatusCode {
        minutehand_client::StatusCode::from_u16(code).unwrap()
    }
}
