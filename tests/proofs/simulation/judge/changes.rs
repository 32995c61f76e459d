//! The changes of jobs and collections: timings, switches, limits and policies.

use std::collections::BTreeMap;

use minutehand_domain::job::JobState;

use super::spec::{Retry, Segment, Spec};
use super::{EVER, Judge};
use crate::simulation::memory::{Change, Changed};
use crate::simulation::time::micros;
use crate::simulation::world::Fire;

impl Judge<'_> {
    pub(super) fn read_changes(&mut self) {
        // For each job: its timing, the used part of its count, and its collection.
        let mut known: BTreeMap<&str, (Spec, i64, &str)> = BTreeMap::new();
        for Changed { at, what } in &self.run.changes {
            match what {
                Change::Collection { uid, on_since, on_failure, limits } => {
                    self.limits.entry(uid.clone()).or_default().push((*at, *limits));
                    self.note_collection(uid, *at, on_since.map(micros), on_failure.as_deref());
                }
                Change::JobFinished { .. } => {}
                Change::JobPaused { uid } => {
                    self.note_pause(uid, *at, known.get(uid.as_str()).map(|(spec, ..)| spec));
                }
                Change::JobExpired { uid } => {
                    self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*at)));
                }
                Change::CollectionDeleted { uid } => {
                    let inside = known.iter().filter(|(_, (_, _, of))| of == uid);
                    self.note_deletion(uid, *at, inside.map(|(job, _)| *job));
                }
                Change::JobDeleted { uid } => {
                    self.gone.insert(uid.clone(), *at);
                    if let Some(open) = self.open(uid) {
                        open.ends_at = Some(*at);
                    }
                }
                Change::JobEdited { uid, document } => {
                    self.note_policy(uid, *at, Spec::read(document));
                }
                Change::Job { uid, collection_uid, timer, document } => {
                    let spec = Spec::read(document);
                    self.note_policy(uid, *at, spec.clone());
                    let since = micros(timer.timing.since);
                    let old = known.get(uid.as_str()).map(|(old, ..)| old);
                    let is_same = old.is_some_and(|old| old.fires_as(&spec));
                    let goes_on = old.is_some_and(|old| old.has_rule_of(&spec));
                    let is_on = timer.state != JobState::Disabled;
                    let mut used = known.get(uid.as_str()).map_or(0, |(_, used, _)| *used);
                    self.end_pause(uid, *at);
                    if let Some(open) = self.open(uid) {
                        if is_same && is_on {
                            open.generations.push(timer.timing.generation);
                            continue;
                        }
                        open.ends_at = Some(*at);
                        used += open.due_until(since);
                    }
                    let used = if goes_on { used } else { 0 };
                    known.insert(uid, (spec.clone(), used, collection_uid));
                    if is_on {
                        self.segments.push(Segment {
                            uid: uid.clone(),
                            collection_uid: collection_uid.clone(),
                            generations: vec![timer.timing.generation],
                            spec,
                            since,
                            used,
                            begins_at: *at,
                            ends_at: None,
                            paused_at: None,
                            paused_until: None,
                        });
                    }
                }
            }
        }
    }

    /// What a collection became: since when it is on, and its failure action.
    pub(super) fn note_collection(
        &mut self,
        uid: &str,
        at: i64,
        on_since: Option<i64>,
        on_failure: Option<&str>,
    ) {
        let offs = self.offs.entry(uid.to_owned()).or_default();
        let is_off = offs.last().is_some_and(|(_, until)| *until == EVER);
        match (on_since, is_off) {
            (None, false) => offs.push((at, EVER)),
            (Some(_), true) => offs.last_mut().unwrap().1 = at,
            _ => {}
        }
        if let Some(clock) = on_since {
            let ons = self.ons.entry(uid.to_owned()).or_default();
            if ons.last().is_none_or(|(_, last)| *last != clock) {
                ons.push((at, clock));
            }
        }
        self.on_since.insert(uid.to_owned(), on_since);
        if let Some(action) = on_failure {
            self.notices.insert(uid.to_owned(), Retry::read(action));
        }
    }

    pub(super) fn note_deletion<'b>(
        &mut self,
        collection: &str,
        at: i64,
        jobs: impl Iterator<Item = &'b str>,
    ) {
        for segment in self.segments.iter_mut().filter(|it| it.collection_uid == *collection) {
            segment.ends_at.get_or_insert(at);
        }
        for job in jobs {
            self.gone.entry(job.to_owned()).or_insert(at);
        }
    }

    /// That the scheduler has disabled a job.
    pub(super) fn note_pause(&mut self, uid: &str, at: i64, spec: Option<&Spec>) {
        if let Some(last) = self.segments.iter_mut().rfind(|it| it.uid == *uid) {
            last.paused_at = Some(at);
            last.paused_until = Some(EVER);
        }
        if spec.is_none_or(|spec| !spec.is_paused) {
            self.bad.push(format!("paused without a word: {uid}"));
        }
    }

    /// The next change of a job that is paused.
    pub(super) fn end_pause(&mut self, uid: &str, at: i64) {
        let of_job = self.segments.iter_mut().filter(|it| it.uid == *uid);
        if let Some(last) = of_job.last().filter(|it| it.paused_until == Some(EVER)) {
            last.paused_until = Some(at);
        }
    }

    pub(super) fn note_policy(&mut self, uid: &str, at: i64, spec: Spec) {
        self.policies.entry(uid.to_owned()).or_default().push((at, spec));
    }

    pub(super) fn open(&mut self, uid: &str) -> Option<&mut Segment> {
        self.segments.iter_mut().rev().find(|it| it.uid == uid).filter(|it| it.ends_at.is_none())
    }

    pub(super) fn segment_of(&self, fire: &Fire) -> Option<&Segment> {
        let mut segments = self.segments.iter();
        segments.find(|it| it.uid == fire.uid && it.generations.contains(&fire.generation))
    }
}
