//! What the SDK's errors mean to the services.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use ports::StoreError;

/// Codes that ask for patience.
const THROTTLING: [&str; 5] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// Codes that say that asking again may help.
const UNAVAILABLE: [&str; 2] = ["InternalServerError", "ServiceUnavailable"];

/// An error of the SDK as the port has it.
pub(crate) fn store_error<E, R>(error: SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    match code {
        Some(code) if THROTTLING.contains(&code) => StoreError::Throttled(Box::new(error)),
        Some(code) if UNAVAILABLE.contains(&code) => StoreError::Unavailable(Box::new(error)),
        Some(_) => StoreError::Refused(Box::new(error)),
        None => StoreError::Unavailable(Box::new(error)),
    }
}

/// Which conditions of a transaction failed, in the order of its items.
///
/// # Errors
///
/// If it failed for another reason.
pub(crate) fn failed_conditions<R>(
    error: SdkError<TransactWriteItemsError, R>,
) -> Result<Vec<bool>, StoreError>
where
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return Err(store_error(error));
    };
    let failed: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code() == Some("ConditionalCheckFailed"))
        .collect();
    // Others were in the way, or the throughput was: nothing is kept, and asking again may help.
    if failed.contains(&true) { Ok(failed) } else { Err(StoreError::Throttled(Box::new(error))) }
}
