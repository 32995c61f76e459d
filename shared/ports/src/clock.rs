//! What time it is, and waiting for a time.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};

/// A clock with two hands.
///
/// One tells the time by which jobs are *scheduled*: occurrences, delays, retries, expiry. The
/// other tells the time in which *work* is done: leases, time limits. They differ on a test clock
/// alone, which runs the schedule through a month in a minute while a request still takes its time.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now, by the schedule.
    fn now(&self) -> DateTime<Utc>;

    /// Now, in which work is done.
    fn work_now(&self) -> DateTime<Utc> {
        self.now()
    }

    /// How much of the schedule goes by during a stretch of work.
    fn scheduled_during(&self, work: TimeDelta) -> TimeDelta {
        work
    }

    /// Waits until it is that time by the schedule, never less: `now` is then at or after it.
    async fn wait_until(&self, at: DateTime<Utc>);

    /// Waits for a stretch of work.
    async fn wait(&self, work: Duration);
}
