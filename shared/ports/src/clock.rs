//! The time, and waiting for a time.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};

/// A clock with two times.
///
/// Jobs are *scheduled* by one of them: occurrences, delays, retries, expiry. *Work* is done by the
/// other: leases, time limits. They differ on a test clock, which runs the schedule through a month in a
/// minute while a request still takes its time. They also differ in a process that alone has leases:
/// there, work follows a stopwatch, so that a system clock that jumps ends no lease.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time of the schedule.
    fn now(&self) -> DateTime<Utc>;

    /// The time of work.
    fn work_now(&self) -> DateTime<Utc> {
        self.now()
    }

    /// The time that other systems agree with: for signatures, and for what they are told.
    fn outside_now(&self) -> DateTime<Utc> {
        self.work_now()
    }

    /// How much time of the schedule passes during a span of work.
    fn scheduled_during(&self, work: TimeDelta) -> TimeDelta {
        work
    }

    /// Waits until the schedule has reached a time. `now` is then at or after it, never before.
    async fn wait_until(&self, at: DateTime<Utc>);

    /// Waits for a span of work.
    async fn wait(&self, work: Duration);
}
