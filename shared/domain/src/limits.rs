//! The limits of a collection: how many attempts of its jobs may start, and run at the same time.

use std::num::NonZeroU32;

/// The limits of a collection, all of whose attempts count: first ones, retries, error actions, runs and
/// notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectionLimits {
    /// How many attempts may start in a second.
    pub per_second: Option<PerSecond>,
    /// How many attempts may run at the same time.
    pub concurrent: Option<Concurrent>,
}

impl CollectionLimits {
    /// No limits.
    pub const NONE: Self = Self { per_second: None, concurrent: None };
}

/// How many attempts may start in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PerSecond(NonZeroU32);

impl PerSecond {
    /// The highest limit. Each start writes to one item of the store.
    pub const MAX: u32 = 1_000;
    const TICKS_PER_SECOND: u32 = 10_000_000;

    /// A limit; `None` for no start at all.
    #[must_use]
    pub fn new(per_second: u32) -> Option<Self> {
        NonZeroU32::new(per_second).map(Self)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The time between two starts, in ticks of 100 ns.
    #[must_use]
    pub fn gap_ticks(self) -> i64 {
        i64::from(Self::TICKS_PER_SECOND.div_ceil(self.get()))
    }
}

/// How many attempts may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concurrent(NonZeroU32);

impl Concurrent {
    /// The highest limit. The attempts that run are in one item of the store.
    pub const MAX: u32 = 100;

    /// A limit; `None` for no attempt at all.
    #[must_use]
    pub fn new(concurrent: u32) -> Option<Self> {
        NonZeroU32::new(concurrent).map(Self)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}
