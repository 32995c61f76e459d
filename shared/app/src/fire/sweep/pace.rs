//! How many steps of a pass are in progress at a time.

use std::num::NonZeroUsize;

/// After so many dispatches in a row without throttling, one more step is tried. Each try costs messages twice if
/// it is one too many.
const MORE_AFTER: u32 = 2;

/// Fewer steps at a time while the store throttles, and slowly more again when it does not.
#[derive(Debug)]
pub(super) struct Pace {
    most: usize,
    at_once: usize,
    /// Dispatches since the last change.
    unthrottled: u32,
}

impl Pace {
    /// A pace of at most so many steps, which is where it begins.
    pub(super) const fn new(most: NonZeroUsize) -> Self {
        Self { most: most.get(), at_once: most.get(), unthrottled: 0 }
    }

    /// How many steps may be in progress; at least one.
    pub(super) const fn at_once(&self) -> usize {
        self.at_once
    }

    /// Half as many after a dispatch of which something was throttled.
    pub(super) fn dispatched(&mut self, is_throttled: bool) {
        self.unthrottled = if is_throttled { 0 } else { self.unthrottled + 1 };
        if is_throttled {
            self.at_once = (self.at_once / 2).max(1);
        } else if self.unthrottled == MORE_AFTER {
            self.unthrottled = 0;
            self.at_once = (self.at_once + 1).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_while_the_store_throttles_and_comes_back_step_by_step() {
        let mut pace = Pace::new(NonZeroUsize::new(8).unwrap());
        let mut after = |dispatches, is_throttled| {
            (0..dispatches).for_each(|_| pace.dispatched(is_throttled));
            pace.at_once()
        };
        assert_eq!([1, 1, 1, 1].map(|n| after(n, true)), [4, 2, 1, 1]);
        assert_eq!([1, 1, 1].map(|n| after(n, false)), [1, 2, 2]);
        assert_eq!((after(1, true), after(1, false), after(1, false)), (1, 1, 2));
        assert_eq!(after(10 * MORE_AFTER, false), 8);
    }
}
