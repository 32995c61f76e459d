//! Deletes expired history and jobs, at the start and once an hour.
//!
//! The API never returns expired entries, so this only frees disk space. DynamoDB on AWS expires them
//! by itself.

use std::sync::Arc;
use std::time::Duration;

use ports::Clock;
use runtime::chain;
use store_dynamodb::DynamoStore;

use super::tasks::Stop;

/// The time between two runs.
const EXPIRE_EVERY: Duration = Duration::from_hours(1);

/// Deletes what has expired again and again, until it is asked to stop.
pub(super) async fn expire(jobs: Arc<DynamoStore>, clock: Arc<dyn Clock>, stop: Stop) {
    loop {
        let removed = async {
            match jobs.remove_expired(clock.now(), clock.work_now()).await {
                Ok(0) => tracing::debug!("nothing has expired"),
                Ok(items) => tracing::info!(items, "removed what has expired"),
                Err(error) => {
                    tracing::error!(error = chain(&error), "cannot remove what has expired");
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
