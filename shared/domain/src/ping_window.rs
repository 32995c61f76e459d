//! When a ping may come that an occurrence owes.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use crate::duration::Span;

/// The most occurrences of a job that may be owed at the same time.
pub const OWED_MAX: usize = 20;

/// How long around its instant an occurrence may be paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PingWindow {
    /// How long before it, if the occurrence before is at least twice as far away.
    pub early: Span,
    /// How long after it, and after a start that comes later.
    pub grace: Span,
}

/// As it stands in the line of a timer.
impl fmt::Display for PingWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.early.millis(), self.grace.millis())
    }
}

impl PingWindow {
    /// Reads what [`Display`](fmt::Display) wrote.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (early, grace) = text.split_once(':')?;
        let span = |millis: &str| millis.parse().ok().map(Span::of_millis);
        Some(Self { early: span(early)?, grace: span(grace)? })
    }

    /// The window of an occurrence, given the one before it.
    pub(crate) fn around(
        self,
        nominal_at: DateTime<Utc>,
        before: Option<DateTime<Utc>>,
    ) -> OwedPing {
        let half = before.map_or(TimeDelta::MAX, |before| (nominal_at - before) / 2);
        let from = nominal_at.checked_sub_signed(self.early.delta().min(half));
        let until = nominal_at.checked_add_signed(self.grace.delta());
        OwedPing {
            nominal_at,
            from: from.unwrap_or(nominal_at),
            until: until.unwrap_or(nominal_at),
        }
    }
}

/// An occurrence that owes a ping, and when the ping may come, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwedPing {
    /// The occurrence.
    pub nominal_at: DateTime<Utc>,
    /// From when on.
    pub from: DateTime<Utc>,
    /// Until when.
    pub until: DateTime<Utc>,
}
