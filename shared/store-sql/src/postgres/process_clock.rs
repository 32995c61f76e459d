//! The clock on which a process of a database runs.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::Clock;

use super::database::PgDatabase;

/// The longest nap while an instant is waited for: the clock may be set meanwhile.
const NAP_MAX: Duration = Duration::from_secs(1);

/// The clock of all processes of a database, for schedules and for work. Its time comes with the signs of
/// life, once a second, and goes on by the stopwatch of the process while the database is away.
#[derive(Debug, Clone)]
pub struct PgClock(PgDatabase);

impl PgClock {
    /// The clock of a database.
    #[must_use]
    pub const fn new(database: PgDatabase) -> Self {
        Self(database)
    }
}

#[async_trait]
impl Clock for PgClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        loop {
            // A negative time becomes none.
            let left = (at - self.now()).to_std().unwrap_or_default();
            if left.is_zero() {
                return;
            }
            sleep(left.min(NAP_MAX)).await;
        }
    }

    async fn wait(&self, work: Duration) {
        sleep(work).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock implements its waiting with it")]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}
