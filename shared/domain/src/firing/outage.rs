//! Known outages: times in which nothing worked, and what they cost.
//!
//! To be late is no reason for an occurrence not to run. But a job that runs every minute must not run
//! a hundred times in a row when everything works again after two hours. So the sweepers and the
//! workers give signs of life, and what fell due while there was none is known to be late for that
//! reason alone: of the occurrences of a job in an outage, only the last one runs.
//!
//! Sweepers and workers have a [`Pulse`] each, because one may be away without the other. The sweeper
//! asks for the outages of sweepers when it sends occurrences, and the worker for those of workers
//! when it starts one.

use chrono::{DateTime, TimeDelta, Utc};
use recurrence::Timetable;

use super::limits::Spans;
use super::plan::latest_until;
use crate::attempt::kept_until;

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
}

impl Pulse {
    /// Whether another beat is needed.
    #[must_use]
    pub fn is_due(&self, now: DateTime<Utc>, spans: &Spans) -> bool {
        self.beat_at.is_none_or(|beat_at| now < beat_at || now - beat_at >= spans.beat_every)
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
        Self { beat_at: Some(now), outages }
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
    /// The outage for which they were left out.
    pub outage: Outage,
    /// When they were left out.
    pub at: DateTime<Utc>,
}

impl LeftOut {
    /// Whether an occurrence of a timing is among them.
    #[must_use]
    pub fn contains(&self, generation: u64, nominal_at: DateTime<Utc>) -> bool {
        self.generation == generation && (self.first..=self.last).contains(&nominal_at)
    }

    /// When they are no longer answered.
    #[must_use]
    pub fn expires_at(&self) -> DateTime<Utc> {
        kept_until(self.at)
    }

    /// What an outage cost from this occurrence on: all up to the one that has its successor after the
    /// outage. `None` if nothing is left out.
    #[must_use]
    pub fn from_occurrence(
        timetable: &Timetable,
        generation: u64,
        first: DateTime<Utc>,
        outage: Outage,
        at: DateTime<Utc>,
    ) -> Option<Self> {
        let runs = latest_until(timetable, first, outage.until)?;
        Self::between(timetable, generation, [first, runs], outage, at)
    }

    /// What an outage cost up to one occurrence that it cost. A worker that leaves a later one out
    /// comes to an answer that begins with the same occurrence, and goes further.
    #[must_use]
    pub fn around(
        timetable: &Timetable,
        generation: u64,
        nominal_at: DateTime<Utc>,
        around: &Around,
    ) -> Option<Self> {
        let Around { outage, since, at } = *around;
        let first = timetable.at_or_after(outage.from.max(since))?.min(nominal_at);
        Self::between(timetable, generation, [first, timetable.after(nominal_at)?], outage, at)
    }

    /// The occurrences from one to another, without the other.
    fn between(
        timetable: &Timetable,
        generation: u64,
        [first, end]: [DateTime<Utc>; 2],
        outage: Outage,
        at: DateTime<Utc>,
    ) -> Option<Self> {
        let before_end = end.checked_sub_signed(TimeDelta::nanoseconds(100))?;
        let last = latest_until(timetable, first, before_end)?;
        let occurrences = timetable.count_between(first, end);
        Some(Self { generation, first, last, occurrences, outage, at })
    }
}

/// An outage that cost an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    /// The outage.
    pub outage: Outage,
    /// Since when the timing of the job holds.
    pub since: DateTime<Utc>,
    /// When the occurrence was left out.
    pub at: DateTime<Utc>,
}

/// The outage in which an occurrence was ready to go on, and at whose end its successor was due, too:
/// the occurrence does not run.
///
/// `ready_at` is the instant of the occurrence, or when it was sent if that was later.
#[must_use]
pub fn overtaken_in(
    timetable: &Timetable,
    nominal_at: DateTime<Utc>,
    ready_at: DateTime<Utc>,
    outages: &[Outage],
) -> Option<Outage> {
    let around = outages.iter().filter(|outage| (outage.from..=outage.until).contains(&ready_at));
    let mut around = around.peekable();
    around.peek()?;
    let successor = timetable.after(nominal_at)?;
    around.find(|outage| successor <= outage.until).copied()
}

#[cfg(test)]
mod tests {
    use recurrence::{Recurrence, Rule};

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn outage(from: i64, until: i64) -> Outage {
        Outage { from: at(from), until: at(until) }
    }

    fn pulse(beat_at: i64, outages: &[(i64, i64)]) -> Pulse {
        let outages = outages.iter().map(|(from, until)| outage(*from, *until)).collect();
        Pulse { beat_at: Some(at(beat_at)), outages }
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
        let before = Pulse { beat_at: Some(moment(1_000, 1)), outages: Vec::new() };
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
        let minutely = Timetable::new(&rule, None, at(0)).unwrap();
        let outage = outage(100, 615);
        let found = |nominal, since| {
            let around = Around { outage, since: at(since), at: at(620) };
            let found = LeftOut::around(&minutely, 1, at(nominal), &around)?;
            assert_eq!((found.generation, found.outage, found.at), (1, outage, at(620)));
            Some((found.first.timestamp(), found.last.timestamp(), found.occurrences))
        };
        assert_eq!(found(120, 0), Some((120, 120, 1)));
        assert_eq!(found(300, 0), Some((120, 300, 4)));
        assert_eq!(found(540, 0), Some((120, 540, 8)));
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
        let minutely = Timetable::new(&rule, None, at(0)).unwrap();
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
            (1_200, 1_200, false),
        ] {
            assert_eq!(is_overtaken(nominal, ready), expected, "{nominal} {ready}");
        }
        let once = Timetable::once(Some(at(120)), at(0));
        assert_eq!(overtaken_in(&once, at(120), at(120), &outages), None);
    }
}
