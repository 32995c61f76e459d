//! Several sweepers that divide the timers: how many there are, and which of them fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use minutehand_app::fire::SweepPart;

use super::mutation::Mutation;
use super::time::SECOND;
use super::way::Share;

/// Shards where sweepers divide them: no multiple of most numbers of parts.
pub(super) const SHARDS: u32 = 7;
/// The most sweepers.
pub(super) const SWEEPERS_MAX: u32 = 5;
/// How often there is a tick.
const TICK: i64 = 60 * SECOND;

/// A time in which the passes of one part die.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeadPart {
    pub(super) part: u32,
    pub(super) from: i64,
    pub(super) until: i64,
}

/// The sweepers.
pub(super) struct Parts {
    of: AtomicU32,
    dead: Mutex<Vec<DeadPart>>,
}

impl Default for Parts {
    fn default() -> Self {
        Self { of: AtomicU32::new(1), dead: Mutex::default() }
    }
}

impl Parts {
    /// So many sweepers divide the timers from now on.
    pub(super) fn divide(&self, of: u32) {
        self.of.store(of, Relaxed);
    }

    pub(super) fn dies(&self, dead: DeadPart) {
        self.dead.lock().unwrap().push(dead);
    }

    /// What the sweepers of a tick sweep.
    pub(super) fn shares(&self, at: i64) -> Vec<Share> {
        let of = self.of.load(Relaxed);
        let round = u32::try_from(at / TICK).unwrap();
        (0..of).map(|part| Share { part, of, round }).collect()
    }

    /// Whether the pass of a part dies that begins now.
    pub(super) fn is_dead(&self, part: u32, now: i64) -> bool {
        let dead = self.dead.lock().unwrap();
        dead.iter().any(|it| it.part == part && (it.from..it.until).contains(&now))
    }
}

/// The part and the round of a pass, as a mutation mistakes them; `clock` is that of its process.
pub(super) fn swept(share: Share, mutation: Option<Mutation>, clock: i64) -> (SweepPart, u32) {
    let Share { part, of, round } = share;
    let overlaps = mutation == Some(Mutation::SharesOverlap);
    let part = if overlaps { part.saturating_sub(1) } else { part };
    let round = match mutation {
        Some(Mutation::PartsStay) => 0,
        Some(Mutation::RoundByClock) => u32::try_from(clock.div_euclid(TICK).max(0)).unwrap(),
        _ => round,
    };
    (SweepPart::new(part, of).unwrap(), round)
}
