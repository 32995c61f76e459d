//! Which endings of occurrences are told.

use crate::duration::Span;
use crate::json::{Fields, ObjectBuilder};
use crate::refusal::Refusal;

/// The most failures in a row that an alert may wait for.
const AFTER_MAX: u32 = 100;
/// The bounds of the time in which a job is told of once.
const EVERY: [Span; 2] = [Span::seconds(60), Span::seconds(7 * 86_400)];

/// What the workers of a job have to know of its collection's alerts before they read the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlertUse {
    /// There is no failure action, or it sends an event of each failure.
    #[default]
    None,
    /// The failure action has a format.
    Format,
    /// It has rules that need the state of the job.
    Rules,
}

impl AlertUse {
    /// As it is stored; `None` is not stored.
    #[must_use]
    pub const fn to_number(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Format => Some(1),
            Self::Rules => Some(2),
        }
    }

    /// Reads what [`to_number`](Self::to_number) wrote. What a later version wrote has rules, too.
    #[must_use]
    pub const fn from_number(number: Option<u32>) -> Self {
        match number {
            None | Some(0) => Self::None,
            Some(1) => Self::Format,
            Some(_) => Self::Rules,
        }
    }
}

/// Which endings of occurrences are told. Without rules, each failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlertRules {
    /// From how many failures of a job in a row on, as it was sent; `None` is 1.
    after: Option<u32>,
    /// Whether the first success after an alert is told, as it was sent.
    recovered: Option<bool>,
    /// In how much time a job is told of once.
    every: Option<Span>,
}

impl AlertRules {
    /// From how many failures of a job in a row on.
    #[must_use]
    pub fn after(&self) -> u32 {
        self.after.unwrap_or(1)
    }

    /// Whether the first success after an alert is told.
    #[must_use]
    pub fn recovered(&self) -> bool {
        self.recovered.unwrap_or_default()
    }

    /// In how much time a job is told of once.
    #[must_use]
    pub const fn every(&self) -> Option<Span> {
        self.every
    }

    /// Whether something has to be known of a job to decide. If not, a job costs no more than without.
    #[must_use]
    pub fn need_state(&self) -> bool {
        self.after() > 1 || self.recovered() || self.every.is_some()
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            after: fields.whole("after", 1, AFTER_MAX)?,
            recovered: fields.flag("recovered")?,
            every: fields.bounded_span("every", EVERY)?,
        })
    }

    pub(crate) fn write(self, object: ObjectBuilder) -> ObjectBuilder {
        object
            .maybe("after", self.after)
            .maybe("recovered", self.recovered)
            .duration("every", self.every)
    }
}
