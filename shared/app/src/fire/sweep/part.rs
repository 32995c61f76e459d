//! The part of a pass that one of several sweepers makes.

/// Which shards a pass sweeps: all, or its share of them.
///
/// The shares move on with each round, the minute of the pass. So a sweeper that fails each time leaves no
/// shard alone for long, and the next of `of` rounds finds what it left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPart {
    part: u32,
    of: u32,
}

impl SweepPart {
    /// All shards.
    pub const WHOLE: Self = Self { part: 0, of: 1 };

    /// One of several parts, counted from zero; `None` if there is no such part.
    #[must_use]
    pub const fn new(part: u32, of: u32) -> Option<Self> {
        if part < of { Some(Self { part, of }) } else { None }
    }

    /// Whether it is the first part, which stands for all where one is to speak.
    #[must_use]
    pub const fn is_first(self) -> bool {
        self.part == 0
    }

    /// Whether the shard belongs to it in this round.
    pub(super) const fn has(self, shard: u32, round: u32) -> bool {
        (shard % self.of + round % self.of) % self.of == self.part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_divide_the_shards_and_take_turns() {
        for of in 1..=5 {
            let parts: Vec<SweepPart> =
                (0..of).map(|part| SweepPart::new(part, of).unwrap()).collect();
            for shard in 0..64 {
                for round in [0, 1, 29_000_000, u32::MAX] {
                    assert_eq!(parts.iter().filter(|part| part.has(shard, round)).count(), 1);
                }
                // In as many rounds as there are parts, each sweeps it once.
                for part in &parts {
                    let rounds = (1_000..1_000 + of).filter(|round| part.has(shard, *round));
                    assert_eq!(rounds.count(), 1);
                }
            }
            assert_eq!(SweepPart::new(of, of), None);
        }
        assert_eq!(SweepPart::new(0, 0), None);
        assert!((0..64).all(|shard| SweepPart::WHOLE.has(shard, 7)));
    }
}
