//! Civil arithmetic: days, months and weeks as numbers, without a zone.
//!
//! A civil second counts the seconds since 1970-01-01T00:00 as a wall clock shows them. Only
//! [`timeline`](crate::timeline) and [`zone`](crate::zone) relate it to an instant. The calendar is
//! the proleptic Gregorian calendar, which repeats every 400 years.

/// Seconds in a minute.
pub(crate) const MINUTE: i64 = 60;
/// Seconds in an hour.
pub(crate) const HOUR: i64 = 3_600;
/// Seconds in a day.
pub(crate) const DAY: i64 = 86_400;
/// The first second of the year 1, counted from 1970.
pub(crate) const CALENDAR_START: i64 = days_from_date(1, 1, 1) * DAY;
/// The last second of the year 9999, counted from 1970.
pub(crate) const CALENDAR_END: i64 = days_from_date(10_000, 1, 1) * DAY - 1;
/// The months after which the calendar repeats: 400 years are a whole number of weeks.
pub(crate) const CYCLE_MONTHS: i64 = 4_800;

/// Converts a field of the calendar or the clock to a bit position.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "calendar fields, remainders and set positions are never negative and far below 2^32"
)]
pub(crate) const fn position(field: i64) -> u32 {
    field as u32
}

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    /// 1 to 31.
    pub(crate) day: i64,
}

impl Date {
    /// Returns the number of days in the month of the date.
    pub(crate) const fn length_of_month(self) -> i64 {
        let Self { year, month, .. } = self;
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            // Odd months up to July and even ones from August on have 31 days.
            _ => 0b1_1110 | (month ^ (month >> 3)),
        }
    }
}

/// Returns the number of a day; 1970-01-01 is 0.
///
/// Years start in March, so the leap day is the last day of a year. A search spends most of its time
/// here and in [`date_from_days`], so both divide by constants in 32 bits, which is fast. The
/// algorithm is by Neri and Schneider, *Euclidean affine functions and their application to calendar
/// algorithms* (2022).
pub(crate) const fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 12) } else { (year, month) };
    let year = position(year + 400 * ERAS_BEFORE);
    let century = year / 100;
    let of_years = 1_461 * year / 4 - century + century / 4;
    let of_months = (979 * position(month) - 2_919) / 32;
    (of_years + of_months) as i64 + day - 1 - DAYS_BEFORE
}

/// Returns the date of a day number; the inverse of [`days_from_date`].
pub(crate) const fn date_from_days(days: i64) -> Date {
    let shifted = position(days + DAYS_BEFORE);
    let quarters = 4 * shifted + 3;
    let century = quarters / 146_097;
    let of_century = quarters % 146_097 / 4;
    // One multiplication gives the year in its upper half and the day of the year in the lower.
    let product = 2_939_745 * (4 * of_century + 3) as u64;
    let year_of_century = position((product >> 32).cast_signed());
    let day_of_year = position((product & 0xffff_ffff).cast_signed()) / 2_939_745 / 4;
    let product = 2_141 * day_of_year + 197_913;
    let (month, day) = (product >> 16, (product & 0xffff) / 2_141);
    // January and February belong to the year that began in the previous March.
    let next_year = day_of_year >= 306;
    let year = (100 * century + year_of_century) as i64 - 400 * ERAS_BEFORE;
    Date {
        year: year + next_year as i64,
        month: if next_year { month - 12 } else { month } as i64,
        day: day as i64 + 1,
    }
}

/// The number of 400-year cycles added to a year, so that no year is negative.
const ERAS_BEFORE: i64 = 25;
/// The days from 1 March of the year 0, less the added cycles, to 1970-01-01.
const DAYS_BEFORE: i64 = 719_468 + ERAS_BEFORE * 146_097;

/// Returns the weekday of a day number: Monday is 0, Sunday is 6.
pub(crate) const fn weekday(days: i64) -> i64 {
    // The number is made positive by whole weeks, because 32 bits without a sign divide fastest.
    (position(days + 3 + 7 * DAYS_BEFORE) % 7) as i64
}

/// Returns the number of the week, from Monday, that contains a day; 1970-01-01 is in week 0.
pub(crate) const fn week_of(days: i64) -> i64 {
    (days + 3).div_euclid(7)
}

/// Returns the day number of a week's Monday.
pub(crate) const fn week_start(week: i64) -> i64 {
    week * 7 - 3
}

/// A month, numbered from January of the year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Month(pub(crate) i64);

impl Month {
    /// Returns the month that contains a date.
    pub(crate) const fn containing(date: Date) -> Self {
        Self(date.year * 12 + date.month - 1)
    }

    /// Returns the year of the month.
    pub(crate) const fn year(self) -> i64 {
        (position(self.0) / 12) as i64
    }

    /// Returns the next month.
    pub(crate) const fn following(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the place of the month in its year: January is 0.
    pub(crate) const fn of_year(self) -> i64 {
        (position(self.0) % 12) as i64
    }

    /// Returns the day number of the month's first day.
    pub(crate) const fn first_day(self) -> i64 {
        days_from_date(self.year(), self.of_year() + 1, 1)
    }

    /// Returns the number of days in the month.
    pub(crate) const fn length(self) -> i64 {
        Date { year: self.year(), month: self.of_year() + 1, day: 1 }.length_of_month()
    }
}

/// Returns the first member of a set of bits at or above a position.
pub(crate) const fn first_from(bits: u64, at: u32) -> Option<u32> {
    if at >= u64::BITS {
        return None;
    }
    let rest = bits >> at;
    if rest == 0 { None } else { Some(at + rest.trailing_zeros()) }
}

/// Counts the members of a set of bits below a position.
pub(crate) const fn count_below(bits: u64, at: u32) -> i64 {
    let kept = if at >= u64::BITS { bits } else { bits & ((1 << at) - 1) };
    kept.count_ones() as i64
}

/// Returns the first multiple of a step at or after a number.
pub(crate) const fn next_multiple(at: i64, step: i64) -> i64 {
    // This division is the most expensive operation of a search, and most intervals are 1.
    if step == 1 { at } else { -(-at).div_euclid(step) * step }
}

/// Counts the multiples of a step from 0 to a number (exclusive); negative below 0.
pub(crate) const fn multiples_below(at: i64, step: i64) -> i64 {
    if step == 1 { at } else { -(-at).div_euclid(step) }
}

/// Returns the greatest common divisor of two positive numbers.
pub(crate) const fn gcd(mut a: i64, mut b: i64) -> i64 {
    // Bounded: Euclid's algorithm takes at most 46 steps for numbers below 2^31.
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_the_whole_calendar() {
        let mut expected = Date { year: 1, month: 1, day: 1 };
        for days in days_from_date(1, 1, 1)..=days_from_date(9999, 12, 31) {
            assert_eq!(date_from_days(days), expected);
            assert_eq!(days_from_date(expected.year, expected.month, expected.day), days);
            expected.day += 1;
            if expected.day > Month::containing(expected).length() {
                expected = Date { year: expected.year, month: expected.month + 1, day: 1 };
                if expected.month > 12 {
                    expected = Date { year: expected.year + 1, month: 1, day: 1 };
                }
            }
        }
    }

    #[test]
    fn the_epoch_was_a_thursday_in_week_0() {
        assert_eq!(weekday(0), 3);
        assert_eq!((week_of(-4), week_of(-3), week_of(3), week_of(4)), (-1, 0, 0, 1));
        assert_eq!(week_start(0), -3);
    }

    #[test]
    fn first_from_and_count_below_are_right_at_the_edges_of_a_set() {
        assert_eq!(first_from(0b1001, 1), Some(3));
        assert_eq!(first_from(0b1001, 4), None);
        assert_eq!(first_from(u64::MAX, 64), None);
        assert_eq!(count_below(0b1001, 3), 1);
        assert_eq!(count_below(u64::MAX, 64), 64);
    }
}
