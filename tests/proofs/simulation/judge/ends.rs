//! The final states of jobs.

use minutehand_domain::attempt::Role;
use minutehand_domain::job::JobState;

use super::run::Left;
use super::spec::Segment;
use super::{EVER, Judge, LAG};
use crate::simulation::play::Scenario;
use crate::simulation::reports::WITHIN;
use crate::simulation::time::SECOND;

/// The final state of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OccurrenceStatus {
    Nothing,
    Open,
    /// Its collection was off.
    Void,
    Ended {
        is_success: bool,
    },
}

impl Judge<'_> {
    /// Computes the final state of the last occurrence. What follows its first attempt is made after its
    /// collection was off, too.
    pub(super) fn stand(&self, segment: &Segment, nominal: i64) -> OccurrenceStatus {
        let on_since =
            self.on_since.get(&segment.collection_uid).copied().flatten().unwrap_or(EVER);
        let found = |number| {
            segment.generations.iter().find_map(|generation| {
                self.executed.get(&(segment.uid.clone(), *generation, nominal, Role::Main, number))
            })
        };
        let has = |number| found(number).is_some();
        for number in 0.. {
            match found(number) {
                None if nominal < on_since && number == 0 => return OccurrenceStatus::Void,
                None if number == 0 => return OccurrenceStatus::Nothing,
                None => return OccurrenceStatus::Open,
                Some(it) if it.is_success => {
                    return OccurrenceStatus::Ended { is_success: true };
                }
                Some(it) if self.may_close(it) && !has(number + 1) => {
                    return OccurrenceStatus::Ended { is_success: false };
                }
                Some(_) => {}
            }
        }
        OccurrenceStatus::Open
    }

    pub(super) fn ends(&mut self) {
        let mut bad = Vec::new();
        for Left { uid, collection_uid, timer, .. } in &self.run.jobs {
            let segment = self.segments.iter().rev().find(|it| it.uid == *uid);
            let Some(segment) = segment.filter(|it| it.ends_at.is_none()) else { continue };
            let (of, last) = match self.last_of(segment) {
                Some((of, last)) => (of, Some(Some(last))),
                None => (segment, segment.ends_ever().then(|| segment.last())),
            };
            // The longest of the policies that it had.
            let policies = self.policies.get(uid).into_iter().flatten();
            let policies = policies.map(|(_, spec)| (i64::from(spec.retries), spec.longest_wait()));
            let (retries, interval) =
                policies.fold((0, 0), |(n, far), it| (n.max(it.0), far.max(it.1)));
            if timer.state == JobState::Enabled {
                let Some(last) = last else { continue };
                // What waits for its turn waits for others of the job.
                let takes_turns = self.takes_turns(uid, 0, EVER).is_some();
                let waits = if takes_turns { LAG } else { 0 };
                let is_open = self.run.scenario == Scenario::Completion;
                let takes = 60 * SECOND + if is_open { WITHIN + LAG } else { 0 };
                let chain = (retries + 1) * (interval + waits + takes);
                // What waits while the collection is off goes on when it is on again.
                let on_since = self.ons.get(collection_uid).and_then(|ons| Some(ons.last()?.0));
                let since = segment.begins_at.max(on_since.unwrap_or(0));
                let is_over = last.is_none_or(|at| {
                    self.over(at.max(since) + chain) < self.horizon - 3_000 * SECOND
                });
                let is_on = self.on_since.get(collection_uid).copied().flatten().is_some();
                if is_over && is_on && !self.run.retrying.contains(uid) {
                    bad.push(format!("never final: {uid}"));
                }
                continue;
            }
            let Some(Some(last)) = last else { continue };
            match self.stand(of, last) {
                OccurrenceStatus::Nothing if self.is_recorded(uid, last) => {}
                OccurrenceStatus::Nothing | OccurrenceStatus::Open => {
                    bad.push(format!("final too soon: {uid}"));
                }
                OccurrenceStatus::Ended { is_success }
                    if is_success != (timer.state == JobState::Completed) =>
                {
                    bad.push(format!("wrong final state: {uid}"));
                }
                OccurrenceStatus::Void | OccurrenceStatus::Ended { .. } => {}
            }
        }
        self.bad.extend(bad);
    }
}
