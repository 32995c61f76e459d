//! The POSIX rule at the end of a TZif file, such as `EST5EDT,M3.2.0,M11.1.0`.

use super::OffsetSegment;
use crate::civil::{DAY, HOUR, MINUTE, date_from_days, days_from_date, is_leap, position, weekday};
use crate::reader::Reader;

/// The days from 1 January of a common year to the first of each month, and to the end of the year.
const FIRSTS: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// The rule of a zone after the last change that the database records.
#[derive(Debug, Clone, Copy)]
pub(super) enum Afterwards {
    /// The offset never changes.
    Fixed(i64),
    /// The clock changes twice a year, without an end.
    Yearly(YearlyChange),
}

/// The two clock changes of every year.
#[derive(Debug, Clone, Copy)]
pub(super) struct YearlyChange {
    standard: i64,
    daylight: i64,
    /// The start of daylight saving time, in standard time.
    begins: When,
    /// The end of daylight saving time, in daylight saving time.
    ends: When,
}

/// A day of the year, and a second counted from its midnight; the second may be on another day.
#[derive(Debug, Clone, Copy)]
struct When {
    day: Day,
    second: i64,
}

#[derive(Debug, Clone, Copy)]
enum Day {
    /// `Jn`: 1 to 365, not counting 29 February.
    Julian(i64),
    /// `n`: 0 to 365, counting 29 February.
    Ordinal(i64),
    /// `Mm.w.d`: the first such weekday (Monday is 0) from a day of the year, which counts from 0 and
    /// from 29 February on is a day later in leap years.
    Weekday { from: i64, is_after_february: bool, weekday: i64 },
}

impl YearlyChange {
    /// Returns the segment that contains an instant.
    pub(super) fn segment_at(&self, instant: i64) -> OffsetSegment {
        let year = Year::containing(instant.div_euclid(DAY));
        let (begins, ends) = (self.begins_in(year), self.ends_in(year));
        let daylight =
            |start, end| OffsetSegment { start, end, offset: self.daylight, before: self.standard };
        let standard =
            |start, end| OffsetSegment { start, end, offset: self.standard, before: self.daylight };
        if begins < ends {
            if instant < begins {
                standard(self.ends_in(year.previous()), begins)
            } else if instant < ends {
                daylight(begins, ends)
            } else {
                standard(ends, self.begins_in(year.following()))
            }
        } else if instant < ends {
            daylight(self.begins_in(year.previous()), ends)
        } else if instant < begins {
            standard(ends, begins)
        } else {
            daylight(begins, self.ends_in(year.following()))
        }
    }

    fn begins_in(&self, year: Year) -> i64 {
        self.begins.civil_in(year) - self.standard
    }

    fn ends_in(&self, year: Year) -> i64 {
        self.ends.civil_in(year) - self.daylight
    }
}

/// A year and the number of its first day.
#[derive(Clone, Copy)]
struct Year {
    number: i64,
    first_day: i64,
}

impl Year {
    fn containing(day: i64) -> Self {
        let number = date_from_days(day).year;
        Self { number, first_day: days_from_date(number, 1, 1) }
    }

    fn previous(self) -> Self {
        let number = self.number - 1;
        Self { number, first_day: self.first_day - days_in(number) }
    }

    fn following(self) -> Self {
        Self { number: self.number + 1, first_day: self.first_day + days_in(self.number) }
    }
}

fn days_in(year: i64) -> i64 {
    365 + i64::from(is_leap(year))
}

impl Day {
    /// The `week`-th weekday `day` of a month; week 5 is the last one, and day 0 is Sunday.
    fn nth_weekday(month: i64, week: i64, day: i64) -> Option<Self> {
        let first_of = |month: i64| FIRSTS.get(usize::try_from(month - 1).ok()?).copied();
        // The last such weekday is a week before the first one of the next month.
        let (month, from) = match week {
            1..=4 => (month, first_of(month)? + 7 * (week - 1)),
            5 => (month + 1, first_of(month + 1)? - 7),
            _ => return None,
        };
        // POSIX counts weekdays from Sunday, this crate from Monday.
        Some(Self::Weekday { from, is_after_february: month > 2, weekday: (day + 6) % 7 })
    }
}

impl When {
    /// Returns the civil second of the change in a year.
    fn civil_in(&self, year: Year) -> i64 {
        let days = match self.day {
            Day::Julian(n) => n - 1 + i64::from(is_leap(year.number) && n >= 60),
            Day::Ordinal(n) => n,
            Day::Weekday { from, is_after_february, weekday: wanted } => {
                let from = from + i64::from(is_after_february && is_leap(year.number));
                from + i64::from(position(wanted + 7 - weekday(year.first_day + from)) % 7)
            }
        };
        (year.first_day + days) * DAY + self.second
    }
}

/// Reads the rule in the footer of a TZif file; `None` if it has none of the forms that the database uses.
pub(super) fn read(footer: &[u8]) -> Option<Afterwards> {
    Reader { bytes: footer }.rule()
}

impl Reader<'_> {
    fn rule(&mut self) -> Option<Afterwards> {
        self.name()?;
        // POSIX offsets are positive west of Greenwich.
        let standard = -self.seconds()?;
        if self.bytes.is_empty() {
            return Some(Afterwards::Fixed(standard));
        }
        self.name()?;
        let is_usual = self.bytes.starts_with(b",");
        let daylight = if is_usual { standard + HOUR } else { -self.seconds()? };
        self.take(b",")?;
        let begins = self.when()?;
        self.take(b",")?;
        let ends = self.when()?;
        let change = YearlyChange { standard, daylight, begins, ends };
        self.bytes.is_empty().then_some(Afterwards::Yearly(change))
    }

    /// Skips an abbreviation: letters, or any text in angle brackets.
    fn name(&mut self) -> Option<()> {
        let length = if self.bytes.starts_with(b"<") {
            self.bytes.iter().position(|byte| *byte == b'>')? + 1
        } else {
            self.bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
        };
        self.bytes = self.bytes.get(length..)?;
        (length > 0).then_some(())
    }

    fn when(&mut self) -> Option<When> {
        let day = if self.take(b"M").is_some() {
            let month = self.number()?;
            self.take(b".")?;
            let week = self.number()?;
            self.take(b".")?;
            Day::nth_weekday(month, week, self.number()?)?
        } else if self.take(b"J").is_some() {
            Day::Julian(self.number()?)
        } else {
            Day::Ordinal(self.number()?)
        };
        let second = if self.take(b"/").is_some() { self.seconds()? } else { 2 * HOUR };
        Some(When { day, second })
    }

    /// Reads `[+-]hh[:mm[:ss]]` and returns seconds.
    fn seconds(&mut self) -> Option<i64> {
        let sign = if self.take(b"+-") == Some(b'-') { -1 } else { 1 };
        let mut seconds = self.number()? * HOUR;
        for unit in [MINUTE, 1] {
            if self.take(b":").is_some() {
                seconds += self.number()? * unit;
            }
        }
        Some(sign * seconds)
    }

    /// Reads up to three digits.
    fn number(&mut self) -> Option<i64> {
        let length = self.bytes.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 { None } else { self.digits(length) }
    }
}
