//! Instants as a person types them: `now+2h`, `yesterday 02:30`, `2026-11-22 02:30`.

use chrono::{DateTime, Datelike as _, Days, Month, NaiveDate, NaiveTime, TimeDelta, Utc};
use minutehand_recurrence::WrittenDate;
use minutehand_recurrence::zone::Zone;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::output::times::{hours_and_minutes, local};

const FORMS: &str = "write an instant like 2026-11-22T02:30:00Z, '2026-11-22 02:30', '19 Oct 02:30', \
                     02:30, 'yesterday 02:30', now+2h or -15m";

/// Reads an instant. A time without an offset is one on the clock of the zone.
pub(crate) fn parse(text: &str, zone: Option<Zone>, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if let Some(at) = relative(&lower, now) {
        return at;
    }
    if let Ok(date) = WrittenDate::parse(&text.replacen(' ', "T", 1)) {
        let at = date.instant(zone.as_ref()).map_err(|error| refused(text, &error.to_string()))?;
        return if has_offset(text) { Ok(at) } else { unambiguous(text, date, zone) };
    }
    let (today, _) = local(zone, now);
    let civil = civil(&lower, today.date()).ok_or_else(|| refused(text, FORMS))?;
    let written = civil.format("%Y-%m-%dT%H:%M:%S").to_string();
    let date = WrittenDate::parse(&written).map_err(|error| refused(text, &error.to_string()))?;
    unambiguous(text, date, zone)
}

/// Whether a date ends with an offset: `Z`, or a sign after the time.
fn has_offset(date: &str) -> bool {
    let time = date.get(10..).unwrap_or_default();
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}

/// `now`, `now+2h`, `+2h` and `-15m`; `None` if the text is something else.
fn relative(text: &str, now: DateTime<Utc>) -> Option<Result<DateTime<Utc>>> {
    let rest = text.strip_prefix("now").unwrap_or(text).trim();
    if rest.is_empty() {
        return (text == "now").then_some(Ok(now));
    }
    let (sign, span) = match rest.split_at_checked(1)? {
        ("+", span) => (1, span),
        ("-", span) => (-1, span),
        _ => return None,
    };
    let span = span_of(span.trim())?;
    let at = now.checked_add_signed(span * sign);
    Some(at.ok_or_else(|| refused(text, "it is outside the calendar")))
}

/// Reads a span such as `2h`, `90s` or `1h30m`.
pub(crate) fn span_of(text: &str) -> Option<TimeDelta> {
    let mut rest = text;
    let mut span = TimeDelta::zero();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at_checked(digits)?;
        let number: i64 = number.parse().ok()?;
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let seconds = match unit {
            "s" | "sec" | "second" | "seconds" => 1,
            "m" | "min" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3_600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 604_800,
            _ => return None,
        };
        let part = TimeDelta::try_seconds(number.checked_mul(seconds)?)?;
        span = span.checked_add(&part)?;
        rest = after.trim_start();
    }
    (!text.is_empty()).then_some(span)
}

/// A day and a time: `02:30`, `yesterday 02:30`, `19 oct 02:30`, `19 oct 2026 02:30`.
fn civil(text: &str, today: NaiveDate) -> Option<chrono::NaiveDateTime> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (time, day) = words.split_last()?;
    let time = time_of(time)?;
    let day = match *day {
        [] | ["today"] => today,
        ["yesterday"] => today.checked_sub_days(Days::new(1))?,
        ["tomorrow"] => today.checked_add_days(Days::new(1))?,
        [day, month] => NaiveDate::from_ymd_opt(today.year(), month_of(month)?, day.parse().ok()?)?,
        [day, month, year] => {
            NaiveDate::from_ymd_opt(year.parse().ok()?, month_of(month)?, day.parse().ok()?)?
        }
        _ => return None,
    };
    Some(day.and_time(time))
}

fn time_of(text: &str) -> Option<NaiveTime> {
    NaiveTime::parse_from_str(text, "%H:%M")
        .or_else(|_| NaiveTime::parse_from_str(text, "%H:%M:%S"))
        .ok()
}

/// The number of a month, from 1, by a name of at least three letters.
pub(crate) fn month_of(name: &str) -> Option<u32> {
    let mut months = (1_u8..=12).filter_map(|number| Month::try_from(number).ok());
    let is_meant = |month: &Month| month.name().to_ascii_lowercase().starts_with(name);
    let month = months.find(|month| name.len() >= 3 && is_meant(month))?;
    Some(month.number_from_month())
}

/// The instant of a date without an offset. A time that the clock of the zone shows twice, or never,
/// is refused.
fn unambiguous(text: &str, date: WrittenDate, zone: Option<Zone>) -> Result<DateTime<Utc>> {
    let instant =
        |zone: Option<&Zone>| date.instant(zone).map_err(|error| refused(text, &error.to_string()));
    let at = instant(zone.as_ref())?;
    let (civil, offset) = local(zone, at);
    if civil != instant(None)?.naive_utc() {
        let day = civil.format("%Y-%m-%d %H:%M");
        return Err(refused(text, &format!("the clock skips it: write '{day}' or another time")));
    }
    // The clock goes back by at most three hours anywhere, in steps of half an hour.
    for half_hours in 1..=6 {
        let later = at + TimeDelta::minutes(30 * half_hours);
        let (shown, later_offset) = local(zone, later);
        if shown == civil {
            let day = civil.format("%Y-%m-%dT%H:%M");
            return Err(refused(
                text,
                &format!(
                    "the clock shows it twice: write {day}{} or {day}{}",
                    hours_and_minutes(offset),
                    hours_and_minutes(later_offset)
                ),
            ));
        }
    }
    Ok(at)
}

fn refused(text: &str, why: &str) -> Failure {
    Failure::refused(format!("'{text}' is not an instant: {why}"))
}

/// A span as a job document has it.
pub(crate) fn written_span(option: &str, text: &str) -> Result<Value> {
    Ok(as_written(given_span(option, text)?))
}

/// The span of an option that may be left out, as a job document has it.
pub(crate) fn optional_span(option: &str, text: Option<&str>) -> Result<Option<Value>> {
    text.map(|text| written_span(option, text)).transpose()
}

/// The span that an option says.
pub(crate) fn given_span(option: &str, text: &str) -> Result<TimeDelta> {
    span_of(&text.to_ascii_lowercase()).ok_or_else(|| {
        Failure::refused(format!("{option} '{text}' is not a span; write it like 30s, 5m or 1h"))
    })
}

/// A span that is read already, as a job document has it.
pub(crate) fn as_written(span: TimeDelta) -> Value {
    format!("PT{}S", span.num_seconds()).into()
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::format_instant;

    use super::*;
    use crate::output::times::read;

    fn parsed(text: &str, zone: &str) -> Result<String> {
        let now = read("2026-11-22T14:30:00Z").unwrap();
        parse(text, Zone::named(zone), now).map(format_instant)
    }

    #[test]
    fn instants_are_read_on_the_clock_of_the_zone() {
        for (text, at) in [
            ("now", "2026-11-22T14:30:00Z"),
            ("now+2h", "2026-11-22T16:30:00Z"),
            ("-15m", "2026-11-22T14:15:00Z"),
            ("+1h30m", "2026-11-22T16:00:00Z"),
            ("2026-11-22T02:30:00Z", "2026-11-22T02:30:00Z"),
            ("2026-11-22T02:30:00+01:00", "2026-11-22T01:30:00Z"),
            ("2026-11-22 02:30", "2026-11-22T07:30:00Z"),
            ("2026-11-22", "2026-11-22T05:00:00Z"),
            ("02:30", "2026-11-22T07:30:00Z"),
            ("yesterday 02:30", "2026-11-21T07:30:00Z"),
            ("Tomorrow 02:30", "2026-11-23T07:30:00Z"),
            ("19 Oct 02:30", "2026-10-19T06:30:00Z"),
            ("19 october 2025 02:30:05", "2025-10-19T06:30:05Z"),
        ] {
            assert_eq!(parsed(text, "America/New_York").unwrap(), at, "{text}");
        }
    }

    #[test]
    fn what_is_no_instant_is_refused_with_the_forms() {
        for text in
            ["", "soon", "25:00", "30 feb 10:00", "now+", "now+2 parsecs", "19 octopus 1:00"]
        {
            let message = parsed(text, "UTC").unwrap_err().message;
            assert!(message.contains("is not an instant"), "{text}: {message}");
        }
    }

    #[test]
    fn a_time_that_the_clock_skips_is_refused_with_the_next_one() {
        let message = parsed("2027-03-14 02:30", "America/New_York").unwrap_err().message;
        assert_eq!(
            message,
            "'2027-03-14 02:30' is not an instant: the clock skips it: write '2027-03-14 03:30' or \
             another time"
        );
        assert!(parsed("2027-03-14 03:30", "America/New_York").is_ok());
        assert!(parsed("2027-03-14 02:30", "UTC").is_ok());
    }

    #[test]
    fn a_time_that_the_clock_shows_twice_is_refused_with_both() {
        let message = parsed("2026-11-01 01:30", "America/New_York").unwrap_err().message;
        assert_eq!(
            message,
            "'2026-11-01 01:30' is not an instant: the clock shows it twice: write \
             2026-11-01T01:30-04:00 or 2026-11-01T01:30-05:00"
        );
        let at = parsed("2026-11-01T01:30-05:00", "America/New_York").unwrap();
        assert_eq!(at, "2026-11-01T06:30:00Z");
    }
}
