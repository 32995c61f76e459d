use minutehand_domain::attempt::Attempt;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::StoreError;

/// A retry that is too far in the future for a message of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongRetry {
    /// The job.
    pub job: JobRef,
    /// The retry. Its timer is due when the attempt is.
    pub attempt: Attempt,
}

/// Timers of retries that are too far in the future for a message.
#[port]
pub trait RetryTimers: Send + Sync {
    /// Stores the timer of a retry. If it exists, it stays as it is.
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError>;

    /// Removes the timer of a retry. If it is gone already, that is not an error.
    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError>;

    /// Lists the retries of a job that wait in timers, at most `max` of them.
    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError>;
}
