//! Reads dates: `YYYY-MM-DD[Thh:mm[:ss[.f…]]][Z|±hh:mm]`.

use chrono::{DateTime, Utc};

use crate::civil::{CALENDAR_END, CALENDAR_START, DAY, Date, HOUR, MINUTE, Month, days_from_date};
use crate::instant::TICK;
use crate::reader::Reader;
use crate::timeline::instant_of;
use crate::zone::Zone;

/// The number of ticks in a second.
const TICKS: i64 = 10_000_000;

/// A date as its author wrote it: a civil time, with or without an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenDate {
    /// Civil seconds since 1970-01-01T00:00.
    civil: i64,
    nanos: u32,
    offset: Option<i64>,
}

/// The reason for which a text is not a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// The text does not have the form of a date.
    #[error(
        "write it as YYYY-MM-DD[Thh:mm[:ss[.fffffff]]][Z|±hh:mm], for example 2027-01-31T09:30:00Z"
    )]
    Form,
    /// The day does not exist, such as 30 February.
    #[error("the calendar has no such day")]
    NoSuchDay,
    /// The time of day does not exist, such as 24:00.
    #[error("hours go from 00 to 23, minutes and seconds from 00 to 59")]
    NoSuchTime,
    /// The instant is outside the years 1 to 9999 in UTC.
    #[error("use a date in the years 0001 to 9999 in UTC")]
    OutOfRange,
}

impl WrittenDate {
    /// Reads a date.
    ///
    /// # Errors
    ///
    /// [`DateError`] if the text does not have the form, or its day or time does not exist.
    ///
    /// ```
    /// use minutehand_recurrence::{WrittenDate, format_instant};
    ///
    /// let date = WrittenDate::parse("2013-01-09T09:30:00-08:00").unwrap();
    /// assert_eq!(format_instant(date.instant(None).unwrap()), "2013-01-09T17:30:00Z");
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
        let length = Month::containing(Date { year, month, day }).length();
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

    /// Returns the instant of the date.
    ///
    /// Without an offset of its own, the date is a time of the zone, or of UTC without a zone. If
    /// the clock of the zone skips the time, the instant moves forward by the length of the gap. If
    /// the clock shows the time twice, the instant is the first of the two.
    ///
    /// # Errors
    ///
    /// [`DateError::OutOfRange`] if the instant is outside the years 1 to 9999 in UTC.
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

/// A time of day as its author wrote it.
#[derive(Default)]
struct Time {
    hour: i64,
    minute: i64,
    second: i64,
    /// The rounded fraction; rounding up can make it a whole second.
    ticks: i64,
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

    /// Reads the digits after the point and rounds them to seven.
    fn fraction(&mut self) -> Option<i64> {
        let length = self.bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let seven = digits.iter().chain(b"0000000").take(7);
        let ticks = seven.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        let round_up = digits.get(7).is_some_and(|digit| *digit >= b'5');
        (length > 0).then_some(ticks + i64::from(round_up))
    }

    /// Reads the hours and minutes of an offset; `Some(None)` if the text has no offset.
    #[expect(
        clippy::option_option,
        reason = "a missing offset and an invalid one are different answers"
    )]
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::format_instant;

    fn check(text: &str, zone: Option<&str>, expected: &str) {
        let zone = zone.map(|name| Zone::named(name).unwrap());
        let read = WrittenDate::parse(text).and_then(|date| date.instant(zone.as_ref()));
        let read = read.map_or_else(|error| format!("{error:?}"), format_instant);
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn dates_parse_in_every_form() {
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
    fn fractions_round_to_seven_digits() {
        check("2017-09-10T18:50:16.9049999999999999Z", None, "2017-09-10T18:50:16.905Z");
        check("2016-12-31T23:59:59.99999995Z", None, "2017-01-01T00:00:00Z");
        check("2016-12-31T23:59:59.99999994Z", None, "2016-12-31T23:59:59.9999999Z");
    }

    #[test]
    fn a_date_without_an_offset_uses_the_zone() {
        let zone = Some("America/New_York");
        check("2027-01-01T12:00", zone, "2027-01-01T17:00:00Z");
        check("2027-01-01T12:00Z", zone, "2027-01-01T12:00:00Z");
        check("2027-03-14T02:30", zone, "2027-03-14T07:30:00Z");
        check("2026-11-01T01:30", zone, "2026-11-01T05:30:00Z");
        check("2026-11-01T01:30-05:00", zone, "2026-11-01T06:30:00Z");
    }

    #[test]
    fn an_invalid_date_has_a_reason() {
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
