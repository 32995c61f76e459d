//! The executor's task: messages taken from the queue, performed, and settled.
//!
//! Each message is a task of its own, so that a slow target holds up nobody. A message whose work
//! fails, or trips over itself, comes back; a message that cannot be read goes to the dead letters.
//!
//! When it is asked to stop it takes no more, and gives back what it has taken ahead of its instant.
//! What runs goes on until it is done or the process ends. That is a crash as any other: the claims
//! of a process that has ended are void.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use app::fire::{Executor, Performed};
use embedded::Queue;
use embedded::queue::TakenMessage;
use futures_util::FutureExt;
use ports::{Clock, ErrorType};
use runtime::chain;
use tokio::sync::Semaphore;

use super::tasks::Stop;

/// Messages under way at once. Most of them wait for their instant, or for an answer.
const UNDER_WAY_MAX: u32 = 16_384;
/// Messages that are taken at once.
const TAKEN_MAX: usize = 200;
/// How long a message stays away whose work failed for a reason of ours.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

/// Works until it is asked to stop, and what it has begun is done.
pub(super) async fn work(queue: Queue, executor: Executor, clock: Arc<dyn Clock>, stop: Stop) {
    let places = Arc::new(Semaphore::new(UNDER_WAY_MAX as usize));
    loop {
        let taken = async {
            // At least one place; what there is beyond it decides how many are taken.
            let first = places.clone().acquire_owned().await;
            let taken = queue.receive(TAKEN_MAX.min(places.available_permits() + 1)).await;
            drop(first);
            taken
        };
        let taken = tokio::select! {
            // First, or a message that was just given back would be taken again.
            biased;
            () = stop.requested() => break,
            taken = taken => taken,
        };
        match taken {
            Ok(deliveries) => {
                for delivery in deliveries {
                    let Ok(place) = places.clone().acquire_owned().await else { return };
                    let (queue, executor, stop) = (queue.clone(), executor.clone(), stop.clone());
                    tokio::spawn(async move {
                        perform(&queue, &executor, delivery, &stop).await;
                        drop(place);
                    });
                }
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "no message can be taken");
                clock.wait(FAILED_PAUSE).await;
            }
        }
    }
    // Every place is free again when everything is done.
    let _ = places.acquire_many(UNDER_WAY_MAX).await;
}

async fn perform(queue: &Queue, executor: &Executor, delivery: TakenMessage, stop: &Stop) {
    let TakenMessage { receipt, work_item, .. } = delivery;
    let receipts = [receipt];
    let settled = match work_item {
        Err(error) => {
            let error_type = ErrorType::MessageUnreadable;
            tracing::error!(%error_type, %error, "a message cannot be read");
            queue.bury(&receipts, &error.to_string()).await
        }
        Ok(work_item) => {
            let performed =
                AssertUnwindSafe(executor.perform(&work_item, stop)).catch_unwind().await;
            match performed {
                Ok(Ok(Performed::Done)) => queue.finish(&receipts).await,
                Ok(Ok(Performed::Again(after))) => put_back(queue, receipts, after).await,
                Ok(Err(error)) => {
                    let error_type = ErrorType::MessageFailed;
                    tracing::error!(%error_type, error = chain(&error), "a work item comes back");
                    put_back(queue, receipts, FAILED_PAUSE).await
                }
                // The panic itself is in the log.
                Err(_) => put_back(queue, receipts, FAILED_PAUSE).await,
            }
        }
    };
    if let Err(error) = settled {
        // It comes back by itself, and what it asked for is known to be done.
        tracing::warn!(error = chain(&error), "a message is not settled");
    }
}

async fn put_back(
    queue: &Queue,
    [receipt]: [embedded::queue::ReceiptHandle; 1],
    after: Duration,
) -> Result<(), ports::QueueError> {
    queue.put_back(&[(receipt, after)]).await
}
