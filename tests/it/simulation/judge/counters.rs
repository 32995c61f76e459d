//! The counters of jobs.

use minutehand_domain::attempt::Role;

use super::Judge;
use super::run::Left;
use crate::simulation::play::Scenario;
use crate::simulation::time::SECOND;

impl Judge<'_> {
    pub(super) fn counters(&mut self) {
        for Left { uid, timer, .. } in &self.run.jobs {
            let of_job = self.run.executions.iter().filter(|it| it.uid == *uid);
            let of_job: Vec<_> = of_job.filter(|it| it.role == Role::Main).collect();
            if of_job.iter().any(|it| it.ended > self.run.ended_at - 8 * SECOND) {
                continue;
            }
            // The memory of an earlier version takes what ended long ago for counted.
            let forgets = self.run.scenario == Scenario::Upgrade;
            let of_job: Vec<_> =
                of_job.into_iter().filter(|it| !(forgets && it.is_forgotten)).collect();
            let failures = of_job.iter().filter(|it| !it.is_success).count();
            let want = [of_job.len(), failures].map(|n| u64::try_from(n).unwrap());
            let have = [timer.counters.executions, timer.counters.failures];
            if have != want {
                self.bad.push(format!("counters: {uid} has {have:?} and not {want:?}"));
            }
        }
    }
}
