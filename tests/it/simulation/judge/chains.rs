//! The retries and the error action after a failure.

use minutehand_domain::attempt::Role;

use super::clocks::Due;
use super::run::Executed;
use super::spec::Spec;
use super::{DECIDED_WITHIN, EVER, Judge, Key, LONG, SKEW};
use crate::simulation::play::Scenario;

impl Judge<'_> {
    /// The policies under which an attempt may have been recorded: those that its job had from when it
    /// started until it was recorded. The records of an earlier version do not say what follows, so that
    /// each later policy may decide: whether a job has finished is checked every twenty minutes, and what
    /// such a record leaves open is sent by the policy of that time. Seed 9693 shows it.
    pub(super) fn policies_of(&self, it: &Executed) -> Vec<&Spec> {
        let of_job = self.policies.get(&it.uid).map(Vec::as_slice).unwrap_or_default();
        let (from, until) = (it.started - SKEW - DECIDED_WITHIN, it.ended + SKEW + DECIDED_WITHIN);
        let is_earlier = self.run.scenario == Scenario::Upgrade && !it.is_decided;
        let until = if is_earlier { EVER } else { until };
        let first = of_job.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
        let held = of_job.iter().skip(first).filter(|(at, _)| *at <= until);
        held.map(|(_, spec)| spec).collect()
    }

    /// Whether an attempt that failed may have been the last one under a policy of its job.
    pub(super) fn may_close(&self, it: &Executed) -> bool {
        self.policies_of(it).iter().any(|spec| it.number >= spec.retries)
    }

    /// Whether an attempt that failed was the last one under every policy of its job.
    pub(super) fn closes(&self, it: &Executed) -> bool {
        self.policies_of(it).iter().all(|spec| it.number >= spec.retries)
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.fired.contains(key) || self.executed.contains_key(key)
    }

    /// Checks the retries and the error action after a failure.
    pub(super) fn chains(&mut self) {
        let mut bad = Vec::new();
        for it in &self.run.executions {
            let Some(nominal) = it.nominal.filter(|_| it.role == Role::Main && !it.is_success)
            else {
                continue;
            };
            let mut segments = self.segments.iter();
            let segment =
                segments.find(|s| s.uid == it.uid && s.generations.contains(&it.generation));
            let Some(segment) = segment else { continue };
            let Some(owed_since) = self.owed_since(segment, nominal) else { continue };
            let is_off = |due: Due| {
                self.is_off(&segment.collection_uid, due.at, self.lag, self.lag)
                    || self.is_before_on(&segment.collection_uid, due)
            };
            let key = |role, number| (it.uid.clone(), it.generation, nominal, role, number);
            let policies = self.policies_of(it);
            let is_retried = self.has(&key(Role::Main, it.number + 1));
            let is_told = self.has(&key(Role::Error, 0));
            let [spec] = policies.as_slice() else {
                // Its policy changed while it was under way.
                continue;
            };
            if it.number < spec.retries {
                let due = self.due(it.ended_clock + spec.interval, it.ended);
                if spec.interval <= LONG && self.may_be_lost(segment, nominal) {
                    continue;
                }
                let is_near = due.at.max(owed_since) < self.horizon - self.lag;
                if is_near && !is_off(due) && !is_retried {
                    bad.push(format!("retry lost: after {}", it.id));
                }
            } else if is_retried {
                bad.push(format!("a retry too many: after {}", it.id));
            } else if spec.error_action.is_some()
                && self.run.scenario != Scenario::Lossy
                && it.ended.max(owed_since) < self.horizon - self.lag
                && !is_off(Due { clock: it.ended_clock, at: it.ended })
                && !is_told
            {
                bad.push(format!("error action lost: after {}", it.id));
            }
        }
        self.bad.extend(bad);
    }
}
