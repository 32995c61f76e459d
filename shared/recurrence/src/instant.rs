//! Instants and how the crate writes them: in UTC, to a tenth of a microsecond.

use chrono::{DateTime, Utc};

use crate::civil::{DAY, Date, HOUR, MINUTE, date_from_days};

/// Nanoseconds in a tick, the smallest step of an instant: its text has seven fractional digits.
pub(crate) const TICK: u32 = 100;

/// Writes an instant in UTC, with up to seven fractional digits and without trailing zeros.
///
/// ```
/// use chrono::DateTime;
/// use minutehand_recurrence::format_instant;
///
/// let instant = DateTime::from_timestamp(1_458_000_000, 216_000_000).unwrap();
/// assert_eq!(format_instant(instant), "2016-03-15T00:00:00.216Z");
/// ```
#[must_use]
pub fn format_instant(instant: DateTime<Utc>) -> String {
    let second = instant.timestamp();
    let Date { year, month, day } = date_from_days(second.div_euclid(DAY));
    let (hour, minute) = (second.rem_euclid(DAY) / HOUR, second.rem_euclid(HOUR) / MINUTE);
    let second = second.rem_euclid(MINUTE);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let ticks = instant.timestamp_subsec_nanos() / TICK;
    if ticks != 0 {
        text.push_str(format!(".{ticks:07}").trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Cuts the part of an instant that its text cannot express.
pub(crate) fn whole_ticks(instant: DateTime<Utc>) -> DateTime<Utc> {
    with_nanos(instant, instant.timestamp_subsec_nanos() / TICK * TICK)
}

/// Cuts the fraction of a second.
pub(crate) fn whole_seconds(instant: DateTime<Utc>) -> DateTime<Utc> {
    with_nanos(instant, 0)
}

fn with_nanos(instant: DateTime<Utc>, nanos: u32) -> DateTime<Utc> {
    DateTime::from_timestamp(instant.timestamp(), nanos).unwrap_or(instant)
}
