//! Origins that hang.

use std::collections::BTreeMap;

use super::Judge;
use crate::simulation::hanging::{BrakeNote, BrakeWhat};
use crate::simulation::time::SECOND;

/// After so many calls in a row without an answer, an origin hangs.
const HANGS_AFTER: u32 = 5;
/// So many calls are under way then, beside those that began before.
const AT_ONCE: usize = 2;
/// How long after it hangs all workers know that.
const KNOWN_WITHIN: i64 = 6 * SECOND;
/// By how much two calls may be closer than they should: clocks differ, and the store takes its time.
const CLOSER: i64 = 3 * SECOND;
/// It is forgotten that it hangs so long after the last call without an answer.
const FORGOTTEN: i64 = 600 * SECOND;
/// How long an attempt waits until it looks again, and for workers that die meanwhile.
const LOOKS_WITHIN: i64 = (300 + 240) * SECOND;
/// How long an origin gets no call for which attempts wait: one is due each half minute.
const CALLED_WITHIN: i64 = 480 * SECOND;

/// A call: when it began, and when its attempt was due.
struct Call<'a> {
    at: i64,
    due: i64,
    id: &'a str,
}

impl Judge<'_> {
    /// Reports calls of an origin that hangs of which too many are under way, attempts that wait longer for one
    /// than they must, and attempts that wait although it has answered.
    pub(super) fn hanging(&mut self) {
        let mut origins: BTreeMap<&str, Vec<&BrakeNote>> = BTreeMap::new();
        for note in &self.run.brakes {
            origins.entry(&note.origin).or_default().push(note);
        }
        let mut bad = Vec::new();
        for notes in origins.into_values() {
            bad.extend(too_many(&notes));
            bad.extend(kept_waiting(&notes));
        }
        self.bad.extend(bad);
    }
}

fn call(note: &BrakeNote) -> Option<Call<'_>> {
    match &note.what {
        BrakeWhat::Call { id, due, .. } => Some(Call { at: note.at, due: *due, id }),
        BrakeWhat::Unanswered | BrakeWhat::Answered => None,
    }
}

fn too_many(notes: &[&BrakeNote]) -> Vec<String> {
    let (mut bad, mut unanswered, mut last, mut hangs_since) = (Vec::new(), 0, i64::MIN / 2, 0);
    let mut under_way: Vec<i64> = Vec::new();
    for note in notes {
        let is_forgotten = note.at > last + FORGOTTEN - CLOSER;
        match &note.what {
            BrakeWhat::Unanswered => {
                unanswered = if is_forgotten { 1 } else { unanswered + 1 };
                last = note.at;
                if unanswered == HANGS_AFTER {
                    hangs_since = note.at;
                    under_way.clear();
                }
            }
            BrakeWhat::Answered => unanswered = 0,
            BrakeWhat::Call { id, until, .. } => {
                let is_known = note.at > hangs_since + KNOWN_WITHIN;
                if unanswered < HANGS_AFTER || is_forgotten || !is_known {
                    continue;
                }
                under_way.retain(|until| *until > note.at);
                under_way.push(until - CLOSER);
                if under_way.len() > AT_ONCE {
                    let at = Judge::at(note.at);
                    bad.push(format!("too many calls of an origin that hangs: {id} at {at}"));
                }
            }
        }
    }
    bad
}

fn kept_waiting(notes: &[&BrakeNote]) -> Vec<String> {
    let mut bad = Vec::new();
    let mut first: BTreeMap<&str, Call<'_>> = BTreeMap::new();
    for call in notes.iter().filter_map(|note| call(note)) {
        first.entry(call.id).or_insert(call);
    }
    let mut answered_at = None;
    let mut last: Option<i64> = None;
    for note in notes {
        match &note.what {
            BrakeWhat::Unanswered => answered_at = None,
            BrakeWhat::Answered => {
                answered_at.get_or_insert(note.at);
            }
            BrakeWhat::Call { id, due, .. } => {
                let at = Judge::at(note.at);
                let is_first = first.get(id.as_str()).is_some_and(|call| call.at == note.at);
                let since = answered_at.map(|answered: i64| answered.max(*due));
                if is_first && since.is_some_and(|since| note.at - since > LOOKS_WITHIN) {
                    bad.push(format!("waits though its origin answers: {id} until {at}"));
                }
                let before = last.replace(note.at);
                let before = before.filter(|before| note.at - before > CALLED_WITHIN);
                let waits =
                    |since: i64| first.values().any(|it| it.at >= note.at && it.due < since);
                if before.is_some_and(waits) {
                    bad.push(format!("an origin that hangs gets no call until {at}"));
                }
            }
        }
    }
    bad
}
