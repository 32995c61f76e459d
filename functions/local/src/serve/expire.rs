//! The removal of history that has expired, at the start and once an hour.
//!
//! Nothing waits for it: what has expired is not answered, whether it is still there or not.

use std::sync::Arc;
use std::time::Duration;

use ports::Clock;
use runtime::chain;
use store_dynamodb::DynamoStore;

use super::tasks::Stop;

/// How long to wait before the next removal.
const EXPIRE_EVERY: Duration = Duration::from_hours(1);

/// Removes what has expired until it is asked to stop.
pub(super) async fn expire(jobs: Arc<DynamoStore>, clock: Arc<dyn Clock>, stop: Stop) {
    loop {
        let removed = async {
            match jobs.remove_expired(clock.now(), clock.work_now()).await {
                Ok(0) => tracing::debug!("no history has expired"),
                Ok(executions) => tracing::info!(executions, "removed history that has expired"),
                Err(error) => {
                    tracing::error!(error = chain(&error), "history that has expired stays");
                }
            }
            clock.wait(EXPIRE_EVERY).await;
        };
        tokio::select! {
            () = stop.requested() => return,
            () = removed => {}
        }
    }
}
