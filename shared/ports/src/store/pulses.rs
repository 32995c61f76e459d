use chrono::{DateTime, Utc};
use minutehand_domain::firing::Pulse;
use minutehand_ports_macro::port;

use super::StoreError;

/// Whose pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PulseOf {
    /// The sweepers, which send occurrences.
    Sweepers,
    /// The workers, which start attempts.
    Workers,
}

/// Both pulses of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PulseRecord {
    /// The pulse of the sweepers.
    pub sweepers: Pulse,
    /// The pulse of the workers.
    pub workers: Pulse,
}

impl PulseRecord {
    /// One of the two.
    #[must_use]
    pub const fn of(&self, of: PulseOf) -> &Pulse {
        match of {
            PulseOf::Sweepers => &self.sweepers,
            PulseOf::Workers => &self.workers,
        }
    }
}

/// The pulses of sweepers and workers, from which outages are known.
#[port]
pub trait Pulses: Send + Sync {
    /// Reads both pulses.
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError>;

    /// Stores a pulse after a beat; `false` if its last beat is not the one that was read.
    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError>;
}
