//! The counters of jobs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use minutehand_domain::attempt::Role;
use minutehand_ports::store::TimerRecord;

use super::clocks::Due;
use super::run::{Executed, Left, Row};
use super::ways::Way;
use super::{EVER, Judge};
use crate::simulation::play::Scenario;
use crate::simulation::time::{SECOND, micros};

/// The longest time between two occurrences of a job that repeats in minutes.
const LAST_WITHIN: i64 = 900 * SECOND;

impl Judge<'_> {
    pub(super) fn counters(&mut self) {
        for Left { uid, timer, .. } in &self.run.jobs {
            let of_job = self.run.executions.iter().filter(|it| it.uid == *uid);
            let of_job: Vec<_> = of_job.filter(|it| it.role == Role::Main).collect();
            if of_job.iter().any(|it| it.ended > self.run.ended_at - 8 * SECOND) {
                continue;
            }
            // The memory of an earlier version takes what ended long ago for counted.
            let forgets = self.run.scenario == Scenario::Upgrade;
            let of_job: Vec<_> =
                of_job.into_iter().filter(|it| !(forgets && it.is_forgotten)).collect();
            self.marks(uid, timer, &of_job);
            let counts = |of: &[&Executed]| {
                let failures = of.iter().filter(|it| !it.is_success).count();
                [of.len(), failures].map(|n| u64::try_from(n).unwrap())
            };
            let want = counts(&of_job);
            // The store failed when it was to be counted, and the message that was sent to do that was lost.
            let lost: Vec<_> = of_job.iter().copied().filter(|it| self.is_lost(&it.id)).collect();
            let lost = counts(&lost);
            let have = [timer.counters.executions, timer.counters.failures];
            let is_right = |of: usize| (want[of] - lost[of]..=want[of]).contains(&have[of]);
            if !is_right(0) || !is_right(1) {
                self.bad.push(format!("counters: {uid} has {have:?} and not {want:?}"));
            }
        }
    }

    /// Checks the number of occurrences that failed for good and of those that were skipped, and the start of
    /// the latest attempt.
    fn marks(&mut self, uid: &str, timer: &TimerRecord, of_job: &[&Executed]) {
        let mut bad = Vec::new();
        let is_upgrade = self.run.scenario == Scenario::Upgrade;
        let latest = of_job.iter().map(|it| it.started_clock).max();
        let told = timer.counters.last_execution_at.map(micros);
        if told != latest && !is_upgrade {
            bad.push(format!("last execution: {uid} says {told:?} and not {latest:?}"));
        }
        let mut last: BTreeMap<&str, &Executed> = BTreeMap::new();
        for it in of_job {
            let (occurrence, _) = it.id.rsplit_once('.').unwrap();
            let last = last.entry(occurrence).or_insert(it);
            if it.number > last.number {
                *last = it;
            }
        }
        let failed: Vec<_> = last.into_values().filter(|it| !it.is_success).collect();
        let count = |which: &dyn Fn(&Executed) -> bool| {
            u64::try_from(failed.iter().filter(|it| which(it)).count()).unwrap()
        };
        let range = count(&|it| self.closes(it))..=count(&|it| self.may_close(it));
        if !range.contains(&timer.counters.faulted) && !is_upgrade {
            let have = timer.counters.faulted;
            bad.push(format!("faulted: {uid} has {have} and not {range:?}"));
        }
        let range = self.skipped(uid);
        if !range.contains(&timer.counters.skipped) {
            let have = timer.counters.skipped;
            bad.push(format!("skipped: {uid} has {have} and not {range:?}"));
        }
        self.bad.extend(bad);
    }

    /// Whether the clock of a machine was set back behind an occurrence, or so shortly after it that it is the
    /// last one of the outage that ends there. Then it may have run before or after the time that a row takes for
    /// an outage.
    fn is_passed_twice(&self, nominal: i64) -> bool {
        let mut lives = self.run.lives.iter();
        lives.any(|it| it.until.saturating_add(it.skew) > nominal)
            && lives.any(|it| it.from + it.skew < nominal + LAST_WITHIN)
    }

    /// Checks that the history names nothing as left out in an outage that ran.
    pub(super) fn left_out(&mut self) {
        let mut bad = Vec::new();
        for row in self.run.left_out.iter().filter(|row| row.reason == "outage") {
            let of_row = |it: &&Executed| {
                it.uid == row.uid
                    && it.generation == row.generation
                    && it.role == Role::Main
                    && it.nominal.is_some_and(|at| {
                        let (occurrence, _) = it.id.rsplit_once('.').unwrap();
                        (row.first..=row.last).contains(&at)
                            && !self.is_passed_twice(at)
                            && !self.was_sent_again(&format!("{occurrence}.m0"), at)
                    })
            };
            let ran = self.run.executions.iter().filter(of_row);
            bad.extend(ran.map(|it| format!("left out, and made: {}", it.id)));
        }
        self.bad.extend(bad);
    }

    /// How many occurrences of a job may be counted as skipped: those that the history says were left out, and
    /// those that fell due, or were under way, while its collection was off.
    fn skipped(&self, uid: &str) -> RangeInclusive<u64> {
        let (mut least, mut off) = (0, 0);
        let job = self.run.jobs.iter().find(|job| job.uid == uid);
        for (at, _, id) in self.run.runs.iter().filter(|(_, of, _)| of == uid) {
            let way = Way::of(uid, id, Due { clock: *at + self.skew_at(*at), at: *at });
            off += u64::from(job.is_some_and(|job| {
                self.is_off_for(&way, &job.collection_uid)
                    || self.is_off_after_call(&way, &job.collection_uid)
            }));
        }
        for segment in self.segments.iter().filter(|it| it.uid == uid) {
            let until = self.shown_until(segment.ends_at.unwrap_or(EVER).min(self.run.ended_at));
            // The clock of a worker may show a little more.
            let clocks = if self.run.lives.is_empty() { self.clocks() } else { 0 };
            for (nominal, _) in segment.occurrences(until + clocks) {
                let due = self.last_due(segment, nominal, until);
                let way = Way::first(segment, nominal, due);
                let ran = segment.generations.iter().any(|generation| {
                    self.has(&(uid.to_owned(), *generation, nominal, Role::Main, 0))
                });
                let rows: Vec<&Row> = self
                    .run
                    .left_out
                    .iter()
                    .filter(|row| {
                        row.uid == uid
                            && segment.generations.contains(&row.generation)
                            && (row.first..=row.last).contains(&nominal)
                    })
                    .collect();
                if let [row, others @ ..] = rows.as_slice() {
                    // A change cancelled its message before it was counted.
                    let is_cut = segment.ends_at.is_some_and(|end| !self.could_start(&way, end));
                    let may_be_uncounted = ran || is_cut;
                    // A sweeper that dies after it sent an occurrence leaves it out, too. Both may write one row.
                    let is_twice = self.run.lives.is_empty()
                        && others.is_empty()
                        && row.reason == "outage"
                        && segment.occurrence_ids(nominal).iter().any(|occurrence| {
                            self.was_sent_unnoted(uid, &format!("{occurrence}.m0"))
                        });
                    off += u64::try_from(others.len()).unwrap()
                        + u64::from(is_twice)
                        + u64::from(may_be_uncounted);
                    least += u64::from(!may_be_uncounted);
                } else if self.was_off_while_it_went_on(segment, nominal)
                    || self.dues(segment, nominal, until).into_iter().any(|due| {
                        let way = Way::first(segment, nominal, due);
                        self.is_off_for(&way, &segment.collection_uid)
                            || self.is_off_after_call(&way, &segment.collection_uid)
                            || self.is_before_on(&segment.collection_uid, due)
                    })
                {
                    off += 1;
                }
            }
        }
        least..=least + off
    }
}
