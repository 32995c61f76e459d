//! The days on which a rule fires, found by day, week, month or year.
//!
//! Days and weeks need arithmetic only; [`months`](crate::months) searches months and years.

use crate::civil::{
    CALENDAR_END, DAY, count_below, first_from, multiples_below, next_multiple, position, week_of,
    week_start, weekday,
};
use crate::months::{self, DaysOfMonth, Months};

/// The last day number.
///
/// It is a little after the year 9999 in UTC, because a zone may still show that year.
const LAST_DAY: i64 = CALENDAR_END / DAY + 2;

/// The days on which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Days {
    /// Every `interval` days from the day `first`.
    Daily { interval: i64, first: i64 },
    /// Every `interval` weeks from the week `first`, on a set of weekdays (bit 0 is Monday).
    Weekly { interval: i64, first: i64, weekdays: u8 },
    /// Certain days of certain months.
    Monthly { months: Months, days: DaysOfMonth },
}

impl Days {
    /// Returns the first matching day at or after a day; `None` after the end of the calendar.
    pub(crate) fn next(&self, day: i64) -> Option<i64> {
        let next = match *self {
            Self::Daily { interval, first } => next_multiple(day - first, interval) + first,
            Self::Weekly { interval, first, weekdays } => {
                let week = week_of(day);
                let active = next_multiple(week - first, interval) + first;
                let from = if active == week { position(day - week_start(week)) } else { 0 };
                let weekdays = u64::from(weekdays);
                match first_from(weekdays, from) {
                    Some(weekday) => week_start(active) + i64::from(weekday),
                    None => week_start(active + interval) + i64::from(weekdays.trailing_zeros()),
                }
            }
            Self::Monthly { ref months, ref days } => months::next(months, days, day)?,
        };
        (next <= LAST_DAY).then_some(next)
    }

    /// Counts the matching days from one day (inclusive) to another (exclusive).
    pub(crate) fn count(&self, from: i64, to: i64) -> i64 {
        if to <= from {
            return 0;
        }
        match *self {
            Self::Daily { interval, first } => {
                multiples_below(to - first, interval) - multiples_below(from - first, interval)
            }
            Self::Weekly { interval, first, weekdays } => {
                let before = |day: i64| {
                    let week = week_of(day) - first;
                    let whole = multiples_below(week, interval) * i64::from(weekdays.count_ones());
                    let active = week.rem_euclid(interval) == 0;
                    let part = count_below(u64::from(weekdays), position(weekday(day)));
                    whole + if active { part } else { 0 }
                };
                before(to) - before(from)
            }
            Self::Monthly { ref months, ref days } => months::count(months, days, from, to),
        }
    }

    /// Returns the smallest distance between two matching days; a month counts as 28 days, a year
    /// as 365.
    pub(crate) fn smallest_gap(&self) -> i64 {
        match *self {
            Self::Daily { interval, .. } => interval,
            Self::Weekly { interval, weekdays, .. } => {
                let week = u64::from(weekdays);
                let span = i64::from(week.ilog2() - week.trailing_zeros());
                let within = crate::times::smallest_step(week);
                within.into_iter().fold(interval * 7 - span, i64::min)
            }
            Self::Monthly { ref months, ref days } => months::smallest_gap(months, days),
        }
    }
}
