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

/// Returns whether a year has a 29 February.
pub(crate) const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of a day; 1970-01-01 is 0.
pub(crate) const fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    Month(year * 12 + month - 1).first_day() + day - 1
}

/// Returns the date of a day number; the inverse of [`days_from_date`].
pub(crate) const fn date_from_days(days: i64) -> Date {
    let (Month(month), place) = month_of(days);
    Date { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: place + 1 }
}

/// Returns the month of a day number, and the place of the day in it: the 1st has place 0.
///
/// The inverse of [`Month::first_day`]. In both, years start in March, so the leap day is the last day
/// of a year. A search spends most of its time here, so both divide by constants in 32 bits, which is
/// fast. The algorithm is by Neri and Schneider, *Euclidean affine functions and their application to
/// calendar algorithms* (2022).
pub(crate) const fn month_of(days: i64) -> (Month, i64) {
    let quarters = 4 * position(days + DAYS_BEFORE) + 3;
    let century = quarters / 146_097;
    let of_century = quarters % 146_097 / 4;
    // One multiplication gives the year in its upper half and the day of the year in the lower.
    let product = 2_939_745 * (4 * of_century + 3) as u64;
    let year = 100 * century + position((product >> 32).cast_signed());
    let day_of_year = position((product & 0xffff_ffff).cast_signed()) / 2_939_745 / 4;
    let product = 2_141 * day_of_year + 1_305;
    let (month, place) = (product >> 16, (product & 0xffff) / 2_141);
    (Month((12 * year + month) as i64 - MONTHS_BEFORE), place as i64)
}

/// The number of 400-year cycles added to a year, so that no year is negative.
const CYCLES_BEFORE: i64 = 25;
/// The months from March of the first of the added cycles to January of the year 0.
const MONTHS_BEFORE: i64 = CYCLES_BEFORE * CYCLE_MONTHS - 2;
/// The days from 1 March of the first of the added cycles to 1970-01-01.
const DAYS_BEFORE: i64 = 719_468 + CYCLES_BEFORE * 146_097;

/// Splits a civil second into the number of its day and the second of that day.
pub(crate) const fn day_and_second(civil: i64) -> (i64, i64) {
    let shifted = (civil + DAYS_BEFORE * DAY).cast_unsigned();
    let day = (shifted / DAY.cast_unsigned()).cast_signed() - DAYS_BEFORE;
    (day, civil - day * DAY)
}

/// Returns the weekday of a day number: Monday is 0, Sunday is 6.
pub(crate) const fn weekday(days: i64) -> i64 {
    // The number is made positive by whole weeks, because 32 bits without a sign divide fastest.
    (position(days + 3 + 7 * DAYS_BEFORE) % 7) as i64
}

/// Returns the number of the week, from Monday, that contains a day; 1970-01-01 is in week 0.
pub(crate) const fn week_of(days: i64) -> i64 {
    (position(days + 3 + 7 * DAYS_BEFORE) / 7) as i64 - DAYS_BEFORE
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
        let from_march = position(self.0 + MONTHS_BEFORE);
        let (year, month) = (from_march / 12, from_march % 12);
        let century = year / 100;
        let of_years = 1_461 * year / 4 - century + century / 4;
        let of_months = (979 * month + 18) / 32;
        (of_years + of_months) as i64 - DAYS_BEFORE
    }

    /// Returns the number of days in the month.
    pub(crate) const fn length(self) -> i64 {
        match self.of_year() + 1 {
            2 => 28 + is_leap(self.year()) as i64,
            // Odd months up to July and even ones from August on have 31 days.
            month => 0b1_1110 | (month ^ (month >> 3)),
        }
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
    fn a_civil_second_has_a_day_and_a_second_of_it() {
        for day in [days_from_date(1, 1, 1) - 1, -1, 0, 1, days_from_date(9999, 12, 31) + 1] {
            for second in [0, 1, DAY - 1] {
                assert_eq!(day_and_second(day * DAY + second), (day, second));
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
