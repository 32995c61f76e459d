//! Jobs that are enabled again when nothing is left but the result of their last occurrence.

use std::collections::BTreeMap;

use minutehand_domain::job::JobState;

use super::spec::{Segment, Spec};
use super::{Judge, TOLERANCE};
use crate::simulation::memory::{Change, Changed};
use crate::simulation::time::micros;

/// The segments in which jobs go on with an occurrence of another segment, by their places: which one, and
/// the instant of the occurrence.
pub(super) type GoesOn = BTreeMap<usize, (usize, i64)>;

/// The segment in which a job was on the last time.
struct Before {
    place: usize,
    spec: Spec,
    /// When it was disabled, by the clock that decided it.
    off_since: Option<i64>,
    /// Whether the job has another start or recurrence since.
    is_other: bool,
}

impl Judge<'_> {
    /// Finds the segments that go on: nothing is left of the job when it is enabled, its start, recurrence and
    /// dates are those that it had, and its last occurrence fell due before it was disabled.
    pub(super) fn find_goes_on(&mut self) {
        let mut before: BTreeMap<&str, Before> = BTreeMap::new();
        let run = self.run;
        for Changed { what, .. } in &run.changes {
            let Change::Job { uid, timer, document, .. } = what else { continue };
            let spec = Spec::read(document);
            if timer.state == JobState::Disabled {
                if let Some(before) = before.get_mut(uid.as_str()) {
                    before.off_since.get_or_insert(micros(timer.timing.since));
                    before.is_other |= !before.spec.has_rule_of(&spec);
                }
                continue;
            }
            let generation = timer.timing.generation;
            let is_it = |it: &Segment| it.uid == *uid && it.generations.contains(&generation);
            let Some(place) = self.segments.iter().position(is_it) else { continue };
            if let Some(before) = before.get(uid.as_str())
                && let Some(found) = self.goes_on_from(before, place, &spec)
            {
                self.goes_on.insert(place, found);
            }
            let now = Before { place, spec, off_since: None, is_other: false };
            before.insert(uid, now);
        }
    }

    fn goes_on_from(&self, before: &Before, place: usize, spec: &Spec) -> Option<(usize, i64)> {
        let (held, now) = (self.segments.get(before.place)?, self.segments.get(place)?);
        let is_same = before.spec.has_rule_of(spec)
            && (&before.spec.excluded, &before.spec.extra) == (&spec.excluded, &spec.extra);
        if !is_same || before.is_other || !now.ends_ever() || now.last().is_some() {
            return None;
        }
        let off_since = before.off_since?;
        let of = |place| self.goes_on.get(&place).copied();
        of(before.place).or_else(|| Some((before.place, held.last().filter(|at| *at < off_since)?)))
    }

    /// The segments in which the job goes on with an occurrence of one.
    pub(super) fn going_on(
        &self,
        segment: &Segment,
        nominal: i64,
    ) -> impl Iterator<Item = &Segment> {
        let is_of = move |(of, at): &(usize, i64)| {
            *at == nominal && self.segments.get(*of).is_some_and(|it| std::ptr::eq(it, segment))
        };
        let places = self.goes_on.iter().filter(move |(_, found)| is_of(found));
        places.filter_map(|(place, _)| self.segments.get(*place))
    }

    /// Whether an attempt at an occurrence may start at an instant, after its own segment has ended.
    pub(super) fn goes_on_at(&self, segment: &Segment, nominal: i64, at: i64) -> bool {
        let holds =
            |it: &Segment| it.begins_at <= at && it.ends_at.is_none_or(|end| at <= end + TOLERANCE);
        self.going_on(segment, nominal).any(holds)
    }

    /// Since when what follows an attempt at an occurrence is owed, and not cancelled since; `None` if it is.
    pub(super) fn owed_since(&self, segment: &Segment, nominal: i64) -> Option<i64> {
        let mut of_it = std::iter::once(segment).chain(self.going_on(segment, nominal));
        of_it.find(|it| it.ends_at.is_none()).map(|it| it.begins_at)
    }

    /// The segment and the instant of the occurrence with which a segment goes on.
    pub(super) fn last_of(&self, segment: &Segment) -> Option<(&Segment, i64)> {
        let place = self.segments.iter().position(|it| std::ptr::eq(it, segment))?;
        let (of, nominal) = self.goes_on.get(&place)?;
        Some((self.segments.get(*of)?, *nominal))
    }
}
