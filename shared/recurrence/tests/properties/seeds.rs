//! Repeatable random numbers, and the number of seeds in a run.

use std::ops::RangeInclusive;

/// The first seed of a run without `RECURRENCE_SEED`.
const FIRST_SEED: u64 = 20_270_101;

/// Checks a property on the seeds from the environment, or on the given number of fixed seeds.
pub(crate) fn for_each_seed(affordable: u64, property: impl Fn(u64) + Sync) {
    let first = setting("RECURRENCE_SEED").unwrap_or(FIRST_SEED);
    let seeds = first..first + setting("RECURRENCE_RULES").unwrap_or(affordable);
    println!("seeds {} to {}", seeds.start, seeds.end - 1);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for skipped in 0..threads {
            let (seeds, property) = (seeds.clone(), &property);
            scope.spawn(move || seeds.skip(skipped).step_by(threads).for_each(property));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "the environment sets the length of a test")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a whole number"))
}

/// The random number generator splitmix64.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in a range.
    pub(crate) fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        let size = range.end().abs_diff(*range.start()) + 1;
        range.start() + i64::try_from(self.next() % size).unwrap()
    }

    /// Returns true in the given percentage of calls.
    pub(crate) fn percent(&mut self, times: i64) -> bool {
        self.within(1..=100) <= times
    }

    /// Returns one of several values.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let last = i64::try_from(of.len()).unwrap() - 1;
        &of[usize::try_from(self.within(0..=last)).unwrap()]
    }

    /// Returns some numbers of a range, each once and in random order: few, most, or any number.
    pub(crate) fn some(&mut self, range: RangeInclusive<i64>) -> Vec<i64> {
        let mut all: Vec<i64> = range.collect();
        for last in (1..all.len()).rev() {
            let other = self.within(0..=i64::try_from(last).unwrap());
            all.swap(last, usize::try_from(other).unwrap());
        }
        let size = i64::try_from(all.len()).unwrap();
        let kept = match self.within(0..=9) {
            0..=5 => self.within(1..=size.min(3)),
            6 | 7 => self.within(1..=size),
            8 => self.within((size - 2).max(1)..=size),
            _ => size,
        };
        all.truncate(usize::try_from(kept).unwrap());
        all
    }
}
