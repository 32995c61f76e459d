//! Jobs pause after failures in a row.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::spec::Segment;
use super::{EVER, Judge, SKEW};

impl Judge<'_> {
    /// The rows of occurrences that failed for good one after the other: when the last attempt of each
    /// was recorded. Other occurrences of the timing with attempts end a row.
    pub(super) fn failed_rows(&self, segment: &Segment, generation: u64) -> Vec<Vec<(i64, i64)>> {
        let mut ended: BTreeMap<i64, Option<i64>> = BTreeMap::new();
        for ((uid, of, nominal, role, number), it) in &self.executed {
            if *uid != segment.uid || *of != generation || *role != Role::Main {
                continue;
            }
            let next = (uid.clone(), *of, *nominal, *role, number + 1);
            let is_last = !it.is_success && self.may_close(it) && !self.has(&next);
            let ended = ended.entry(*nominal).or_default();
            if is_last {
                *ended = Some(it.ended);
            }
        }
        let ended: Vec<_> = ended.into_iter().collect();
        let rows = ended.split(|(_, at)| at.is_none());
        rows.map(|row| row.iter().filter_map(|(nominal, at)| Some((*nominal, (*at)?))).collect())
            .collect()
    }

    /// Checks that jobs pause after as many failures in a row as they say, and not before; and that the
    /// error actions of these failures run.
    pub(super) fn pauses(&mut self) {
        let mut bad = Vec::new();
        for segment in &self.segments {
            let Some(after) = segment.spec.pauses_after else { continue };
            let after = usize::try_from(after).unwrap();
            let obstacles = &self.run.obstacles;
            let of_job = |id: &String| id.split('.').next() == Some(segment.uid.as_str());
            let may_lose = obstacles.dead.iter().chain(obstacles.lost.keys()).any(of_job);
            let rows: Vec<_> =
                segment.generations.iter().flat_map(|it| self.failed_rows(segment, *it)).collect();
            let (Some(end), Some(paused_until)) = (segment.paused_at, segment.paused_until) else {
                let goes_on = |at| {
                    let able_by = self.workers_able_from(at) + self.lag;
                    segment.ends_at.is_none_or(|end| able_by < end)
                        && segment.occurrences(EVER).any(|(it, _)| it > able_by)
                };
                let last = |row: &Vec<(i64, i64)>| row.iter().map(|(_, at)| *at).max();
                let long = rows.iter().filter(|row| row.len() >= after).filter_map(last);
                let missed =
                    long.into_iter().find(|at| *at < self.horizon - self.lag && goes_on(*at));
                if let Some(at) = missed.filter(|_| !may_lose) {
                    bad.push(format!("not paused: {} after {}", segment.uid, Self::at(at)));
                }
                continue;
            };
            let is_caused = |row: &Vec<(i64, i64)>| {
                row.iter().filter(|(_, at)| *at <= end + SKEW).count() >= after
            };
            if !rows.iter().any(is_caused) {
                bad.push(format!("paused without failures: {} at {}", segment.uid, Self::at(end)));
            }
            // A worker may have died after it paused the job. What it left begun goes on when workers are back,
            // unless the job was changed before that.
            let able_from = self.workers_able_from(end);
            let is_quiet = paused_until > able_from + self.lag && end < self.horizon - self.lag;
            let gone_at = self.gone.get(&segment.uid);
            if may_lose
                || !is_quiet
                || gone_at.is_some_and(|gone| *gone < end + self.lag)
                || self.is_off(&segment.collection_uid, end, self.lag, self.lag)
            {
                continue;
            }
            for (nominal, at) in rows.iter().flatten().filter(|(_, at)| *at <= end + SKEW) {
                let is_told = segment.generations.iter().any(|generation| {
                    self.has(&(segment.uid.clone(), *generation, *nominal, Role::Error, 0))
                });
                // One with a retry under a policy of then may not have failed for good.
                let is_closed = self.run.executions.iter().any(|it| {
                    it.uid == segment.uid
                        && (it.nominal, it.ended) == (Some(*nominal), *at)
                        && self.closes(it)
                });
                let is_owed = segment.spec.error_action.is_some() && is_closed;
                if is_owed && !is_told && *at + self.lag > end {
                    let at = Self::at(*nominal);
                    bad.push(format!("error action lost before a pause: {at} of {}", segment.uid));
                }
            }
        }
        self.bad.extend(bad);
    }
}
