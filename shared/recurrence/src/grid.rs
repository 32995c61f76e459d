//! Every `interval`-th hour or minute, restricted to the hours and minutes that a schedule allows.
//!
//! In steps of `interval` hours, the hour of the day repeats after at most 24 steps. In steps of
//! minutes, the minute of the day repeats after at most 1,440. One ring of bits, built once,
//! therefore describes the whole future. A search reads at most 23 words, even if matches are rare.

use crate::civil::{first_from, gcd, position};

/// The number of words in the longest ring, which has 1,440 bits.
const WORDS: usize = 23;

/// Every `interval`-th hour or minute that a set of hours and minutes of the day allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    interval: i64,
    /// The number of the civil hour or minute that contains the start.
    first: i64,
    /// The number of steps after which the place in the day repeats.
    length: i64,
    /// Bit n is set if the schedule allows the n-th step from the start.
    ring: [u64; WORDS],
}

impl Grid {
    /// Builds the ring for a day of 24 hours or 1,440 minutes; `None` if no step is ever allowed.
    pub(crate) fn new(
        interval: i64,
        first: i64,
        periods: i64,
        allowed: impl Fn(i64) -> bool,
    ) -> Option<Self> {
        let length = periods / gcd(periods, interval);
        let mut ring = [0; WORDS];
        for (word, from) in ring.iter_mut().zip((0..).step_by(64)) {
            for step in (from..length).take(64) {
                let place = (first + step * interval).rem_euclid(periods);
                *word |= u64::from(allowed(place)) << (step - from);
            }
        }
        let any = ring.iter().any(|word| *word != 0);
        any.then_some(Self { interval, first, length, ring })
    }

    /// Returns the first matching period at or after `period`.
    pub(crate) fn next(&self, period: i64) -> i64 {
        let step = self.step_from(period);
        let place = step.rem_euclid(self.length);
        let ahead = self
            .first_in_ring(place)
            .map(|found| found - place)
            .or_else(|| Some(self.length - place + self.first_in_ring(0)?));
        // `new` never builds an empty ring.
        self.first + (step + ahead.unwrap_or(0)) * self.interval
    }

    /// Counts the matching periods from the start to `period` (exclusive); negative before it.
    pub(crate) fn count_before(&self, period: i64) -> i64 {
        let step = self.step_from(period);
        let in_ring = self.count_in_ring(self.length);
        step.div_euclid(self.length) * in_ring + self.count_in_ring(step.rem_euclid(self.length))
    }

    /// Returns the smallest distance between two matching periods.
    pub(crate) fn smallest_gap(&self) -> i64 {
        let mut smallest = i64::MAX;
        let first = self.next(self.first);
        let mut at = first;
        // Bounded: one round of the ring.
        for _ in 0..self.count_in_ring(self.length) {
            let next = self.next(at + 1);
            smallest = smallest.min(next - at);
            at = next;
        }
        smallest
    }

    /// Returns the number of the first step at or after a period.
    const fn step_from(&self, period: i64) -> i64 {
        -(self.first - period).div_euclid(self.interval)
    }

    fn first_in_ring(&self, place: i64) -> Option<i64> {
        let mut from = position(place % 64);
        let words = self.ring.iter().zip((0..).step_by(64)).skip(position(place / 64) as usize);
        for (word, start) in words {
            if let Some(found) = first_from(*word, from) {
                return Some(start + i64::from(found));
            }
            from = 0;
        }
        None
    }

    fn count_in_ring(&self, place: i64) -> i64 {
        let words = self.ring.iter().zip((0..).step_by(64));
        words
            .map(|(word, start)| {
                crate::civil::count_below(*word, position((place - start).clamp(0, 64)))
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_and_count_agree_with_a_walk() {
        let cases = [
            (1, 24, 5),
            (7, 24, 3),
            (1_000, 24, 5),
            (7, 1_440, 180),
            (721, 1_440, 119),
            (1_000, 1_440, 60),
        ];
        for (interval, periods, bound) in cases {
            let first = 13;
            let allowed = |place: i64| place <= bound;
            let grid = Grid::new(interval, first, periods, allowed).unwrap();
            let fires = |period: i64| {
                (period - first).rem_euclid(interval) == 0 && allowed(period.rem_euclid(periods))
            };
            let (from, to) = (-200_000, 200_000);
            let mut expected = (from..to).filter(|period| fires(*period)).peekable();
            let mut count = grid.count_before(from);
            for period in (from..to).step_by(17) {
                while expected.next_if(|next| *next < period).is_some() {
                    count += 1;
                }
                assert_eq!(
                    grid.count_before(period),
                    count,
                    "{interval}/{periods} before {period}"
                );
                if let Some(next) = expected.peek() {
                    assert_eq!(grid.next(period), *next, "{interval}/{periods} from {period}");
                }
            }
        }
    }

    #[test]
    fn an_interval_that_never_reaches_an_allowed_period_has_no_grid() {
        assert!(Grid::new(24, 13, 24, |hour| hour == 14).is_none());
        assert!(Grid::new(24, 13, 24, |hour| hour == 13).is_some());
        assert!(Grid::new(2, 1, 1_440, |minute| minute % 2 == 0).is_none());
    }
}
