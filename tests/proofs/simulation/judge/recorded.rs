//! History holds each attempt once and never changes it.

use std::collections::BTreeMap;

use super::clocks::Due;
use super::ways::Way;
use super::{EVER, Judge};

impl Judge<'_> {
    /// Checks that history holds each attempt once and never changes it.
    pub(super) fn recorded(&mut self) {
        let mut ends: BTreeMap<&str, i64> = BTreeMap::new();
        for (id, ended_at, _) in &self.run.records {
            if ends.insert(id, *ended_at).is_some_and(|before| before != *ended_at) {
                self.bad.push(format!("recorded twice: {id}"));
            }
        }
        let mut bad = Vec::new();
        // An attempt whose workers die is repeated until it is recorded, or may not start any more.
        let last: BTreeMap<&str, i64> =
            self.run.fires.iter().map(|fire| (fire.execution_id.as_str(), fire.at)).collect();
        for fire in self.run.fires.iter().filter(|fire| fire.at < self.horizon) {
            let last = last.get(fire.execution_id.as_str()).copied().unwrap_or(fire.at);
            let again = fire.due.map_or(last, |due| self.made_again_at(due, last));
            let segment = self.segment_of(fire);
            // A later look may find that the attempt must not start any more.
            let is_ended = segment.is_some_and(|it| {
                let overtaken = fire.nominal.is_some_and(|nominal| {
                    let next = it.occurrences(EVER).find(|(at, _)| *at > nominal);
                    self.is_overtaken(it, nominal, next.map(|(at, _)| at))
                        || self.is_recorded(&it.uid, nominal)
                });
                it.ends_at.is_some()
                    || overtaken
                    // By a clock that was set back it is due again.
                    || fire.nominal.is_some_and(|nominal| {
                        let due = self.last_due(it, nominal, EVER).at;
                        self.is_off(&it.collection_uid, due, self.lag, self.lag)
                    })
            });
            // A run of a disabled job has no segment.
            let job = self.run.jobs.iter().find(|job| job.uid == fire.uid);
            let is_off = job.is_some_and(|job| {
                let of = &job.collection_uid;
                // By a clock that was set back, a retry may be due before its collection was switched on.
                let is_before_on =
                    fire.due.is_some_and(|clock| self.is_before_on(of, Due { clock, at: again }));
                let due = Due { clock: fire.due.unwrap_or(fire.clock), at: fire.at };
                let way = Way::of(&fire.uid, &fire.execution_id, due);
                self.is_off(of, again, self.lag, self.lag)
                    || is_before_on
                    || self.is_off_after_call(&way, of)
            });
            let is_dead = self.run.obstacles.dead.contains(&fire.execution_id);
            let is_excused = is_ended || is_dead || is_off || self.gone.contains_key(&fire.uid);
            if !is_excused && !ends.contains_key(fire.execution_id.as_str()) {
                bad.push(format!("never recorded: {}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }
}
