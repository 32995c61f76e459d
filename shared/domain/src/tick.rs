//! Instants as whole numbers: ticks of 100 ns since 1970, the precision of dates in the API.

use chrono::{DateTime, Datelike, TimeDelta, Utc};

/// The time between two neighbouring instants.
pub const TICK: TimeDelta = TimeDelta::nanoseconds(100);
/// The end of the calendar, 9999-12-31T23:59:59Z, in seconds since 1970.
pub const LAST_SECOND: i64 = 253_402_300_799;

const TICKS_PER_SECOND: i64 = 10_000_000;
/// The last tick of that second.
const LAST_TICK: i64 = (LAST_SECOND + 1) * TICKS_PER_SECOND - 1;
/// The last year that the API can express.
const YEAR_MAX: i32 = 9999;
const NANOS_PER_TICK: u32 = 100;

/// An instant in ticks since 1970, rounded down. An instant after the year 9999 counts as the last one
/// of that year: near its end, timers look again later than that, and have to stay readable.
#[must_use]
pub fn ticks(instant: DateTime<Utc>) -> i64 {
    let fraction = i64::from(instant.timestamp_subsec_nanos() / NANOS_PER_TICK);
    // The years that a date can have are far from the limits of the type.
    let ticks = instant.timestamp().saturating_mul(TICKS_PER_SECOND).saturating_add(fraction);
    ticks.min(LAST_TICK)
}

/// The instant at this many ticks since 1970; `None` after the year 9999.
#[must_use]
pub fn from_ticks(ticks: i64) -> Option<DateTime<Utc>> {
    let nanos = u32::try_from(ticks.rem_euclid(TICKS_PER_SECOND)).ok()? * NANOS_PER_TICK;
    DateTime::from_timestamp(ticks.div_euclid(TICKS_PER_SECOND), nanos)
        .filter(|date| date.year() <= YEAR_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_convert_both_ways() {
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
        let end = "9999-12-31T23:59:59.9999999Z".parse::<DateTime<Utc>>().unwrap();
        for later in [end + TICK, end + TimeDelta::days(61), DateTime::<Utc>::MAX_UTC] {
            assert_eq!(from_ticks(ticks(later)), Some(end), "{later}");
        }
    }
}
