//! The retries and the error action after a failure.

use std::ops::RangeInclusive;

use minutehand_domain::attempt::Role;

use super::clocks::Due;
use super::run::Executed;
use super::spec::{Next, Segment, Spec};
use super::ways::Way;
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
        self.policies_of(it).iter().any(|spec| !matches!(spec.next(it), Next::Retry(_)))
    }

    /// Whether an attempt that failed was the last one under every policy of its job.
    pub(super) fn closes(&self, it: &Executed) -> bool {
        self.policies_of(it).iter().all(|spec| spec.next(it) == Next::Nothing)
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
            let of_it = |s: &&Segment| s.uid == it.uid && s.generations.contains(&it.generation);
            let Some(segment) = segments.find(of_it) else { continue };
            let key = |role, number| (it.uid.clone(), it.generation, nominal, role, number);
            let policies = self.policies_of(it);
            let is_retried = self.has(&key(Role::Main, it.number + 1));
            let is_told = self.has(&key(Role::Error, 0));
            let [spec] = policies.as_slice() else {
                // Its policy changed while it was under way.
                continue;
            };
            match spec.next(it) {
                Next::Retry(wait) => {
                    if !is_retried && self.is_followed(it, segment, &wait, 'm') {
                        bad.push(format!("retry lost: after {}", it.id));
                    }
                    let is_other = |due: &i64| !wait.contains(&(due - it.ended_clock));
                    if let Some(due) = self.retry_due(it).filter(is_other) {
                        let after = Self::at(due - it.ended_clock);
                        bad.push(format!("a retry after {after}, and not {wait:?}: {}", it.id));
                    }
                }
                Next::Nothing if is_retried => {
                    bad.push(format!("a retry too many: after {}", it.id));
                }
                Next::Nothing
                    if spec.error_action.is_some()
                        && !is_told
                        && self.is_followed(it, segment, &(0..=0), 'e') =>
                {
                    bad.push(format!("error action lost: after {}", it.id));
                }
                Next::Nothing | Next::Either => {}
            }
        }
        self.bad.extend(bad);
    }

    /// When the retry after an attempt was due, if it was called.
    fn retry_due(&self, it: &Executed) -> Option<i64> {
        let (occurrence, _) = it.id.rsplit_once('.')?;
        self.due_of_retries.get(&format!("{occurrence}.m{}", it.number + 1)).copied()
    }

    /// Whether an attempt must be followed by another one after one of these times: nothing was in its way, until the
    /// timing ended or the collection was switched off.
    pub(super) fn is_followed(
        &self,
        it: &Executed,
        segment: &Segment,
        waits: &RangeInclusive<i64>,
        letter: char,
    ) -> bool {
        let (wait, spread) = (*waits.end(), waits.end() - waits.start());
        let due = self.due(it.ended_clock + wait, it.ended);
        let (occurrence, _) = it.id.rsplit_once('.').unwrap();
        let number = if wait > 0 { it.number + 1 } else { 0 };
        let id = format!("{occurrence}.{letter}{number}");
        let is_long = wait > LONG;
        let planned_since = is_long.then_some(segment.begins_at);
        let way = Way { planned_since, ..Way::of(&segment.uid, &id, due) };
        let recorded = Due { clock: it.ended_clock, at: it.ended };
        // Only the last occurrence of an unchanged job is looked for again.
        let is_lost = !is_long
            && self.is_lost(&id)
            && (letter != 'm' || it.nominal.is_none_or(|at| self.may_be_lost(segment, at)));
        let ended = self.ended_for(segment, letter);
        let goes_on = it.nominal.is_some_and(|at| self.could_go_on(segment, at, &way));
        let is_off = self.may_be_off_for(&way, spread, &segment.collection_uid)
            || self.is_off_for(&Way::of(&segment.uid, &id, recorded), &segment.collection_uid)
            || self.is_before_on(&segment.collection_uid, due);
        due.at < self.horizon - self.lag
            && (ended.is_none_or(|end| self.could_start(&way, end)) || goes_on)
            && !is_lost
            && !is_off
            && !self.is_dead(&way)
    }

    /// When attempts of this kind became old: those that follow the failures before a pause still run.
    fn ended_for(&self, segment: &Segment, letter: char) -> Option<i64> {
        let of_timing = match segment.paused_until {
            Some(until) if letter != 'm' => Some(until),
            _ => segment.ends_at,
        };
        [of_timing, self.gone.get(&segment.uid).copied()].into_iter().flatten().min()
    }
}
