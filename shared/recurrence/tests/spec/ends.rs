//! The begin and the end of a recurrence: immediately without a start; by `count`, by `endTime`, or
//! with the year 9999.

use crate::table::{check, check_from_start, check_without_start, instant, parse, timetable};

const START: &str = "2026-01-05T12:25:00Z";

#[test]
fn five_days_from_monday_end_on_friday() {
    let five_days = r#"{"frequency":"day","count":5}"#;
    check(
        five_days,
        START,
        START,
        "2026-01-05 12:25 2026-01-06 12:25 2026-01-07 12:25 2026-01-08 12:25 2026-01-09 12:25 end",
    );
    // Occurrences before the creation of the job are not counted.
    check(
        five_days,
        "2025-12-29T12:25:00Z",
        "2026-01-05T13:00:00Z",
        "2026-01-06 12:25 2026-01-07 12:25 2026-01-08 12:25 2026-01-09 12:25 2026-01-10 12:25 end",
    );
}

#[test]
fn a_count_counts_occurrences() {
    let rows = [
        (r#"{"frequency":"minute","count":1}"#, "2026-01-05T12:25:00Z", "2026-01-05 12:25 end"),
        (
            r#"{"frequency":"hour","interval":7,"count":3}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 19:25 2026-01-06 02:25 end",
        ),
        (
            r#"{"frequency":"day","count":3,"schedule":{"hours":[5,17]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 17:25 2026-01-06 05:25 17:25 end",
        ),
        (
            r#"{"frequency":"minute","interval":7,"count":3,"schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 13:00 16:30 20:00 end",
        ),
        (
            r#"{"frequency":"hour","interval":6,"count":3,"schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:30 18:00 18:30 end",
        ),
        (
            r#"{"frequency":"week","count":3,"schedule":{"weekDays":["monday","friday"]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-01-09 12:25 2026-01-12 12:25 end",
        ),
        (
            r#"{"frequency":"month","count":3,"schedule":{"monthDays":[31]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-31 12:25 2026-03-31 12:25 2026-05-31 12:25 end",
        ),
        (
            r#"{"frequency":"year","count":2}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2027-01-05 12:25 end",
        ),
        (
            r#"{"frequency":"minute","count":2147483647}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 12:26 12:27",
        ),
    ];
    check_from_start(&rows);
}

#[test]
fn the_end_of_a_large_count_is_found() {
    let rule = r#"{"frequency":"minute","count":2147483647}"#;
    let timetable = timetable(&parse(rule), Some(START), START).unwrap();
    // 2,147,483,646 minutes after the first.
    let last = instant("6109-01-28T14:31:00Z");
    assert_eq!(timetable.at_or_after(last), Some(last));
    assert_eq!(timetable.after(last), None);
    let all = timetable.count_between(instant(START), instant("9999-12-31T00:00:00Z"));
    assert_eq!(all, 2_147_483_647);
}

#[test]
fn an_end_time_is_inclusive() {
    let rows = [
        ("2026-01-07T12:25:00Z", "2026-01-05 12:25 2026-01-06 12:25 2026-01-07 12:25 end"),
        ("2026-01-07T12:24:59.9999999Z", "2026-01-05 12:25 2026-01-06 12:25 end"),
        ("2026-01-07T12:25:00.0000001Z", "2026-01-05 12:25 2026-01-06 12:25 2026-01-07 12:25 end"),
        // A date is its midnight.
        ("2026-01-07", "2026-01-05 12:25 2026-01-06 12:25 end"),
        ("2026-01-07T13:25:00+01:00", "2026-01-05 12:25 2026-01-06 12:25 2026-01-07 12:25 end"),
        (START, "2026-01-05 12:25 end"),
    ];
    for (end, expected) in rows {
        check(&format!(r#"{{"frequency":"day","endTime":"{end}"}}"#), START, START, expected);
    }
    let fraction = r#"{"frequency":"minute","endTime":"2026-01-05T12:26:07.25Z"}"#;
    let start = "2026-01-05T12:25:07.25Z";
    check(fraction, start, start, "2026-01-05 12:25:07.25 12:26:07.25 end");
    let before = r#"{"frequency":"minute","endTime":"2026-01-05T12:26:07.2Z"}"#;
    check(before, start, start, "2026-01-05 12:25:07.25 end");
}

#[test]
fn count_or_end_time_ends_a_rule_whichever_comes_first() {
    let rows = [
        (2, "2026-01-09", "2026-01-05 12:25 2026-01-06 12:25 end"),
        (9, "2026-01-07", "2026-01-05 12:25 2026-01-06 12:25 end"),
        (2, "2026-01-06T12:25Z", "2026-01-05 12:25 2026-01-06 12:25 end"),
    ];
    for (count, end, expected) in rows {
        let rule = format!(r#"{{"frequency":"day","count":{count},"endTime":"{end}"}}"#);
        check(&rule, START, START, expected);
    }
}

#[test]
fn a_rule_whose_end_leaves_no_occurrence_is_accepted() {
    let rows = [
        // The end is before the creation, before the start, or before the first occurrence.
        (r#"{"frequency":"day","endTime":"2025-12-31"}"#, "2025-06-01T12:25:00Z", START),
        (r#"{"frequency":"day","endTime":"2026-02-01"}"#, "2026-03-01T12:25:00Z", START),
        (r#"{"frequency":"day","schedule":{"hours":[5]},"endTime":"2026-01-06"}"#, START, START),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[31]},"endTime":"2026-01-30","count":3}"#,
            START,
            START,
        ),
    ];
    for (rule, start, now) in rows {
        check(rule, start, now, "end");
    }
    check_without_start(r#"{"frequency":"day","endTime":"2025-12-31"}"#, START, "end");
    check_without_start(
        r#"{"frequency":"day","schedule":{"hours":[5]},"endTime":"2025-12-31"}"#,
        START,
        "end",
    );
}

#[test]
fn the_calendar_ends_with_the_year_9999() {
    let rows = [
        (r#"{"frequency":"day"}"#, "9999-12-30T12:25:00Z", "9999-12-30 12:25 9999-12-31 12:25 end"),
        (
            r#"{"frequency":"minute","interval":500}"#,
            "9999-12-31T10:00:00Z",
            "9999-12-31 10:00 18:20 end",
        ),
        (
            r#"{"frequency":"hour","interval":7}"#,
            "9999-12-31T10:00:00Z",
            "9999-12-31 10:00 17:00 end",
        ),
        (
            r#"{"frequency":"week"}"#,
            "9999-12-20T10:00:00Z",
            "9999-12-20 10:00 9999-12-27 10:00 end",
        ),
        (
            r#"{"frequency":"month"}"#,
            "9999-11-30T10:00:00Z",
            "9999-11-30 10:00 9999-12-30 10:00 end",
        ),
        (
            r#"{"frequency":"year"}"#,
            "9998-02-28T10:00:00Z",
            "9998-02-28 10:00 9999-02-28 10:00 end",
        ),
        (r#"{"frequency":"year","interval":100}"#, "9999-02-28T10:00:00Z", "9999-02-28 10:00 end"),
    ];
    check_from_start(&rows);
}

#[test]
fn a_schedule_ends_with_the_year_9999() {
    let rows = [
        (
            r#"{"frequency":"day","schedule":{"hours":[0,23],"minutes":[59]}}"#,
            "9999-12-30T12:25:00Z",
            "9999-12-30 23:59 9999-12-31 00:59 23:59 end",
        ),
        (
            r#"{"frequency":"minute","schedule":{"minutes":[58,59]}}"#,
            "9999-12-31T23:25:07.5Z",
            "9999-12-31 23:58:07.5 23:59:07.5 end",
        ),
        (
            r#"{"frequency":"hour","interval":5,"schedule":{"minutes":[30]}}"#,
            "9999-12-31T10:00:00Z",
            "9999-12-31 10:30 15:30 20:30 end",
        ),
        (
            r#"{"frequency":"week","schedule":{"weekDays":["monday","friday"]}}"#,
            "9999-12-20T10:00:00Z",
            "9999-12-20 10:00 9999-12-24 10:00 9999-12-27 10:00 9999-12-31 10:00 end",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[-1,30]}}"#,
            "9999-11-30T10:00:00Z",
            "9999-11-30 10:00 9999-12-30 10:00 9999-12-31 10:00 end",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":5}]}}"#,
            "9999-10-01T10:00:00Z",
            "9999-10-29 10:00 9999-12-31 10:00 end",
        ),
        (
            r#"{"frequency":"year","schedule":{"months":[2,12]}}"#,
            "9998-03-31T10:00:00Z",
            "9998-12-31 10:00 9999-02-28 10:00 9999-12-31 10:00 end",
        ),
        (
            r#"{"frequency":"year","count":2147483647}"#,
            "9998-03-31T10:00:00Z",
            "9998-03-31 10:00 9999-03-31 10:00 end",
        ),
    ];
    check_from_start(&rows);
}

#[test]
fn the_calendar_ends_in_utc_in_every_zone() {
    let rows = [
        // The clock of New York is five hours behind UTC.
        (
            r#"{"frequency":"hour","interval":2,"timeZone":"America/New_York"}"#,
            "9999-12-31T18:30:00-05:00",
            "9999-12-31 18:30-05:00 end",
        ),
        (
            r#"{"frequency":"day","timeZone":"America/New_York","schedule":{"hours":[18,19],"minutes":[0]}}"#,
            "9999-12-31T10:00:00-05:00",
            "9999-12-31 18:00-05:00 end",
        ),
        // The clock of Kolkata already shows the year 10000.
        (
            r#"{"frequency":"day","timeZone":"Asia/Kolkata"}"#,
            "9999-12-31T03:00:00+05:30",
            "9999-12-30 21:30 9999-12-31 21:30 end",
        ),
    ];
    check_from_start(&rows);
}

#[test]
fn a_rule_without_a_start_fires_immediately() {
    let rows = [
        (
            r#"{"frequency":"day","interval":2}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 2026-01-07 12:25:07.25 2026-01-09 12:25:07.25",
        ),
        (
            r#"{"frequency":"month"}"#,
            "2026-01-31T12:25:07.25Z",
            "2026-01-31 12:25:07.25 2026-02-28 12:25:07.25 2026-03-31 12:25:07.25",
        ),
        (
            r#"{"frequency":"day","schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-06 05:25:07 2026-01-07 05:25:07",
        ),
        (
            r#"{"frequency":"day","schedule":{"hours":[5],"minutes":[0]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-06 05:00 2026-01-07 05:00",
        ),
        (
            r#"{"frequency":"minute","interval":5,"schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-06 05:00:07 05:05:07",
        ),
        (
            r#"{"frequency":"hour","interval":6,"schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 12:30 18:00 18:30",
        ),
        // Wednesday; its week is active.
        (
            r#"{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","friday"]}}"#,
            "2026-01-07T12:25:07.25Z",
            "2026-01-07 12:25:07 2026-01-09 12:25:07 2026-01-19 12:25:07 2026-01-23 12:25:07",
        ),
        (
            r#"{"frequency":"month","interval":2,"schedule":{"monthDays":[1]}}"#,
            "2026-01-07T12:25:07.25Z",
            "2026-01-07 12:25:07 2026-03-01 12:25:07 2026-05-01 12:25:07",
        ),
        (
            r#"{"frequency":"year","schedule":{"months":[1,7]}}"#,
            "2026-01-31T12:25:07.25Z",
            "2026-01-31 12:25:07 2026-07-31 12:25:07 2027-01-31 12:25:07",
        ),
    ];
    for (rule, now, expected) in rows {
        check_without_start(rule, now, expected);
    }
}

#[test]
fn a_first_execution_that_matches_the_schedule_fires_once() {
    let rows = [
        (
            r#"{"frequency":"day","schedule":{"hours":[12],"minutes":[25]}}"#,
            "2026-01-05T12:25:00.75Z",
            "2026-01-05 12:25 2026-01-06 12:25",
        ),
        (
            r#"{"frequency":"day","schedule":{"hours":[12]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-06 12:25:07",
        ),
        (
            r#"{"frequency":"minute","schedule":{"minutes":[25,26]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 12:26:07 13:25:07",
        ),
        (
            r#"{"frequency":"week","schedule":{"weekDays":["monday"]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-12 12:25:07",
        ),
        // 12:25:00 has passed, so the first execution and the schedule's are two occurrences.
        (
            r#"{"frequency":"hour","schedule":{"minutes":[25,26]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 12:26 13:25",
        ),
    ];
    for (rule, now, expected) in rows {
        check_without_start(rule, now, expected);
    }
}

#[test]
fn the_first_execution_of_a_rule_without_a_start_is_counted() {
    let rows = [
        (
            r#"{"frequency":"day","count":2}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 2026-01-06 12:25:07.25 end",
        ),
        (
            r#"{"frequency":"day","count":1,"schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 end",
        ),
        (
            r#"{"frequency":"day","count":3,"schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 2026-01-06 05:25:07 2026-01-07 05:25:07 end",
        ),
        (
            r#"{"frequency":"day","count":2,"schedule":{"hours":[12],"minutes":[25]}}"#,
            "2026-01-05T12:25:00.75Z",
            "2026-01-05 12:25 2026-01-06 12:25 end",
        ),
        (
            r#"{"frequency":"day","endTime":"2026-01-06T00:00Z","schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07 end",
        ),
    ];
    for (rule, now, expected) in rows {
        check_without_start(rule, now, expected);
    }
}
