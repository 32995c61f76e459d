//! Exactly the occurrences and runs that have failed for good are told.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::attempt::Role;

use super::run::Executed;
use super::spec::Retry;
use super::{Judge, RETRIES_MAX, SKEW};
use crate::simulation::play::Scenario;

/// An attempt at a notice that must happen.
pub(super) struct NoticeDue {
    pub(super) id: String,
    pub(super) at: i64,
}

impl Judge<'_> {
    /// Checks that exactly the occurrences and runs that have failed for good are told, after the
    /// error action.
    pub(super) fn notices(&mut self) {
        let fired = self.run.fires.iter().map(|fire| fire.execution_id.as_str());
        let ids: BTreeSet<&str> =
            fired.chain(self.run.executions.iter().map(|it| it.id.as_str())).collect();
        let ended: BTreeMap<&str, &Executed> =
            self.run.executions.iter().map(|it| (it.id.as_str(), it)).collect();
        let mut bad = Vec::new();
        for it in &self.run.executions {
            if let Some(due) = self.next_notice(it)
                && !ids.contains(due.id.as_str())
                && due.at < self.horizon - self.lag
            {
                bad.push(format!("notice lost: after {}", it.id));
            }
        }
        for fire in self.run.fires.iter().filter(|fire| fire.role == Role::Notice) {
            let (occurrence, _) = fire.execution_id.rsplit_once('.').unwrap();
            if !self.segments.iter().any(|it| it.uid == fire.uid) {
                continue;
            }
            // Retries of the error action end by time, too.
            let may_end_early = self.segment_of(fire).is_some_and(|it| it.spec.waits.ends_early());
            let last = |letter, of: Retry| {
                let mut all = (0..=of.count).rev();
                let last =
                    all.find_map(|n| ended.get(format!("{occurrence}.{letter}{n}").as_str()));
                last.filter(|it| it.ended <= fire.at + SKEW)
                    .filter(|it| it.number == of.count || it.is_success || may_end_early)
            };
            let mut mains = (0..=RETRIES_MAX).rev();
            let main = mains.find_map(|n| ended.get(format!("{occurrence}.m{n}").as_str()));
            let has_failed = |it: &&&Executed| {
                it.ended <= fire.at + SKEW && !it.is_success && self.may_close(it)
            };
            let decided_anew = || {
                let mut mains = (0..=RETRIES_MAX)
                    .filter_map(|n| ended.get(format!("{occurrence}.m{n}").as_str()));
                self.run.scenario == Scenario::Upgrade
                    && mains.any(|it| !it.is_decided && has_failed(&it))
            };
            if main.as_ref().is_none_or(|it| !has_failed(it)) && !decided_anew() {
                bad.push(format!("told without a failure: {}", fire.execution_id));
            }
            // What the job had when its last attempt was recorded.
            let policies = main.map(|it| self.policies_of(it)).unwrap_or_default();
            let error_actions: Option<Vec<Retry>> =
                policies.iter().map(|spec| spec.error_action).collect();
            let is_told = |of: &Retry| last('e', *of).is_some();
            if error_actions.is_some_and(|of| !of.is_empty() && !of.iter().any(is_told)) {
                bad.push(format!("told before its error action: {}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }

    /// The attempt at a notice that must follow an attempt.
    pub(super) fn next_notice(&self, it: &Executed) -> Option<NoticeDue> {
        let mut segments = self.segments.iter();
        let segment =
            segments.find(|s| s.uid == it.uid && s.generations.contains(&it.generation))?;
        let retry = self.notices.get(&segment.collection_uid)?;
        let spec = &segment.spec;
        let has_closed = self.closes(it);
        let (number, interval) = match (it.role, spec.error_action) {
            (Role::Main, None) if !it.is_success && has_closed => (0, 0),
            (Role::Error, Some(of)) if it.is_success || it.number == of.count => (0, 0),
            (Role::Notice, _) if !it.is_success && it.number < retry.count => {
                (it.number + 1, retry.interval)
            }
            _ => return None,
        };
        if !self.is_followed(it, segment, &(interval..=interval), 'n') {
            return None;
        }
        let due = self.due(it.ended_clock + interval, it.ended);
        let (occurrence, _) = it.id.rsplit_once('.')?;
        Some(NoticeDue { id: format!("{occurrence}.n{number}"), at: due.at })
    }
}
