//! Instants as whole numbers: ticks of 100 ns since 1970, the finest step that a date here has.

use chrono::{DateTime, Datelike, Utc};

/// Ticks in a second.
const TICKS: i64 = 10_000_000;
/// The last year of the calendar.
const YEAR_MAX: i32 = 9999;
/// Nanoseconds in a tick.
const NANOS: u32 = 100;

/// An instant in ticks since 1970. What is finer is cut off.
#[must_use]
pub fn ticks(instant: DateTime<Utc>) -> i64 {
    let fraction = i64::from(instant.timestamp_subsec_nanos() / NANOS);
    // No year that a date can have here comes near the ends of the type.
    instant.timestamp().saturating_mul(TICKS).saturating_add(fraction)
}

/// The instant of so many ticks since 1970; `None` beyond what a date can have.
#[must_use]
pub fn from_ticks(ticks: i64) -> Option<DateTime<Utc>> {
    let nanos = u32::try_from(ticks.rem_euclid(TICKS)).ok()? * NANOS;
    DateTime::from_timestamp(ticks.div_euclid(TICKS), nanos).filter(|date| date.year() <= YEAR_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_back() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.9999999Z", -1),
            ("2016-03-30T20:39:52.6597062Z", 14_593_703_926_597_062),
            ("9999-12-31T23:59:59.9999999Z", 2_534_023_007_999_999_999),
        ] {
            let instant: DateTime<Utc> = text.parse().unwrap();
            assert_eq!(ticks(instant), expected, "{text}");
            assert_eq!(from_ticks(expected), Some(instant), "{text}");
        }
        assert_eq!(from_ticks(i64::MAX), None);
    }
}
