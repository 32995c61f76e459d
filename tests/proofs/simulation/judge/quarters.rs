//! The counts of quarters of an hour are those of history.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::attempt::Role;

use super::run::Counts;
use super::{Judge, SECOND};
use crate::simulation::play::Scenario;

impl Judge<'_> {
    /// Compares what quarters count with the attempts and the counters. An occurrence of a job that is deleted
    /// may have been counted before that, or not; versions before these counts make none, and what is lost with
    /// its message is counted by nobody.
    pub(super) fn quarters(&mut self) {
        if self.run.loses() || matches!(self.run.scenario, Scenario::Upgrade | Scenario::Harsh) {
            return;
        }
        let there: BTreeSet<&str> = self.run.jobs.iter().map(|job| job.uid.as_str()).collect();
        let of_job: BTreeMap<&str, &str> =
            self.segments.iter().map(|it| (it.uid.as_str(), it.collection_uid.as_str())).collect();
        let (mut least, mut most) = (BTreeMap::<_, Counts>::new(), BTreeMap::<_, Counts>::new());
        for it in self.run.executions.iter().filter(|it| it.role == Role::Main) {
            let Some(collection) = of_job.get(it.uid.as_str()) else { return };
            let is_sure =
                there.contains(it.uid.as_str()) && it.ended < self.run.ended_at - 8 * SECOND;
            let key = ((*collection).to_owned(), it.quarter);
            let first = u64::from(it.number == 0);
            let add = |to: &mut BTreeMap<(String, i64), Counts>, closes: bool| {
                let counts = to.entry(key.clone()).or_default();
                counts.ended += u64::from(it.is_success);
                counts.failed += u64::from(!it.is_success && closes);
                counts.started += first;
            };
            add(&mut most, self.may_close(it));
            if is_sure {
                add(&mut least, self.closes(it));
            }
        }
        let keys: BTreeSet<_> = most.keys().chain(self.run.quarters.keys()).cloned().collect();
        let mut bad = Vec::new();
        for key in keys {
            let of = |map: &BTreeMap<_, Counts>| map.get(&key).copied().unwrap_or_default();
            let (have, least, most) = (of(&self.run.quarters), of(&least), of(&most));
            let is_right =
                |count: fn(&Counts) -> u64| (count(&least)..=count(&most)).contains(&count(&have));
            if !is_right(|it| it.ended) || !is_right(|it| it.failed) || !is_right(|it| it.started) {
                let (of, at) = (&key.0, Self::at(key.1));
                bad.push(format!("quarter: {of} at {at} has {have:?}, not {least:?} to {most:?}"));
            }
        }
        let mut skipped: BTreeMap<&str, u64> = BTreeMap::new();
        for ((collection, _), counts) in &self.run.quarters {
            *skipped.entry(collection).or_default() += counts.skipped;
        }
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for job in &self.run.jobs {
            *counted.entry(&job.collection_uid).or_default() += job.timer.counters.skipped;
        }
        for (collection, counted) in counted {
            let have = skipped.get(collection).copied().unwrap_or_default();
            let is_whole =
                !self.gone.keys().any(|uid| of_job.get(uid.as_str()) == Some(&collection));
            if have < counted || is_whole && have > counted {
                bad.push(format!(
                    "quarters: {collection} has {have} skipped, and its jobs {counted}"
                ));
            }
        }
        self.bad.extend(bad);
    }
}
