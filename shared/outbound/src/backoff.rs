//! The pauses between tries of a request.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Pauses that double, each with a share of chance: what failed together does not come again together.
#[derive(Debug, Clone)]
pub struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// The first pause is at most `first`, and none is longer than `longest`.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// The next pause: from half of its time to the whole.
    pub fn pause(&mut self) -> Duration {
        self.pause_at(chance())
    }

    fn pause_at(&mut self, chance: f64) -> Duration {
        let whole = self.next;
        self.next = self.next.saturating_mul(2).min(self.longest);
        whole.mul_f64(chance.mul_add(0.5, 0.5))
    }
}

/// A share from none to the whole.
#[must_use]
pub fn chance() -> f64 {
    let random = RandomState::new().hash_one(0_u8) >> 32;
    f64::from(u32::try_from(random).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_never_shorter_than_half() {
        let seconds = Duration::from_secs;
        for (chance, expected) in
            [(0.0, [500, 1_000, 1_500, 1_500]), (1.0, [1_000, 2_000, 3_000, 3_000])]
        {
            let mut backoff = Pauses::new(seconds(1), seconds(3));
            let pauses = expected.map(|_| backoff.pause_at(chance).as_millis());
            assert_eq!(pauses, expected);
        }
        let mut backoff = Pauses::new(seconds(1), seconds(3));
        assert!((seconds(1) / 2..=seconds(1)).contains(&backoff.pause()));
    }
}
