//! The days on which a rule of months or years fires.
//!
//! A search visits months one by one, but only those that the interval and the set of months allow.
//! The calendar repeats every 400 years, so one common cycle of calendar and interval shows whether
//! a rule has a matching day at all. A rule without one is refused when it is compiled, and no later
//! search goes beyond one cycle.

use crate::civil::{
    CYCLE_MONTHS, Date, Month, count_below, first_from, gcd, month_of, next_multiple, position,
    weekday,
};

/// Days of the shortest month: whole weeks.
const SHORTEST_MONTH: i64 = 28;
/// The months of four years, after which leap days repeat, except for three in 400 years.
const FOUR_YEARS: i64 = 48;
/// Bit 0 of each of these years, if a year has 12 bits.
const EACH_YEAR: u64 = 1 | 1 << 12 | 1 << 24 | 1 << 36;
/// Every month of four years.
const EVERY_MONTH: u64 = EACH_YEAR * 0b1111_1111_1111;
/// The month after the calendar, whose days no search needs.
const CALENDAR_END_MONTH: Month = Month::containing(Date { year: 10_000, month: 1, day: 1 });
/// Marks a place from which no step leads to a month that can fire.
const NEVER: u8 = u8::MAX;

/// The months in which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Months {
    /// Every `interval` months from the month `first`, if the month is in a set.
    Stepped {
        interval: i64,
        first: Month,
        /// Indexed by the place of a month in four years. An entry is the number of steps from that
        /// month to the next month of the set that can have a matching day.
        steps: [u8; 48],
    },
    /// Every `interval` years from the year `first`, in a set of months (bit 0 is January).
    OfYears { interval: i64, first: i64, of_year: u16 },
}

/// The days of a month on which a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaysOfMonth {
    /// One day, or the last day of a shorter month.
    Clamped(i64),
    /// Days counted from the start (bit 0 is the 1st) and from the end (bit 63 is the last).
    Listed { from_start: u64, from_end: u64 },
    /// Weekdays counted from the start and from the end.
    Weekdays(WeekdaysOfMonth),
}

/// Weekdays of a month, converted to days.
///
/// `from_start` has one set for each weekday that a month can begin with; bit 0 is the 1st.
///
/// In `from_end` bit 63 is the last day. Its index is that weekday plus the days by which the month is
/// longer than 28, so that a search needs no second weekday. The last three sets are the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekdaysOfMonth {
    from_start: [u32; 7],
    from_end: [u64; 10],
    /// The length of the shortest month that can have one of these days.
    shortest: u32,
}

/// For each weekday, its numbers within a month: bits 0 to 4 count from the start, bits 5 to 9 from
/// the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NthWeekdays(pub(crate) [u16; 7]);

impl Months {
    /// Every `interval` months from the month of the start, if it is in the set (bit 0 is January).
    pub(crate) fn stepped(interval: i64, first: Month, of_year: u16, days: &DaysOfMonth) -> Self {
        let may_fire = (EACH_YEAR * u64::from(of_year)) & long_enough(days.shortest_month());
        if may_fire == EVERY_MONTH {
            return Self::Stepped { interval, first, steps: [0; 48] };
        }
        // Backwards from a month in which the rule may fire: what follows the last step of a round is
        // the first step of the next.
        let back = position(FOUR_YEARS - interval % FOUR_YEARS);
        let earlier = |place: &u32| {
            let place = place + back;
            Some(place.checked_sub(48).unwrap_or(place))
        };
        let round = |from| std::iter::successors(Some(from), earlier).take(48);
        let fires = |place: u32| may_fire >> place & 1 == 1;
        let mut steps = [NEVER; 48];
        if let Some(begin) = round(position(first.0.rem_euclid(FOUR_YEARS))).find(|p| fires(*p)) {
            let mut ahead = 0;
            for place in round(begin) {
                ahead = if fires(place) { 0 } else { ahead + 1 };
                if let Some(steps) = steps.get_mut(place as usize) {
                    *steps = ahead;
                }
            }
        }
        Self::Stepped { interval, first, steps }
    }

    /// Returns the first month in which the rule may fire, at or after `from`.
    ///
    /// Returns `None` if the interval never reaches such a month.
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

    /// Returns the next month in which the rule may fire, after such a month.
    fn after(&self, active: Month) -> Option<Month> {
        match self {
            // A long search spends its time here, so this path avoids the division of `next`.
            Self::Stepped { interval, .. } => self.of_set(Month(active.0 + interval)),
            Self::OfYears { .. } => self.next(active.following()),
        }
    }

    /// Returns the first month of the set, at or after a month that the interval reaches.
    fn of_set(&self, active: Month) -> Option<Month> {
        let Self::Stepped { interval, steps, .. } = self else {
            return Some(active);
        };
        let steps = steps.get((position(active.0) % 48) as usize).copied();
        let steps = steps.filter(|steps| *steps != NEVER)?;
        Some(Month(active.0 + i64::from(steps) * interval))
    }

    /// Returns the number of months after which the active months and their days repeat.
    fn cycle(&self) -> i64 {
        let period = match *self {
            Self::Stepped { interval, .. } => interval,
            Self::OfYears { interval, .. } => interval * 12,
        };
        CYCLE_MONTHS / gcd(CYCLE_MONTHS, period) * period
    }
}

impl DaysOfMonth {
    /// Returns the matching days of a month that starts at `first_day`; bit 0 is the 1st.
    fn in_month(&self, first_day: i64, length: i64) -> u64 {
        let all = (1 << length) - 1;
        let (from_start, from_end) = match self {
            Self::Clamped(day) => return 1 << ((*day).min(length) - 1),
            Self::Listed { from_start, from_end } => (*from_start, *from_end),
            Self::Weekdays(weekdays) => weekdays.in_month(first_day, length),
        };
        (from_start | from_end >> (64 - length)) & all
    }

    /// Returns the length of the shortest month that can have a matching day.
    fn shortest_month(&self) -> u32 {
        match self {
            Self::Clamped(_) => 1,
            Self::Listed { from_start, from_end } => {
                from_start.trailing_zeros().min(from_end.leading_zeros()) + 1
            }
            Self::Weekdays(weekdays) => weekdays.shortest,
        }
    }

    fn in_whole_month(&self, month: Month) -> u64 {
        self.in_month(month.first_day(), month.length())
    }
}

impl WeekdaysOfMonth {
    pub(crate) fn new(nth: NthWeekdays) -> Self {
        let mut days = Self { from_start: [0; 7], from_end: [0; 10], shortest: 0 };
        for (wanted, numbers) in (0_i64..).zip(nth.0).filter(|(_, numbers)| *numbers != 0) {
            // The first such weekday of a month that begins with the weekday `first`.
            for (first, set) in (0..).zip(&mut days.from_start) {
                *set |= every_seventh(numbers & 31) << (wanted - first).rem_euclid(7);
            }
            // The last such weekday of a month whose following month begins with the weekday `next`.
            for (next, set) in (0..).zip(&mut days.from_end) {
                let from_end = every_seventh(numbers >> 5) << (next - 1 - wanted).rem_euclid(7);
                *set |= u64::from(from_end).reverse_bits();
            }
        }
        let from_start = days.from_start.iter().fold(0, |all, set| all | set);
        let from_end = days.from_end.iter().fold(0, |all, set| all | set);
        days.shortest = from_start.trailing_zeros().min(from_end.leading_zeros()) + 1;
        days
    }

    fn in_month(&self, first_day: i64, length: i64) -> (u64, u64) {
        let first = weekday(first_day);
        let place = |at| position(at) as usize;
        let from_start = self.from_start.get(place(first)).copied().unwrap_or(0);
        let from_end = self.from_end.get(place(first + length - SHORTEST_MONTH)).copied();
        (from_start.into(), from_end.unwrap_or(0))
    }
}

/// Returns the months of four years that have so many days; bit 0 is January of the leap year.
const fn long_enough(days: u32) -> u64 {
    match days {
        ..=28 => EVERY_MONTH,
        29 => (EACH_YEAR * 0b1111_1111_1101) | 0b10,
        30 => EACH_YEAR * 0b1111_1111_1101,
        31.. => EACH_YEAR * 0b1010_1101_0101,
    }
}

/// Spreads five bits seven apart: bit k moves to bit 7k.
const fn every_seventh(weeks: u16) -> u32 {
    let weeks = weeks as u32;
    (weeks & 1) | (weeks & 2) << 6 | (weeks & 4) << 12 | (weeks & 8) << 18 | (weeks & 16) << 24
}

/// Returns the first matching day at or after a day.
pub(crate) fn next(months: &Months, days: &DaysOfMonth, day: i64) -> Option<i64> {
    let (today, place) = month_of(day);
    let mut month = months.next(today)?;
    let (mut first_day, mut from) =
        if month == today { (day - place, position(place)) } else { (month.first_day(), 0) };
    let mut length = month.length();
    // Bounded: the months that can fire, and their days, repeat after a cycle, and no cycle has more
    // of them than this.
    for _ in 0..=CYCLE_MONTHS {
        if let Some(found) = first_from(days.in_month(first_day, length), from) {
            return Some(first_day + i64::from(found));
        }
        let after = months.after(month)?;
        if after > CALENDAR_END_MONTH {
            return None;
        }
        first_day = if after == month.following() { first_day + length } else { after.first_day() };
        (month, length, from) = (after, after.length(), 0);
    }
    None
}

/// Counts the matching days from one day (inclusive) to another (exclusive).
///
/// Months are counted one by one, for less than two cycles.
pub(crate) fn count(months: &Months, days: &DaysOfMonth, from: i64, to: i64) -> i64 {
    // Counts the days from the first of the month to `day` (exclusive).
    let within = |day: i64| {
        let (month, place) = month_of(day);
        let active = months.next(month) == Some(month);
        let part = count_below(days.in_whole_month(month), position(place));
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

/// Returns the smallest distance between two matching days.
///
/// A month counts as 28 days; in a rule with frequency `year`, a year counts as 365 days.
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
    // Two cycles include the step from the end of one cycle into the next.
    for month in active_months(months, start, Month(start.0 + 2 * months.cycle())) {
        let in_month = days.in_whole_month(month);
        // Bounded: a month has at most 31 days.
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

/// Returns the days between two dates; each whole month and year counts with a fixed length.
///
/// A date is a month and the place of a day in it; the first day has place 0.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_months_that_are_long_enough_are_those_of_that_length_or_more() {
        for days in 1..=31 {
            for place in 0..FOUR_YEARS {
                let is_set = long_enough(days) >> place & 1 == 1;
                let length = Month(FOUR_YEARS + place).length();
                assert_eq!(is_set, length >= i64::from(days), "{days} days in month {place}");
            }
        }
    }

    #[test]
    fn the_next_month_that_may_fire_is_the_one_that_a_walk_finds() {
        let listed = |day: u32| DaysOfMonth::Listed { from_start: 1 << (day - 1), from_end: 0 };
        let start = Month(2001 * 12 + 10);
        for (interval, of_year) in (1..=18)
            .flat_map(|interval| [0x0fff, 0b10, 0b1010_0101_1010].map(|set| (interval, set)))
        {
            for days in [28, 29, 30, 31].map(listed) {
                let months = Months::stepped(interval, start, of_year, &days);
                let fires = |month: &Month| {
                    let long = month.length() >= i64::from(days.shortest_month());
                    (month.0 - start.0) % interval == 0
                        && of_year >> month.of_year() & 1 == 1
                        && long
                };
                for from in (start.0..start.0 + 60).map(Month) {
                    // Every fourth year of this time is a leap year.
                    let walked = (from.0..from.0 + 900).map(Month).find(fires);
                    assert_eq!(months.next(from), walked, "{interval} {of_year:b} {from:?}");
                }
            }
        }
    }
}
