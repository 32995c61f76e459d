//! Jobs that are enabled again when nothing is left but the result of their last occurrence.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;
use minutehand_domain::job::JobState;

use super::clocks::Due;
use super::spec::{Segment, Spec};
use super::ways::Way;
use super::{EVER, Judge, LOOKS_EVERY, SKEW, TOLERANCE};
use crate::simulation::memory::{Change, Changed};
use crate::simulation::time::micros;
use crate::simulation::world::Fire;

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

    /// Whether a job that was enabled again had the time to go on with an attempt: a pass finds its timer, a
    /// check sends the attempt, and nothing was in the way of that for long enough while the collection was on.
    /// A first attempt is not made if the collection was off before that.
    pub(super) fn could_go_on(&self, segment: &Segment, nominal: i64, way: &Way<'_>) -> bool {
        let gone = self.gone.get(&segment.uid).copied().unwrap_or(self.horizon);
        self.going_on(segment, nominal).any(|it| {
            let mut offs = self.offs.get(&segment.collection_uid).into_iter().flatten();
            let clocks = self.clocks();
            let was_off = |(_, until): &(i64, i64)| {
                (way.due.at - clocks..=it.begins_at + clocks).contains(until)
            };
            if way.attempt == Way::FIRST && offs.clone().any(was_off) {
                return false;
            }
            let off = offs.find(|(_, until)| *until >= it.begins_at).map(|(from, _)| *from);
            let until = it.ends_at.unwrap_or(gone).min(off.unwrap_or(EVER));
            self.had_time_again(segment, way, it.begins_at, until)
        })
    }

    /// Whether an attempt that may be made again since an instant had the time for it: when the last occurrence
    /// is sent, a timer looks for what did not end every twenty minutes. A clock that was set back shows the
    /// instant of that timer later.
    pub(super) fn had_time_again(
        &self,
        segment: &Segment,
        way: &Way<'_>,
        since: i64,
        until: i64,
    ) -> bool {
        let Some(last) = segment.last() else { return false };
        let looks = LOOKS_EVERY + (last - way.due.clock).max(0);
        let again = way.again(since);
        if self.run.lives.is_empty() {
            return self.free(&again, until) > looks + self.lag;
        }
        let clock = again.due.clock.max(since + self.skew_at(since) + looks);
        let again = Way { due: Due { clock, ..again.due }, ..again };
        self.free(&again, until) > self.lag
    }

    /// When an attempt that was due before was asked for again, because its job was enabled again, or its
    /// collection was switched on: what follows at the last occurrence is made then.
    pub(super) fn asked_for_again(&self, segment: &Segment, fire: &Fire, due: Due) -> Option<i64> {
        let nominal = fire.nominal?;
        let enabled = self.going_on(segment, nominal).map(|it| it.begins_at);
        let is_first = fire.role == Role::Main && fire.number == 0;
        let is_last = !is_first && segment.last() == Some(nominal);
        // By its worker's clock it fell due while the collection was off, and by that of another one after that.
        let is_dropped = is_first
            && self.run.lives.is_empty()
            && self.is_off_for(&Way::first(segment, nominal, due), &segment.collection_uid);
        let offs = self.offs.get(&segment.collection_uid).filter(|_| is_last || is_dropped);
        let switched_on = offs.into_iter().flatten().map(|(_, until)| *until);
        enabled.chain(switched_on).filter(|at| due.at - SKEW <= *at && *at <= fire.at).max()
    }

    /// Whether its collection was off while a job went on with an occurrence.
    pub(super) fn was_off_while_it_went_on(&self, segment: &Segment, nominal: i64) -> bool {
        let offs = self.offs.get(&segment.collection_uid);
        let meets = |(from, until): &(i64, i64), it: &Segment| {
            *until >= it.begins_at && it.ends_at.is_none_or(|end| *from <= end)
        };
        self.going_on(segment, nominal)
            .any(|it| offs.into_iter().flatten().any(|off| meets(off, it)))
    }

    /// The segment and the instant of the occurrence with which a segment goes on.
    pub(super) fn last_of(&self, segment: &Segment) -> Option<(&Segment, i64)> {
        let place = self.segments.iter().position(|it| std::ptr::eq(it, segment))?;
        let (of, nominal) = self.goes_on.get(&place)?;
        Some((self.segments.get(*of)?, *nominal))
    }
}
