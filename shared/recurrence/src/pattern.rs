//! The civil times at which a rule fires, as a set of civil seconds.

use crate::civil::{DAY, HOUR, MINUTE, count_below, day_and_second, first_from};
use crate::days::Days;
use crate::grid::Grid;
use crate::times::{Times, minute_from, smallest_step};

/// A set of civil seconds; it can be searched and counted without listing its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Times of day on certain days.
    Calendar { days: Days, times: Times },
    /// Minutes of certain hours.
    Hourly { hours: Grid, minutes: u64, second: i64 },
    /// Certain minutes, counted from the start.
    Minutely { minutes: Grid, second: i64 },
}

impl Pattern {
    /// Returns the first member at or after a civil second.
    pub(crate) fn next(&self, civil: i64) -> Option<i64> {
        match self {
            Self::Calendar { days, times } => {
                let (today, second) = day_and_second(civil);
                let from = today + i64::from(second > times.last());
                let day = days.next(from)?;
                let time = if day == today { times.first_from(second)? } else { times.first() };
                Some(day * DAY + time)
            }
            Self::Hourly { hours, minutes, second } => {
                let this_hour = civil.div_euclid(HOUR);
                let mut hour = hours.next(this_hour);
                let mut minute = first_from(*minutes, 0)?;
                if hour == this_hour {
                    match first_from(*minutes, minute_from(civil.rem_euclid(HOUR), *second)) {
                        Some(later) => minute = later,
                        None => hour = hours.next(this_hour + 1),
                    }
                }
                Some(hour * HOUR + i64::from(minute) * MINUTE + second)
            }
            Self::Minutely { minutes, second } => {
                Some(minutes.next(ceil_minute(civil - second)) * MINUTE + second)
            }
        }
    }

    /// Counts the members from one civil second (inclusive) to another (exclusive).
    pub(crate) fn count(&self, from: i64, to: i64) -> i64 {
        if to <= from {
            return 0;
        }
        match self {
            Self::Calendar { days, times } => {
                let within = |(day, second): (i64, i64)| {
                    let active = days.next(day) == Some(day);
                    if active { times.count_before(second) } else { 0 }
                };
                let (from, to) = (day_and_second(from), day_and_second(to));
                days.count(from.0, to.0) * times.in_a_day() + within(to) - within(from)
            }
            Self::Hourly { hours, minutes, second } => {
                let before = |civil: i64| {
                    let hour = civil.div_euclid(HOUR);
                    let whole = hours.count_before(hour) * i64::from(minutes.count_ones());
                    let part = count_below(*minutes, minute_from(civil.rem_euclid(HOUR), *second));
                    whole + if hours.next(hour) == hour { part } else { 0 }
                };
                before(to) - before(from)
            }
            Self::Minutely { minutes, second } => {
                let before = |civil: i64| minutes.count_before(ceil_minute(civil - second));
                before(to) - before(from)
            }
        }
    }

    /// Returns whether a civil second is a member.
    pub(crate) fn contains(&self, civil: i64) -> bool {
        self.next(civil) == Some(civil)
    }

    /// Returns the smallest distance between two members; a month counts as 28 days, a year as 365.
    pub(crate) fn smallest_gap(&self) -> i64 {
        match self {
            Self::Calendar { days, times } => {
                let across = times.gap_across(days.smallest_gap());
                times.smallest_gap().map_or(across, |within| within.min(across))
            }
            Self::Hourly { hours, minutes, .. } => {
                let span = i64::from(minutes.ilog2() - minutes.trailing_zeros());
                let across = hours.smallest_gap() * HOUR - span * MINUTE;
                smallest_step(*minutes).map_or(across, |within| across.min(within * MINUTE))
            }
            Self::Minutely { minutes, .. } => minutes.smallest_gap() * MINUTE,
        }
    }
}

const fn ceil_minute(seconds: i64) -> i64 {
    -(-seconds).div_euclid(MINUTE)
}
