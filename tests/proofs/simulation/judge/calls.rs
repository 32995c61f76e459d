//! No call is early, doubled without an excuse, of an old timing, or extra.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::{Judge, TOLERANCE};
use crate::simulation::world::Fire;

impl Judge<'_> {
    pub(super) fn early(&mut self) {
        for fire in &self.run.fires {
            if fire.due.is_some_and(|due| fire.clock < due) {
                self.bad.push(format!("early: {} at {}", fire.execution_id, Self::at(fire.at)));
            }
        }
    }

    pub(super) fn doubled(&mut self) {
        let mut before: BTreeMap<&str, &Fire> = BTreeMap::new();
        for fire in &self.run.fires {
            if let Some(first) = before.insert(&fire.execution_id, fire)
                && !first.is_unrecorded
            {
                self.bad.push(format!("doubled: {} at {}", fire.execution_id, Self::at(fire.at)));
            }
        }
    }

    pub(super) fn stale(&mut self) {
        let mut bad = Vec::new();
        for fire in &self.run.fires {
            if self.gone.get(&fire.uid).is_some_and(|gone| fire.at > gone + TOLERANCE) {
                let at = Self::at(fire.at);
                bad.push(format!("after its job was deleted: {} at {at}", fire.execution_id));
            }
            let Some(segment) = self.segment_of(fire) else {
                if fire.nominal.is_some() {
                    bad.push(format!("of no timing: {}", fire.execution_id));
                }
                continue;
            };
            let at = Self::at(fire.at);
            let ends_at = match segment.paused_until {
                Some(until) if fire.role != Role::Main => Some(until),
                _ => segment.ends_at,
            };
            let goes_on = |nominal| self.goes_on_at(segment, nominal, fire.at);
            let is_late = ends_at.is_some_and(|end| fire.at > end + TOLERANCE)
                && !fire.nominal.is_some_and(goes_on);
            if fire.nominal.is_some() && is_late {
                bad.push(format!("stale: {} at {at}", fire.execution_id));
            }
            let offs = self.offs.get(&segment.collection_uid).into_iter().flatten();
            if offs.into_iter().any(|(from, until)| from + TOLERANCE < fire.at && fire.at < *until)
            {
                bad.push(format!("while its collection is off: {} at {at}", fire.execution_id));
            }
            if let Some(nominal) = fire.nominal
                && segment.occurrences(nominal + 1).last().is_none_or(|(last, _)| last != nominal)
            {
                bad.push(format!("extra: {} at {at}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }
}
