//! Weeks, hours and minutes; the phase of an interval with an old start; seconds.

use crate::table::{check_all, check_from_start};

#[test]
fn weeks_begin_on_monday_and_continue_across_years() {
    check_from_start(&[
        // 2026 has 53 weeks by ISO 8601; 2026-12-21 is a Monday.
        (
            r#"{"frequency":"week","interval":2}"#,
            "2026-12-21T10:00:00Z",
            "2026-12-21 10:00 2027-01-04 10:00 2027-01-18 10:00 2027-02-01 10:00",
        ),
        (
            r#"{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","friday"]}}"#,
            "2026-12-21T10:00:00Z",
            "2026-12-21 10:00 2026-12-25 10:00 2027-01-04 10:00 2027-01-08 10:00 2027-01-18 10:00",
        ),
        (
            r#"{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","sunday"]}}"#,
            "2026-12-27T10:00:00Z",
            "2026-12-27 10:00 2027-01-04 10:00 2027-01-10 10:00 2027-01-18 10:00",
        ),
        (
            r#"{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","sunday"]}}"#,
            "2026-12-30T10:00:00Z",
            "2027-01-03 10:00 2027-01-11 10:00 2027-01-17 10:00 2027-01-25 10:00",
        ),
        (
            r#"{"frequency":"week","interval":53,"schedule":{"weekDays":["thursday"]}}"#,
            "2025-12-29T10:00:00Z",
            "2026-01-01 10:00 2027-01-07 10:00 2028-01-13 10:00",
        ),
        // Without days, the rule takes the weekday of the start.
        (
            r#"{"frequency":"week","interval":3,"schedule":{"hours":[6],"minutes":[30]}}"#,
            "2026-12-16T10:00:00Z",
            "2027-01-06 06:30 2027-01-27 06:30 2027-02-17 06:30",
        ),
        // The week of the start is active, although its days have passed.
        (
            r#"{"frequency":"week","interval":4,"schedule":{"weekDays":["monday"],"hours":[9],"minutes":[0]}}"#,
            "2026-12-21T10:00:00Z",
            "2027-01-18 09:00 2027-02-15 09:00",
        ),
    ]);
}

#[test]
fn the_phase_of_an_interval_holds_for_decades() {
    check_all(&[
        (
            r#"{"frequency":"minute","interval":1000}"#,
            "1970-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-11-21 11:20 2026-11-22 04:00 20:40",
        ),
        (
            r#"{"frequency":"hour","interval":1000}"#,
            "1970-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-12-04 16:00 2027-01-15 08:00 2027-02-26 00:00",
        ),
        (
            r#"{"frequency":"day","interval":548}"#,
            "1970-01-01T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2027-01-06 10:00 2028-07-07 10:00 2030-01-06 10:00",
        ),
        (
            r#"{"frequency":"week","interval":78}"#,
            "1970-01-01T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2028-04-20 10:00 2029-10-18 10:00 2031-04-17 10:00",
        ),
        (
            r#"{"frequency":"month","interval":18}"#,
            "1970-01-31T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2027-01-31 10:00 2028-07-31 10:00 2030-01-31 10:00 2031-07-31 10:00",
        ),
        (
            r#"{"frequency":"year","interval":100}"#,
            "1888-02-29T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2088-02-29 10:00 2188-02-29 10:00",
        ),
    ]);
}

#[test]
fn the_phase_of_an_interval_with_a_schedule_holds_for_decades() {
    check_all(&[
        (
            r#"{"frequency":"minute","interval":1000,"schedule":{"hours":[5]}}"#,
            "1970-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-12-10 05:20 2027-01-04 05:20 2027-01-29 05:20",
        ),
        (
            r#"{"frequency":"hour","interval":1000,"schedule":{"minutes":[0,30]}}"#,
            "1970-01-01T00:15:00Z",
            "2026-11-21T00:00:00Z",
            "2026-12-04 16:00 16:30 2027-01-15 08:00 08:30",
        ),
        (
            r#"{"frequency":"day","interval":548,"schedule":{"hours":[5,17],"minutes":[15]}}"#,
            "1970-01-01T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2027-01-06 05:15 17:15 2028-07-07 05:15",
        ),
        (
            r#"{"frequency":"week","interval":78,"schedule":{"weekDays":["monday","sunday"]}}"#,
            "1970-01-01T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2028-04-17 10:00 2028-04-23 10:00 2029-10-15 10:00",
        ),
        (
            r#"{"frequency":"month","interval":18,"schedule":{"monthDays":[1,-1]}}"#,
            "1970-02-10T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2027-02-01 10:00 2027-02-28 10:00 2028-08-01 10:00 2028-08-31 10:00",
        ),
        (
            r#"{"frequency":"year","interval":100,"schedule":{"months":[2,3]}}"#,
            "1888-02-29T10:00:00Z",
            "2026-11-21T00:00:00Z",
            "2088-02-29 10:00 2088-03-29 10:00",
        ),
    ]);
}

#[test]
fn the_phase_of_an_interval_holds_from_the_first_day_of_the_calendar() {
    check_all(&[
        (
            r#"{"frequency":"minute","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-11-21 00:03 00:10",
        ),
        (
            r#"{"frequency":"hour","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-11-21 06:00 13:00",
        ),
        (
            r#"{"frequency":"day","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-11-23 00:00 2026-11-30 00:00",
        ),
        (
            r#"{"frequency":"week","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-11-30 00:00 2027-01-18 00:00",
        ),
        (
            r#"{"frequency":"month","interval":7}"#,
            "0001-01-31T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2026-12-31 00:00 2027-07-31 00:00",
        ),
        (
            r#"{"frequency":"year","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "2026-11-21T00:00:00Z",
            "2031-01-01 00:00 2038-01-01 00:00",
        ),
        (
            r#"{"frequency":"minute","interval":7}"#,
            "0001-01-01T00:00:00Z",
            "0001-01-01T00:00:00Z",
            "0001-01-01 00:00 00:07",
        ),
    ]);
}

#[test]
fn an_hourly_schedule_expands_within_its_hours() {
    check_from_start(&[
        (
            r#"{"frequency":"hour","schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:30 13:00 13:30 14:00",
        ),
        (
            r#"{"frequency":"hour","interval":6,"schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:30 18:00 18:30 2026-01-06 00:00 00:30 06:00",
        ),
        (
            r#"{"frequency":"hour","interval":6,"schedule":{"minutes":[0,10]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 18:00 18:10 2026-01-06 00:00 00:10",
        ),
        (
            r#"{"frequency":"hour","schedule":{"hours":[8,17]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 17:25 2026-01-06 08:25 17:25 2026-01-07 08:25",
        ),
        (
            r#"{"frequency":"hour","schedule":{"hours":[8,17],"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 17:00 17:30 2026-01-06 08:00 08:30 17:00",
        ),
        (
            r#"{"frequency":"hour","interval":5,"schedule":{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-01-06 03:25 08:25 2026-01-07 04:25 09:25 2026-01-08 00:25",
        ),
        (
            r#"{"frequency":"hour","interval":36,"schedule":{"hours":[12]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-01-08 12:25 2026-01-11 12:25",
        ),
        (
            r#"{"frequency":"hour","interval":25,"schedule":{"hours":[11],"minutes":[59]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-29 11:59 2026-02-23 11:59 2026-03-20 11:59",
        ),
    ]);
}

#[test]
fn a_minutely_schedule_filters_the_steps_from_the_start() {
    check_from_start(&[
        (
            r#"{"frequency":"minute","interval":15,"schedule":{"hours":[8,17]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 17:10 17:25 17:40 17:55 2026-01-06 08:10 08:25 08:40 08:55 17:10",
        ),
        (
            r#"{"frequency":"minute","interval":7,"schedule":{"minutes":[0,30]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 13:00 16:30 20:00 23:30",
        ),
        (
            r#"{"frequency":"minute","schedule":{"minutes":[0]}}"#,
            "2026-01-05T22:25:00Z",
            "2026-01-05 23:00 2026-01-06 00:00 01:00",
        ),
        (
            r#"{"frequency":"minute","interval":1000,"schedule":{"hours":[5]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-06 05:05 2026-01-15 05:45 2026-01-31 05:05",
        ),
        (
            r#"{"frequency":"minute","interval":90,"schedule":{"hours":[12,18],"minutes":[25,55]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 18:25 2026-01-06 12:25 18:25 2026-01-07 12:25",
        ),
        (
            r#"{"frequency":"minute","interval":997,"schedule":{"hours":[0],"minutes":[0]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-10-06 00:00 2029-06-29 00:00",
        ),
    ]);
}

#[test]
fn an_empty_schedule_equals_no_schedule() {
    check_from_start(&[
        (
            r#"{"frequency":"day","interval":2,"schedule":{}}"#,
            "2026-01-05T12:25:07.5Z",
            "2026-01-05 12:25:07.5 2026-01-07 12:25:07.5",
        ),
        (
            r#"{"frequency":"hour","schedule":{"minutes":null,"hours":null}}"#,
            "2026-01-05T12:25:07.5Z",
            "2026-01-05 12:25:07.5 13:25:07.5",
        ),
    ]);
}

#[test]
fn seconds_come_from_the_start_if_its_minute_does() {
    check_from_start(&[
        (
            r#"{"frequency":"day"}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 2026-01-06 12:25:07.25",
        ),
        (
            r#"{"frequency":"minute","interval":7}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 12:32:07.25 12:39:07.25",
        ),
        (
            r#"{"frequency":"month"}"#,
            "2026-01-31T12:25:07.0000001Z",
            "2026-01-31 12:25:07.0000001 2026-02-28 12:25:07.0000001",
        ),
        (
            r#"{"frequency":"day","schedule":{"hours":[5,13]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 13:25:07.25 2026-01-06 05:25:07.25 13:25:07.25",
        ),
        (
            r#"{"frequency":"hour","schedule":{"hours":[5,13]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 13:25:07.25 2026-01-06 05:25:07.25 13:25:07.25",
        ),
        (
            r#"{"frequency":"week","schedule":{"weekDays":["monday","tuesday"]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 2026-01-06 12:25:07.25 2026-01-12 12:25:07.25",
        ),
        (
            r#"{"frequency":"minute","schedule":{"minutes":[25,26]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:25:07.25 12:26:07.25 13:25:07.25",
        ),
        (
            r#"{"frequency":"minute","schedule":{"hours":[13]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 13:00:07.25 13:01:07.25",
        ),
    ]);
}

#[test]
fn seconds_are_zero_if_the_schedule_names_minutes() {
    check_from_start(&[
        // 12:25:00 is before the start.
        (
            r#"{"frequency":"day","schedule":{"minutes":[25]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 13:25 14:25",
        ),
        (
            r#"{"frequency":"day","schedule":{"hours":[12],"minutes":[25,26]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:26 2026-01-06 12:25 12:26",
        ),
        (
            r#"{"frequency":"hour","schedule":{"minutes":[25,26]}}"#,
            "2026-01-05T12:25:07.25Z",
            "2026-01-05 12:26 13:25 13:26",
        ),
        (
            r#"{"frequency":"hour","schedule":{"hours":[12],"minutes":[25]}}"#,
            "2026-01-05T12:25:00.1Z",
            "2026-01-06 12:25 2026-01-07 12:25",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[5],"hours":[12],"minutes":[25]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-02-05 12:25",
        ),
    ]);
}
