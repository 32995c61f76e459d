//! Failures of requests: a stable code, its HTTP status, and a message for people.
//!
//! This is the only module that maps failures to statuses. `ERRORS.md` documents the codes.

use axum::http::{Method, StatusCode};
use minutehand_app::AppError;
use minutehand_domain::refusal::{Code, Fix, Refusal};

use crate::near::nothing_here;

/// Defines the codes of this crate, one per line, each with its status.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident => $status:ident,)*) => {
        /// The code of a failure, for programs. Each is a line of `ERRORS.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
            /// The domain refuses the request.
            Refused(Code),
        }

        impl ErrorCode {
            /// The codes of this crate, without those of the domain.
            const OWN: &[Self] = &[$(Self::$name),*];

            /// The code as it stands in answers.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Refused(code) => code.name(),
                }
            }

            /// The HTTP status of answers with this code.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)*
                    Self::Refused(code) if code.is_conflict() => StatusCode::CONFLICT,
                    Self::Refused(_) => StatusCode::BAD_REQUEST,
                }
            }
        }
    };
}

error_codes! {
    /// The request has no credentials.
    AuthenticationFailed => UNAUTHORIZED,
    /// The credentials are unknown.
    InvalidAuthenticationToken => UNAUTHORIZED,
    /// The token does not allow the request.
    AuthorizationFailed => FORBIDDEN,
    /// No route has the path.
    UnknownRoute => NOT_FOUND,
    /// The path does not support the method.
    MethodNotAllowed => METHOD_NOT_ALLOWED,
    /// The request names no version of the API.
    MissingApiVersionParameter => BAD_REQUEST,
    /// The request names a version that is not served.
    InvalidApiVersionParameter => BAD_REQUEST,
    /// The body is not a JSON object.
    InvalidRequestContent => BAD_REQUEST,
    /// The body is longer than the limit.
    RequestEntityTooLarge => PAYLOAD_TOO_LARGE,
    /// The job collection does not exist.
    ResourceNotFound => NOT_FOUND,
    /// The job does not exist.
    NotFound => NOT_FOUND,
    /// Other requests changed the same job or collection at the same time.
    Conflict => CONFLICT,
    /// The condition in the headers of a change does not hold.
    PreconditionFailed => PRECONDITION_FAILED,
    /// A service that is needed, like the store, is not available.
    ServiceUnavailable => SERVICE_UNAVAILABLE,
    /// A failure that the client cannot repair.
    InternalError => INTERNAL_SERVER_ERROR,
}

impl ErrorCode {
    /// All codes.
    pub fn all() -> impl Iterator<Item = Self> {
        let refused = Code::ALL.iter().copied().map(Self::Refused);
        Self::OWN.iter().copied().chain(refused)
    }
}

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    /// What to change, for people. It reveals nothing about the implementation.
    pub(crate) message: String,
    /// The path of the property to change, in the body.
    pub(crate) target: Option<String>,
    /// What would make that property right.
    pub(crate) fixes: Vec<Fix>,
    /// The methods that the path supports; empty unless the method is the problem.
    pub(crate) allow: Vec<Method>,
    /// The internal error: for the log, never for the answer.
    pub(crate) cause: Option<Box<AppError>>,
}

impl Failure {
    /// A failure with a code and a message only.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, target: None, fixes: Vec::new(), allow: Vec::new(), cause: None }
    }

    /// A failure that the client cannot repair.
    pub(crate) fn internal(cause: Option<AppError>) -> Self {
        let message = "The service failed. Its log gives the reason under the id in \
                       'x-ms-request-id'.";
        Self { cause: cause.map(Box::new), ..Self::new(ErrorCode::InternalError, message) }
    }

    /// A missing or invalid value in the request.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Refusal::invalid(message).into()
    }

    /// The same failure without the property to change.
    pub(crate) fn without_target(self) -> Self {
        Self { target: None, fixes: Vec::new(), ..self }
    }

    /// A path without a route.
    pub(crate) fn unknown_route(method: &Method, path: &str) -> Self {
        Self::new(ErrorCode::UnknownRoute, nothing_here(method, path))
    }

    /// A request of a token that is limited to other collections; `None` is the whole installation.
    fn out_of_reach(what: Option<&str>, reach: &str) -> Self {
        let what = match what {
            Some(path) => format!("'{path}' is not among them."),
            None => "this request needs a token for the whole installation.".to_owned(),
        };
        let message = format!("The token is limited to the collections '{reach}'; {what}");
        Self::new(ErrorCode::AuthorizationFailed, message)
    }

    /// A service that is needed, and not available at the moment.
    fn unavailable(message: &str, cause: AppError) -> Self {
        Self { cause: Some(Box::new(cause)), ..Self::new(ErrorCode::ServiceUnavailable, message) }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, message, target, fixes } = refusal;
        Self { target, fixes, ..Self::new(ErrorCode::Refused(code), message) }
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        match error {
            AppError::OutOfReach { what, reach } => Self::out_of_reach(what.as_deref(), &reach),
            // Clients of Azure know the messages of these two.
            AppError::NoCollection { group, name } => {
                Self::new(ErrorCode::ResourceNotFound, no_collection(&group, &name))
            }
            AppError::NoParent { group, name } => {
                Self::new(ErrorCode::ResourceNotFound, no_parent(&group, &name))
            }
            AppError::NoCloudService { name } => Self::new(
                ErrorCode::ResourceNotFound,
                format!("The cloud service with name {name} was not found."),
            ),
            AppError::NoJob { name } => {
                Self::new(ErrorCode::NotFound, format!("Job '{name}' cannot be found."))
            }
            AppError::NoBody { of, kept: true } => Self::new(
                ErrorCode::NotFound,
                format!(
                    "No body is kept of '{of}'. Bodies are kept of long pings, and, with --keep-bodies \
                     failures, on AWS KeepBodies=failures, of HTTP actions that failed with an answer, \
                     for as long as history."
                ),
            ),
            AppError::NoBody { kept: false, .. } => Self::new(
                ErrorCode::NotFound,
                "This installation keeps no bodies of failures. Start the server with --keep-bodies \
                 failures, on AWS deploy it with KeepBodies=failures.",
            ),
            AppError::Refused(refusal) => refusal.into(),
            AppError::ConditionFailed { what, etag } => {
                let what = capitalized(&what);
                let message = match etag {
                    Some(etag) => format!(
                        "{what} exists with the ETag {etag}, which the request rules out. Read it \
                         again, and repeat the change with its new ETag."
                    ),
                    None => format!("{what} does not exist, and the request expects that it does."),
                };
                Self::new(ErrorCode::PreconditionFailed, message)
            }
            AppError::Busy { what } => Self::new(
                ErrorCode::Conflict,
                format!("{} is being modified concurrently. Try again.", capitalized(&what)),
            ),
            AppError::Store(error) if error.is_no_position() => Self::invalid(
                "The list has no such position. Follow 'nextLink', or send the 'position' of the answer \
                 before it, without changing it.",
            ),
            AppError::Store(_) | AppError::Queue(_) if error.is_retryable() => {
                Self::unavailable("The service is temporarily unavailable. Try again.", error)
            }
            AppError::Newer { .. } => Self::unavailable(
                "A newer version wrote the job, and this one does not know all of it. Try again when \
                 the newer version answers.",
                error,
            ),
            AppError::NoWrites(_) => Self::unavailable(
                "The disk is full or read-only: changes and executions cannot be saved. The log \
                 gives the reason.",
                error,
            ),
            AppError::Store(_)
            | AppError::Seal(_)
            | AppError::Key(_)
            | AppError::Queue(_)
            | AppError::NotMade(_)
            | AppError::Unreadable { .. } => Self::internal(Some(error)),
        }
    }
}

/// The message for a collection that does not exist.
fn no_collection(group: &str, name: &str) -> String {
    format!(
        "The Resource 'Microsoft.Scheduler/jobcollections/{name}' under resource group '{group}' was \
         not found."
    )
}

/// The same for the collection of a job.
fn no_parent(group: &str, name: &str) -> String {
    let missing = no_collection(group, name);
    format!("{missing} Create the job collection first, with a PUT of its path and the body {{}}.")
}

/// A text that begins a sentence.
pub(crate) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_codes_and_statuses_are_those_of_the_enum() {
        let table = include_str!("../ERRORS.md");
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let documented: Vec<(&str, &str)> = rows
            .map(|row| {
                let mut cells = row.split('|').skip(1).map(str::trim);
                let code = cells.next().unwrap().trim_matches('`');
                let status = cells.next().unwrap();
                assert!(cells.next().is_some_and(|meaning| meaning.ends_with('.')), "{row}");
                (code, status)
            })
            .collect();
        let codes: Vec<_> = ErrorCode::all()
            .map(|code| (code.as_str(), code.status().as_str().to_owned()))
            .collect();
        let codes: Vec<_> = codes.iter().map(|(code, status)| (*code, status.as_str())).collect();
        assert_eq!(documented, codes);
    }
}
