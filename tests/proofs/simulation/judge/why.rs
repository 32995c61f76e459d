//! Whether what the service says of an occurrence is what happened.

use std::collections::BTreeMap;

use minutehand_domain::earlier_timing::EARLIER_TIMINGS_MAX;
use minutehand_domain::firing::Why;
use minutehand_domain::limits::CollectionLimits;

use super::{EVER, Judge, LAG, Run, SECOND, SKEW, Segment};

/// The most occurrences of a timing that are asked about, the first ones. It is more than there are until
/// the last fault, for nearly every job.
const ASKED_MAX: usize = 200;
/// The most instants of a timing that are asked about and are none of its occurrences.
const BESIDE_MAX: usize = 3;

/// An instant of a job to ask about.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Question {
    pub(in crate::simulation) uid: String,
    pub(in crate::simulation) at: i64,
    /// The number of the timing; `None` if that does not yield the instant.
    timing: Option<usize>,
}

impl Run {
    /// What is asked of a run: each occurrence, and instants between them.
    pub(in crate::simulation) fn questions(&self) -> Vec<Question> {
        let judge = Judge::of(self);
        let mut questions = Vec::new();
        for (number, segment) in judge.segments.iter().enumerate() {
            let until = judge.shown_until(segment.ends_at.unwrap_or(EVER).min(self.ended_at));
            for (n, (at, _)) in segment.occurrences(until).take(ASKED_MAX).enumerate() {
                let question = |at, timing| Question { uid: segment.uid.clone(), at, timing };
                questions.push(question(at, Some(number)));
                if n < BESIDE_MAX {
                    // Starts are at whole half minutes.
                    questions.push(question(at + 7 * SECOND, None));
                }
            }
        }
        questions
    }
}

impl Judge<'_> {
    /// Reports answers that are none, and those that contradict what happened.
    pub(super) fn explained(&mut self) {
        let mut bad = Vec::new();
        for it in &self.run.explained {
            let segment = it.of.timing.and_then(|number| self.segments.get(number));
            let wrong = match segment {
                Some(segment) => self.is_wrong(segment, it.of.at, it.why),
                None => speaks_of_an_occurrence(it.why),
            };
            if wrong {
                let at = Self::at(it.of.at);
                bad.push(format!("explained wrong: {at} of {}: {:?}", it.of.uid, it.why));
            }
        }
        self.bad.extend(bad);
    }

    fn is_wrong(&self, segment: &Segment, nominal: i64, why: Why) -> bool {
        let attempts = self.executed.iter().filter(|((uid, _, at, role, _), _)| {
            *uid == segment.uid && *at == nominal && *role == super::Role::Main
        });
        // By generation: after a clock was set back, a later timing has the same instants.
        let mut done: BTreeMap<u64, bool> = BTreeMap::new();
        for ((_, generation, ..), attempt) in attempts {
            *done.entry(*generation).or_default() |= attempt.is_success;
        }
        let is_tried = !done.is_empty();
        let (is_done, is_open) = (done.values().any(|it| *it), done.values().any(|it| !*it));
        match why {
            Why::Fired { .. } | Why::FiredLate { .. } => !is_done,
            Why::Failed { .. } | Why::Retrying { .. } => !is_open,
            // If it is not tried, a worker died with it.
            Why::UnderWay { .. } => is_tried && !is_open,
            Why::WaitsForPlace => true,
            Why::WaitsForLimit => is_done || !self.may_wait_at_the_end(segment, nominal),
            _ if is_tried => true,
            Why::Waiting => nominal < self.horizon - self.lag && !self.is_excused(segment, nominal),
            Why::NotYet => nominal + segment.spec.jitter < self.run.ended_at,
            Why::Overtaken { .. } => {
                !self.may_be_overtaken(segment, nominal) && !self.is_recorded(&segment.uid, nominal)
            }
            Why::TooLate { .. } | Why::Overlap { .. } | Why::NotWatched => {
                self.row_of(&segment.uid, nominal, why.name()).is_none()
            }
            // A machine forgets an outage that lies in the future of a clock that was set back. What is left
            // to name is that its collection was switched later. The same is said of an occurrence whose message
            // was lost before that.
            Why::CollectionOff { .. } => {
                !self.may_be_off(segment, nominal)
                    && !self.is_excused(segment, nominal)
                    && (self.run.lives.is_empty() || !self.may_be_overtaken(segment, nominal))
            }
            Why::Superseded { .. } => segment.ends_at.is_none(),
            // Nothing is kept that long.
            Why::HistoryGone { .. } => true,
            // The end of the timing by the clock of another process.
            Why::JobOff { .. }
            | Why::JobFinished { .. }
            | Why::OtherTiming { .. }
            | Why::NotCreated { .. }
            | Why::BeforeStart
            | Why::AfterEnd
            | Why::CountUsed
            | Why::NotScheduled
            | Why::Excluded => !self.is_at_an_end(segment, nominal),
            Why::TimingChanged { .. } => {
                !self.is_at_an_end(segment, nominal)
                    && !self.is_forgotten(segment)
                    && !self.has_other_dates(segment)
            }
            // When a clock is set back behind both switches of a collection, nothing tells any more that it
            // was off when the clock had shown the occurrence before.
            Why::Lost => {
                !self.is_excused(segment, nominal)
                    && !self.was_off(segment, nominal)
                    && !self.was_off_by_another_clock(segment, nominal)
            }
        }
    }

    /// Whether a collection has limits, and an attempt was due so shortly before the end that it may still wait
    /// for a place.
    fn may_wait_at_the_end(&self, segment: &Segment, nominal: i64) -> bool {
        let retries = self.run.executions.iter().filter(|it| {
            it.uid == segment.uid && it.nominal == Some(nominal) && it.role == super::Role::Main
        });
        let interval = |it| self.policies_of(it).iter().map(|spec| spec.longest_wait()).max();
        let due_at = retries.filter_map(|it| Some(it.ended_clock + interval(it)?));
        let due_at = due_at.max().unwrap_or(nominal);
        let mut limits = self.limits.get(&segment.collection_uid).into_iter().flatten();
        limits.any(|(_, limits)| *limits != CollectionLimits::NONE)
            && due_at > self.horizon - self.lag
    }

    /// Whether messages may be gone that asked for an occurrence.
    fn is_excused(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.dead_letters > 0
            || self.is_lost_for_good(segment, nominal)
            || self.run.loses() && self.losses(segment, nominal) > 0
    }

    /// Whether a worker may have dropped an occurrence because its collection was off, and a clock that was
    /// behind the worker's then switched the collection on as of a time before it. It leaves no trace, so
    /// sweepers that heal send it again. Many processes whose sweepers do not heal are only simulated: on AWS
    /// they heal, and one machine has one clock.
    fn was_off_by_another_clock(&self, segment: &Segment, nominal: i64) -> bool {
        let collection_uid = &segment.collection_uid;
        let mut ons = self.ons.get(collection_uid).into_iter().flatten();
        self.run.lives.is_empty()
            && !self.run.heals
            && ons.any(|(at, clock)| (*clock..*at + SKEW).contains(&nominal))
            && self.is_off(collection_uid, nominal, 0, SKEW)
    }

    /// Whether a job had so many timings after one that it is no longer known.
    fn is_forgotten(&self, segment: &Segment) -> bool {
        let job = self.run.jobs.iter().find(|job| job.uid == segment.uid);
        let now = job.map(|job| job.timer.timing.generation);
        let then = segment.generations.last().copied();
        let since = now.zip(then).map(|(now, then)| now.saturating_sub(then));
        since.is_some_and(|since| since > u64::try_from(EARLIER_TIMINGS_MAX).unwrap())
    }

    /// Whether a job has other excluded or extra dates than a timing had, which are not kept.
    fn has_other_dates(&self, segment: &Segment) -> bool {
        let now = self.policies.get(&segment.uid).and_then(|all| all.last());
        now.is_some_and(|(_, now)| {
            let then = &segment.spec;
            (&now.excluded, &now.extra) != (&then.excluded, &then.extra)
        })
    }

    fn may_be_overtaken(&self, segment: &Segment, nominal: i64) -> bool {
        let next = segment.occurrences(EVER).find(|(at, _)| *at > nominal);
        self.is_overtaken(segment, nominal, next.map(|(at, _)| at))
    }

    fn may_be_off(&self, segment: &Segment, nominal: i64) -> bool {
        let due = self.last_due(segment, nominal, EVER);
        self.is_off(&segment.collection_uid, due.at, self.lag, self.lag)
            || self.was_off(segment, nominal)
            || self.is_before_on(&segment.collection_uid, due)
    }

    /// Whether an occurrence is so close to an end of its timing that clocks may differ on it, or behind the
    /// end: a clock that was far ahead for a while has shown more of a timing than there was.
    fn is_at_an_end(&self, segment: &Segment, nominal: i64) -> bool {
        // On one machine, the clock of then may be far off.
        let is_near = |end: i64| {
            [end, end + self.skew_at(end)].iter().any(|end| (end - nominal).abs() <= SKEW + LAG)
        };
        let is_behind = |end: i64| nominal > end + self.skew_at(end);
        is_near(segment.begins_at)
            || segment.ends_at.is_some_and(|end| is_near(end) || is_behind(end))
    }
}

/// Whether an answer is about an occurrence, where there is none.
const fn speaks_of_an_occurrence(why: Why) -> bool {
    !matches!(
        why,
        Why::NotScheduled
            | Why::Excluded
            | Why::OtherTiming { .. }
            | Why::TimingChanged { .. }
            | Why::NotCreated { .. }
            | Why::JobOff { .. }
            | Why::JobFinished { .. }
            | Why::BeforeStart
            | Why::AfterEnd
            | Why::CountUsed
            | Why::HistoryGone { .. }
    )
}
