//! Maps the errors of SQS to those of the port.

use std::error::Error;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use minutehand_ports::QueueError;

/// Codes of throttling and temporary failures, whatever status they come with.
const TEMPORARY: [&str; 6] = [
    "InternalError",
    "KmsThrottled",
    "OverLimit",
    "RequestThrottled",
    "ServiceUnavailable",
    "ThrottlingException",
];

/// Maps an error of the SDK, which has already retried where that could help.
pub(crate) fn queue_error<E>(error: SdkError<E, HttpResponse>) -> QueueError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let is_answered = error.as_service_error().is_some();
    let is_client_error =
        error.raw_response().is_some_and(|answer| answer.status().is_client_error());
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    if is_answered && is_client_error && !code.is_some_and(is_temporary) {
        QueueError::Refused(Box::new(error))
    } else {
        QueueError::Unavailable(Box::new(error))
    }
}

/// Returns whether a code says that sending again may help. The older protocol puts a prefix before
/// codes.
pub(crate) fn is_temporary(code: &str) -> bool {
    let code = code.rsplit(['.', '#']).next().unwrap_or(code);
    TEMPORARY.contains(&code)
}
