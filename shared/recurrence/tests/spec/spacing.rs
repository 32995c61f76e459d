//! The smallest distance between occurrences by the calendar, which is compared with a quota.

use chrono::TimeDelta;

use crate::table::{parse, timetable};

const START: &str = "2026-01-05T12:25:00Z";

#[test]
fn the_smallest_gap_follows_the_calendar() {
    let (minutes, hours, days) = (TimeDelta::minutes, TimeDelta::hours, TimeDelta::days);
    let rows = [
        (r#"{"frequency":"minute","interval":7}"#, minutes(7)),
        // An interval of 7 minutes reaches minute 25 every seven hours.
        (r#"{"frequency":"minute","interval":7,"schedule":{"minutes":[25]}}"#, hours(7)),
        (r#"{"frequency":"minute","interval":50,"schedule":{"hours":[12,13]}}"#, minutes(50)),
        (r#"{"frequency":"hour","interval":1000}"#, hours(1_000)),
        (r#"{"frequency":"hour","interval":3,"schedule":{"minutes":[0,50]}}"#, minutes(50)),
        (r#"{"frequency":"hour","schedule":{"minutes":[0,50]}}"#, minutes(10)),
        (r#"{"frequency":"hour","schedule":{"hours":[0,22]}}"#, hours(2)),
        (r#"{"frequency":"day","interval":3}"#, days(3)),
        (r#"{"frequency":"day","schedule":{"hours":[1,23],"minutes":[0]}}"#, hours(2)),
        (
            r#"{"frequency":"day","interval":2,"schedule":{"hours":[1,23],"minutes":[0]}}"#,
            hours(22),
        ),
        (r#"{"frequency":"day","schedule":{"minutes":[0,59]}}"#, minutes(1)),
        (r#"{"frequency":"week","interval":2}"#, days(14)),
        (r#"{"frequency":"week","schedule":{"weekDays":["monday","wednesday"]}}"#, days(2)),
        (r#"{"frequency":"week","schedule":{"weekDays":["monday","sunday"]}}"#, days(1)),
        (
            r#"{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","sunday"]}}"#,
            days(6),
        ),
        (r#"{"frequency":"month"}"#, days(28)),
        (r#"{"frequency":"month","interval":3}"#, days(84)),
        (r#"{"frequency":"month","schedule":{"monthDays":[1,-1]}}"#, days(1)),
        (r#"{"frequency":"month","interval":2,"schedule":{"monthDays":[1,15]}}"#, days(14)),
        (r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"monday"}]}}"#, days(7)),
        (r#"{"frequency":"year"}"#, days(365)),
        (r#"{"frequency":"year","interval":2}"#, days(730)),
    ];
    for (rule, gap) in rows {
        let timetable = timetable(&parse(rule), Some(START), START).unwrap();
        assert_eq!(timetable.smallest_gap(), Some(gap), "{rule}");
    }
}
