//! Processes that share a database: nothing is early by its clock, nobody is taken for dead who gives signs, what
//! the dead held is free, and one sweeps.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::{EVER, Judge, LAG, TOLERANCE};
use crate::simulation::postgres::{SharedNote, SharedWhat};
use crate::simulation::time::SECOND;
use crate::simulation::world::Fire;

/// Who has given a sign within this time is alive to the others: "five renewals in a row" of a second each.
const ALIVE: i64 = 4 * SECOND;
/// How long what was due may take while processes die, are frozen, and lose their database.
const LATE: i64 = 600 * SECOND;

/// What is known of the processes.
#[derive(Default)]
struct Known {
    /// Who has had a number.
    processes: BTreeMap<u64, u64>,
    /// The last sign of each, by its number, and when it was marked dead.
    signs: BTreeMap<u64, i64>,
    dead: BTreeMap<u64, i64>,
    /// Who has the lease of the sweeper, and until when.
    lease: (u64, i64),
    claimed: BTreeMap<String, u64>,
    /// When processes stood still or were gone: from, until.
    away: BTreeMap<u64, Vec<(i64, i64)>>,
}

impl Judge<'_> {
    /// Checks what the processes of a run did.
    pub(super) fn processes(&mut self) {
        let mut known = Known::default();
        let mut bad = Vec::new();
        for SharedNote { at, what } in &self.run.shared {
            let when = Self::at(*at);
            match what {
                SharedWhat::Away { .. } => {}
                SharedWhat::Begins { number, process } => {
                    known.processes.insert(*number, *process);
                }
                SharedWhat::Sign { number } => {
                    known.signs.insert(*number, *at);
                }
                SharedWhat::Dead { number } => {
                    let sign = known.signs.get(number).copied().unwrap_or(*at);
                    if at - sign < ALIVE {
                        let silent = Self::at(at - sign);
                        bad.push(format!("taken for dead: {number} at {when}, after {silent}"));
                    }
                    known.dead.insert(*number, *at);
                    // It may have been slow for so long.
                    if let Some(process) = known.processes.get(number) {
                        known.away.entry(*process).or_default().push((*at, *at));
                    }
                }
                SharedWhat::Gone { process } => {
                    known.away.entry(*process).or_default().push((*at, EVER));
                }
                SharedWhat::Frozen { process, until } => {
                    known.away.entry(*process).or_default().push((*at, *until));
                }
                SharedWhat::Lease { process, until } => known.lease = (*process, *until),
                SharedWhat::Sweeps { process } => {
                    if known.lease.0 != *process && known.lease.1 > *at {
                        bad.push(format!("sweeps without its lease: {process} at {when}"));
                    }
                }
                SharedWhat::Claimed { number, id } => {
                    known.claimed.insert(id.clone(), *number);
                }
                SharedWhat::Held { id } => {
                    let dead = known.claimed.get(id).and_then(|of| known.dead.get(of));
                    if dead.is_some_and(|dead| dead < at) {
                        bad.push(format!("held by the dead: {id} at {when}"));
                    }
                }
            }
        }
        self.calls_of_processes(&known, &mut bad);
        self.missed_by_processes(&mut bad);
        self.bad.extend(bad);
    }

    fn calls_of_processes(&self, known: &Known, bad: &mut Vec<String>) {
        let mut before: BTreeMap<&str, &Fire> = BTreeMap::new();
        for fire in &self.run.fires {
            let of = format!("{} at {}", fire.execution_id, Self::at(fire.at));
            if fire.due.is_some_and(|due| fire.at < due) {
                bad.push(format!("early by the database's clock: {of}"));
            }
            if let Some(first) = before.insert(&fire.execution_id, fire)
                && !self.may_be_repeated(first, fire, known)
            {
                bad.push(format!("doubled: {of}"));
            }
            let Some(segment) = self.segment_of(fire) else {
                if fire.nominal.is_some() {
                    bad.push(format!("of no timing: {of}"));
                }
                continue;
            };
            // It was frozen between its last look at the job and the call.
            let was_away = known.was_away(fire.worker, fire.at - SECOND, fire.at);
            let ends_at = segment.ends_at.filter(|_| fire.role == Role::Main && !was_away);
            let is_late = ends_at.is_some_and(|end| fire.at > end + TOLERANCE + SECOND);
            let goes_on = fire.nominal.is_some_and(|at| self.goes_on_at(segment, at, fire.at));
            if fire.nominal.is_some() && is_late && !goes_on {
                bad.push(format!("stale: {of}"));
            }
        }
    }

    fn missed_by_processes(&mut self, bad: &mut Vec<String>) {
        for segment in &self.segments {
            let gone = self.gone.get(&segment.uid).copied().unwrap_or(EVER);
            let until = segment.ends_at.unwrap_or(EVER).min(gone).min(self.horizon) - LATE;
            for (nominal, _) in segment.occurrences(until) {
                self.excused.owed += 1;
                let offs = self.offs.get(&segment.collection_uid).into_iter().flatten();
                let is_off =
                    |(from, on): &(i64, i64)| *from < nominal + LATE && *on > nominal - LAG;
                if offs.into_iter().any(is_off) {
                    *self.excused.causes.entry("its collection was off").or_default() += 1;
                    continue;
                }
                let is_made = segment.generations.iter().any(|generation| {
                    let key = (segment.uid.clone(), *generation, nominal, Role::Main, 0);
                    self.fired.contains(&key) || self.executed.contains_key(&key)
                });
                if !is_made {
                    bad.push(format!("missed: {} of {}", Self::at(nominal), segment.uid));
                }
            }
        }
    }

    /// Whether an action may be done again: its worker died, was frozen, or something failed for it before the
    /// record.
    fn may_be_repeated(&self, first: &Fire, again: &Fire, known: &Known) -> bool {
        let has_trouble =
            self.run.obstacles.troubles.get(&first.worker).is_some_and(|troubles| {
                troubles.iter().any(|at| (first.at..=again.at).contains(at))
            });
        first.is_unrecorded
            && (has_trouble || known.was_away(first.worker, first.at - SECOND, again.at))
    }
}

impl Known {
    /// Whether a process was frozen, or gone, at some instant of a time.
    fn was_away(&self, process: u64, from: i64, until: i64) -> bool {
        let away = self.away.get(&process).into_iter().flatten();
        away.into_iter().any(|(begins, ends)| *begins <= until && *ends >= from)
    }
}
