//! What time it is.

use chrono::{DateTime, Utc};

/// Tells the time by which jobs are scheduled.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> DateTime<Utc>;
}
