//! Attempts that are open: one ending ends each, and it is the one that counts.

use minutehand_app::Reported;
use minutehand_domain::completion::EndedBy;

use super::{EVER, Judge, LAG, SKEW};
use crate::simulation::reports::{Opened, WITHIN};
use crate::simulation::time::SECOND;
use crate::simulation::world::Fire;

impl Judge<'_> {
    /// Until when the target of a call was at work, as far as the scheduler may know.
    pub(super) fn works_until(&self, fire: &Fire) -> i64 {
        let mut until = fire.at + fire.took;
        if let Some(life) = self.run.lives.iter().rfind(|life| life.from <= fire.at) {
            until = until.min(life.until);
        }
        // The target of a worker that died before may work, too; the scheduler does not know of that.
        let opened = self.run.opened.get(&fire.execution_id);
        if opened.is_some_and(|opened| opened.worker == fire.worker) {
            let ended = self.run.endings.get(&fire.execution_id).copied().unwrap_or(EVER);
            until = until.max(ended);
        }
        until
    }

    /// Reports attempts that were open and ended otherwise than was said, at another time, or never.
    pub(super) fn opens(&mut self) {
        let mut bad = Vec::new();
        for it in &self.run.executions {
            let id = &it.id;
            let kept = self.run.reports.iter().filter(|report| report.id == *id);
            let kept: Vec<_> =
                kept.filter(|report| report.answer == Some(Reported::Kept)).collect();
            let Some(by) = it.ended_by else {
                if !kept.is_empty() {
                    bad.push(format!("a report is kept and does not count: {id}"));
                }
                if self.run.opened.contains_key(id) {
                    bad.push(format!("open, and ended by nothing: {id}"));
                }
                continue;
            };
            if it.is_success != (by == EndedBy::Success) {
                bad.push(format!("ended otherwise than was said: {id}"));
            }
            let says = |is_success| if is_success { EndedBy::Success } else { EndedBy::Failure };
            if kept.iter().any(|report| says(report.is_success) != by) {
                bad.push(format!("a report is kept and another ending counts: {id}"));
            }
            let deadline = it.started_clock + WITHIN;
            if by == EndedBy::Deadline && it.ended_clock < deadline - SKEW {
                bad.push(format!("its time was not over: {id}"));
            }
            // Its answer may have been lost, and the same reported again.
            let sent = self.run.reports.iter();
            let said = sent.filter(|it| it.id == *id && says(it.is_success) == by);
            let first = said.map(|report| report.clock).min();
            let is_open = self.run.opened.contains_key(id);
            if is_open && by.is_report() && first.is_some_and(|at| at > deadline) {
                bad.push(format!("a report counts that came too late: {id}"));
            }
        }
        let recorded = |id: &str| self.run.executions.iter().any(|it| it.id == *id);
        for (id, Opened { at, .. }) in &self.run.opened {
            if at + WITHIN + LAG + 1_200 * SECOND < self.horizon && !recorded(id) {
                bad.push(format!("open for ever: {id} since {}", Self::at(*at)));
            }
        }
        self.bad.extend(bad);
    }
}
