//! Requested runs happen.

use minutehand_domain::attempt::Role;

use super::clocks::Due;
use super::run::Executed;
use super::ways::Way;
use super::{Judge, SKEW};
use crate::simulation::world::Redrive;

impl Judge<'_> {
    /// Reports requested runs that never happened.
    pub(super) fn runs(&mut self) {
        for (at, uid, id) in &self.run.runs {
            let Some(job) = self.run.jobs.iter().find(|job| job.uid == *uid) else { continue };
            let is_fired = self.run.fires.iter().any(|fire| fire.execution_id == *id);
            // Which runs a lost queue held is not known to the store.
            let is_lost = self.run.queue_losses.iter().any(|loss| at <= loss);
            let due = Due { clock: *at + self.skew_at(*at), at: *at };
            let way = Way::of(uid, id, due);
            let is_gone = self.is_lost(id) || self.is_dead(&way);
            let is_off = self.is_off_for(&way, &job.collection_uid)
                || self.is_before_on(&job.collection_uid, due);
            if !is_fired && !is_lost && !is_gone && !is_off {
                self.bad.push(format!("run lost: {id}"));
            }
        }
    }

    /// Checks that exactly what has failed for good is repeated. What was being recorded at the time of the
    /// request may be seen or not.
    pub(super) fn redriven(&mut self) {
        let mut bad = Vec::new();
        for Redrive { at, uid, nominal, is_accepted } in &self.run.redrives {
            let of_it = |it: &&Executed| {
                it.uid == *uid && it.nominal == Some(*nominal) && it.role == Role::Main
            };
            let mut all = self.run.executions.iter().filter(of_it).filter(|it| !it.is_success);
            let of = format!("{uid} at {}", Self::at(*nominal));
            if *is_accepted && !all.clone().any(|it| it.ended <= at + SKEW && self.may_close(it)) {
                bad.push(format!("repeated though it has not failed: {of}"));
            }
            if !is_accepted && all.any(|it| it.ended < at - SKEW && self.closes(it)) {
                bad.push(format!("not repeated though it has failed: {of}"));
            }
        }
        self.bad.extend(bad);
    }
}
