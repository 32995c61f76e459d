use chrono::{DateTime, TimeDelta, Utc};
use minutehand_ports_macro::port;

use super::StoreError;

/// How long a state is kept after its last change.
const KEPT_FOR: TimeDelta = TimeDelta::days(90);

/// The state of alerts, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertRead {
    /// The number of the state; 0 if there is none yet.
    pub number: u64,
    /// The state as text; empty if there is none yet.
    pub state: String,
}

/// A state of alerts to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertWrite {
    /// The job, or the collection, whose state it is.
    pub uid: String,
    /// The number of the state that was read.
    pub as_read: u64,
    /// The state. It gets the next number.
    pub state: String,
    /// When it is over.
    pub expires_at: DateTime<Utc>,
}

impl AlertWrite {
    /// A state that is stored now, in place of the one that was read with a number.
    #[must_use]
    pub fn at(now: DateTime<Utc>, uid: &str, as_read: u64, state: String) -> Self {
        Self { uid: uid.to_owned(), as_read, state, expires_at: now + KEPT_FOR }
    }
}

/// The states of alerts: of each job that had one under rules, and of each collection of which one failed.
/// Others have none.
#[port]
pub trait Alerts: Send + Sync {
    /// Reads a state as it is now.
    async fn read_alert(&self, uid: &str) -> Result<AlertRead, StoreError>;

    /// Stores a state; `false` if it has changed since it was read. A caller whose answer was lost reads
    /// again, and finds what it stored.
    async fn write_alert(&self, write: &AlertWrite) -> Result<bool, StoreError>;
}
