//! Every occurrence that is owed runs.

use minutehand_domain::attempt::{Attempt, Occurrence, Role};

use super::clocks::{Due, Gap};
use super::run::Row;
use super::spec::{Segment, Spec};
use super::ways::Way;
use super::{BEAT, EVER, Excused, Judge, KNOWN_AFTER, LAG};
use crate::simulation::play::Outage;
use crate::simulation::time::instant;

impl Judge<'_> {
    pub(super) fn missed(&mut self) {
        let mut bad = Vec::new();
        let mut excused = Excused::default();
        for segment in &self.segments {
            let until = self.horizon.min(segment.ends_at.unwrap_or(EVER));
            for (nominal, next) in segment.occurrences(self.shown_until(until)) {
                let due = self.last_due(segment, nominal, until);
                if due.at >= until || self.is_not_owed(segment, nominal, due) {
                    continue;
                }
                let is_overtaken = self.is_overtaken(segment, nominal, next);
                let cause = self.excuse(segment, nominal, due);
                if !is_overtaken {
                    excused.owed += 1;
                    if let Some(cause) = cause {
                        *excused.causes.entry(cause).or_default() += 1;
                    }
                }
                let has = segment.generations.iter().any(|generation| {
                    let key = (segment.uid.clone(), *generation, nominal, Role::Main, 0);
                    self.fired.contains(&key) || self.executed.contains_key(&key)
                });
                if has || cause.is_some() || self.is_left_out_rightly(segment, nominal) {
                    continue;
                }
                if is_overtaken {
                    if !self.is_recorded(&segment.uid, nominal) {
                        let at = Self::at(nominal);
                        bad.push(format!("left out without a word: {at} of {}", segment.uid));
                    }
                } else {
                    bad.push(format!("missed: {} of {}", Self::at(nominal), segment.uid));
                }
            }
        }
        self.excused = excused;
        self.bad.extend(bad);
    }

    /// Whether an occurrence does not run by the rules: it fell due while its collection was off.
    fn is_not_owed(&self, segment: &Segment, nominal: i64, due: Due) -> bool {
        let mut offs = self.offs.get(&segment.collection_uid).into_iter().flatten();
        let jitter = segment.spec.jitter;
        offs.any(|(from, until)| *from <= due.at && due.at + jitter < *until)
            || self.was_off(segment, nominal)
            || self.is_before_on(&segment.collection_uid, due)
    }

    /// Why an occurrence that is owed may be missing.
    fn excuse(&self, segment: &Segment, nominal: i64, due: Due) -> Option<&'static str> {
        let jitter = segment.spec.jitter;
        let due = Due { clock: due.clock + jitter, at: due.at + jitter };
        let way = Way::first(segment, nominal, due);
        if segment.ends_at.is_some_and(|end| !self.could_start(&way, end))
            && !self.could_go_on(segment, nominal, &way)
        {
            return Some("under way when its timing ended");
        }
        if self.is_off_for(&way, &segment.collection_uid) {
            return Some("under way when its collection was switched off");
        }
        if self.is_dead(&way) {
            return Some("among the dead letters");
        }
        self.is_lost_for_good(segment, nominal).then_some("lost in the queue")
    }

    /// Whether the history says that a policy or a silence of the workers cost an occurrence.
    fn is_left_out_rightly(&self, segment: &Segment, nominal: i64) -> bool {
        let has_row = |reason| self.row_of(&segment.uid, nominal, reason).is_some();
        // Workers that had nothing to do gave no signs of life. What ends their silence, and is held up
        // then, is left out by a job that makes up for nothing.
        segment.spec.lateness_max.is_some() && has_row("tooLate")
            || segment.spec.made_up == 0 && has_row("outage")
            || has_row("overlap")
            || self.is_idle(segment, nominal)
    }

    /// Whether an occurrence was left out, and its lost message may have been all that workers had to do
    /// for ten minutes. Without a sign of life, that is an outage to them.
    pub(super) fn is_idle(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.loses()
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
        self.run.loses() && (segment.last() != Some(nominal) || self.is_touched(segment))
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
        self.losses(segment, nominal) > 0
            && self.may_be_lost(segment, nominal)
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
