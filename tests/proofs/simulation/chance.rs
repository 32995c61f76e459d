//! Chance, from a seed: the same numbers on every machine and in every release.

/// A source of numbers that look random.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995_7b93_f1a5)
    }

    /// `SplitMix64`, which is short and has no bad seeds.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 until below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// From `low` until below `high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low).unwrap_or(0);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// Whether something happens that does so many times in a million.
    pub(super) fn happens(&mut self, in_a_million: u64) -> bool {
        self.below(1_000_000) < in_a_million
    }

    pub(super) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        let at = self.below(u64::try_from(among.len()).unwrap_or(1));
        among[usize::try_from(at).unwrap_or(0)]
    }
}
