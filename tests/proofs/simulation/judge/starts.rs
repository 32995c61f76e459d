//! First attempts start in their windows, and no later than their jobs allow.

use minutehand_domain::attempt::Role;

use super::{EVER, Judge};
use crate::simulation::time::SECOND;

impl Judge<'_> {
    /// Reports first attempts that start outside of their window, or later than their job allows, and
    /// occurrences that were left out as too late and were not.
    pub(super) fn starts(&mut self) {
        let mut bad = Vec::new();
        for fire in self.run.fires.iter().filter(|it| it.role == Role::Main && it.number == 0) {
            let (Some(segment), Some(nominal), Some(due)) =
                (self.segment_of(fire), fire.nominal, fire.due)
            else {
                continue;
            };
            let at = Self::at(fire.at);
            let window = segment.spec.jitter.max(1);
            if !(nominal..nominal + window).contains(&due) {
                bad.push(format!("starts outside of its window: {} at {at}", fire.execution_id));
            }
            let max = segment.spec.lateness_max.unwrap_or(EVER);
            if fire.clock - due > max + SECOND {
                bad.push(format!("started too late: {} at {at}", fire.execution_id));
            }
        }
        for row in self.run.left_out.iter().filter(|row| row.reason == "tooLate") {
            let of_job = self.policies.get(&row.uid).into_iter().flatten();
            let lateness = of_job.filter_map(|(_, spec)| spec.lateness_max).min();
            if lateness.is_none_or(|max| row.at - row.first <= max) {
                bad.push(format!("not too late: {} of {}", Self::at(row.first), row.uid));
            }
        }
        self.bad.extend(bad);
    }
}
