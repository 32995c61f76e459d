//! How a request fails: a stable code, the status that goes with it, and a sentence for a person.
//!
//! This is the only place that knows which failure has which status. `ERRORS.md` is its table.

use app::AppError;
use axum::http::{Method, StatusCode};
use domain::refusal::{Code, Refusal};

/// What went wrong, for programs. Each is one line of `ERRORS.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// No credentials were sent.
    AuthenticationFailed,
    /// The credentials are not known.
    InvalidAuthenticationToken,
    /// There is nothing at this path.
    UnknownRoute,
    /// There is, and it does not take this method.
    MethodNotAllowed,
    /// The request does not say which version of the API it means.
    MissingApiVersionParameter,
    /// It means a version that is not served.
    InvalidApiVersionParameter,
    /// The body is not a JSON object.
    InvalidRequestContent,
    /// The body is longer than a request may be.
    RequestEntityTooLarge,
    /// There is no such collection.
    ResourceNotFound,
    /// There is no such job.
    NotFound,
    /// Others changed the same thing again and again.
    Conflict,
    /// Something that is needed does not answer.
    ServiceUnavailable,
    /// Anything else, which is not the client's to mend.
    InternalError,
    /// The request is refused for what it says.
    Refused(Code),
}

impl ErrorCode {
    /// The codes of HTTP; those of [`Code::ALL`] come on top.
    const OWN: [Self; 13] = [
        Self::AuthenticationFailed,
        Self::InvalidAuthenticationToken,
        Self::UnknownRoute,
        Self::MethodNotAllowed,
        Self::MissingApiVersionParameter,
        Self::InvalidApiVersionParameter,
        Self::InvalidRequestContent,
        Self::RequestEntityTooLarge,
        Self::ResourceNotFound,
        Self::NotFound,
        Self::Conflict,
        Self::ServiceUnavailable,
        Self::InternalError,
    ];

    /// All codes.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::OWN.into_iter().chain(Code::ALL.into_iter().map(Self::Refused))
    }

    /// The code as it is answered.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthenticationFailed => "AuthenticationFailed",
            Self::InvalidAuthenticationToken => "InvalidAuthenticationToken",
            Self::UnknownRoute => "UnknownRoute",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::MissingApiVersionParameter => "MissingApiVersionParameter",
            Self::InvalidApiVersionParameter => "InvalidApiVersionParameter",
            Self::InvalidRequestContent => "InvalidRequestContent",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::ResourceNotFound => "ResourceNotFound",
            Self::NotFound => "NotFound",
            Self::Conflict => "Conflict",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::InternalError => "InternalError",
            Self::Refused(code) => code.as_str(),
        }
    }

    /// The status that goes with it.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::AuthenticationFailed | Self::InvalidAuthenticationToken => {
                StatusCode::UNAUTHORIZED
            }
            Self::UnknownRoute | Self::ResourceNotFound | Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestEntityTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Conflict => StatusCode::CONFLICT,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Refused(code) if code.is_conflict() => StatusCode::CONFLICT,
            Self::MissingApiVersionParameter
            | Self::InvalidApiVersionParameter
            | Self::InvalidRequestContent
            | Self::Refused(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// Why a request is not answered as it wished.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What went wrong, for programs.
    pub(crate) code: ErrorCode,
    /// What to change, for people. It holds nothing of our insides.
    pub(crate) message: String,
    /// The methods that would be taken instead.
    pub(crate) allow: Vec<Method>,
    /// What happened inside: for the log, never for an answer.
    pub(crate) inside: Option<AppError>,
}

impl Failure {
    /// A failure that only has a code and a message.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), allow: Vec::new(), inside: None }
    }

    /// A failure that is ours to mend.
    pub(crate) fn internal(inside: Option<AppError>) -> Self {
        let message = "The service failed. The log says why, under the id in 'x-ms-request-id'.";
        Self { inside, ..Self::new(ErrorCode::InternalError, message) }
    }

    /// A value in the request that is missing or not allowed.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Refusal::invalid(message).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(ErrorCode::Refused(refusal.code), refusal.message)
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        match error {
            AppError::NoCollection { group, name } => Self::new(
                ErrorCode::ResourceNotFound,
                format!(
                    "The Resource 'Microsoft.Scheduler/jobcollections/{name}' under resource group \
                     '{group}' was not found."
                ),
            ),
            AppError::NoJob { name } => {
                Self::new(ErrorCode::NotFound, format!("Job '{name}' cannot be found."))
            }
            AppError::Refused(refusal) => refusal.into(),
            AppError::Busy { what } => Self::new(
                ErrorCode::Conflict,
                format!("Others are changing the {what} at the same time. Try again."),
            ),
            AppError::Store(_) | AppError::Queue(_) if error.is_retryable() => Self {
                inside: Some(error),
                ..Self::new(
                    ErrorCode::ServiceUnavailable,
                    "The service cannot answer at the moment. Try again.",
                )
            },
            AppError::NoWrites(_) => Self {
                inside: Some(error),
                ..Self::new(
                    ErrorCode::ServiceUnavailable,
                    "The disk takes no writes: what is changed or fires cannot be kept. The log \
                     says why.",
                )
            },
            AppError::Store(_)
            | AppError::Seal(_)
            | AppError::Queue(_)
            | AppError::Unreadable { .. } => Self::internal(Some(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_codes_is_the_enum() {
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
