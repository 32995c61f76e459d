//! Requested runs happen.

use minutehand_domain::attempt::Role;

use super::clocks::Due;
use super::run::Executed;
use super::spec::Segment;
use super::ways::Way;
use super::{Judge, SKEW};
use crate::simulation::world::Redrive;

impl Judge<'_> {
    /// Reports requested runs that never happened.
    pub(super) fn runs(&mut self) {
        for (at, uid, id) in &self.run.runs {
            let Some(job) = self.run.jobs.iter().find(|job| job.uid == *uid) else { continue };
            let is_fired = self.run.fires.iter().any(|fire| fire.execution_id == *id);
            let due = Due { clock: *at + self.skew_at(*at), at: *at };
            let way = Way::of(uid, id, due);
            let is_gone = self.is_lost(id) || self.is_dead(&way);
            let is_off = self.is_off_for(&way, &job.collection_uid);
            if !is_fired && !is_gone && !is_off {
                self.bad.push(format!("run lost: {id}"));
            }
        }
    }

    /// Checks that exactly what has failed for good is repeated: no retry follows, or a change cancelled it. What
    /// was being recorded or changed at the time of the request may be seen or not.
    pub(super) fn redriven(&mut self) {
        let mut bad = Vec::new();
        for Redrive { at, uid, nominal, is_accepted } in &self.run.redrives {
            let of_it = |it: &&Executed| {
                it.uid == *uid && it.nominal == Some(*nominal) && it.role == Role::Main
            };
            let mut all = self.run.executions.iter().filter(of_it).filter(|it| !it.is_success);
            let of = format!("{uid} at {}", Self::at(*nominal));
            let may_be_over =
                |it: &Executed| self.may_close(it) || self.is_cancelled(it, at + SKEW);
            if *is_accepted && !all.clone().any(|it| it.ended <= at + SKEW && may_be_over(it)) {
                bad.push(format!("repeated though it has not failed: {of}"));
            }
            if !is_accepted && all.any(|it| it.ended < at - SKEW && self.closes(it)) {
                bad.push(format!("not repeated though it has failed: {of}"));
            }
        }
        self.bad.extend(bad);
    }

    /// Whether the retries of an attempt were cancelled by an instant: its timing had ended, and the job does not
    /// go on with its occurrence.
    fn is_cancelled(&self, it: &Executed, by: i64) -> bool {
        let mut segments = self.segments.iter();
        let of_it = |of: &&Segment| of.uid == it.uid && of.generations.contains(&it.generation);
        segments.find(of_it).is_some_and(|of| {
            of.ends_at.is_some_and(|end| end <= by)
                && !it.nominal.is_some_and(|nominal| self.goes_on_at(of, nominal, by - SKEW))
        })
    }
}
