//! What the SDK's errors mean to the services.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::CancellationReason;
use ports::StoreError;

use crate::groups::WriteOutcome;

/// Codes that ask for patience.
const THROTTLING: [&str; 5] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// The code of an item of a transaction whose condition failed.
const REFUSED: &str = "ConditionalCheckFailed";

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

/// Why a transaction was cancelled, item by item; `None` if it failed otherwise.
fn reasons<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<&[CancellationReason]> {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            Some(cancelled.cancellation_reasons())
        }
        _ => None,
    }
}

/// Which writes of a transaction were refused for their conditions, in its order; `None` for one that
/// would have been done.
///
/// # Errors
///
/// If none was: it failed for another reason.
pub(crate) fn refused_items<R>(
    error: SdkError<TransactWriteItemsError, R>,
) -> Result<Vec<Option<WriteOutcome>>, StoreError>
where
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let Some(reasons) = reasons(&error) else {
        return Err(store_error(error));
    };
    let has = |code: &str| reasons.iter().any(|reason| reason.code() == Some(code));
    if has(REFUSED) {
        let refused = reasons.iter().map(|reason| {
            let image = reason.item().filter(|item| !item.is_empty()).cloned();
            (reason.code() == Some(REFUSED)).then_some(WriteOutcome::Refused(image))
        });
        return Ok(refused.collect());
    }
    // An item that is not allowed to be is refused for good; whatever else it was passes.
    let for_good = has("ValidationError") || has("ItemCollectionSizeLimitExceeded");
    let error = Box::new(error);
    Err(if for_good { StoreError::Refused(error) } else { StoreError::Throttled(error) })
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
    let Some(reasons) = reasons(&error) else {
        return Err(store_error(error));
    };
    let failed: Vec<_> = reasons.iter().map(|reason| reason.code() == Some(REFUSED)).collect();
    // Others were in the way, or the throughput was: nothing is kept, and asking again may help.
    if failed.contains(&true) { Ok(failed) } else { Err(StoreError::Throttled(Box::new(error))) }
}
