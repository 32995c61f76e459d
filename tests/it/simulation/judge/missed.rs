//! Every occurrence that is owed runs.

use minutehand_domain::attempt::{Attempt, Occurrence, Role};

use super::clocks::{Due, Gap};
use super::run::Row;
use super::spec::{Segment, Spec};
use super::{BEAT, EVER, Judge, KNOWN_AFTER, LAG};
use crate::simulation::play::{Outage, Scenario};
use crate::simulation::time::{SECOND, instant};

impl Judge<'_> {
    pub(super) fn missed(&mut self) {
        let mut bad = Vec::new();
        for segment in &self.segments {
            let until = self.horizon.min(segment.ends_at.unwrap_or(EVER));
            for (nominal, next) in segment.occurrences(self.shown_until(until)) {
                let due = self.last_due(segment, nominal, until);
                if due.at >= until
                    || segment
                        .ends_at
                        .is_some_and(|at| self.worked(self.able_from(due.at), at) < self.lag)
                    || self.is_off(&segment.collection_uid, due.at, self.lag, 6 * SECOND)
                    || self.was_off(segment, nominal)
                    || self.is_before_on(&segment.collection_uid, due)
                    || self.is_lost_for_good(segment, nominal)
                {
                    continue;
                }
                let has = segment.generations.iter().any(|generation| {
                    let key = (segment.uid.clone(), *generation, nominal, Role::Main, 0);
                    self.fired.contains(&key) || self.executed.contains_key(&key)
                });
                let is_too_late = segment.spec.lateness_max.is_some()
                    && self.row_of(&segment.uid, nominal, "tooLate").is_some();
                // Workers that had nothing to do gave no signs of life. What ends their silence, and is held
                // up then, is left out by a job that makes up for nothing.
                let ends_silence = segment.spec.made_up == 0
                    && self.row_of(&segment.uid, nominal, "outage").is_some();
                let is_overlapped = self.row_of(&segment.uid, nominal, "overlap").is_some();
                let is_excused = is_too_late || ends_silence || is_overlapped;
                if has || self.is_idle(segment, nominal) || is_excused {
                    continue;
                }
                if self.is_overtaken(segment, nominal, next) {
                    if self.run.dead_letters == 0 && !self.is_recorded(&segment.uid, nominal) {
                        let at = Self::at(nominal);
                        bad.push(format!("left out without a word: {at} of {}", segment.uid));
                    }
                } else {
                    bad.push(format!("missed: {} of {}", Self::at(nominal), segment.uid));
                }
            }
        }
        self.bad.extend(bad);
    }

    /// Whether an occurrence was left out, and its lost message may have been all that workers had to do
    /// for ten minutes. Without a sign of life, that is an outage to them.
    pub(super) fn is_idle(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.scenario == Scenario::Lossy
            && self.losses(segment, nominal) > 0
            && self.is_recorded(&segment.uid, nominal)
    }

    /// Whether it is recorded that an occurrence was left out.
    pub(super) fn is_recorded(&self, uid: &str, nominal: i64) -> bool {
        let mut rows = self.run.left_out.iter().filter(|row| row.uid == uid);
        rows.any(|row| (row.first..=row.last).contains(&nominal))
    }

    /// The row that says that an occurrence was left out for a reason.
    pub(super) fn row_of(&self, uid: &str, nominal: i64, reason: &str) -> Option<&Row> {
        let mut rows = self.run.left_out.iter().filter(|row| row.uid == uid);
        rows.find(|row| (row.first..=row.last).contains(&nominal) && row.reason == reason)
    }

    /// Whether an outage ended so late that the occurrence may be left out.
    pub(super) fn is_overtaken(&self, segment: &Segment, nominal: i64, next: Option<i64>) -> bool {
        let dues = self.dues(segment, nominal, EVER);
        let dues_of_next = next.map(|next| self.dues(segment, next, EVER)).unwrap_or_default();
        let is_in = |due: &Due, gap: &Gap| {
            let until = gap.until + BEAT;
            gap.from - BEAT <= due.at
                && dues_of_next.iter().any(|next| due.at <= next.at && next.at <= until)
        };
        if self.gaps().iter().any(|gap| dues.iter().any(|due| is_in(due, gap))) {
            return true;
        }
        let Spec { every, made_up, made_up_within, jitter, .. } = segment.spec;
        let newer_until = |until: i64| {
            let newer = segment.occurrences(until).filter(|(at, _)| *at > nominal).count();
            i64::try_from(newer).unwrap()
        };
        if self.run.dead_letters > 0 {
            // Its message may be among them.
            return segment.occurrences(EVER).any(|(at, _)| at > nominal);
        }
        if every.is_none() {
            return false;
        }
        let Some(Outage { from, until, .. }) = self.run.outage.filter(|it| it.is_known) else {
            return false;
        };
        let known_at = until + KNOWN_AFTER;
        from - LAG <= nominal + jitter
            && nominal <= known_at
            && (newer_until(known_at + 1) >= made_up || known_at - nominal > made_up_within)
    }

    /// Whether the queue may have lost what asks for an occurrence, or for what follows it, so that
    /// nobody looks for it again.
    pub(super) fn may_be_lost(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.scenario == Scenario::Lossy
            && (segment.last() != Some(nominal) || self.is_touched(segment))
    }

    /// Whether a job or its collection was changed.
    pub(super) fn is_touched(&self, segment: &Segment) -> bool {
        let mut of_job = self.segments.iter().filter(|it| it.uid == segment.uid);
        of_job.any(|it| it.ends_at.is_some() || it.generations != segment.generations)
            || self.offs.get(&segment.collection_uid).is_some_and(|offs| !offs.is_empty())
    }

    /// Whether the queue has lost every message of a first attempt: it is sent again when its job is
    /// planned the next time, and once more if that is soon.
    pub(super) fn is_lost_for_good(&self, segment: &Segment, nominal: i64) -> bool {
        let is_last_plan = segment.ends_ever();
        self.may_be_lost(segment, nominal)
            && (!self.run.heals
                || self.is_touched(segment)
                || is_last_plan
                || self.losses(segment, nominal) > 1)
    }

    /// How many messages of a first attempt were lost.
    pub(super) fn losses(&self, segment: &Segment, nominal: i64) -> u32 {
        let id = |generation: &u64| {
            let nominal_at = instant(nominal);
            let what = Occurrence::Scheduled { nominal_at };
            format!("{}.{}", segment.uid, Attempt::first(*generation, what).id())
        };
        segment.generations.iter().filter_map(|it| self.run.vanished.get(&id(it))).sum()
    }
}
