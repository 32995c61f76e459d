//! Errors of the SDK as errors of the port.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use minutehand_ports::StoreError;

/// Codes that mean throttling.
const THROTTLING: [&str; 5] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// The code of an item of a transaction whose condition failed.
const CONDITION_FAILED: &str = "ConditionalCheckFailed";

/// Codes that mean a failure of the service, which a retry may overcome.
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
pub(super) fn failed_conditions<R>(
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
    let reasons = cancelled.cancellation_reasons().iter();
    let failed: Vec<_> = reasons.map(|it| it.code() == Some(CONDITION_FAILED)).collect();
    // Another transaction was in the way, or the throughput was used up. Nothing was written, and a
    // retry may help.
    if failed.contains(&true) { Ok(failed) } else { Err(StoreError::Throttled(Box::new(error))) }
}
