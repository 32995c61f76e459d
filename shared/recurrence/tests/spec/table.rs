//! The format of a row, and its checks.
//!
//! A row lists instants as days and times, `2026-01-05 05:15 17:15 2026-01-06 05:15`. The times are in
//! UTC, or civil times with an offset, `2026-03-08 01:30-05:00 03:30-04:00`. The word `end` means that
//! no occurrence follows.

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use minutehand_recurrence::{
    Recurrence, Refused, Rule, Timetable, format_instant, read_start_time,
};
use serde_json::{Value, json};

/// The expected occurrences of a row.
struct Expected {
    instants: Vec<DateTime<FixedOffset>>,
    /// Whether the row ends with `end`: no occurrence follows.
    ends: bool,
}

/// Checks the occurrences of a rule that is created at `now` with a start.
pub(crate) fn check(rule: &str, start: &str, now: &str, expected: &str) {
    check_json(&parse(rule), Some(start), now, expected);
}

/// Checks rows of a rule, its start, the instant it is created at, and its occurrences.
pub(crate) fn check_all(rows: &[(&str, &str, &str, &str)]) {
    for (rule, start, now, expected) in rows {
        check(rule, start, now, expected);
    }
}

/// Checks rows of a rule that is created at its start, that start, and its occurrences.
pub(crate) fn check_from_start(rows: &[(&str, &str, &str)]) {
    for (rule, start, expected) in rows {
        check(rule, start, start, expected);
    }
}

/// Checks the occurrences of a rule that is created at `now` without a start.
pub(crate) fn check_without_start(rule: &str, now: &str, expected: &str) {
    check_json(&parse(rule), None, now, expected);
}

/// Checks the occurrences of a rule that is created at `now`.
pub(crate) fn check_json(rule: &Value, start: Option<&str>, now: &str, expected: &str) {
    let row = format!("{rule} from {} at {now}", start.unwrap_or("no start"));
    let timetable = timetable(rule, start, now);
    let timetable = timetable.unwrap_or_else(|refused| panic!("{row}: {refused}"));
    check_timetable(&timetable, expected, &row);
}

/// Checks the occurrences of rules in a time zone, created at `now`.
pub(crate) fn check_clock(zone: &str, start: &str, now: &str, rows: &[(&str, &str)]) {
    for (rule, expected) in rows {
        check_json(&in_zone(zone, rule), Some(start), now, expected);
    }
}

/// Returns the JSON of a rule in a time zone.
pub(crate) fn in_zone(zone: &str, rule: &str) -> Value {
    let mut rule = parse(rule);
    rule["timeZone"] = json!(zone);
    rule
}

/// Checks that iterating, searching and counting find the same occurrences.
pub(crate) fn check_timetable(timetable: &Timetable, expected: &str, row: &str) {
    let Expected { instants, ends } = Expected::read(expected);
    let n = instants.len();
    let walked: Vec<_> = timetable.iter().take(n + usize::from(ends)).map(format_instant).collect();
    let wanted: Vec<_> = instants.iter().map(|at| format_instant(at.to_utc())).collect();
    assert_eq!(walked, wanted, "{row}");

    let first = instants.first().map_or(DateTime::UNIX_EPOCH, DateTime::to_utc);
    for (place, instant) in (0_u64..).zip(&instants) {
        let at = instant.to_utc();
        let behind = at + TimeDelta::nanoseconds(1);
        assert_eq!(timetable.at_or_after(at), Some(at), "at or after {at}: {row}");
        assert_eq!(timetable.count_between(first, at), place, "count up to {at}: {row}");
        assert_eq!(timetable.count_between(at, behind), 1, "count at {at}: {row}");
        let next = instants.iter().map(DateTime::to_utc).find(|next| *next > at);
        if next.is_some() || ends {
            assert_eq!(timetable.after(at), next, "after {at}: {row}");
            assert_eq!(timetable.at_or_after(behind), next, "at or after {behind}: {row}");
        }
        let offset = TimeDelta::seconds(instant.offset().local_minus_utc().into());
        if !offset.is_zero() {
            let shown = (instant.naive_local(), offset);
            assert_eq!(timetable.local(at), shown, "the clock at {at}: {row}");
        }
    }
    assert_eq!(
        timetable.at_or_after(instant("0001-01-01T00:00:00Z")),
        timetable.iter().next(),
        "{row}"
    );
    if ends {
        let all = timetable.count_between(first, instant("9999-12-31T23:59:59Z"));
        let last_second =
            timetable.count_between(instant("9999-12-31T23:59:59Z"), DateTime::<Utc>::MAX_UTC);
        assert_eq!(all + last_second, n as u64, "count of all: {row}");
    }
}

/// Returns the timetable of a rule that is created at `now`.
pub(crate) fn timetable(
    rule: &Value,
    start: Option<&str>,
    now: &str,
) -> Result<Timetable, Refused> {
    let recurrence = Recurrence::from_json(rule)?;
    let start = start.map(|text| read_start_time(&json!(text), recurrence.zone())).transpose()?;
    Timetable::new(&Rule::canonical(&recurrence)?, start, instant(now))
}

/// Reads an instant in RFC 3339.
pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

/// Parses the JSON of a rule.
pub(crate) fn parse(rule: &str) -> Value {
    serde_json::from_str(rule).unwrap_or_else(|error| panic!("{rule}: {error}"))
}

impl Expected {
    fn read(text: &str) -> Self {
        let mut expected = Self { instants: Vec::new(), ends: false };
        let mut day = "";
        for word in text.split_whitespace() {
            if word == "end" {
                expected.ends = true;
            } else if word.as_bytes().get(4) == Some(&b'-') {
                day = word;
            } else {
                expected.instants.push(on(day, word));
            }
        }
        expected
    }
}

/// Reads a time of a day; without an offset, it is in UTC.
fn on(day: &str, word: &str) -> DateTime<FixedOffset> {
    let (time, offset) = word.split_at(word.find(['+', '-']).unwrap_or(word.len()));
    let seconds = if time.len() == 5 { ":00" } else { "" };
    let offset = if offset.is_empty() { "Z" } else { offset };
    let text = format!("{day}T{time}{seconds}{offset}");
    DateTime::parse_from_rfc3339(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
