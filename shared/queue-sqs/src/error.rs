//! What the errors of SQS mean to the services.

use std::error::Error;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use ports::QueueError;

/// Codes that ask for patience, whatever status they come with.
const PATIENCE: [&str; 6] = [
    "InternalError",
    "KmsThrottled",
    "OverLimit",
    "RequestThrottled",
    "ServiceUnavailable",
    "ThrottlingException",
];

/// An error of the SDK as the port has it. It was tried again by then, if that was of any use.
pub(crate) fn queue_error<E>(error: SdkError<E, HttpResponse>) -> QueueError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let is_answered = error.as_service_error().is_some();
    let is_ours = error.raw_response().is_some_and(|answer| answer.status().is_client_error());
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    if is_answered && is_ours && !code.is_some_and(asks_for_patience) {
        QueueError::Refused(Box::new(error))
    } else {
        QueueError::Unavailable(Box::new(error))
    }
}

/// Whether a code says that sending again may help. With the older protocol codes have a prefix.
pub(crate) fn asks_for_patience(code: &str) -> bool {
    let code = code.rsplit(['.', '#']).next().unwrap_or(code);
    PATIENCE.contains(&code)
}
