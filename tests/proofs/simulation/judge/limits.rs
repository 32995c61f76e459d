//! The limits of collections.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use minutehand_domain::limits::{CollectionLimits, Concurrent, PerSecond};

use super::{DECIDED_WITHIN, Judge, LEASE, SKEW, STARTS_WITHIN};
use crate::simulation::memory::{Change, Changed};
use crate::simulation::time::SECOND;
use crate::simulation::world::Fire;

impl<'a> Judge<'a> {
    /// Reports starts that are closer to each other than the limit of their collection allows. A start is as
    /// late as its slot is kept, by the clock of its worker.
    pub(super) fn too_many(&mut self) {
        let per_second = |limits: CollectionLimits| limits.per_second.map(PerSecond::get);
        let mut bad = Vec::new();
        for (collection, mut fires) in self.fires_of_collections() {
            fires.sort_by_key(|fire| fire.clock);
            for (n, first) in fires.iter().enumerate() {
                let since = first.clock - DECIDED_WITHIN;
                let limit = self.limit(collection, since..=first.clock + SKEW, per_second);
                let Some(limit) = limit else { continue };
                // Slots are given out one after the other, so a burst shows in a few starts.
                for (more, last) in (2_i64..).zip(fires.iter().skip(n + 1).take(20)) {
                    let until = last.clock + SKEW;
                    if self.limit(collection, since..=until, per_second) != Some(limit) {
                        break;
                    }
                    let slots = (last.clock - first.clock + STARTS_WITHIN) * i64::from(limit);
                    if more > slots / SECOND + 1 {
                        let at = Self::at(last.at);
                        bad.push(format!("too many starts: {} at {at}", last.execution_id));
                        break;
                    }
                }
            }
        }
        self.bad.extend(bad);
    }

    /// Reports attempts of a collection of which more run at the same time than its limit allows. Those
    /// that began before the limit count for none.
    pub(super) fn too_many_at_once(&mut self) {
        let mut bad = Vec::new();
        for (collection, fires) in self.fires_of_collections() {
            let mut running: Vec<i64> = Vec::new();
            for fire in fires {
                running.retain(|until| *until > fire.at);
                running.push(self.works_until(fire));
                let limit = self.limit(collection, fire.at - LEASE..=fire.at, |limits| {
                    limits.concurrent.map(Concurrent::get)
                });
                if limit.is_some_and(|limit| running.len() > limit as usize) {
                    let at = Self::at(fire.at);
                    bad.push(format!("too many at once: {} at {at}", fire.execution_id));
                }
            }
        }
        self.bad.extend(bad);
    }

    /// What the jobs of each collection did, in the order in which it began.
    pub(super) fn fires_of_collections(&self) -> BTreeMap<&'a str, Vec<&'a Fire>> {
        let of_job = |changed: &'a Changed| match &changed.what {
            Change::Job { uid, collection_uid, .. } => {
                Some((uid.as_str(), collection_uid.as_str()))
            }
            _ => None,
        };
        let of_jobs: BTreeMap<_, _> = self.run.changes.iter().filter_map(of_job).collect();
        let mut fires: BTreeMap<&str, Vec<&Fire>> = BTreeMap::new();
        for fire in &self.run.fires {
            if let Some(of) = of_jobs.get(fire.uid.as_str()) {
                fires.entry(of).or_default().push(fire);
            }
        }
        fires
    }

    /// A limit that a collection had for all of a time.
    pub(super) fn limit(
        &self,
        collection: &str,
        time: RangeInclusive<i64>,
        which: impl Fn(CollectionLimits) -> Option<u32>,
    ) -> Option<u32> {
        let of_collection = self.limits.get(collection).map(Vec::as_slice).unwrap_or_default();
        let first = of_collection.iter().rposition(|(at, _)| at <= time.start())?;
        let held = of_collection.iter().skip(first).filter(|(at, _)| at <= time.end());
        let mut held = held.map(|(_, limits)| which(*limits));
        let limit = held.next()?;
        held.all(|other| other == limit).then_some(limit).flatten()
    }
}
