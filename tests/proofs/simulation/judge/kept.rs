//! The items of the store fit together, and expire when they should.

use std::collections::{BTreeMap, BTreeSet};

use super::run::{Kept, Later, Left};
use super::{Judge, KEPT, SKEW};
use crate::simulation::memory::{Change, Changed};
use crate::simulation::play::{QUOTA, Scenario};

impl Judge<'_> {
    /// Checks that a job that has finished is kept for sixty days from then on, and no other expires.
    pub(super) fn expiries(&mut self) {
        let mut finished: BTreeMap<&str, i64> = BTreeMap::new();
        for Changed { at, what } in &self.run.changes {
            match what {
                Change::JobFinished { uid } => drop(finished.insert(uid, *at)),
                Change::Job { uid, timer, .. } if timer.state.is_final() => {
                    finished.insert(uid, *at);
                }
                _ => {}
            }
        }
        for Left { uid, expires_at, .. } in &self.run.jobs {
            let Some(expires_at) = expires_at else { continue };
            let since = finished.get(uid.as_str()).map(|since| since + self.skew_at(*since));
            if since.is_none_or(|since| *expires_at < since + KEPT - 6 * SKEW) {
                self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*expires_at)));
            }
        }
    }

    /// Checks that the items of the store fit together.
    pub(super) fn kept(&mut self, kept: &Kept, is_right: impl Fn(&usize, &usize) -> bool) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut defined = BTreeSet::new();
        for (collection, uid) in &kept.definitions {
            *counts.entry(collection).or_default() += 1;
            defined.insert(uid);
            if !kept.collections.contains_key(collection) {
                self.bad.push(format!("not purged: {uid}"));
            } else if !kept.timers.contains(uid) {
                self.bad.push(format!("without a timer: {uid}"));
            }
        }
        for uid in kept.timers.iter().filter(|uid| !defined.contains(uid)) {
            self.bad.push(format!("a timer without its job: {uid}"));
        }
        for (uid, count) in &kept.collections {
            let is = counts.get(uid.as_str()).copied().unwrap_or(0);
            if self.run.scenario == Scenario::Gone && is > QUOTA as usize {
                self.bad.push(format!("more than the quota: {uid} has {is} jobs"));
            }
            if !is_right(&is, count) {
                self.bad.push(format!("counted wrong: {uid} has {is} jobs and counts {count}"));
            }
        }
        if kept.purges > 0 {
            self.bad.push(format!("never purged: {} collections", kept.purges));
        }
    }

    /// Jobs that are over are kept for sixty days, and no longer; all others for ever.
    pub(super) fn later(&mut self, later: &Later) {
        self.bad.extend(later.refusals.iter().cloned());
        let mut finished: BTreeMap<&str, i64> = BTreeMap::new();
        let mut expired = BTreeSet::new();
        for Changed { at, what } in &later.changes {
            match what {
                Change::JobFinished { uid } => drop(finished.insert(uid, *at)),
                Change::Job { uid, timer, .. } if timer.state.is_final() => {
                    finished.insert(uid, *at);
                }
                Change::Job { uid, .. } => drop(finished.remove(uid.as_str())),
                Change::JobExpired { uid } => {
                    expired.insert(uid);
                    if finished.get(uid.as_str()).is_none_or(|since| *at < since + KEPT - SKEW) {
                        self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*at)));
                    }
                }
                Change::JobEdited { .. }
                | Change::JobPaused { .. }
                | Change::JobDeleted { .. }
                | Change::Collection { .. }
                | Change::CollectionDeleted { .. } => {}
            }
        }
        for job in &self.run.jobs {
            let is_over =
                finished.get(job.uid.as_str()).is_some_and(|since| *since < self.run.ended_at);
            match (later.kept.timers.contains(&job.uid), is_over) {
                (true, true) => self.bad.push(format!("kept too long: {}", job.uid)),
                (false, _) if !expired.contains(&job.uid) => {
                    self.bad.push(format!("gone: {}", job.uid));
                }
                _ => {}
            }
        }
    }
}
