//! Durations in the two forms of the API, .NET `TimeSpan` and ISO 8601. Both are read and written.
//!
//! The original service used `TimeSpan` (`[-][d.]hh:mm:ss[.fffffff]`), but its specification and some
//! of its clients use ISO 8601 (`P1DT2H`). In ISO 8601 a year counts as 365 days and a month as 30.

use std::fmt;
use std::time::Duration;

use chrono::TimeDelta;

/// A duration that is not negative, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    millis: u64,
}

/// The longest duration that is read. It is longer than any limit, and sums cannot overflow.
const DAYS_MAX: u64 = 36_500;
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Span {
    /// A duration in seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self { millis: seconds * SECOND }
    }

    /// A duration in days.
    #[must_use]
    pub const fn days(days: u64) -> Self {
        Self { millis: days * DAY }
    }

    /// A duration in milliseconds.
    #[must_use]
    pub const fn of_millis(millis: u64) -> Self {
        Self { millis }
    }

    /// The duration in milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.millis
    }

    /// The duration as a difference of two instants.
    #[must_use]
    pub fn delta(self) -> TimeDelta {
        let millis = i64::try_from(self.millis).unwrap_or(i64::MAX);
        TimeDelta::try_milliseconds(millis).unwrap_or(TimeDelta::MAX)
    }

    /// Reads a `TimeSpan` or an ISO 8601 duration; `None` if the text is neither, or too long.
    ///
    /// ```
    /// use minutehand_domain::duration::Span;
    ///
    /// assert_eq!(Span::read("00:01:00"), Some(Span::seconds(60)));
    /// assert_eq!(Span::read("PT1M"), Some(Span::seconds(60)));
    /// assert_eq!(Span::read("30.00:00:00"), Span::read("P1M"));
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let millis = match text.strip_prefix(['P', 'p']) {
            Some(iso) => read_iso(iso)?,
            None => read_time_span(text)?,
        };
        (millis <= DAYS_MAX * DAY).then_some(Self { millis })
    }

    /// The ISO 8601 form, in days, hours, minutes and seconds.
    #[must_use]
    pub fn iso(self) -> String {
        let (days, rest) = (self.millis / DAY, self.millis % DAY);
        let part = |amount: u64, unit: char| match amount {
            0 => String::new(),
            amount => format!("{amount}{unit}"),
        };
        let seconds = match (rest % MINUTE / SECOND, rest % SECOND) {
            (seconds, 0) => part(seconds, 'S'),
            (seconds, millis) => format!("{seconds}.{}S", trimmed(millis)),
        };
        let time =
            format!("{}{}{seconds}", part(rest / HOUR, 'H'), part(rest % HOUR / MINUTE, 'M'));
        match (days, time.as_str()) {
            (0, "") => "PT0S".to_owned(),
            (days, "") => format!("P{days}D"),
            (days, time) => format!("P{}T{time}", part(days, 'D')),
        }
    }
}

impl fmt::Display for Span {
    /// The `TimeSpan` form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.millis / DAY, self.millis % DAY);
        if days > 0 {
            write!(f, "{days}.")?;
        }
        let (hours, minutes) = (rest / HOUR, rest % HOUR / MINUTE);
        write!(f, "{hours:02}:{minutes:02}:{:02}", rest % MINUTE / SECOND)?;
        match rest % SECOND {
            0 => Ok(()),
            // .NET writes fractions with seven digits.
            millis => write!(f, ".{millis:03}0000"),
        }
    }
}

/// `[d.]hh:mm[:ss[.fffffff]]`, or days alone.
fn read_time_span(text: &str) -> Option<u64> {
    let Some((first, rest)) = text.split_once(':') else {
        return number(text)?.checked_mul(DAY);
    };
    let (days, hours) = match first.split_once('.') {
        Some((days, hours)) => (number(days)?, number(hours)?),
        None => (0, number(first)?),
    };
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
    let minutes = number(minutes)?;
    let seconds = read_seconds(seconds)?;
    if hours > 23 || minutes > 59 || seconds >= MINUTE {
        return None;
    }
    days.checked_mul(DAY)?.checked_add(hours * HOUR + minutes * MINUTE + seconds)
}

/// What follows the `P`: `nYnMnWnD` and, after a `T`, `nHnMnS`, each at most once and in order.
fn read_iso(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let date = read_units(date, &[('Y', 365 * DAY), ('M', 30 * DAY), ('W', 7 * DAY), ('D', DAY)])?;
    let time = read_units(time, &[('H', HOUR), ('M', MINUTE), ('S', SECOND)])?;
    date.checked_add(time)
}

fn read_units(mut text: &str, units: &[(char, u64)]) -> Option<u64> {
    let mut sum = 0_u64;
    let mut units = units.iter();
    while !text.is_empty() {
        let (amount, rest) =
            text.split_at_checked(text.find(|c: char| c.is_ascii_alphabetic())?)?;
        let letter = rest.chars().next()?.to_ascii_uppercase();
        let (_, millis) = units.find(|(unit, _)| *unit == letter)?;
        let part = if *millis == SECOND {
            read_seconds(amount)?
        } else {
            number(amount)?.checked_mul(*millis)?
        };
        sum = sum.checked_add(part)?;
        text = rest.get(1..)?;
    }
    Some(sum)
}

/// Seconds with an optional fraction, in milliseconds, rounded down.
fn read_seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    number(whole)?.checked_mul(SECOND)?.checked_add(number(&millis)?)
}

/// A number of one to nine digits, which is enough for every limit.
fn number(text: &str) -> Option<u64> {
    let digits = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn trimmed(millis: u64) -> String {
    format!("{millis:03}").trim_end_matches('0').to_owned()
}

/// A time in few words: `2 h`, `90 min`, `75 s`.
#[must_use]
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 3_600 && seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, time_span: &str, iso: &str) {
        let span = Span::read(text).unwrap();
        assert_eq!((span.to_string().as_str(), span.iso().as_str()), (time_span, iso), "{text}");
        assert_eq!(Span::read(time_span), Some(span));
        assert_eq!(Span::read(iso), Some(span));
    }

    #[test]
    fn both_forms_are_read_and_written() {
        check("00:01:00", "00:01:00", "PT1M");
        check("PT1M", "00:01:00", "PT1M");
        check("30.00:00:00", "30.00:00:00", "P30D");
        check("P1M", "30.00:00:00", "P30D");
        check("P1Y", "365.00:00:00", "P365D");
        check("P2W", "14.00:00:00", "P14D");
        check("P1DT2H3M4.5S", "1.02:03:04.5000000", "P1DT2H3M4.5S");
        check("1.02:03:04.5", "1.02:03:04.5000000", "P1DT2H3M4.5S");
        check("PT90S", "00:01:30", "PT1M30S");
        check("00:00:00", "00:00:00", "PT0S");
        check("P0D", "00:00:00", "PT0S");
        check("12", "12.00:00:00", "P12D");
        check("01:30", "01:30:00", "PT1H30M");
        check("pt1h", "01:00:00", "PT1H");
    }

    #[test]
    fn other_texts_are_not_read() {
        for text in [
            "",
            "P",
            "PT",
            "P1DT",
            "1 minute",
            "-00:01:00",
            "P-1D",
            "00:60:00",
            "24:00:00",
            "00:00:60",
            "PT1M1H",
            "PT1M1M",
            "P1S",
            "1:2:3:4",
            "00:01:00.",
            "PT1.5M",
            "P99999999D",
            "36501.00:00:00",
            "PT1é",
            "٣",
        ] {
            assert_eq!(Span::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_has_its_largest_whole_unit() {
        for (seconds, words) in [(7_200, "2 h"), (5_400, "90 min"), (75, "75 s"), (60, "1 min")] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }
}
