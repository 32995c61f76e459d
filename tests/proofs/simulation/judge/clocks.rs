//! When something is due, by clocks that may jump, and when a collection is off.

use super::spec::Segment;
use super::ways::Way;
use super::{BEAT, EVER, Judge, LAG};
use crate::simulation::machine::Life;

/// An instant on a clock, and when the clock shows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) clock: i64,
    pub(super) at: i64,
}

/// A time in which no process of a machine ran.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) from: i64,
    pub(super) until: i64,
    /// What the clocks showed at both ends.
    pub(super) clock: [i64; 2],
}

impl Gap {
    pub(super) fn between(before: &Life, after: &Life) -> Self {
        let clock = [before.until + before.skew, after.from + after.skew];
        Self { from: before.until, until: after.from, clock }
    }
}

impl Judge<'_> {
    /// Whether a collection was off about this time.
    pub(super) fn is_off(&self, collection_uid: &str, at: i64, before: i64, after: i64) -> bool {
        let mut offs = self.offs.get(collection_uid).into_iter().flatten();
        offs.any(|(from, until)| self.worked(at, *from) < before && at < until + after)
    }

    /// Whether a collection was off when an occurrence was due for the first time. By a clock that was set
    /// back it is due again, and nothing asks for it any more.
    pub(super) fn was_off(&self, segment: &Segment, nominal: i64) -> bool {
        let first = Way::first(segment, nominal, self.due_of(segment, nominal));
        !self.run.lives.is_empty() && self.is_off_for(&first, &segment.collection_uid)
    }

    /// Whether something is due before its collection was switched on, by a clock that was set back.
    pub(super) fn is_before_on(&self, collection_uid: &str, due: Due) -> bool {
        let mut ons = self.ons.get(collection_uid).into_iter().flatten();
        let in_force = ons.rfind(|(at, _)| *at <= due.at);
        !self.run.lives.is_empty() && in_force.is_some_and(|(_, clock)| due.clock < *clock)
    }

    /// When a clock shows an instant: the first time after something began.
    pub(super) fn due(&self, clock: i64, begins_at: i64) -> Due {
        let lives = &self.run.lives;
        let shows = |life: &Life| {
            Some((clock - life.skew).max(life.from).max(begins_at)).filter(|at| *at < life.until)
        };
        let at =
            if lives.is_empty() { clock } else { lives.iter().find_map(shows).unwrap_or(EVER) };
        Due { clock, at }
    }

    /// When an occurrence is due.
    pub(super) fn due_of(&self, segment: &Segment, nominal: i64) -> Due {
        self.due(nominal, segment.begins_at)
    }

    /// Each time that an occurrence is due before an instant, and the first in any case: a clock that was
    /// set back shows it again.
    pub(super) fn dues(&self, segment: &Segment, nominal: i64, before: i64) -> Vec<Due> {
        let mut due = self.due_of(segment, nominal);
        let mut dues = vec![due];
        for life in self.run.lives.iter().filter(|life| life.from <= before) {
            if due.at < life.from && life.from + life.skew < nominal {
                due = self.due(nominal, life.from);
                dues.push(due);
            }
        }
        dues
    }

    /// When an attempt that was called, and not recorded, is made again. A clock that is set back before that
    /// is done shows its instant again, and until then its message waits.
    pub(super) fn made_again_at(&self, clock: i64, called_at: i64) -> i64 {
        let mut at = called_at;
        for life in &self.run.lives {
            let is_open = at < life.from && self.worked(at, life.from) < self.lag;
            if is_open && life.from + life.skew < clock {
                at = self.due(clock, life.from).at;
            }
        }
        at
    }

    /// When an occurrence is due for the last time before an instant.
    pub(super) fn last_due(&self, segment: &Segment, nominal: i64, before: i64) -> Due {
        *self.dues(segment, nominal, before).last().unwrap()
    }

    /// From when on the clock shows an instant, or a later one.
    pub(super) fn over(&self, clock: i64) -> i64 {
        let mut over = clock;
        for life in &self.run.lives {
            let reached = clock - life.skew;
            over = if reached >= life.until { EVER } else { over.max(reached) };
        }
        over
    }

    /// What the clock has shown at most until an instant.
    pub(super) fn shown_until(&self, at: i64) -> i64 {
        let lives = self.run.lives.iter().filter(|life| life.from < at);
        lives.map(|life| life.until.min(at) + life.skew).max().unwrap_or(at)
    }

    /// What the clock showed at most at the last sign of life before a process ended then. One that
    /// ran for a moment only may have given none.
    pub(super) fn alive_until(&self, ended_at: i64) -> i64 {
        let mut shown = i64::MIN;
        for life in self.run.lives.iter().rev().skip_while(|life| life.until > ended_at) {
            shown = shown.max(life.until + life.skew);
            if life.until - life.from >= BEAT {
                break;
            }
        }
        shown
    }

    /// How far the clock was off at an instant.
    pub(super) fn skew_at(&self, at: i64) -> i64 {
        let lives = self.run.lives.iter().rev();
        lives.skip_while(|life| life.from > at).map(|life| life.skew).next().unwrap_or(0)
    }

    /// From when on something could be done that was due at an instant: not in an outage. So a failure that
    /// pauses a job right after it ends what waited.
    pub(super) fn able_from(&self, due: i64) -> i64 {
        let outage = self.run.outage.filter(|it| (it.from - LAG..it.until).contains(&due));
        outage.map_or(due, |it| it.until)
    }

    /// From when on workers could do something after an instant: not in an outage of theirs.
    pub(super) fn workers_able_from(&self, at: i64) -> i64 {
        let is_away = self.run.outage.is_some_and(|it| it.of_workers);
        if is_away { self.able_from(at) } else { at }
    }

    /// How long processes ran in a time.
    pub(super) fn worked(&self, from: i64, until: i64) -> i64 {
        if self.run.lives.is_empty() || until <= from {
            return until - from;
        }
        let lives = self.run.lives.iter();
        lives.map(|life| (life.until.min(until) - life.from.max(from)).max(0)).sum()
    }

    /// Whether a process began between two instants with a clock that showed less than this.
    pub(super) fn is_set_back(&self, from: i64, until: i64, clock: i64) -> bool {
        let mut lives = self.run.lives.iter();
        lives.any(|it| from < it.from && it.from <= until && it.from + it.skew < clock)
    }

    /// The times in which no process of a machine gave a sign of life. A process that runs for a moment
    /// may give none.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let lives = &self.run.lives;
        let mut gaps = Vec::new();
        for (n, after) in lives.iter().enumerate() {
            for before in lives[..n].iter().rev() {
                gaps.push(Gap::between(before, after));
                if before.until - before.from >= BEAT {
                    break;
                }
            }
        }
        gaps.retain(|it| it.clock[1] - it.clock[0] > 2 * BEAT / 3);
        gaps
    }
}
