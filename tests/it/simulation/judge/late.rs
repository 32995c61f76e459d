//! What is due starts in time.

use std::collections::BTreeMap;

use minutehand_domain::attempt::Role;

use super::spec::Segment;
use super::{Judge, Key};

impl Judge<'_> {
    /// Reports first attempts that are late on one machine, although its process ran and nothing else was
    /// in the way.
    pub(super) fn late(&mut self) {
        if self.run.lives.is_empty() {
            return;
        }
        let mut first: BTreeMap<Key, i64> = BTreeMap::new();
        for it in &self.run.fires {
            if let (Some(nominal), Role::Main, 0) = (it.nominal, it.role, it.number) {
                let key = (it.uid.clone(), it.generation, nominal, it.role, it.number);
                first.entry(key).or_insert(it.at);
            }
        }
        for ((uid, generation, nominal, ..), at) in first {
            let mut segments = self.segments.iter();
            let of_job = |it: &&Segment| it.uid == uid && it.generations.contains(&generation);
            let Some(segment) = segments.find(of_job) else { continue };
            let goes_on = self.going_on(segment, nominal).map(|it| it.begins_at);
            let since = goes_on.filter(|since| *since <= at).max().unwrap_or(0);
            let late = self.worked(self.last_due(segment, nominal, at).at.max(since), at);
            if late > self.lag && !self.was_off(segment, nominal) {
                let late = Self::at(late);
                self.bad.push(format!("late: {} of {uid} by {late}", Self::at(nominal)));
            }
        }
    }
}
