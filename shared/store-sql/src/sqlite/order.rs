//! What waits for the writing thread, and in which order it goes.
//!
//! Claims and what a start reads go first, then records, then everything else. Collections take turns
//! within each. A pass keeps places for the less urgent, so nothing waits for ever; of what can wait, a
//! pass takes one script, last. Scripts of many statements take more of a pass than others, so that no pass
//! takes long.

use std::collections::{HashMap, VecDeque};

use crate::script::{Turn, Urgency};

/// The most scripts of a pass. Its answers wait for its one commit.
const PASS_MAX: usize = 128;

/// The places of a pass that the more urgent leave to each less urgent kind that waits.
const KEPT_PLACES: usize = PASS_MAX / 8;

/// A pass takes no further script of a kind once those that it has have so many statements: a few
/// milliseconds of work.
const STATEMENTS_MAX: usize = 400;

/// Scripts that wait, each with whatever the caller keeps beside it.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    start: Lane<T>,
    record: Lane<T>,
    rest: Lane<T>,
    background: Lane<T>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            start: Lane::default(),
            record: Lane::default(),
            rest: Lane::default(),
            background: Lane::default(),
        }
    }
}

impl<T> Waiting<T> {
    /// Adds a script of so many statements.
    pub(super) fn add(&mut self, urgency: Urgency, turn: Turn, statements: usize, script: T) {
        let lane = match urgency {
            Urgency::Start => &mut self.start,
            Urgency::Record => &mut self.record,
            Urgency::Rest => &mut self.rest,
            Urgency::Background => &mut self.background,
        };
        lane.add(turn, statements, script);
    }

    /// How many wait.
    pub(super) const fn len(&self) -> usize {
        self.start.len + self.record.len + self.rest.len + self.background.len
    }

    /// Whether none waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the scripts of the next pass, in the order in which they are performed.
    pub(super) fn take_pass(&mut self) -> Vec<T> {
        let kept_for_rest = self.rest.len.min(KEPT_PLACES);
        let kept_for_record = self.record.len.min(KEPT_PLACES);
        let mut pass = Vec::with_capacity(self.len().min(PASS_MAX + 1));
        self.start.take(PASS_MAX - kept_for_rest - kept_for_record, &mut pass);
        self.record.take(PASS_MAX - kept_for_rest - pass.len(), &mut pass);
        self.rest.take(PASS_MAX - pass.len(), &mut pass);
        self.background.take(1, &mut pass);
        pass
    }
}

/// Scripts of one urgency. The turns that have scripts stand in a ring.
#[derive(Debug)]
struct Lane<T> {
    of_turn: HashMap<Turn, VecDeque<(usize, T)>>,
    ring: VecDeque<Turn>,
    len: usize,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { of_turn: HashMap::new(), ring: VecDeque::new(), len: 0 }
    }
}

impl<T> Lane<T> {
    fn add(&mut self, turn: Turn, statements: usize, script: T) {
        let scripts = self.of_turn.entry(turn).or_default();
        if scripts.is_empty() {
            self.ring.push_back(turn);
        }
        scripts.push_back((statements, script));
        self.len += 1;
    }

    fn take(&mut self, max: usize, pass: &mut Vec<T>) {
        let mut statements = 0;
        for _ in 0..max {
            if statements >= STATEMENTS_MAX {
                return;
            }
            let Some(turn) = self.ring.pop_front() else { return };
            let Some(scripts) = self.of_turn.get_mut(&turn) else { continue };
            if let Some((more, script)) = scripts.pop_front() {
                self.len -= 1;
                statements += more;
                pass.push(script);
            }
            if scripts.is_empty() {
                self.of_turn.remove(&turn);
            } else {
                self.ring.push_back(turn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(scripts: &[(Urgency, u64, usize)]) -> Waiting<(Urgency, u64)> {
        let mut waiting = Waiting::default();
        for (urgency, turn, count) in scripts {
            for _ in 0..*count {
                waiting.add(*urgency, Turn(*turn), 1, (*urgency, *turn));
            }
        }
        waiting
    }

    fn count(pass: &[(Urgency, u64)], urgency: Urgency) -> usize {
        pass.iter().filter(|(it, _)| *it == urgency).count()
    }

    #[test]
    fn the_more_urgent_go_first_and_keep_places_for_the_others() {
        let kinds = [Urgency::Rest, Urgency::Background, Urgency::Record, Urgency::Start];
        let mut waiting = waiting(&kinds.map(|kind| (kind, 1, 1_000)));
        let pass = waiting.take_pass();
        let counts = [Urgency::Start, Urgency::Record, Urgency::Rest, Urgency::Background]
            .map(|kind| count(&pass, kind));
        assert_eq!(counts, [96, 16, 16, 1]);
        let order: Vec<_> = pass.iter().map(|(urgency, _)| *urgency).collect();
        assert!(order.windows(2).all(|pair| pair[0] as u8 <= pair[1] as u8), "{order:?}");
    }

    #[test]
    fn a_pass_has_no_empty_place_while_something_waits() {
        let mut waiting = waiting(&[(Urgency::Rest, 1, 1_000)]);
        assert_eq!(waiting.take_pass().len(), PASS_MAX);
        assert_eq!(waiting.len(), 1_000 - PASS_MAX);
    }

    #[test]
    fn collections_take_turns_and_each_keeps_its_order() {
        let mut waiting = Waiting::default();
        for script in 0..4 {
            waiting.add(Urgency::Start, Turn(1), 1, (1, script));
        }
        waiting.add(Urgency::Start, Turn(2), 1, (2, 0));
        assert_eq!(waiting.take_pass(), [(1, 0), (2, 0), (1, 1), (1, 2), (1, 3)]);
        assert!(waiting.is_empty());
        assert_eq!(waiting.take_pass(), []);
        // A collection that comes back has no memory of earlier turns.
        waiting.add(Urgency::Start, Turn(1), 1, (1, 4));
        assert_eq!(waiting.take_pass(), [(1, 4)]);
    }

    #[test]
    fn long_scripts_leave_the_others_of_their_kind_to_the_next_pass() {
        let mut waiting = Waiting::default();
        for kind in [Urgency::Record, Urgency::Start] {
            for n in 0..6 {
                waiting.add(kind, Turn(n), STATEMENTS_MAX / 2, (kind, n));
            }
        }
        waiting.add(Urgency::Rest, Turn(0), 10 * STATEMENTS_MAX, (Urgency::Rest, 0));
        let pass = waiting.take_pass();
        let counts =
            [Urgency::Start, Urgency::Record, Urgency::Rest].map(|kind| count(&pass, kind));
        assert_eq!(counts, [2, 2, 1]);
        while !waiting.is_empty() {
            assert!(waiting.take_pass().len() <= 4);
        }
    }
}
