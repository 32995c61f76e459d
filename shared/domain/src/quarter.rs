//! What became of occurrences, counted by quarters of an hour, for people who look at many collections at once.
//!
//! An occurrence counts in the quarter in which it was due, whenever it ended. So the counts can be computed
//! again from history.

use std::ops::AddAssign;

use chrono::{DateTime, TimeDelta, Utc};

use crate::recent::Mark;

/// The length of a quarter.
pub const QUARTER: TimeDelta = TimeDelta::minutes(15);
/// How long the counts of a quarter are kept.
pub const QUARTERS_KEPT_FOR: TimeDelta = TimeDelta::days(8);
/// The most quarters over which one range of occurrences that were left out is spread: each is a write.
pub const SPREAD_MAX: u64 = 16;
/// How many counts of starts there are: one for each bound, and one for what is later than all.
pub const START_COUNTS: usize = START_BOUNDS.len() + 1;
/// The bounds between the counts of starts, in milliseconds.
const START_BOUNDS: [i64; 13] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000, 300_000];

/// A quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quarter(DateTime<Utc>);

impl Quarter {
    /// The quarter that contains an instant.
    #[must_use]
    pub fn of(at: DateTime<Utc>) -> Self {
        let seconds = at.timestamp();
        let begun = seconds - seconds.rem_euclid(QUARTER.num_seconds());
        // The first quarter of all begins earlier than an instant can be.
        Self(DateTime::from_timestamp(begun, 0).unwrap_or(DateTime::<Utc>::MIN_UTC))
    }

    /// Its first instant.
    #[must_use]
    pub const fn start(self) -> DateTime<Utc> {
        self.0
    }

    /// The quarter so many after it, or before it.
    #[must_use]
    pub fn plus(self, quarters: i32) -> Self {
        Self(self.0.checked_add_signed(QUARTER * quarters).unwrap_or(self.0))
    }

    /// When its counts may be removed.
    #[must_use]
    pub fn kept_until(self) -> DateTime<Utc> {
        self.0.checked_add_signed(QUARTERS_KEPT_FOR).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// How long after they were due attempts have started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StartTimes(pub [u64; START_COUNTS]);

/// How late the slowest of a hundred attempts have started, as far as the bounds tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartWithin {
    /// At most so late.
    AtMost(TimeDelta),
    /// Later than that.
    MoreThan(TimeDelta),
}

impl StartTimes {
    /// Counts an attempt that started so long after it was due.
    pub fn note(&mut self, after: TimeDelta) {
        let place = START_BOUNDS.partition_point(|bound| TimeDelta::milliseconds(*bound) < after);
        if let Some(count) = self.0.get_mut(place) {
            *count += 1;
        }
    }

    /// How late an attempt starts that is later than 99 of 100; `None` without any.
    #[must_use]
    pub fn p99(&self) -> Option<StartWithin> {
        let all: u64 = self.0.iter().sum();
        let rank = all.saturating_mul(99).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let [.., last] = START_BOUNDS.map(TimeDelta::milliseconds);
        let bound = START_BOUNDS.get(place).copied().map(TimeDelta::milliseconds);
        Some(bound.map_or(StartWithin::MoreThan(last), StartWithin::AtMost))
    }
}

impl AddAssign for StartTimes {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

/// What became of the occurrences of a quarter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuarterCounts {
    /// Those whose first attempt succeeded in time.
    pub ok: u64,
    /// Those of which a retry succeeded.
    pub retried: u64,
    /// Those whose first attempt succeeded, and started late.
    pub late: u64,
    /// Those that failed for good.
    pub failed: u64,
    /// Those that were left out.
    pub skipped: u64,
    /// How late their first attempts started.
    pub starts: StartTimes,
}

impl QuarterCounts {
    /// Counts an occurrence that has ended.
    pub const fn note(&mut self, mark: Mark) {
        let count = match mark {
            Mark::Ok => &mut self.ok,
            Mark::Retried => &mut self.retried,
            Mark::Late => &mut self.late,
            Mark::Failed | Mark::FailedWithErrorAction => &mut self.failed,
            Mark::Skipped => &mut self.skipped,
        };
        *count += 1;
    }

    /// The occurrences.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.ok + self.retried + self.late + self.failed + self.skipped
    }
}

impl AddAssign for QuarterCounts {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.retried += other.retried;
        self.late += other.late;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.starts += other.starts;
    }
}

/// Spreads occurrences evenly over the quarters of a range, or over [`SPREAD_MAX`] of them.
#[must_use]
pub fn spread([first, last]: [DateTime<Utc>; 2], occurrences: u64) -> Vec<(Quarter, u64)> {
    let first = Quarter::of(first);
    let steps = (Quarter::of(last).0 - first.0).num_minutes() / QUARTER.num_minutes();
    let steps = u64::try_from(steps).unwrap_or_default();
    let marks = (steps + 1).min(occurrences).min(SPREAD_MAX);
    let place = |mark: u64| i32::try_from(steps * mark / (marks - 1).max(1)).unwrap_or(i32::MAX);
    let until = |mark: u64| u128::from(occurrences) * u128::from(mark) / u128::from(marks);
    (0..marks)
        .map(|mark| {
            let share = until(mark + 1) - until(mark);
            (first.plus(place(mark)), u64::try_from(share).unwrap_or(u64::MAX))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn an_instant_is_in_the_quarter_that_has_begun() {
        for (instant, start) in [
            ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2027-01-01T00:14:59.9999999Z", "2027-01-01T00:00:00Z"),
            ("2027-01-01T00:15:00Z", "2027-01-01T00:15:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:45:00Z"),
        ] {
            assert_eq!(Quarter::of(at(instant)).start(), at(start), "{instant}");
        }
        for extreme in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
            let quarter = Quarter::of(extreme);
            assert!(quarter.start() <= extreme || extreme == DateTime::<Utc>::MIN_UTC);
            assert!(quarter.kept_until() >= quarter.start());
        }
    }

    #[test]
    fn ninety_nine_of_a_hundred_are_told_by_the_bounds() {
        let times = |all: &[(i64, u64)]| {
            let mut times = StartTimes::default();
            for (milliseconds, n) in all {
                (0..*n).for_each(|_| times.note(TimeDelta::milliseconds(*milliseconds)));
            }
            times.p99()
        };
        let at_most = |ms| Some(StartWithin::AtMost(TimeDelta::milliseconds(ms)));
        for (all, expected) in [
            (vec![], None),
            (vec![(-3, 1)], at_most(5)),
            (vec![(5, 1)], at_most(5)),
            (vec![(6, 1)], at_most(10)),
            (vec![(1, 99), (900, 1)], at_most(5)),
            (vec![(1, 98), (900, 2)], at_most(1_000)),
            (vec![(1, 1), (300_000, 1)], at_most(300_000)),
            (vec![(300_001, 1)], Some(StartWithin::MoreThan(TimeDelta::minutes(5)))),
        ] {
            assert_eq!(times(&all), expected, "{all:?}");
        }
    }

    #[test]
    fn every_mark_has_one_count() {
        let mut counts = QuarterCounts::default();
        for mark in [
            Mark::Ok,
            Mark::Retried,
            Mark::Late,
            Mark::Failed,
            Mark::FailedWithErrorAction,
            Mark::Skipped,
        ] {
            counts.note(mark);
        }
        let QuarterCounts { ok, retried, late, failed, skipped, starts } = counts;
        assert_eq!([ok, retried, late, failed, skipped], [1, 1, 1, 2, 1]);
        assert_eq!((counts.all(), starts), (6, StartTimes::default()));
        counts += counts;
        assert_eq!(counts.all(), 12);
    }

    #[test]
    fn a_range_is_spread_over_its_quarters_and_none_is_lost() {
        let start = at("2027-01-01T00:00:00Z");
        let minute = |n: i64| start + TimeDelta::minutes(n);
        for (last, occurrences, expected) in [
            (0, 1, vec![(0, 1)]),
            (14, 15, vec![(0, 15)]),
            (15, 1, vec![(0, 1)]),
            (59, 60, vec![(0, 15), (1, 15), (2, 15), (3, 15)]),
            (120, 2, vec![(0, 1), (8, 1)]),
            (30, 4, vec![(0, 1), (1, 1), (2, 2)]),
            (0, 0, vec![]),
        ] {
            let found = spread([start, minute(last)], occurrences);
            let place = |quarter: Quarter| (quarter.start() - start).num_minutes() / 15;
            let found: Vec<_> = found.iter().map(|(it, n)| (place(*it), *n)).collect();
            assert_eq!(found, expected, "{occurrences} until {last}");
        }
        let week = spread([start, minute(7 * 24 * 60)], 10_081);
        assert_eq!(week.len() as u64, SPREAD_MAX);
        assert_eq!(week.iter().map(|(_, n)| n).sum::<u64>(), 10_081);
        assert_eq!(week.last().map(|(it, _)| it.start()), Some(minute(7 * 24 * 60)));
        // A range that ends before it begins is one quarter.
        assert_eq!(spread([minute(60), start], 3).len(), 1);
    }
}
