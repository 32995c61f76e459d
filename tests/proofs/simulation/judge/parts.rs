//! Several sweepers that divide the timers.

use super::{Judge, SECOND};
use crate::simulation::way::SweepPass;

/// A pass finds a sign of life that is no older, by its clock, or gives one.
const SIGN_EVERY: i64 = 50 * SECOND;

impl Judge<'_> {
    /// Reports passes that came to their end without a sign of life of the sweepers, whichever part they are.
    pub(super) fn signs(&mut self) {
        let obstacles = &self.run.obstacles;
        let oldest = SIGN_EVERY + self.clocks();
        let is_signed = |pass: &SweepPass| {
            let mut signs = obstacles.signs.iter();
            signs.any(|at| (pass.from - oldest..=pass.until).contains(at))
        };
        let silent = obstacles.passes.iter().filter(|pass| !self.failed(pass) && !is_signed(pass));
        let silent: Vec<_> = silent
            .map(|pass| format!("a pass without a sign of life: {}", Self::at(pass.from)))
            .collect();
        self.bad.extend(silent);
    }

    /// Whether something failed for a pass.
    pub(super) fn failed(&self, pass: &SweepPass) -> bool {
        let mut troubles = self.run.obstacles.troubles.get(&pass.process).into_iter().flatten();
        troubles.any(|at| (pass.from..=pass.until).contains(at))
    }

    /// Whether the timers of a job are in the share of a pass: those of a shard are swept by the next part in
    /// each round.
    pub(super) fn is_shared(&self, pass: &SweepPass, uid: &str) -> bool {
        let sum: u64 = uid.bytes().map(u64::from).sum();
        let shard = sum % u64::from(self.run.shards);
        (shard + u64::from(pass.share.round)) % u64::from(pass.share.of)
            == u64::from(pass.share.part)
    }
}
