//! Jobs: what a user says of one, and the states it can be in.

use chrono::{DateTime, Utc};
use recurrence::Recurrence;

use crate::action::MainAction;

/// What a user says of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDefinition {
    /// As it was sent; `None` begins where the job is created or enabled.
    pub start_time: Option<DateTime<Utc>>,
    /// What it does.
    pub action: MainAction,
    /// When it repeats; `None` runs once.
    pub recurrence: Option<Recurrence>,
    /// Whether it is switched on.
    pub switch: Switch,
}

/// The two states that a user can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// It fires.
    #[default]
    Enabled,
    /// It does not.
    Disabled,
}

/// The state of a job. A user sets the first two; the last two are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It fires.
    Enabled,
    /// It does not, until it is enabled.
    Disabled,
    /// Nothing is left, and the last occurrence succeeded.
    Completed,
    /// Nothing is left, and the last occurrence failed for good.
    Faulted,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Enabled, Self::Disabled, Self::Completed, Self::Faulted];

    /// Its name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Completed => "completed",
            Self::Faulted => "faulted",
        }
    }

    /// Reads a name in any case.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(text))
    }

    /// The switch that a user can set to it; `None` for what only the scheduler decides.
    #[must_use]
    pub const fn switch(self) -> Option<Switch> {
        match self {
            Self::Enabled => Some(Switch::Enabled),
            Self::Disabled => Some(Switch::Disabled),
            Self::Completed | Self::Faulted => None,
        }
    }

    /// Whether the job is over: it can only be deleted.
    #[must_use]
    pub const fn is_final(self) -> bool {
        self.switch().is_none()
    }
}

impl From<Switch> for JobState {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Enabled => Self::Enabled,
            Switch::Disabled => Self::Disabled,
        }
    }
}

/// What a job has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Attempts of the main action.
    pub executions: u64,
    /// Attempts of it that failed.
    pub failures: u64,
    /// Occurrences that failed for good.
    pub faulted: u64,
    /// Occurrences that were not owed any more when their turn came.
    pub skipped: u64,
    /// When its latest attempt began.
    pub last_execution_at: Option<DateTime<Utc>>,
}
