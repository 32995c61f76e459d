//! No job makes up for more of an outage than its policy says.

use std::collections::BTreeSet;

use minutehand_domain::attempt::Role;

use super::clocks::Gap;
use super::spec::Spec;
use super::{BEATS, Judge, LAG, LATE};
use crate::simulation::play::Outage;
use crate::simulation::time::SECOND;

impl Judge<'_> {
    /// Reports jobs that make up for more than the last occurrence while no process of a machine ran.
    pub(super) fn flood_of_machine(&mut self) {
        let pairs = self.run.lives.windows(2);
        for gap in pairs.map(|pair| Gap::between(&pair[0], &pair[1])) {
            let range = self.alive_until(gap.from) + BEATS..gap.clock[1] - 5 * SECOND;
            for segment in &self.segments {
                let fires = self.run.fires.iter().filter(|it| it.uid == segment.uid);
                let late: BTreeSet<i64> = fires
                    .filter(|it| it.role == Role::Main && it.number == 0 && it.at >= gap.until)
                    .filter(|it| segment.generations.contains(&it.generation))
                    .filter(|it| !self.is_set_back(gap.until, it.at, gap.clock[1]))
                    .filter_map(|it| it.nominal.filter(|at| range.contains(at)))
                    .filter(|at| self.due_of(segment, *at).at == gap.until)
                    .collect();
                if late.len() > 1 {
                    let at = Self::at(gap.until);
                    self.bad.push(format!("flood: {} of {} at {at}", late.len(), segment.uid));
                }
            }
        }
    }

    /// Reports jobs that make up for more occurrences of an outage than their policy says.
    pub(super) fn flood(&mut self) {
        self.flood_of_machine();
        let Some(outage) = self.run.outage.filter(|it| it.is_known) else { return };
        let Outage { from, until, of_workers, .. } = outage;
        if of_workers && self.run.workers_since >= from {
            // An outage is known between two signs of life, and these workers have given none before.
            // So what was sent to them is late for no known reason, and runs.
            return;
        }
        for segment in &self.segments {
            let late: BTreeSet<i64> = self
                .run
                .fires
                .iter()
                .filter(|it| it.uid == segment.uid && it.role == Role::Main && it.number == 0)
                .filter(|it| segment.generations.contains(&it.generation) && it.at >= until)
                .filter_map(|it| it.nominal)
                .filter(|at| (from + LAG..until - LATE - 130 * SECOND).contains(at))
                .collect();
            let Spec { every, made_up, made_up_within, .. } = segment.spec;
            let is_old = |at: &&i64| until - **at > made_up_within + 130 * SECOND;
            let old = late.iter().filter(is_old).count();
            let is_many = i64::try_from(late.len()).unwrap() > made_up || old > 0;
            if is_many && every.is_some() {
                self.bad.push(format!("flood: {} of {}", late.len(), segment.uid));
            }
        }
    }
}
