//! What is due starts in time.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::clocks::Due;
use super::run::Executed;
use super::spec::Segment;
use super::ways::Way;
use super::{Judge, LAG, LONG};
use crate::simulation::play::Scenario;
use crate::simulation::time::SECOND;
use crate::simulation::world::Fire;

impl Judge<'_> {
    /// Reports attempts that start late although nothing was in their way, and first attempts that are late
    /// on one machine for as long as its process ran.
    pub(super) fn late(&mut self) {
        let mut first: BTreeMap<&str, &Fire> = BTreeMap::new();
        for fire in &self.run.fires {
            first.entry(fire.execution_id.as_str()).or_insert(fire);
        }
        let mut bad = Vec::new();
        for fire in first.into_values() {
            let Some(segment) = self.segment_of(fire) else { continue };
            let Some(nominal) = fire.nominal else { continue };
            let is_machine = !self.run.lives.is_empty();
            let is_first = fire.role == Role::Main && fire.number == 0;
            let due = match fire.due {
                Some(clock) if !is_machine => Due { clock, at: clock },
                _ if is_first => self.last_due(segment, nominal, fire.at),
                _ => continue,
            };
            if is_first && self.is_lost_for_good(segment, nominal) || self.is_undecided(fire) {
                continue;
            }
            if is_machine && self.was_off(segment, nominal) {
                continue;
            }
            if let Some(again) = self.asked_for_again(segment, fire, due) {
                if self.had_time_again(segment, &self.way_of(fire, segment, due), again, fire.at) {
                    bad.push(format!("late: {} after its job went on", fire.execution_id));
                }
                continue;
            }
            let ran = self.worked(due.at, fire.at);
            let way = self.way_of(fire, segment, due);
            // A retry that a worker drops because the collection is off may still run, with a message that comes
            // back when it is on.
            if !is_first && self.is_off_for(&way, &segment.collection_uid) {
                continue;
            }
            if self.could_start(&way, fire.at) || is_machine && ran > LAG {
                let late = Self::at(fire.at - due.at);
                bad.push(format!("late: {} by {late}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }

    /// The way of an attempt to its call.
    fn way_of<'b>(&self, fire: &Fire, segment: &'b Segment, due: Due) -> Way<'b> {
        let is_first = fire.role == Role::Main && fire.number == 0;
        let is_long =
            self.before(fire).is_some_and(|it| due.clock - it.ended_clock > LONG - SECOND);
        let planned_since = (is_first || is_long).then_some(segment.begins_at);
        Way { planned_since, ..Way::of(&segment.uid, &fire.execution_id, due) }
    }
    /// The attempt of which one is the retry.
    fn before(&self, fire: &Fire) -> Option<&Executed> {
        let (occurrence, _) = fire.execution_id.rsplit_once('.').unwrap_or_default();
        let mut all = self.run.executions.iter().filter(|it| it.role == fire.role);
        all.find(|it| it.number + 1 == fire.number && it.id.starts_with(occurrence))
    }

    /// Whether an attempt follows a record of an earlier version, which does not say what follows: the check
    /// whether the job has finished may send it much later.
    fn is_undecided(&self, fire: &Fire) -> bool {
        self.run.scenario == Scenario::Upgrade
            && self.before(fire).is_some_and(|before| !before.is_decided)
    }
}
