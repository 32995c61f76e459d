//! Pseudo-random numbers from a seed.

use minutehand_runtime::system_now;

pub(crate) struct Chance(u64);

impl Chance {
    /// Takes a seed from the clock and prints it.
    pub(crate) fn new() -> Self {
        let seed = system_now().timestamp_micros().unsigned_abs();
        println!("seed {seed}");
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
