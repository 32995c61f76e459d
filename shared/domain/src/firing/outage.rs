//! Known outages: times in which nothing worked, and what they cost.
//!
//! To be late is no reason for an occurrence not to run. But a job that runs every minute must not run
//! a hundred times in a row when everything works again after two hours. So the sweepers and the
//! workers give signs of life, and what fell due while there was none is known to be late for that
//! reason alone: of the occurrences of a job in an outage, only the last one runs, unless the job has
//! another policy ([`CatchUp`](crate::policies::CatchUp)).
//!
//! Sweepers and workers have a [`Pulse`] each, because one may be away without the other. The sweeper
//! asks for the outages of sweepers when it sends occurrences, and the worker for those of workers
//! when it starts one.

use chrono::{DateTime, TimeDelta, Utc};

use super::limits::Spans;
use super::plan::latest_until;
use crate::history_days::HistoryPast;
use crate::policies::Bounds;
use crate::schedule::Schedule;
use crate::tick::{TICK, from_ticks, ticks};

/// The most outages that are remembered.
pub const OUTAGES_MAX: usize = 20;

/// A time in which nothing worked, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the last sign of life was certainly over.
    pub from: DateTime<Utc>,
    /// The first sign of life after that.
    pub until: DateTime<Utc>,
}

impl Outage {
    /// The whole seconds in a period, which need little room. `None` if there are none.
    fn within(from: DateTime<Utc>, until: DateTime<Utc>) -> Option<Self> {
        let is_whole = from.timestamp_subsec_nanos() == 0;
        let from = from.timestamp() + i64::from(!is_whole);
        let outage = Self {
            from: DateTime::from_timestamp(from, 0)?,
            until: DateTime::from_timestamp(until.timestamp(), 0)?,
        };
        (outage.from < outage.until).then_some(outage)
    }
}

/// The signs of life of the sweepers, or of the workers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulse {
    /// The last beat; `None` before the first.
    pub beat_at: Option<DateTime<Utc>>,
    /// The last outages, the oldest first.
    pub outages: Vec<Outage>,
    /// Until when workers kept history for a shorter time.
    pub history: HistoryPast,
}

impl Pulse {
    /// Whether another beat is needed.
    #[must_use]
    pub fn is_due(&self, now: DateTime<Utc>, spans: &Spans) -> bool {
        self.beat_at.is_none_or(|beat_at| now < beat_at || now - beat_at >= spans.beat_every)
    }

    /// Whether there was no beat for longer than this.
    #[must_use]
    pub fn is_silent(&self, now: DateTime<Utc>, after: TimeDelta) -> bool {
        self.beat_at.is_none_or(|beat_at| now - beat_at > after)
    }

    /// The pulse after a beat, which ends an outage if the beat before was long ago.
    ///
    /// `is_start` is for the beat with which the only process begins: then nothing worked before, and
    /// every pause is an outage.
    #[must_use]
    pub fn beat(&self, now: DateTime<Utc>, is_start: bool, spans: &Spans) -> Self {
        let mut outages = self.outages.clone();
        if let Some(beat_at) = self.beat_at {
            let shortest = if is_start { TimeDelta::zero() } else { spans.outage_min };
            // Until the next beat would have come something may have worked, and a beat may be late.
            let from = beat_at.checked_add_signed(spans.beat_every * 2).unwrap_or(now);
            if from < now && now - beat_at > shortest {
                outages.extend(Outage::within(from, now));
            }
            // The clock was set back: what it showed before says nothing about the time from now on.
            // Clocks of several processes differ by less than this.
            if beat_at > now && (is_start || beat_at - now > spans.outage_min) {
                let until_now = |it: &Outage| Outage::within(it.from, it.until.min(now));
                outages = outages.iter().filter_map(until_now).collect();
            }
        }
        let forgotten = outages.len().saturating_sub(OUTAGES_MAX);
        outages.drain(..forgotten);
        Self { beat_at: Some(now), outages, history: self.history.clone() }
    }
}

/// Why occurrences were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// They fell into an outage.
    Outage(Outage),
    /// They would have started later than the job allows.
    TooLate,
    /// Another attempt of the job was running, or waited before them.
    Overlap,
    /// At some moment of the windows of their pings nothing could take pings.
    NotWatched,
}

impl LeftOutReason {
    /// The name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outage(_) => "outage",
            Self::TooLate => "tooLate",
            Self::Overlap => "overlap",
            Self::NotWatched => "notWatched",
        }
    }

    /// The policy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::TooLate, Self::Overlap, Self::NotWatched]
            .into_iter()
            .find(|reason| reason.name() == name)
    }

    /// The outage, if it was one.
    #[must_use]
    pub const fn outage(self) -> Option<Outage> {
        match self {
            Self::Outage(outage) => Some(outage),
            Self::TooLate | Self::Overlap | Self::NotWatched => None,
        }
    }
}

/// Occurrences of a job that were left out, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The generation of the job's timing.
    pub generation: u64,
    /// The first of them.
    pub first: DateTime<Utc>,
    /// The last of them.
    pub last: DateTime<Utc>,
    /// How many they are.
    pub occurrences: u64,
    /// Why they were left out.
    pub reason: LeftOutReason,
    /// When they were left out.
    pub at: DateTime<Utc>,
}

impl LeftOut {
    /// Whether an occurrence of a timing is among them.
    #[must_use]
    pub fn contains(&self, generation: u64, nominal_at: DateTime<Utc>) -> bool {
        self.generation == generation && (self.first..=self.last).contains(&nominal_at)
    }

    /// What an outage cost from this occurrence on: all up to the first that the job makes up for.
    /// `None` if nothing is left out.
    #[must_use]
    pub fn from_occurrence(
        schedule: &Schedule,
        generation: u64,
        first: DateTime<Utc>,
        outage: Outage,
        at: DateTime<Utc>,
    ) -> Option<Self> {
        let end = made_up_from(schedule, first, outage)?;
        Self::between(schedule, generation, [first, end], outage, at)
    }

    /// One occurrence.
    #[must_use]
    pub const fn one(
        generation: u64,
        nominal_at: DateTime<Utc>,
        reason: LeftOutReason,
        at: DateTime<Utc>,
    ) -> Self {
        Self { generation, first: nominal_at, last: nominal_at, occurrences: 1, reason, at }
    }

    /// What an outage cost up to one occurrence that it cost. A worker that leaves a later one out
    /// comes to an answer that begins with the same occurrence, and goes further. But beside one of which
    /// others may have run, it is one alone.
    #[must_use]
    pub fn around(
        schedule: &Schedule,
        generation: u64,
        nominal_at: DateTime<Utc>,
        around: &Around,
    ) -> Option<Self> {
        let Around { outage, since, costs_all_until, at } = *around;
        let first = schedule.at_or_after(outage.from.max(since));
        let first = first.filter(|_| schedule.start(nominal_at) <= costs_all_until);
        // The occurrence with which a job goes on is of an earlier timing.
        let first = first.map_or(nominal_at, |first| first.min(nominal_at));
        Self::between(schedule, generation, [first, nominal_at + TICK], outage, at)
    }

    /// The occurrences from one to another, without the other.
    fn between(
        schedule: &Schedule,
        generation: u64,
        [first, end]: [DateTime<Utc>; 2],
        outage: Outage,
        at: DateTime<Utc>,
    ) -> Option<Self> {
        let last = latest_until(schedule, first, end.checked_sub_signed(TICK)?)?;
        let occurrences = schedule.count_between(first, end);
        let reason = LeftOutReason::Outage(outage);
        Some(Self { generation, first, last, occurrences, reason, at })
    }
}

/// Up to which instant an outage costs occurrences from this one on, that instant not included.
fn made_up_from(
    schedule: &Schedule,
    first: DateTime<Utc>,
    outage: Outage,
) -> Option<DateTime<Utc>> {
    let mut last = latest_until(schedule, first, outage.until)?;
    if schedule.start(last) > outage.until {
        last = latest_until(schedule, first, last - TICK)?;
    }
    let Bounds { window, max } = schedule.policies.catch_up.bounds();
    let end = last + TICK;
    let young_from = window.and_then(|it| outage.until.checked_sub_signed(it.delta()));
    Some(latest_from(schedule, [first, end], max).max(young_from.unwrap_or(first)).min(end))
}

/// From which instant on there are not more than `max` occurrences until `end`. A binary search, because
/// an outage may have cost thousands.
fn latest_from(schedule: &Schedule, [first, end]: [DateTime<Utc>; 2], max: u32) -> DateTime<Utc> {
    let is_many = |from| schedule.count_between(from, end) > u64::from(max);
    if !is_many(first) {
        return first;
    }
    let (mut low, mut high) = (ticks(first), ticks(end));
    // Bounded: each round halves what is left of at most 2^63 ticks.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if from_ticks(middle).is_some_and(is_many) {
            low = middle;
        } else {
            high = middle;
        }
    }
    from_ticks(high).unwrap_or(end)
}

/// Whether a job does not make up for an occurrence after an outage into which it fell.
fn is_cost(schedule: &Schedule, nominal_at: DateTime<Utc>, outage: &Outage) -> bool {
    // Whether pings could be taken does not depend on sweepers and workers.
    if schedule.runs_once() || schedule.policies.pings.is_some() {
        return false;
    }
    let Bounds { window, max } = schedule.policies.catch_up.bounds();
    let is_old = window.is_some_and(|window| outage.until - nominal_at > window.delta());
    let newer = || schedule.count_between(nominal_at + TICK, outage.until + TICK);
    is_old || newer() >= u64::from(max)
}

/// The end of a span of time that begins at an instant, and again at the end of each outage that begins
/// within it: nothing worked meanwhile.
pub(super) fn end_beside_outages<'a>(
    from: DateTime<Utc>,
    span: TimeDelta,
    outages: impl IntoIterator<Item = &'a Outage>,
) -> DateTime<Utc> {
    let after = |instant: DateTime<Utc>| {
        instant.checked_add_signed(span).unwrap_or(DateTime::<Utc>::MAX_UTC)
    };
    let mut outages: Vec<&Outage> = outages.into_iter().collect();
    outages.sort_by_key(|outage| outage.from);
    outages.into_iter().fold(after(from), |end, outage| {
        if outage.from <= end { end.max(after(outage.until)) } else { end }
    })
}

/// An outage that cost an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    /// The outage.
    pub outage: Outage,
    /// Since when the timing of the job holds.
    pub since: DateTime<Utc>,
    /// Until when each occurrence was too late to start when the outage was over.
    pub costs_all_until: DateTime<Utc>,
    /// When the occurrence was left out.
    pub at: DateTime<Utc>,
}

/// The outage in which an occurrence was ready to go on, and for which the job does not make up with
/// this one: by default, because its successor was due at the end of the outage, too. A job without a
/// recurrence always makes up for its occurrence.
///
/// `ready_at` is when the occurrence starts, or when it was sent if that was later.
#[must_use]
pub fn overtaken_in(
    schedule: &Schedule,
    nominal_at: DateTime<Utc>,
    ready_at: DateTime<Utc>,
    outages: &[Outage],
) -> Option<Outage> {
    let mut around =
        outages.iter().filter(|outage| (outage.from..=outage.until).contains(&ready_at));
    around.find(|outage| is_cost(schedule, nominal_at, outage)).copied()
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable};

    use super::*;
    use crate::duration::Span;
    use crate::firing::limits::SILENT_AFTER;
    use crate::policies::{CatchUp, Policies};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn outage(from: i64, until: i64) -> Outage {
        Outage { from: at(from), until: at(until) }
    }

    fn pulse(beat_at: i64, outages: &[(i64, i64)]) -> Pulse {
        let outages = outages.iter().map(|(from, until)| outage(*from, *until)).collect();
        Pulse { beat_at: Some(at(beat_at)), outages, ..Pulse::default() }
    }

    #[test]
    fn without_a_beat_for_too_long_a_pulse_is_silent() {
        for (beat_at, expected) in [(1_000, false), (820, false), (819, true), (1_001, false)] {
            assert_eq!(
                pulse(beat_at, &[]).is_silent(at(1_000), SILENT_AFTER),
                expected,
                "{beat_at}"
            );
        }
        assert!(Pulse::default().is_silent(at(1_000), SILENT_AFTER));
    }

    #[test]
    fn a_long_pause_between_two_beats_is_an_outage() {
        let spans = Spans::WORK;
        let beat = |pulse: &Pulse, now, is_start| pulse.beat(at(now), is_start, &spans);
        let none = Pulse::default();
        assert_eq!(beat(&none, 7, true), pulse(7, &[]), "the first beat of all");
        let before = pulse(1_000, &[(1, 2)]);
        for (now, is_start, outages) in [
            (1_600, false, &[(1, 2)][..]),
            (1_601, false, &[(1, 2), (1_100, 1_601)]),
            // A process that is alone, and begins.
            (1_100, true, &[(1, 2)]),
            (1_101, true, &[(1, 2), (1_100, 1_101)]),
            // The clock was set back.
            (900, false, &[(1, 2)]),
            (900, true, &[(1, 2)]),
        ] {
            assert_eq!(beat(&before, now, is_start), pulse(now, outages), "{now} {is_start}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_leaves_no_outage_in_the_time_that_comes() {
        let spans = Spans::WORK;
        let before = pulse(9_000, &[(100, 700), (2_000, 8_000), (8_500, 8_900)]);
        for (now, is_start, outages) in [
            (8_999, false, &[(100, 700), (2_000, 8_000), (8_500, 8_900)][..]),
            // As far as clocks of two processes may differ.
            (8_400, false, &[(100, 700), (2_000, 8_000), (8_500, 8_900)]),
            (8_399, false, &[(100, 700), (2_000, 8_000)]),
            (8_600, true, &[(100, 700), (2_000, 8_000), (8_500, 8_600)]),
            (5_000, true, &[(100, 700), (2_000, 5_000)]),
            (5_000, false, &[(100, 700), (2_000, 5_000)]),
            (50, true, &[]),
        ] {
            let after = before.beat(at(now), is_start, &spans);
            assert_eq!(after, pulse(now, outages), "{now} {is_start}");
        }
    }

    #[test]
    fn an_outage_is_whole_seconds_within_the_pause() {
        let spans = Spans::WORK;
        let moment = |second, millis| at(second) + TimeDelta::milliseconds(millis);
        let before = Pulse { beat_at: Some(moment(1_000, 1)), ..Pulse::default() };
        let found = |now| before.beat(now, true, &spans).outages;
        assert_eq!(found(moment(2_000, 999)), [outage(1_101, 2_000)]);
        assert_eq!(found(moment(1_101, 999)), []);
    }

    #[test]
    fn the_last_outages_are_remembered() {
        let mut pulse = Pulse::default();
        for hour in 0..30 {
            pulse = pulse.beat(at(3_600 * hour), false, &Spans::WORK);
        }
        assert_eq!(pulse.outages.len(), OUTAGES_MAX);
        assert_eq!(pulse.outages[0], outage(9 * 3_600 + 100, 10 * 3_600));
        assert_eq!(pulse.outages[19], outage(28 * 3_600 + 100, 29 * 3_600));
    }

    #[test]
    fn a_beat_is_due_after_a_while_and_when_the_clock_was_set_back() {
        let spans = Spans::WORK;
        assert!(Pulse::default().is_due(at(0), &spans));
        for (now, is_due) in [(1_000, false), (1_049, false), (1_050, true), (999, true)] {
            assert_eq!(pulse(1_000, &[]).is_due(at(now), &spans), is_due, "{now}");
        }
    }

    #[test]
    fn what_an_outage_costs_begins_with_the_same_occurrence_for_each_that_it_cost() {
        let rule = serde_json::json!({"frequency": "minute"});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        let minutely = Schedule::from(Timetable::new(&rule, None, at(0)).unwrap());
        let outage = outage(100, 615);
        let found = |nominal, since| {
            let since = at(since);
            let around = Around { outage, since, costs_all_until: at(480), at: at(620) };
            let found = LeftOut::around(&minutely, 1, at(nominal), &around)?;
            assert_eq!(
                (found.generation, found.reason.outage(), found.at),
                (1, Some(outage), at(620))
            );
            Some((found.first.timestamp(), found.last.timestamp(), found.occurrences))
        };
        assert_eq!(found(120, 0), Some((120, 120, 1)));
        assert_eq!(found(300, 0), Some((120, 300, 4)));
        assert_eq!(found(480, 0), Some((120, 480, 7)));
        // Beside it, others may have run.
        assert_eq!(found(540, 0), Some((540, 540, 1)));
        // The timing is younger than the beginning of the outage; the occurrence is older.
        assert_eq!(found(300, 290), Some((300, 300, 1)));
        assert_eq!(found(60, 0), Some((60, 60, 1)));
        // The sweeper knows at once where it ends.
        let all = LeftOut::from_occurrence(&minutely, 1, at(180), outage, at(620)).unwrap();
        assert_eq!((all.first, all.last, all.occurrences), (at(180), at(540), 7));
        assert_eq!(LeftOut::from_occurrence(&minutely, 1, at(600), outage, at(620)), None);
    }

    #[test]
    fn of_the_occurrences_in_an_outage_the_last_one_runs() {
        let rule = serde_json::json!({"frequency": "minute"});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        let minutely = Schedule::from(Timetable::new(&rule, None, at(0)).unwrap());
        let outages = [outage(100, 250), outage(900, 1_200)];
        let is_overtaken =
            |nominal, ready| overtaken_in(&minutely, at(nominal), at(ready), &outages).is_some();
        for (nominal, ready, expected) in [
            // Before and after.
            (60, 60, false),
            (300, 300, false),
            // 01:00, 02:00 and 03:00 are in the first; 04:00 is at 240, and its successor after it.
            (120, 120, true),
            (180, 180, true),
            (240, 240, false),
            // Due before the outage, and sent in it; due in it, and sent after it.
            (60, 110, true),
            (180, 260, false),
            // Its successor is due at the end.
            (1_140, 1_140, true),
            // Sent or started at either end of the outage, and outside.
            (60, 100, true),
            (60, 99, false),
            (180, 250, true),
            (180, 251, false),
            (1_200, 1_200, false),
        ] {
            assert_eq!(is_overtaken(nominal, ready), expected, "{nominal} {ready}");
        }
        let once = Schedule::from(Timetable::once(Some(at(120)), at(0)));
        assert_eq!(overtaken_in(&once, at(120), at(120), &outages), None);
    }

    fn with(catch_up: CatchUp) -> Schedule {
        let rule = serde_json::json!({"frequency": "minute"});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        let timetable = Timetable::new(&rule, None, at(0)).unwrap();
        let policies = Policies { catch_up, ..Policies::default() };
        Schedule { policies, ..timetable.into() }
    }

    /// The sweeper's range and the worker's decision on each occurrence are the same.
    #[test]
    fn a_policy_says_how_many_of_the_latest_run() {
        let outage = outage(100, 615);
        let all =
            |window: Option<u64>, max| CatchUp::All { window: window.map(Span::seconds), max };
        for (catch_up, runs_from) in [
            (CatchUp::Last, 600),
            (CatchUp::None, 660),
            (all(None, Some(3)), 480),
            (all(None, Some(100)), 120),
            (all(None, None), 120),
            (all(Some(75), None), 540),
            (all(Some(60), Some(3)), 600),
            (all(Some(300), Some(2)), 540),
        ] {
            let schedule = with(catch_up);
            let cost = LeftOut::from_occurrence(&schedule, 1, at(120), outage, at(620));
            let last = (runs_from > 120).then(|| at(runs_from - 60));
            assert_eq!(cost.map(|cost| cost.last), last, "{catch_up:?}");
            for nominal in (120..=600).step_by(60) {
                let found = overtaken_in(&schedule, at(nominal), at(nominal), &[outage]).is_some();
                assert_eq!(found, nominal < runs_from, "{catch_up:?} {nominal}");
            }
            assert_eq!(overtaken_in(&schedule, at(660), at(660), &[outage]), None);
        }
        let policies = Policies { catch_up: CatchUp::None, ..Policies::default() };
        let once = Schedule { policies, ..Timetable::once(Some(at(120)), at(0)).into() };
        assert_eq!(overtaken_in(&once, at(120), at(120), &[outage]), None);
    }

    /// Half a year of minutes, and most of them are made up for.
    #[test]
    fn a_long_outage_is_searched_and_not_walked() {
        let schedule = with(CatchUp::All { window: Some(Span::days(60)), max: Some(1_000) });
        let half_a_year = outage(100, 183 * 86_400);
        let cost = LeftOut::from_occurrence(&schedule, 1, at(120), half_a_year, at(0)).unwrap();
        assert_eq!(cost.last, at(183 * 86_400 - 1_000 * 60));
    }
}
