//! Failures in the form of the classic API: a status, a code of its own, and a message, as XML.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use minutehand_app::AppError;
use minutehand_domain::refusal::Refusal;

use super::request::shown_etag;
use super::xml::{Xml, XmlError};
use crate::answer::{Answer, RETRY_AFTER_SECONDS};
use crate::failure::{ErrorCode, Failure};

/// What Azure answered to callers that it did not know.
const UNKNOWN_CALLER: &str = "The server failed to authenticate the request. Verify that the \
                              certificate is valid and is associated with this subscription.";

/// A request that failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A failure that only this API has.
    Own(Code, String),
    /// A failure that the API of 2016 has as well.
    Shared(Failure),
}

/// The codes of failures that only this API has. All have the status 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The header `x-ms-version` is missing or invalid.
    Version,
    /// The body is not the XML that the operation needs.
    Xml,
    /// A query parameter is missing or invalid.
    Query,
    /// The path does not support the method.
    Verb,
}

impl Code {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Version => "MissingOrIncorrectVersionHeader",
            Self::Xml => "InvalidXmlRequest",
            Self::Query => "MissingOrInvalidRequiredQueryParameter",
            Self::Verb => "InvalidHttpVerb",
        }
    }
}

impl Fault {
    /// A query parameter that is missing or invalid.
    pub(super) fn query(message: impl Into<String>) -> Self {
        Self::Own(Code::Query, message.into())
    }

    /// A value that is not allowed.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::Shared(Failure::invalid(message))
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Shared(failure)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Shared(refusal.into())
    }
}

impl From<XmlError> for Fault {
    fn from(XmlError(what): XmlError) -> Self {
        let message =
            format!("The request body's XML was invalid or not correctly specified. {what}");
        Self::Own(Code::Xml, message)
    }
}

impl From<AppError> for Fault {
    fn from(error: AppError) -> Self {
        let missing = |message| Self::Shared(Failure::new(ErrorCode::ResourceNotFound, message));
        match error {
            AppError::NoCollection { group, name } => missing(format!(
                "The job collection {name} of the cloud service {group} was not found."
            )),
            AppError::NoParent { group, name } => missing(format!(
                "The job collection {name} of the cloud service {group} was not found. Create it \
                 first."
            )),
            // The message of the other API names the version as that API writes it.
            AppError::ConditionFailed { what, etag: Some(etag) } => {
                let etag = shown_etag(&etag);
                let message = format!(
                    "The {what} exists with the ETag {etag}, which the request rules out. Read it \
                     again, and repeat the change with its new ETag."
                );
                Self::Shared(Failure::new(ErrorCode::PreconditionFailed, message))
            }
            error @ (AppError::OutOfReach { .. }
            | AppError::NoCloudService { .. }
            | AppError::NoJob { .. }
            | AppError::NoBody { .. }
            | AppError::Refused(_)
            | AppError::ConditionFailed { etag: None, .. }
            | AppError::Busy { .. }
            | AppError::Store(_)
            | AppError::NoWrites(_)
            | AppError::Seal(_)
            | AppError::Key(_)
            | AppError::Queue(_)
            | AppError::NotMade(_)
            | AppError::Newer { .. }
            | AppError::Unreadable { .. }) => Self::Shared(error.into()),
        }
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        let (status, code, message) = match fault {
            Fault::Own(code, message) => (StatusCode::BAD_REQUEST, code.as_str(), message),
            Fault::Shared(failure) => {
                let (status, code) = classic(failure.code);
                let message = match code {
                    "AuthenticationFailed" => format!("{UNKNOWN_CALLER} {}", failure.message),
                    _ => failure.message,
                };
                (status, code, message)
            }
        };
        let body = Xml::document("Error", |xml| {
            xml.text("Code", code);
            xml.text("Message", &message);
        });
        let answer = Self::xml(status, body);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return answer.with(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        answer
    }
}

/// The status and the code of a failure in this API.
const fn classic(code: ErrorCode) -> (StatusCode, &'static str) {
    match code {
        ErrorCode::AuthenticationFailed | ErrorCode::InvalidAuthenticationToken => {
            (StatusCode::FORBIDDEN, "AuthenticationFailed")
        }
        ErrorCode::AuthorizationFailed => (StatusCode::FORBIDDEN, "ForbiddenError"),
        ErrorCode::UnknownRoute | ErrorCode::ResourceNotFound | ErrorCode::NotFound => {
            (StatusCode::NOT_FOUND, "ResourceNotFound")
        }
        ErrorCode::MethodNotAllowed => (StatusCode::BAD_REQUEST, Code::Verb.as_str()),
        ErrorCode::MissingApiVersionParameter | ErrorCode::InvalidApiVersionParameter => {
            (StatusCode::BAD_REQUEST, Code::Query.as_str())
        }
        ErrorCode::RequestEntityTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "BadRequest"),
        ErrorCode::Conflict => (StatusCode::CONFLICT, "ConflictError"),
        ErrorCode::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, "PreconditionFailed"),
        ErrorCode::ServiceUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServerBusy"),
        ErrorCode::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        ErrorCode::Refused(code) if code.is_conflict() => (StatusCode::CONFLICT, "ConflictError"),
        ErrorCode::InvalidRequestContent | ErrorCode::Refused(_) => {
            (StatusCode::BAD_REQUEST, "BadRequest")
        }
    }
}
