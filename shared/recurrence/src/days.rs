//! Days that fire: the search over days, weeks, months and years.
//!
//! Days and weeks are arithmetic. Months are looked at one by one, and only those that can hold
//! a day of the rule at all; that a rule has such a month is settled when it is compiled
//! ([`Days::next`] from its start), so that no later search goes past one cycle of the calendar.

use crate::civil::{
    CALENDAR_END, CYCLE_MONTHS, DAY, Date, Month, count_below, date_from_days, first_from, gcd,
    position, week_of, week_start, weekday,
};

/// No day lies beyond this one.
///
/// A little past the year 9999, because a civil day may still lie in it by another clock.
const LAST_DAY: i64 = CALENDAR_END / DAY + 2;

/// The days on which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Days {
    /// Every so many days from the day `first`.
    Daily { interval: i64, first: i64 },
    /// Every so many weeks from the week `first`, on a set of weekdays (bit 0 is Monday).
    Weekly { interval: i64, first: i64, weekdays: u8 },
    /// In certain months, on certain days of each.
    Monthly { months: Months, days: DaysOfMonth },
}

/// The months in which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Months {
    /// Periods of how many months: 1, or 12 where the rule counts years.
    unit: i64,
    /// Every so many periods are active.
    interval: i64,
    /// The number of the period of the start.
    first: i64,
    /// The months of a year in which the rule may fire (bit 0 is January).
    of_year: u16,
}

/// The days of a month on which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaysOfMonth {
    /// One day, or the last of a month that is shorter.
    Clamped(i64),
    /// Days counted from the start (bit 0 is the 1st) and from the end (bit 0 is the last).
    Listed { from_start: u32, from_end: u32 },
    /// Weekdays counted from the start and from the end.
    Weekdays(NthWeekdays),
}

/// For each weekday, which of them in a month: bits 0–4 from the start, bits 5–9 from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NthWeekdays(pub(crate) [u16; 7]);

impl Days {
    /// The first day that fires at or after a day; `None` past the end of the calendar.
    pub(crate) fn next(&self, day: i64) -> Option<i64> {
        let next = match *self {
            Self::Daily { interval, first } => next_multiple(day - first, interval) + first,
            Self::Weekly { interval, first, weekdays } => {
                let week = week_of(day);
                let active = next_multiple(week - first, interval) + first;
                let from = if active == week { position(weekday(day)) } else { 0 };
                let weekdays = u64::from(weekdays);
                match first_from(weekdays, from) {
                    Some(weekday) => week_start(active) + i64::from(weekday),
                    None => week_start(active + interval) + i64::from(weekdays.trailing_zeros()),
                }
            }
            Self::Monthly { months, days } => next_in_months(months, days, day)?,
        };
        (next <= LAST_DAY).then_some(next)
    }

    /// How many days fire from one day (inclusive) to another (exclusive).
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
            Self::Monthly { months, days } => count_in_months(months, days, from, to),
        }
    }

    /// The smallest number of days between two that fire, a month counting 28 and a year 365.
    pub(crate) fn smallest_gap(&self) -> i64 {
        match *self {
            Self::Daily { interval, .. } => interval,
            Self::Weekly { interval, weekdays, .. } => {
                let week = u64::from(weekdays);
                let span = i64::from(week.ilog2() - week.trailing_zeros());
                let within = crate::times::smallest_step(week);
                within.into_iter().fold(interval * 7 - span, i64::min)
            }
            Self::Monthly { months, days } => smallest_gap_in_months(months, days),
        }
    }
}

impl Months {
    /// Every `interval` months from the month of the start.
    pub(crate) fn monthly(interval: i64, start: Month, of_year: u16) -> Self {
        Self { unit: 1, interval, first: start.0, of_year }
    }

    /// Every `interval` years from the year of the start.
    pub(crate) fn yearly(interval: i64, start: Month, of_year: u16) -> Self {
        Self { unit: 12, interval, first: start.year(), of_year }
    }

    /// The first active month at or after a month, of those in the set `of_year`.
    ///
    /// `None` if the interval never meets the set.
    fn next(&self, from: Month) -> Option<Month> {
        let period = from.0.div_euclid(self.unit);
        let active = next_multiple(period - self.first, self.interval) + self.first;
        let of_year = u64::from(self.of_year);
        if self.unit == 12 {
            let within = if active == period { position(from.of_year()) } else { 0 };
            let (year, month) = match first_from(of_year, within) {
                Some(month) => (active, month),
                None => (active + self.interval, first_from(of_year, 0)?),
            };
            return Some(Month(year * 12 + i64::from(month)));
        }
        if self.interval == 1 {
            let (year, month) = match first_from(of_year, position(from.of_year())) {
                Some(month) => (from.year(), month),
                None => (from.year() + 1, first_from(of_year, 0)?),
            };
            return Some(Month(year * 12 + i64::from(month)));
        }
        // An interval visits at most 12 months of the year before they repeat.
        (0..12)
            .map(|step| Month(active + step * self.interval))
            .find(|month| of_year >> month.of_year() & 1 == 1)
    }

    /// After so many months the active months and their days repeat.
    fn cycle(&self) -> i64 {
        let period = self.unit * self.interval;
        CYCLE_MONTHS / gcd(CYCLE_MONTHS, period) * period
    }
}

impl DaysOfMonth {
    /// The days in a month, bit 0 being the 1st.
    fn in_month(&self, month: Month) -> u64 {
        let length = month.length();
        let all = (1 << length) - 1;
        match *self {
            Self::Clamped(day) => 1 << (day.min(length) - 1),
            Self::Listed { from_start, from_end: 0 } => u64::from(from_start) & all,
            Self::Listed { from_start, from_end } => {
                // Bit 0 of the reversed set stands for the last day.
                let from_end = u64::from(from_end).reverse_bits() >> (64 - length);
                (u64::from(from_start) | from_end) & all
            }
            Self::Weekdays(nth) => nth.in_month(month.first_day(), length) & all,
        }
    }
}

impl NthWeekdays {
    fn in_month(&self, first_day: i64, length: i64) -> u64 {
        let mut days = 0;
        for (weekday_wanted, nth) in (0..).zip(self.0) {
            if nth == 0 {
                continue;
            }
            let first = (weekday_wanted - weekday(first_day)).rem_euclid(7);
            let last = first + (length - 1 - first) / 7 * 7;
            days |= every_seventh(u64::from(nth & 31)) << first;
            // Counted back from the last: shifted so that its bit falls on the last such day.
            let back = every_seventh(u64::from(nth >> 5)).reverse_bits() >> (63 - last);
            days |= back;
        }
        days
    }
}

/// Spreads five bits seven apart.
const fn every_seventh(weeks: u64) -> u64 {
    // Bit k moves to bit 7k.
    (weeks & 1) | (weeks & 2) << 6 | (weeks & 4) << 12 | (weeks & 8) << 18 | (weeks & 16) << 24
}

fn next_in_months(months: Months, days: DaysOfMonth, day: i64) -> Option<i64> {
    let date = date_from_days(day);
    let mut month = months.next(Month::of(date))?;
    if month == Month::of(date) {
        if let Some(found) = first_from(days.in_month(month), position(date.day - 1)) {
            return Some(day - date.day + 1 + i64::from(found));
        }
        month = months.next(Month(month.0 + 1))?;
    }
    let last = last_month_to_search(month, months);
    while month <= last {
        let found = days.in_month(month);
        if found != 0 {
            return Some(month.first_day() + i64::from(found.trailing_zeros()));
        }
        month = months.next(Month(month.0 + 1))?;
    }
    None
}

/// The bound of a search: the end of the calendar, or a whole cycle in which nothing was found.
fn last_month_to_search(from: Month, months: Months) -> Month {
    let end = Month::of(Date { year: 10_000, month: 1, day: 1 });
    Month(from.0 + months.cycle()).min(end)
}

fn count_in_months(months: Months, days: DaysOfMonth, from: i64, to: i64) -> i64 {
    // Days from the first of the month of `day` up to `day`.
    let within = |day: i64| {
        let date = date_from_days(day);
        let month = Month::of(date);
        let active = months.next(month) == Some(month);
        let part = count_below(days.in_month(month), position(date.day - 1));
        (month, if active { part } else { 0 })
    };
    let ((first, before_first), (last, in_last)) = (within(from), within(to));
    let cycle = months.cycle();
    let cycles = (last.0 - first.0).div_euclid(cycle);
    let whole = if cycles == 0 {
        0
    } else {
        cycles * count_month_by_month(months, days, first, Month(first.0 + cycle))
    };
    let rest = count_month_by_month(months, days, Month(first.0 + cycles * cycle), last);
    whole + rest + in_last - before_first
}

fn count_month_by_month(months: Months, days: DaysOfMonth, from: Month, to: Month) -> i64 {
    active_months(months, from, to).map(|month| i64::from(days.in_month(month).count_ones())).sum()
}

fn active_months(months: Months, from: Month, to: Month) -> impl Iterator<Item = Month> {
    std::iter::successors(months.next(from), move |month| months.next(Month(month.0 + 1)))
        .take_while(move |month| *month < to)
}

fn smallest_gap_in_months(months: Months, days: DaysOfMonth) -> i64 {
    let start = Month(months.first * months.unit);
    let end = Month(start.0 + months.cycle() + 1);
    let mut last: Option<(Month, i64)> = None;
    let mut smallest = i64::MAX;
    for month in active_months(months, start, end) {
        let mut at = 0;
        // Bounded by the 31 days of a month.
        while let Some(day) = first_from(days.in_month(month), at) {
            if let Some((earlier, earlier_day)) = last {
                let gap = calendar_gap(earlier, earlier_day, month, i64::from(day), months.unit);
                smallest = smallest.min(gap);
            }
            last = Some((month, i64::from(day)));
            at = day + 1;
        }
        if smallest == 1 {
            break;
        }
    }
    smallest
}

/// The days between two dates, whole months counted as 28 days and whole years as 365.
fn calendar_gap(earlier: Month, earlier_day: i64, later: Month, later_day: i64, unit: i64) -> i64 {
    let same_day_reached = later_day >= earlier_day.min(later.length() - 1);
    let whole = later.0 - earlier.0 - i64::from(!same_day_reached);
    let (years, months) = if unit == 12 { (whole / 12, whole % 12) } else { (0, whole) };
    let reached = Month(earlier.0 + whole);
    let reached_day = reached.first_day() + earlier_day.min(reached.length() - 1);
    years * 365 + months * 28 + (later.first_day() + later_day - reached_day)
}

/// The first multiple of a step at or after a number.
const fn next_multiple(at: i64, step: i64) -> i64 {
    -(-at).div_euclid(step) * step
}

/// How many multiples of a step lie below a number, less those below 0.
const fn multiples_below(at: i64, step: i64) -> i64 {
    -(-at).div_euclid(step)
}
