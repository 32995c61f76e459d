//! Instants and spans as a person reads them.

use chrono::{DateTime, Datelike as _, NaiveDateTime, TimeDelta, Timelike as _, Utc};
use minutehand_recurrence::WrittenDate;
use minutehand_recurrence::zone::Zone;

/// Writes instants in a time zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) now: DateTime<Utc>,
    /// `None` means UTC.
    pub(crate) zone: Option<Zone>,
    /// Whether spans until now are left out.
    pub(crate) is_still: bool,
}

impl Times {
    /// An instant that the server wrote, like `Sun 22 Nov 02:30 -05:00`; as it was written if it
    /// cannot be read.
    pub(crate) fn written(&self, instant: &str) -> String {
        read(instant).map_or_else(|| instant.to_owned(), |at| self.at(at))
    }

    /// An instant on the clock of the zone, with the offset. The year is there if it is not this
    /// one, and seconds are if there are any.
    pub(crate) fn at(&self, at: DateTime<Utc>) -> String {
        let (now, _) = local(self.zone, self.now);
        let (local, offset) = local(self.zone, at);
        let date = if local.year() == now.year() { "%a %-d %b" } else { "%a %-d %b %Y" };
        let time = if local.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
        let offset = self.zone.map_or_else(|| "UTC".to_owned(), |_| hours_and_minutes(offset));
        format!("{} {offset}", local.format(&format!("{date} {time}")))
    }

    /// An instant, and when it starts if jitter delays it: `09:00 UTC, starts at 09:00:17 UTC`.
    pub(crate) fn with_start(&self, instant: &str, start: Option<&str>) -> String {
        let at = self.written(instant);
        match self.start(instant, start) {
            Some(start) => format!("{at}, {start} by its jitter"),
            None => at,
        }
    }

    /// When an occurrence starts, if jitter delays it; with the date if that is another one.
    pub(crate) fn start(&self, instant: &str, start: Option<&str>) -> Option<String> {
        let start = start.and_then(read)?;
        let date = |at| local(self.zone, at).0.date();
        if read(instant).is_some_and(|at| date(at) == date(start)) {
            let (local, _) = local(self.zone, start);
            return Some(format!("starts at {}", local.format("%H:%M:%S")));
        }
        Some(format!("starts {}", self.at(start)))
    }

    /// How far away an instant that the server wrote is: `in 3 h 2 min`, or `5 s ago`.
    pub(crate) fn away(&self, instant: &str) -> String {
        let at = read(instant).filter(|_| !self.is_still);
        at.map_or_else(String::new, |at| away(at - self.now))
    }
}

/// The civil time of an instant in a zone, and its offset.
pub(crate) fn local(zone: Option<Zone>, at: DateTime<Utc>) -> (NaiveDateTime, TimeDelta) {
    zone.map_or((at.naive_utc(), TimeDelta::zero()), |zone| zone.local(at))
}

/// Reads an instant that the server wrote.
pub(crate) fn read(instant: &str) -> Option<DateTime<Utc>> {
    WrittenDate::parse(instant).and_then(|date| date.instant(None)).ok()
}

fn away(span: TimeDelta) -> String {
    if span < TimeDelta::zero() {
        format!("{} ago", span_text(-span))
    } else {
        format!("in {}", span_text(span))
    }
}

/// Formats a time span in its two largest units: `3 h 2 min`.
#[must_use]
pub fn span_text(span: TimeDelta) -> String {
    if span < TimeDelta::seconds(1) && span > TimeDelta::zero() {
        return format!("{} ms", span.num_milliseconds());
    }
    let seconds = span.num_seconds();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let day = if days == 1 { "day" } else { "days" };
    let parts = [(days, day), (hours, "h"), (minutes, "min"), (seconds, "s")];
    let parts: Vec<String> = parts
        .into_iter()
        .skip_while(|(n, _)| *n == 0)
        .take(2)
        .filter(|(n, _)| *n != 0)
        .map(|(n, unit)| format!("{n} {unit}"))
        .collect();
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

/// Formats an offset from UTC: `+02:00`.
pub(crate) fn hours_and_minutes(offset: TimeDelta) -> String {
    let seconds = offset.num_seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A sentence with a capital letter.
#[must_use]
pub fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(zone: Option<&str>) -> Times {
        let now = read("2026-11-22T14:00:00Z").unwrap();
        Times { now, zone: zone.map(|name| Zone::named(name).unwrap()), is_still: false }
    }

    #[test]
    fn an_instant_is_written_on_the_clock_of_its_zone() {
        for (zone, instant, text) in [
            (None, "2026-11-22T07:30:00Z", "Sun 22 Nov 07:30 UTC"),
            (Some("America/New_York"), "2026-11-22T07:30:00Z", "Sun 22 Nov 02:30 -05:00"),
            (None, "2027-01-01T00:00:05.5Z", "Fri 1 Jan 2027 00:00:05 UTC"),
            (None, "soon", "soon"),
        ] {
            assert_eq!(times(zone).written(instant), text);
        }
    }

    #[test]
    fn a_start_that_jitter_delays_is_told() {
        let times = times(Some("America/New_York"));
        let at = "2026-11-22T14:30:00Z";
        for (start, text) in [
            (None, "Sun 22 Nov 09:30 -05:00"),
            (
                Some("2026-11-22T14:31:07Z"),
                "Sun 22 Nov 09:30 -05:00, starts at 09:31:07 by its jitter",
            ),
            (
                Some("2026-11-23T05:00:01Z"),
                "Sun 22 Nov 09:30 -05:00, starts Mon 23 Nov 00:00:01 -05:00 by its jitter",
            ),
        ] {
            assert_eq!(times.with_start(at, start), text);
        }
    }

    #[test]
    fn a_span_until_now_can_be_left_out() {
        let still = Times { is_still: true, ..times(None) };
        assert_eq!(still.away("2026-11-23T07:23:00Z"), "");
    }

    #[test]
    fn a_span_has_its_two_largest_units() {
        for (instant, text) in [
            ("2026-11-23T07:23:00Z", "in 17 h 23 min"),
            ("2026-11-22T13:59:55Z", "5 s ago"),
            ("2026-11-22T14:00:00Z", "in 0 s"),
            ("2026-11-22T14:00:00.004Z", "in 4 ms"),
            ("2026-12-02T14:00:00Z", "in 10 days"),
        ] {
            assert_eq!(times(None).away(instant), text, "{instant}");
        }
    }
}
