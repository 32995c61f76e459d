//! Hours or minutes that fire: every so many of them, of those that a set allows.
//!
//! Counting hours (or minutes) through and taking every `interval`-th, the hour of the day repeats
//! after at most 24 steps, the minute of the day after at most 1,440. So the whole future is one
//! ring of bits, made once; a search is a look at 23 words, however rare the matches are.

use crate::civil::{first_from, gcd, position};

/// The words that hold the longest ring: 1,440 minutes.
const WORDS: usize = 23;

/// Every `interval`-th hour or minute that a set of hours and minutes of the day allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    interval: i64,
    /// The period of the start: the number of its civil hour or minute.
    first: i64,
    /// After so many steps the place in the day repeats.
    length: i64,
    /// Bit n: may the n-th step from the start fire?
    ring: [u64; WORDS],
}

impl Grid {
    /// Steps through a day of `periods` (24 or 1,440); `None` if no step is ever allowed.
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

    /// The first period that fires at or after one.
    pub(crate) fn next(&self, period: i64) -> i64 {
        let step = self.step_from(period);
        let place = step.rem_euclid(self.length);
        let ahead = self
            .first_in_ring(place)
            .map(|found| found - place)
            .or_else(|| Some(self.length - place + self.first_in_ring(0)?));
        // `new` saw to it that the ring is not empty.
        self.first + (step + ahead.unwrap_or(0)) * self.interval
    }

    /// How many periods fire before one, less those before the start.
    pub(crate) fn count_before(&self, period: i64) -> i64 {
        let step = self.step_from(period);
        let in_ring = self.count_in_ring(self.length);
        step.div_euclid(self.length) * in_ring + self.count_in_ring(step.rem_euclid(self.length))
    }

    /// The smallest number of periods between two that fire.
    pub(crate) fn smallest_gap(&self) -> i64 {
        let mut smallest = i64::MAX;
        let first = self.next(self.first);
        let mut at = first;
        // Bounded: once round the ring.
        for _ in 0..self.count_in_ring(self.length) {
            let next = self.next(at + 1);
            smallest = smallest.min(next - at);
            at = next;
        }
        smallest
    }

    /// The number of the first step at or after a period.
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
    fn an_interval_that_never_meets_the_set_is_no_grid() {
        assert!(Grid::new(24, 13, 24, |hour| hour == 14).is_none());
        assert!(Grid::new(24, 13, 24, |hour| hour == 13).is_some());
        assert!(Grid::new(2, 1, 1_440, |minute| minute % 2 == 0).is_none());
    }
}
