//! Requested runs happen.

use super::Judge;
use super::clocks::Due;
use crate::simulation::play::Scenario;

impl Judge<'_> {
    /// Reports requested runs that never happened.
    pub(super) fn runs(&mut self) {
        if self.run.scenario == Scenario::Lossy {
            return;
        }
        for (at, uid, id) in &self.run.runs {
            let Some(job) = self.run.jobs.iter().find(|job| job.uid == *uid) else { continue };
            let is_fired = self.run.fires.iter().any(|fire| fire.execution_id == *id);
            // Which runs a lost queue held is not known to the store.
            let is_lost = self.run.queue_losses.iter().any(|loss| at <= loss);
            let due = Due { clock: *at + self.skew_at(*at), at: *at };
            let is_off = self.is_off(&job.collection_uid, *at, self.lag, self.lag)
                || self.is_before_on(&job.collection_uid, due);
            if !is_fired && !is_lost && !is_off {
                self.bad.push(format!("run lost: {id}"));
            }
        }
    }
}
