//! Dates as they are written: `YYYY-MM-DD[Thh:mm[:ss[.f…]]][Z|±hh:mm]`.

use chrono::{DateTime, Utc};

use crate::civil::{
    CALENDAR_END, CALENDAR_START, DAY, Date, HOUR, MINUTE, Month, date_from_days, days_from_date,
};
use crate::timeline::instant_of;
use crate::zone::Zone;

/// Nanoseconds in the finest step of an instant on the wire: seven fractional digits.
pub(crate) const TICK: u32 = 100;
/// Ticks in a second.
const TICKS: i64 = 10_000_000;

/// A date as it was written: a civil time, and an offset if one was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenDate {
    /// Civil seconds since 1970-01-01.
    civil: i64,
    nanos: u32,
    offset: Option<i64>,
}

/// Why a text is not a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// It does not have the form.
    #[error(
        "write it as YYYY-MM-DD[Thh:mm[:ss[.fffffff]]][Z|±hh:mm], for example 2027-01-31T09:30:00Z"
    )]
    Form,
    /// It has the form, but there is no such day.
    #[error("the calendar has no such day")]
    NoSuchDay,
    /// It has the form, but there is no such time of day.
    #[error("hours go from 00 to 23, minutes and seconds from 00 to 59")]
    NoSuchTime,
    /// It lies outside of the years 1 to 9999 in UTC.
    #[error("the years 0001 to 9999, in UTC, are allowed")]
    OutOfRange,
}

impl WrittenDate {
    /// Reads a date.
    ///
    /// # Errors
    ///
    /// If the text does not have the form, or names a day or time that does not exist.
    ///
    /// ```
    /// use minutehand_recurrence::{WrittenDate, written};
    ///
    /// let date = WrittenDate::parse("2013-01-09T09:30:00-08:00").unwrap();
    /// assert_eq!(written(date.instant(None).unwrap()), "2013-01-09T17:30:00Z");
    /// ```
    pub fn parse(text: &str) -> Result<Self, DateError> {
        let mut rest = Reader { bytes: text.as_bytes() };
        let (year, month, day) = rest.date().ok_or(DateError::Form)?;
        let mut time = Time::default();
        if rest.take(b"Tt").is_some() {
            time = rest.time().ok_or(DateError::Form)?;
        }
        let offset = rest.offset().ok_or(DateError::Form)?;
        if !rest.bytes.is_empty() {
            return Err(DateError::Form);
        }
        if year < 1 || !(1..=12).contains(&month) {
            return Err(DateError::NoSuchDay);
        }
        let length = Month::of(Date { year, month, day }).length();
        if day < 1 || day > length {
            return Err(DateError::NoSuchDay);
        }
        let offset_ok =
            offset.is_none_or(|(hours, minutes)| hours.abs() <= 23 && minutes.abs() <= 59);
        if time.hour > 23 || time.minute > 59 || time.second > 59 || !offset_ok {
            return Err(DateError::NoSuchTime);
        }
        let midnight = days_from_date(year, month, day) * DAY;
        let second = time.hour * HOUR + time.minute * MINUTE + time.second;
        Ok(Self {
            civil: midnight + second + time.ticks / TICKS,
            nanos: u32::try_from(time.ticks % TICKS).unwrap_or(0) * TICK,
            offset: offset.map(|(hours, minutes)| hours * HOUR + minutes * MINUTE),
        })
    }

    /// The instant: by its own offset, else by a zone's clock, else in UTC.
    ///
    /// On a zone's clock a time in a gap moves forward by the gap, and in a fold it is the first.
    ///
    /// # Errors
    ///
    /// If the instant lies outside of the years 1 to 9999 in UTC.
    pub fn instant(&self, zone: Option<&Zone>) -> Result<DateTime<Utc>, DateError> {
        let second = match (self.offset, zone) {
            (Some(offset), _) => self.civil - offset,
            (None, Some(zone)) => instant_of(zone, self.civil),
            (None, None) => self.civil,
        };
        if !(CALENDAR_START..=CALENDAR_END).contains(&second) {
            return Err(DateError::OutOfRange);
        }
        DateTime::from_timestamp(second, self.nanos).ok_or(DateError::OutOfRange)
    }
}

/// An instant as it is written: in UTC, with up to seven fractional digits, trailing zeros trimmed.
///
/// ```
/// use chrono::DateTime;
/// use minutehand_recurrence::written;
///
/// let instant = DateTime::from_timestamp(1_458_000_000, 216_000_000).unwrap();
/// assert_eq!(written(instant), "2016-03-15T00:00:00.216Z");
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

/// A time of day as it was written.
#[derive(Default)]
struct Time {
    hour: i64,
    minute: i64,
    second: i64,
    /// Rounded; a whole second if the digits say so.
    ticks: i64,
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn date(&mut self) -> Option<(i64, i64, i64)> {
        let year = self.digits(4)?;
        self.take(b"-")?;
        let month = self.digits(2)?;
        self.take(b"-")?;
        Some((year, month, self.digits(2)?))
    }

    fn time(&mut self) -> Option<Time> {
        let hour = self.digits(2)?;
        self.take(b":")?;
        let mut time = Time { hour, minute: self.digits(2)?, ..Time::default() };
        if self.take(b":").is_some() {
            time.second = self.digits(2)?;
            if self.take(b".").is_some() {
                time.ticks = self.fraction()?;
            }
        }
        Some(time)
    }

    /// The digits behind a point, rounded to seven.
    fn fraction(&mut self) -> Option<i64> {
        let length = self.bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let seven = digits.iter().chain(b"0000000").take(7);
        let ticks = seven.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        let round_up = digits.get(7).is_some_and(|digit| *digit >= b'5');
        (length > 0).then_some(ticks + i64::from(round_up))
    }

    /// Hours and minutes; `Some(None)` where nothing is written.
    #[expect(clippy::option_option, reason = "no offset and a wrong one are different answers")]
    fn offset(&mut self) -> Option<Option<(i64, i64)>> {
        if self.take(b"Zz").is_some() {
            return Some(Some((0, 0)));
        }
        let sign = match self.take(b"+-") {
            Some(b'-') => -1,
            Some(_) => 1,
            None => return Some(None),
        };
        let hours = self.digits(2)?;
        self.take(b":")?;
        Some(Some((sign * hours, sign * self.digits(2)?)))
    }

    fn digits(&mut self, n: usize) -> Option<i64> {
        let (digits, rest) = self.bytes.split_at_checked(n)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.bytes = rest;
        Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    fn take(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        if !any_of.contains(first) {
            return None;
        }
        self.bytes = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, zone: Option<&str>, expected: &str) {
        let zone = zone.map(|name| Zone::named(name).unwrap());
        let read = WrittenDate::parse(text).and_then(|date| date.instant(zone.as_ref()));
        let read = read.map_or_else(|error| format!("{error:?}"), format_instant);
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn every_form_is_read() {
        check("2012-11-04", None, "2012-11-04T00:00:00Z");
        check("2012-08-04T00:00Z", None, "2012-08-04T00:00:00Z");
        check("2013-01-09T09:30:00-08:00", None, "2013-01-09T17:30:00Z");
        check("2013-01-09T09:30", None, "2013-01-09T09:30:00Z");
        check("2013-01-09+05:30", None, "2013-01-08T18:30:00Z");
        check("2017-02-09T23:57:47.9949539Z", None, "2017-02-09T23:57:47.9949539Z");
        check("2017-02-09T23:57:47.250Z", None, "2017-02-09T23:57:47.25Z");
        check("9999-12-31T23:59:59.9999999Z", None, "9999-12-31T23:59:59.9999999Z");
        check("0001-01-01", None, "0001-01-01T00:00:00Z");
    }

    #[test]
    fn more_than_seven_digits_are_rounded() {
        check("2017-09-10T18:50:16.9049999999999999Z", None, "2017-09-10T18:50:16.905Z");
        check("2016-12-31T23:59:59.99999995Z", None, "2017-01-01T00:00:00Z");
        check("2016-12-31T23:59:59.99999994Z", None, "2016-12-31T23:59:59.9999999Z");
    }

    #[test]
    fn without_an_offset_the_zone_decides() {
        let zone = Some("America/New_York");
        check("2027-01-01T12:00", zone, "2027-01-01T17:00:00Z");
        check("2027-01-01T12:00Z", zone, "2027-01-01T12:00:00Z");
        check("2027-03-14T02:30", zone, "2027-03-14T07:30:00Z");
        check("2026-11-01T01:30", zone, "2026-11-01T05:30:00Z");
        check("2026-11-01T01:30-05:00", zone, "2026-11-01T06:30:00Z");
    }

    #[test]
    fn what_is_no_date_says_why() {
        for text in [
            "",
            "2027",
            "2027-1-1",
            "2027-01-01T",
            "2027-01-01T9:30",
            "2027-01-01T09:30:00.",
            "2027-01-01 09:30",
            "2027-01-01T09:30+01",
            "2027-01-01T09:30:00ZZ",
            "+2027-01-01",
            "٢٠٢٧-01-01",
        ] {
            check(text, None, "Form");
        }
        for text in ["2027-02-29", "2027-00-01", "2027-13-01", "2027-04-31", "0000-01-01"] {
            check(text, None, "NoSuchDay");
        }
        for text in
            ["2027-01-01T24:00", "2027-01-01T00:60", "2016-12-31T23:59:60Z", "2027-01-01+24:00"]
        {
            check(text, None, "NoSuchTime");
        }
        for text in
            ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00+00:01", "9999-12-31T23:59:59.99999999Z"]
        {
            check(text, None, "OutOfRange");
        }
    }
}
