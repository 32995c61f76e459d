//! Checks that hold for any input; the fuzz target and the test over the corpus call them.
//!
//! The first line of an input is a date, the current time. The rest is a recurrence in JSON, with or
//! without a `startTime`, or the line of a timetable.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::{
    Recurrence, Refused, Rule, Timetable, WrittenDate, format_instant, read_start_time,
};
use serde_json::Value;

/// The smallest step of an instant.
const TICK: TimeDelta = TimeDelta::nanoseconds(100);

/// The maximum length of a message.
const MESSAGE_CHARS_MAX: usize = 600;

/// Runs all checks from bytes to occurrences.
///
/// # Panics
///
/// Panics if a check fails.
pub(crate) fn check(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let (now, text) = input.split_once('\n').unwrap_or(("", input));
    let now = WrittenDate::parse(now).and_then(|date| date.instant(None));
    let now = now.unwrap_or(DateTime::from_timestamp(1_798_761_600, 0).unwrap());
    if let Ok(timetable) = text.parse() {
        check_timetable(&timetable, now);
    }
    let Ok(job) = serde_json::from_str::<Value>(text) else { return };
    // Reading the text in one call must not panic; it accepts fewer forms than `read`.
    let _ = Timetable::from_json_text(text, now);
    match read(&job, now) {
        Ok(timetable) => check_timetable(&timetable, now),
        Err(refused) => check_refused(&refused),
    }
}

fn read(job: &Value, now: DateTime<Utc>) -> Result<Timetable, Refused> {
    let recurrence = Recurrence::from_json(job.get("recurrence").unwrap_or(job))?;
    check_recurrence(&recurrence);
    let zone = recurrence.zone();
    let start = job.get("startTime").map(|start| read_start_time(start, zone)).transpose()?;
    Timetable::new(&Rule::canonical(&recurrence)?, start, now)
}

/// Checks that a refusal names a property on one line.
fn check_refused(refused: &Refused) {
    let message = refused.to_string();
    assert!(!refused.field().is_empty(), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.chars().count() <= MESSAGE_CHARS_MAX, "{message}");
    assert_ne!(refused.detail().as_deref(), Some(""), "{message}");
}

/// Checks that a recurrence survives writing and reading.
fn check_recurrence(recurrence: &Recurrence) {
    let printed = recurrence.to_string();
    let parsed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(Recurrence::from_json(&parsed).as_ref(), Ok(recurrence), "{printed}");
}

fn check_timetable(timetable: &Timetable, now: DateTime<Utc>) {
    let line = timetable.to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert_eq!(line.parse().as_ref(), Ok(timetable), "{line}");
    assert_eq!(timetable.sentence().lines().count(), 1, "{line}");
    assert!(timetable.smallest_gap().is_none_or(|gap| gap > TimeDelta::zero()), "{line}");

    check_walk(timetable, &timetable.iter().take(50).collect::<Vec<_>>(), &line);
    for days in [0, 400, 40_000] {
        let from = now + TimeDelta::days(days);
        let first = timetable.at_or_after(from);
        assert!(first.is_none_or(|first| first >= from), "{line}");
        let walk = std::iter::successors(first, |at| timetable.after(*at));
        check_walk(timetable, &walk.take(20).collect::<Vec<_>>(), &line);
    }
}

/// Checks consecutive occurrences.
fn check_walk(timetable: &Timetable, walk: &[DateTime<Utc>], line: &str) {
    assert!(walk.is_sorted_by(|a, b| a < b), "{line}");
    for at in walk {
        assert_eq!(timetable.at_or_after(*at), Some(*at), "{line}");
        assert_eq!(timetable.after(*at - TICK), Some(*at), "{line}");
        assert_eq!(
            WrittenDate::parse(&format_instant(*at)).unwrap().instant(None),
            Ok(*at),
            "{line}"
        );
        let (local, ahead) = timetable.local(*at);
        assert_eq!(local - ahead, at.naive_utc(), "{line}");
        let _ = timetable.clock_change(*at);
    }
    if let [first, .., last] = walk {
        let count = timetable.count_between(*first, *last);
        assert_eq!(count, walk.len() as u64 - 1, "{line}");
    }
}
