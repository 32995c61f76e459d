//! Days that fire, month by month: every so many months or years, certain days of each.
//!
//! Months are looked at one by one, but only those that the interval and the set of months leave
//! over. That a rule has a month with a day at all is settled when it is compiled: the calendar
//! repeats every 400 years, so a search through one common cycle of calendar and interval knows,
//! and no later search goes further.

use crate::civil::{
    CYCLE_MONTHS, Date, Month, count_below, date_from_days, first_from, gcd, next_multiple,
    position, weekday,
};

/// The months of four years: after these, the leap days repeat, but for three in 400 years.
const FOUR_YEARS: i64 = 48;
/// No step leads there.
const NEVER: u8 = u8::MAX;

/// The months in which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Months {
    /// Every so many months from the month `first`, of those in a set.
    Stepped {
        interval: i64,
        first: Month,
        /// By the place in four years of a month that the interval meets: how many steps of the
        /// interval lead from it to a month of the set that can have such a day.
        steps: [u8; 48],
    },
    /// Every so many years from the year `first`, the months in a set (bit 0 is January).
    OfYears { interval: i64, first: i64, of_year: u16 },
}

/// The days of a month on which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaysOfMonth {
    /// One day, or the last of a month that is shorter.
    Clamped(i64),
    /// Days counted from the start (bit 0 is the 1st) and from the end (bit 0 is the last).
    Listed { from_start: u32, from_end: u32 },
    /// Weekdays counted from the start and from the end.
    Weekdays(WeekdaysOfMonth),
}

/// Certain weekdays of a month as days, one set for each weekday that the month may begin with
/// (bit 0 is the 1st) and end with (bit 0 is the last).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekdaysOfMonth {
    by_first: [u32; 7],
    by_last: [u32; 7],
    /// The days that the shortest month with one of them has.
    shortest: u32,
}

/// For each weekday, which of them in a month: bits 0–4 from the start, bits 5–9 from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NthWeekdays(pub(crate) [u16; 7]);

impl Months {
    /// Every `interval` months from the month of the start, if in the set (bit 0 is January).
    pub(crate) fn stepped(interval: i64, first: Month, of_year: u16, days: &DaysOfMonth) -> Self {
        let may_fire =
            |month: Month| of_year >> month.of_year() & 1 == 1 && days.fit_in(month.length());
        let mut steps = [NEVER; 48];
        for (place, steps) in (0..).zip(&mut steps) {
            // Around the year 4, where every fourth year is a leap year.
            let month =
                |step: u8| Month(FOUR_YEARS + (place + i64::from(step) * interval) % FOUR_YEARS);
            *steps = (0..48).find(|step| may_fire(month(*step))).unwrap_or(NEVER);
        }
        Self::Stepped { interval, first, steps }
    }

    /// The first month in which the rule may fire, at or after one.
    ///
    /// `None` if the interval never meets such a month.
    fn next(&self, from: Month) -> Option<Month> {
        match *self {
            Self::Stepped { interval, first, .. } => {
                self.of_set(Month(next_multiple(from.0 - first.0, interval) + first.0))
            }
            Self::OfYears { interval, first, of_year } => {
                let active = next_multiple(from.year() - first, interval) + first;
                let within = if active == from.year() { position(from.of_year()) } else { 0 };
                let (year, place) = match first_from(of_year.into(), within) {
                    Some(place) => (active, place),
                    None => (active + interval, first_from(of_year.into(), 0)?),
                };
                Some(Month(year * 12 + i64::from(place)))
            }
        }
    }

    /// The next month in which the rule may fire after one in which it may.
    fn after(&self, active: Month) -> Option<Month> {
        match self {
            // No division is needed from one that the interval meets: a search spends its time here.
            Self::Stepped { interval, .. } => self.of_set(Month(active.0 + interval)),
            Self::OfYears { .. } => self.next(active.following()),
        }
    }

    /// From a month that the interval meets, the first that is in the set, too.
    fn of_set(&self, active: Month) -> Option<Month> {
        let Self::Stepped { interval, steps, .. } = self else {
            return Some(active);
        };
        let steps = steps.get((position(active.0) % 48) as usize).copied();
        let steps = steps.filter(|steps| *steps != NEVER)?;
        Some(Month(active.0 + i64::from(steps) * interval))
    }

    /// After so many months the active months and their days repeat.
    fn cycle(&self) -> i64 {
        let period = match *self {
            Self::Stepped { interval, .. } => interval,
            Self::OfYears { interval, .. } => interval * 12,
        };
        CYCLE_MONTHS / gcd(CYCLE_MONTHS, period) * period
    }
}

impl DaysOfMonth {
    /// The days in a month that begins with a day, bit 0 being the 1st.
    fn in_month(&self, first_day: i64, length: i64) -> u64 {
        let all = (1 << length) - 1;
        let (from_start, from_end) = match *self {
            Self::Clamped(day) => return 1 << (day.min(length) - 1),
            Self::Listed { from_start, from_end } => (from_start, from_end),
            Self::Weekdays(weekdays) => weekdays.in_month(first_day, length),
        };
        // Bit 0 of the reversed set stands for the last day.
        let from_end = u64::from(from_end).reverse_bits() >> (64 - length);
        (u64::from(from_start) | from_end) & all
    }

    /// Whether a month of so many days can have any.
    fn fit_in(&self, length: i64) -> bool {
        let shortest = match self {
            Self::Clamped(_) => 1,
            Self::Listed { from_start, from_end } => {
                from_start.trailing_zeros().min(from_end.trailing_zeros()) + 1
            }
            Self::Weekdays(weekdays) => weekdays.shortest,
        };
        length >= i64::from(shortest)
    }

    fn in_whole_month(&self, month: Month) -> u64 {
        self.in_month(month.first_day(), month.length())
    }
}

impl WeekdaysOfMonth {
    pub(crate) fn of(nth: NthWeekdays) -> Self {
        let mut days = Self { by_first: [0; 7], by_last: [0; 7], shortest: 0 };
        let edges = (0..).zip(days.by_first.iter_mut().zip(&mut days.by_last));
        for (edge, (by_first, by_last)) in edges {
            for (wanted, set) in (0..).zip(nth.0) {
                // The first such day of a month that begins so; the last of one that ends so.
                let (first, last): (i64, i64) = (wanted - edge, edge - wanted);
                *by_first |= every_seventh(set & 31) << first.rem_euclid(7);
                *by_last |= every_seventh(set >> 5) << last.rem_euclid(7);
            }
        }
        let all = days.by_first.iter().chain(&days.by_last).fold(0, |all, set| all | set);
        days.shortest = all.trailing_zeros() + 1;
        days
    }

    fn in_month(&self, first_day: i64, length: i64) -> (u32, u32) {
        let by =
            |sets: &[u32; 7], day| sets.get(position(weekday(day)) as usize).copied().unwrap_or(0);
        (by(&self.by_first, first_day), by(&self.by_last, first_day + length - 1))
    }
}

/// Spreads five bits seven apart: bit k moves to bit 7k.
const fn every_seventh(weeks: u16) -> u32 {
    let weeks = weeks as u32;
    (weeks & 1) | (weeks & 2) << 6 | (weeks & 4) << 12 | (weeks & 8) << 18 | (weeks & 16) << 24
}

/// The first day that fires at or after a day.
pub(crate) fn next(months: &Months, days: &DaysOfMonth, day: i64) -> Option<i64> {
    let date = date_from_days(day);
    let today = Month::of(date);
    let mut month = months.next(today)?;
    if month == today {
        let (first_day, length) = (day - date.day + 1, month.length());
        if let Some(found) = first_from(days.in_month(first_day, length), position(date.day - 1)) {
            return Some(first_day + i64::from(found));
        }
        month = months.after(month)?;
        if month == today.following() {
            let first_day = first_day + length;
            let found = days.in_month(first_day, month.length());
            if found != 0 {
                return Some(first_day + i64::from(found.trailing_zeros()));
            }
            month = months.after(month)?;
        }
    }
    // Bounded: the end of the calendar, or a whole cycle in which there was nothing.
    let end = Month::of(Date { year: 10_000, month: 1, day: 1 });
    let last = end.min(Month(month.0 + months.cycle()));
    while month <= last {
        let length = month.length();
        // Most of the months of a long search are Februaries without a 29th.
        if days.fit_in(length) {
            let first_day = month.first_day();
            let found = days.in_month(first_day, length);
            if found != 0 {
                return Some(first_day + i64::from(found.trailing_zeros()));
            }
        }
        month = months.after(month)?;
    }
    None
}

/// How many days fire from one day (inclusive) to another (exclusive).
///
/// Months are counted one by one, but never more than one cycle and a part of it.
pub(crate) fn count(months: &Months, days: &DaysOfMonth, from: i64, to: i64) -> i64 {
    // Days from the first of the month of `day` up to `day`.
    let within = |day: i64| {
        let date = date_from_days(day);
        let month = Month::of(date);
        let active = months.next(month) == Some(month);
        let part = count_below(days.in_whole_month(month), position(date.day - 1));
        (month, if active { part } else { 0 })
    };
    let each = |from: Month, to: Month| -> i64 {
        let counts = active_months(months, from, to).map(|month| days.in_whole_month(month));
        counts.map(|days| i64::from(days.count_ones())).sum()
    };
    let ((first, before_first), (last, in_last)) = (within(from), within(to));
    let cycle = months.cycle();
    let cycles = (last.0 - first.0).div_euclid(cycle);
    let whole = if cycles == 0 { 0 } else { cycles * each(first, Month(first.0 + cycle)) };
    whole + each(Month(first.0 + cycles * cycle), last) + in_last - before_first
}

/// The smallest number of days between two that fire, a month counting 28 and, in a rule that
/// counts years, a year 365.
pub(crate) fn smallest_gap(months: &Months, days: &DaysOfMonth) -> i64 {
    let start = match *months {
        Months::Stepped { first, .. } => first,
        Months::OfYears { first, .. } => Month(first * 12),
    };
    let days_of_year = match months {
        Months::Stepped { .. } => 12 * 28,
        Months::OfYears { .. } => 365,
    };
    let mut smallest = i64::MAX;
    let mut last: Option<(Month, i64)> = None;
    // Two cycles, so that the step from the end of one into the next is in it.
    for month in active_months(months, start, Month(start.0 + 2 * months.cycle())) {
        let in_month = days.in_whole_month(month);
        // Bounded by the 31 days of a month.
        let each =
            std::iter::successors(first_from(in_month, 0), |at| first_from(in_month, at + 1));
        for day in each.map(i64::from) {
            if let Some((earlier, earlier_day)) = last {
                let gap = calendar_gap((earlier, earlier_day), (month, day), days_of_year);
                smallest = smallest.min(gap);
            }
            last = Some((month, day));
        }
        if smallest == 1 {
            break;
        }
    }
    smallest
}

fn active_months(months: &Months, from: Month, to: Month) -> impl Iterator<Item = Month> {
    std::iter::successors(months.next(from), |month| months.after(*month))
        .take_while(move |month| *month < to)
}

/// The days between two dates (months with days from 0), whole months and years counted alike.
fn calendar_gap(
    (earlier, earlier_day): (Month, i64),
    (later, later_day): (Month, i64),
    days_of_year: i64,
) -> i64 {
    let same_day_reached = later_day >= earlier_day.min(later.length() - 1);
    let whole = later.0 - earlier.0 - i64::from(!same_day_reached);
    let reached = Month(earlier.0 + whole);
    let reached_day = reached.first_day() + earlier_day.min(reached.length() - 1);
    let rest = later.first_day() + later_day - reached_day;
    whole / 12 * days_of_year + whole % 12 * 28 + rest
}
