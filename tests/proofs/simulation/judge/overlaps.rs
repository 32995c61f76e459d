//! Jobs that let no attempts overlap.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::{DECIDED_WITHIN, EVER, Judge, LEASE, PLACE, READ_WITHIN, SKEW};
use crate::simulation::world::{Fire, TurnNote, TurnWhat};

impl Judge<'_> {
    /// Whether a job lets no attempts overlap: always in a time, or at some time of it; `None` if it always
    /// lets them.
    pub(super) fn takes_turns(&self, uid: &str, from: i64, until: i64) -> Option<bool> {
        let of_job = self.policies.get(uid).map(Vec::as_slice).unwrap_or_default();
        let first = of_job.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
        let held = || of_job.iter().skip(first).filter(|(at, _)| *at <= until);
        let always = held().all(|(_, spec)| spec.takes_turns);
        held().any(|(_, spec)| spec.takes_turns).then_some(always)
    }

    /// Reports attempts that run at the same time although their job lets none overlap.
    pub(super) fn overlaps(&mut self) {
        let mut running: BTreeMap<&str, (&Fire, i64)> = BTreeMap::new();
        let mut bad = Vec::new();
        for fire in self.run.fires.iter().filter(|it| it.role == Role::Main) {
            let until = self.works_until(fire);
            if let Some((other, other_until)) = running.get(fire.uid.as_str())
                && fire.at < *other_until
                && self.takes_turns(&fire.uid, other.at - DECIDED_WITHIN, fire.at) == Some(true)
            {
                let (one, at) = (&other.execution_id, Self::at(fire.at));
                bad.push(format!("overlap: {one} and {} at {at}", fire.execution_id));
            }
            let last = running.entry(&fire.uid).or_insert((fire, until));
            if until > last.1 {
                *last = (fire, until);
            }
        }
        self.bad.extend(bad);
    }

    /// Reports occurrences that were left out although nothing ran or waited, or that had begun, or that
    /// ran after all.
    pub(super) fn overlapped(&mut self) {
        let mut bad = Vec::new();
        for note in self.run.turns.iter().filter(|it| it.what == TurnWhat::LeftOut) {
            let at = Self::at(note.at);
            let name = format!("{} of {}", note.id, note.uid);
            if self.takes_turns(&note.uid, note.at - DECIDED_WITHIN, note.at).is_none() {
                bad.push(format!("left out, and may overlap: {name} at {at}"));
            }
            if note.nominal.is_none() || note.number > 0 {
                bad.push(format!("left out, and owed: {name} at {at}"));
            }
            let of_occurrence = self.run.fires.iter().filter(|it| {
                it.uid == note.uid
                    && it.role == Role::Main
                    && it.nominal == note.nominal
                    && it.generation == note.generation
            });
            if of_occurrence.count() > 0 {
                bad.push(format!("left out, and run: {name} at {at}"));
            }
            if !self.is_busy(note) {
                bad.push(format!("left out, and nothing ran: {name} at {at}"));
            }
        }
        self.bad.extend(bad);
    }

    /// Whether another attempt of the job ran or waited when one was left out.
    pub(super) fn is_busy(&self, left_out: &TurnNote) -> bool {
        let mut of_job = self.run.turns.iter().filter(|it| it.uid == left_out.uid);
        of_job.any(|note| {
            let holds = match note.what {
                TurnWhat::Takes
                    if self.run.opened.contains_key(&format!("{}.{}", note.uid, note.id)) =>
                {
                    EVER
                }
                TurnWhat::Takes => LEASE,
                TurnWhat::Waits => PLACE,
                TurnWhat::Back | TurnWhat::Ended | TurnWhat::LeftOut => return false,
            };
            let since = note.at..left_out.at - READ_WITHIN;
            let is_over = |it: &TurnNote| {
                let is_end = match it.what {
                    TurnWhat::Back | TurnWhat::Ended | TurnWhat::LeftOut => true,
                    TurnWhat::Takes => note.what == TurnWhat::Waits,
                    TurnWhat::Waits => false,
                };
                is_end && it.id == note.id && it.uid == note.uid && since.contains(&it.at)
            };
            note.id != left_out.id
                && note.at <= left_out.at
                && left_out.at <= note.at + holds + SKEW
                && !self.run.turns.iter().any(is_over)
        })
    }
}
