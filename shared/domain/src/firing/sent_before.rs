//! Occurrences that were sent before, and that should have left a trace by now.
//!
//! A queue may lose a message, and nothing else asks for its occurrence again while the timer of the
//! job moves on. So when a timer is planned again, what was sent the last time is looked up. An
//! occurrence that has left neither a claim nor a record is sent once more.

use chrono::{DateTime, Utc};

use super::limits::Spans;
use super::plan::latest_until;
use crate::schedule::Schedule;
use crate::tick::TICK;

/// The most occurrences that are looked up: a plan sends 16, and some of the plan before are looked up
/// once more.
const LOOKED_UP_MAX: usize = 24;

/// The occurrences that were sent when a timer was planned the last time, given the first one that was
/// not sent. The latest ones may be still on their way, and history knows nothing of those before
/// `known_since`.
#[must_use]
pub fn sent_before(
    schedule: &Schedule,
    from: DateTime<Utc>,
    (known_since, now): (DateTime<Utc>, DateTime<Utc>),
    spans: &Spans,
) -> Vec<DateTime<Utc>> {
    let until = (from - TICK).min(now - spans.stuck);
    let Some(latest) = latest_until(schedule, known_since, until) else { return Vec::new() };
    // The plan before may have been made a while before the horizon began: what it sent last was then
    // not due long enough.
    let first = (from - spans.horizon * 3 / 2).max(known_since).min(latest);
    std::iter::successors(schedule.at_or_after(first), |at| schedule.after(*at))
        .take_while(|at| *at <= until)
        .filter(|at| schedule.start(*at) <= until)
        .take(LOOKED_UP_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
    use serde_json::json;

    use super::*;
    use crate::history_days::HistoryDays;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    #[test]
    fn what_was_sent_the_last_time_is_looked_up_once_it_is_due_for_a_while() {
        let found_in = |rule: &serde_json::Value, from: &str, now: &str, days: HistoryDays| {
            let rule = Rule::canonical(&Recurrence::from_json(rule).unwrap()).unwrap();
            let schedule = Schedule::from(
                Timetable::new(&rule, Some(at("2027-01-01")), at("2027-01-01")).unwrap(),
            );
            let known_since = days.known_since(at(now));
            let found = sent_before(&schedule, at(from), (known_since, at(now)), &Spans::WORK);
            let short = |at: &DateTime<Utc>| format_instant(*at)[5..16].to_owned();
            (found.len(), found.first().map(short), found.last().map(short))
        };
        let found = |rule: &serde_json::Value, from: &str, now: &str| {
            found_in(rule, from, now, HistoryDays::Sixty)
        };
        let some = |n, first: &str, last: &str| (n, Some(first.to_owned()), Some(last.to_owned()));
        let minutely = json!({"frequency": "minute"});
        assert_eq!(
            found(&minutely, "2027-03-01T10:14", "2027-03-01T10:13"),
            some(20, "03-01T09:52", "03-01T10:11")
        );
        // The timer is late.
        assert_eq!(
            found(&minutely, "2027-03-01T10:14", "2027-03-01T12:00"),
            some(22, "03-01T09:52", "03-01T10:13")
        );
        let hourly = json!({"frequency": "hour"});
        assert_eq!(
            found(&hourly, "2027-03-01T10:00", "2027-03-01T09:59"),
            some(1, "03-01T09:00", "03-01T09:00")
        );
        // Nothing was sent before, or history has expired.
        assert_eq!(found(&hourly, "2027-01-01T00:00", "2026-12-31T23:59"), (0, None, None));
        let yearly = json!({"frequency": "year"});
        assert_eq!(found(&yearly, "2028-01-01", "2027-12-31T23:59"), (0, None, None));
        let weekly = json!({"frequency": "week"});
        let (next, now) = ("2027-01-15", "2027-01-14T23:59");
        assert_eq!(found(&weekly, next, now), some(1, "01-08T00:00", "01-08T00:00"));
        assert_eq!(found_in(&weekly, next, now, HistoryDays::Seven), (0, None, None));
    }
}
