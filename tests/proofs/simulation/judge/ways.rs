//! What was in the way of an attempt: the causes for which it is excused.

use std::collections::{BTreeMap, BTreeSet};

use super::clocks::Due;
use super::spec::Segment;
use super::{EVER, Judge, LAG_LOSSY, LATE, SKEW};
use crate::simulation::time::SECOND;
use crate::simulation::way::{Hold, SweepPass};
use crate::simulation::world::Fire;

/// How long an attempt may take to start when nothing is in its way, beside the difference of clocks.
const FREE: i64 = 6 * SECOND;
/// A pass finds what is due within so long after it begins, by any clock.
const PLANNED_AHEAD: i64 = 60 * SECOND;
/// A request ends within this.
const REQUEST: i64 = 5 * SECOND;
/// How long workers may take to begin after an outage.
const WORKERS_BEGIN: i64 = 35 * SECOND;

/// The attempts at an occurrence or a run, on their way to one of them.
#[derive(Clone)]
pub(super) struct Way<'a> {
    pub(super) uid: &'a str,
    /// The ids of the occurrence, by generation: those of its attempts begin with them.
    pub(super) occurrences: Vec<String>,
    /// The end of the id of the attempt.
    pub(super) attempt: String,
    pub(super) due: Due,
    /// Since when the sweepers send it; `None` if another attempt is followed by it at once.
    pub(super) planned_since: Option<i64>,
}

impl<'a> Way<'a> {
    /// How the id of a first attempt ends.
    pub(super) const FIRST: &'static str = "m0";

    /// The way of the first attempt at an occurrence.
    pub(super) fn first(segment: &'a Segment, nominal: i64, due: Due) -> Self {
        Self {
            uid: &segment.uid,
            occurrences: segment.occurrence_ids(nominal),
            attempt: Self::FIRST.to_owned(),
            due,
            planned_since: Some(segment.begins_at),
        }
    }

    /// The way of an attempt that something else than a sweeper asks for.
    pub(super) fn of(uid: &'a str, id: &str, due: Due) -> Self {
        let (occurrence, attempt) = id.rsplit_once('.').unwrap_or((id, ""));
        Self {
            uid,
            occurrences: vec![occurrence.to_owned()],
            attempt: attempt.to_owned(),
            due,
            planned_since: None,
        }
    }

    /// The way of the same attempt when sweepers ask for it again.
    pub(super) fn again(&self, since: i64) -> Self {
        let due = Due { at: self.due.at.max(since), ..self.due };
        Self { due, planned_since: Some(since), ..self.clone() }
    }

    /// What there is of the attempts at its occurrence, by their ids.
    fn among<'b, T>(
        &'b self,
        by_id: &'b BTreeMap<String, T>,
    ) -> impl Iterator<Item = (&'b String, &'b T)> {
        self.occurrences.iter().flat_map(|of| {
            let all = by_id.range(of.clone()..).take_while(|(id, _)| id.starts_with(of.as_str()));
            all.filter(|(id, _)| id[of.len()..].starts_with('.'))
        })
    }
}

impl Judge<'_> {
    /// Whether an attempt had the time to start before an instant: nothing was in its way for a while.
    pub(super) fn could_start(&self, way: &Way<'_>, before: i64) -> bool {
        self.free(way, before) > FREE + 2 * self.run.skew
    }

    /// The longest time, from when an attempt was due, in which nothing was in its way.
    pub(super) fn free(&self, way: &Way<'_>, until: i64) -> i64 {
        let mut obstacles = self.obstacles(way, until);
        obstacles.sort_unstable();
        let (mut at, mut longest) = (way.due.at, 0);
        for (from, ends_at) in obstacles {
            longest = longest.max(from.min(until) - at);
            at = at.max(ends_at);
        }
        longest.max(until - at)
    }

    fn obstacles(&self, way: &Way<'_>, until: i64) -> Vec<(i64, i64)> {
        let mut found = self.machine_obstacles(way);
        found.push((way.due.at, self.sent_at(way)));
        if let Some(outage) = self.run.outage.filter(|it| it.of_workers) {
            found.push((outage.from, outage.until + WORKERS_BEGIN));
        }
        for (_, holds) in way.among(&self.run.obstacles.holds) {
            found.extend(holds.iter().flat_map(|hold| self.held(way, hold)));
        }
        for (_, losses) in way.among(&self.run.obstacles.lost) {
            // Sweepers send again what they plan, and nothing else. They send a horizon ahead, and look for it
            // from when it was due.
            let found_after = way.planned_since.map_or(EVER, |_| LAG_LOSSY);
            let ends_at = |at: i64| at.max(way.due.at) + found_after;
            found.extend(losses.iter().map(|at| (*at, ends_at(*at))));
        }
        found.retain(|(from, ends_at)| *from < until && *ends_at > way.due.at);
        found
    }

    /// Where no process runs, and where one shows less than the instant at which an attempt is due.
    fn machine_obstacles(&self, way: &Way<'_>) -> Vec<(i64, i64)> {
        let lives = &self.run.lives;
        let between = lives.windows(2).map(|pair| (pair[0].until, pair[1].from));
        let before = lives.iter().map(|life| (life.from, way.due.clock - life.skew));
        between.chain(before).collect()
    }

    /// The times of a hold in which an attempt cannot start. A worker that has it starts it, unless
    /// something fails for it.
    fn held(&self, way: &Way<'_>, hold: &Hold) -> Vec<(i64, i64)> {
        let Some(worker) = hold.worker else { return vec![(hold.from, hold.until)] };
        let troubles = self.run.obstacles.troubles.get(&worker).into_iter().flatten();
        let mut troubles = troubles.filter(|at| (hold.from..hold.until).contains(at));
        let starts = hold.from.max(way.due.at);
        let mut times = vec![(hold.from, hold.until.min(starts))];
        times.extend(troubles.next().map(|at| (*at, hold.until)));
        times
    }

    /// When an attempt was sent for the first time, or had to be: by the first pass that nothing failed for
    /// and that saw its timer.
    fn sent_at(&self, way: &Way<'_>) -> i64 {
        let Some(since) = way.planned_since else { return way.due.at };
        let obstacles = &self.run.obstacles;
        let of_attempt = |of: &String| obstacles.sent.get(&format!("{of}.{}", way.attempt));
        let sent = way.occurrences.iter().filter_map(of_attempt);
        let sent = sent.filter_map(|at| at.iter().find(|at| **at >= since)).min().copied();
        // A timer of a retry is stored when the attempt before it is recorded, or after that.
        let planned = way
            .occurrences
            .iter()
            .filter_map(|of| obstacles.planned.get(&format!("{of}.{}", way.attempt))?.first());
        let since = since.max(planned.min().copied().unwrap_or(since));
        let mut passes = obstacles.passes.iter().filter(|pass| {
            pass.from >= since.max(way.due.at - PLANNED_AHEAD)
                && self.is_shared(pass, way.uid)
                && self.is_sound(pass, way.uid)
        });
        let planned = passes.next().map(|pass| pass.until);
        sent.into_iter().chain(planned).min().unwrap_or(EVER)
    }

    /// How much two clocks may differ.
    pub(super) const fn clocks(&self) -> i64 {
        2 * self.run.skew + SECOND
    }

    /// Whether a collection was off when an attempt was due, or before it could start.
    pub(super) fn is_off_for(&self, way: &Way<'_>, collection_uid: &str) -> bool {
        self.may_be_off_for(way, 0, collection_uid)
    }

    /// The same of an attempt that may have been due sooner by so much.
    pub(super) fn may_be_off_for(&self, way: &Way<'_>, sooner: i64, collection_uid: &str) -> bool {
        let (at, clocks) = (way.due.at, self.clocks());
        let mut offs = self.offs.get(collection_uid).into_iter().flatten();
        offs.any(|(from, until)| {
            at - sooner < until + clocks && (*from <= at + clocks || !self.could_start(way, *from))
        })
    }

    /// Whether a pass saw the timer of a job as it was, and nothing failed for it.
    fn is_sound(&self, pass: &SweepPass, uid: &str) -> bool {
        let obstacles = &self.run.obstacles;
        let meets = |from: i64, until: i64| from <= pass.until && pass.from <= until;
        let mut behind = obstacles.behind.get(uid).into_iter().flatten();
        !behind.any(|(from, until)| meets(*from, *until)) && !self.failed(pass)
    }

    /// Whether an occurrence was sent only by passes and requests that could not note it. After an outage a worker leaves it
    /// out, with the message, and a sweeper, as the timer did not move; each counts it.
    pub(super) fn was_sent_unnoted(&self, uid: &str, first_id: &str) -> bool {
        let obstacles = &self.run.obstacles;
        let sent = obstacles.sent.get(first_id).map(Vec::as_slice).unwrap_or_default();
        let is_unnoted = |at: &i64| {
            let sent_then =
                |it: &&SweepPass| (it.from..=it.until).contains(at) && self.is_shared(it, uid);
            match obstacles.passes.iter().find(sent_then) {
                Some(pass) => !self.is_sound(pass, uid),
                // A request of a user.
                None => obstacles
                    .troubles
                    .values()
                    .flatten()
                    .any(|trouble| (*at..*at + REQUEST).contains(trouble)),
            }
        };
        !sent.is_empty() && sent.iter().all(is_unnoted)
    }

    /// Whether the collection of an attempt was off before it had to be made again, because its worker died with
    /// it and recorded nothing.
    pub(super) fn is_off_after_call(&self, way: &Way<'_>, collection_uid: &str) -> bool {
        let ids = way.occurrences.iter().map(|of| format!("{of}.{}", way.attempt));
        let ids: BTreeSet<_> = ids.collect();
        let mut unrecorded = self.run.fires.iter().filter(|it| it.is_unrecorded);
        unrecorded.any(|fire| {
            ids.contains(&fire.execution_id) && {
                let died_at = self.died_after(fire);
                let due = Due { at: died_at, ..way.due };
                let again = Way { due, planned_since: None, ..way.clone() };
                // Or it went off and on while the attempt was under way: it fell due before that.
                let mut offs = self.offs.get(collection_uid).into_iter().flatten();
                self.is_off_for(&again, collection_uid)
                    || offs.any(|(from, until)| fire.at <= *until && *from <= died_at)
            }
        })
    }

    /// When the worker of a call died, or stood still.
    fn died_after(&self, fire: &Fire) -> i64 {
        let troubles = self.run.obstacles.troubles.get(&fire.worker).into_iter().flatten();
        let ended = self.run.lives.iter().map(|life| &life.until);
        let after = troubles.chain(ended).filter(|at| **at >= fire.at);
        after.min().copied().unwrap_or(fire.at)
    }

    /// Whether an occurrence was sent twice, so that a worker could leave it out with one message, and run it with
    /// another one: the later one was sent so late that it was less than ten minutes late, or the first one was
    /// sent in time, and the later one after the outage had begun.
    pub(super) fn was_sent_again(&self, first_id: &str, nominal: i64) -> bool {
        let sent = self.run.obstacles.sent.get(first_id).map(Vec::as_slice).unwrap_or_default();
        let calls = self.run.fires.iter().filter(|it| it.execution_id == first_id);
        let called = calls.map(|it| it.at).min();
        let Some(first) = sent.iter().min() else { return false };
        let is_late = |at: i64| called.is_some_and(|call| call < at + LATE + SKEW);
        sent.iter().any(|at| at > first && *at > nominal && (*first <= nominal || is_late(*at)))
    }

    /// Whether a message of an occurrence is among the dead letters.
    pub(super) fn is_dead(&self, way: &Way<'_>) -> bool {
        let dead: &BTreeSet<String> = &self.run.obstacles.dead;
        way.occurrences.iter().any(|prefix| {
            let mut from =
                dead.range(prefix.clone()..).take_while(|id| id.starts_with(prefix.as_str()));
            from.any(|id| id[prefix.len()..].starts_with('.'))
        })
    }

    /// Whether a message of one attempt was lost.
    pub(super) fn is_lost(&self, id: &str) -> bool {
        self.run.obstacles.lost.contains_key(id)
    }
}
