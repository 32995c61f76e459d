//! Starts near a clock change: at either of two equal times, and at a skipped time.

use crate::table::{check_clock, check_json, in_zone};

const NEW_YORK: &str = "America/New_York";

#[test]
fn a_start_at_the_second_of_two_equal_times_fires_without_a_schedule() {
    let rows = [
        (
            r#"{"frequency":"minute","interval":20}"#,
            "2026-11-01 01:30-05:00 01:50-05:00 02:10-05:00 02:30-05:00",
        ),
        (r#"{"frequency":"hour"}"#, "2026-11-01 01:30-05:00 02:30-05:00 03:30-05:00"),
        (
            r#"{"frequency":"day"}"#,
            "2026-11-01 01:30-05:00 2026-11-02 01:30-05:00 2026-11-03 01:30-05:00",
        ),
        (r#"{"frequency":"week"}"#, "2026-11-01 01:30-05:00 2026-11-08 01:30-05:00"),
        (r#"{"frequency":"month"}"#, "2026-11-01 01:30-05:00 2026-12-01 01:30-05:00"),
        (r#"{"frequency":"year"}"#, "2026-11-01 01:30-05:00 2027-11-01 01:30-04:00"),
        (r#"{"frequency":"day","count":2}"#, "2026-11-01 01:30-05:00 2026-11-02 01:30-05:00 end"),
    ];
    for start in ["2026-11-01T01:30:00-05:00", "2026-11-01T06:30:00Z", "2026-11-01T12:00+05:30"] {
        check_clock(NEW_YORK, start, "2026-11-01T00:00:00Z", &rows);
        check_clock(NEW_YORK, start, "2026-11-01T06:30:00Z", &rows);
    }
}

#[test]
fn a_start_at_the_second_of_two_equal_times_is_too_late_for_named_hours() {
    check_clock(
        NEW_YORK,
        "2026-11-01T06:30:00Z",
        "2026-11-01T00:00:00Z",
        &[
            (
                r#"{"frequency":"day","schedule":{"hours":[1],"minutes":[30]}}"#,
                "2026-11-02 01:30-05:00 2026-11-03 01:30-05:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"hours":[1]}}"#,
                "2026-11-02 01:30-05:00 2026-11-03 01:30-05:00",
            ),
            (
                r#"{"frequency":"week","schedule":{"weekDays":["sunday"]}}"#,
                "2026-11-08 01:30-05:00 2026-11-15 01:30-05:00",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthDays":[1]}}"#,
                "2026-12-01 01:30-05:00 2027-01-01 01:30-05:00",
            ),
            // A rule that means every hour also fires at the second of two equal times.
            (
                r#"{"frequency":"day","schedule":{"minutes":[0,30]}}"#,
                "2026-11-01 01:30-05:00 02:00-05:00 02:30-05:00",
            ),
            (
                r#"{"frequency":"hour","schedule":{"hours":[1]}}"#,
                "2026-11-01 01:30-05:00 2026-11-02 01:30-05:00",
            ),
            (
                r#"{"frequency":"hour","interval":2,"schedule":{"minutes":[0,30]}}"#,
                "2026-11-01 01:30-05:00 03:00-05:00 03:30-05:00",
            ),
            (
                r#"{"frequency":"minute","interval":20,"schedule":{"hours":[1]}}"#,
                "2026-11-01 01:30-05:00 01:50-05:00 2026-11-02 01:10-05:00 01:30-05:00",
            ),
        ],
    );
}

#[test]
fn a_rule_created_at_the_second_of_two_equal_times_fires_immediately() {
    let now = "2026-11-01T06:30:00Z";
    let rows = [
        (r#"{"frequency":"day"}"#, "2026-11-01 01:30-05:00 2026-11-02 01:30-05:00"),
        (
            r#"{"frequency":"day","schedule":{"hours":[1],"minutes":[30]}}"#,
            "2026-11-01 01:30-05:00 2026-11-02 01:30-05:00",
        ),
        (
            r#"{"frequency":"day","schedule":{"minutes":[30]}}"#,
            "2026-11-01 01:30-05:00 02:30-05:00 03:30-05:00",
        ),
    ];
    for (rule, expected) in rows {
        check_json(&in_zone(NEW_YORK, rule), None, now, expected);
    }
}

#[test]
fn a_start_at_the_first_of_two_equal_times_fires_twice_for_every_hour_only() {
    check_clock(
        NEW_YORK,
        "2026-11-01T01:30",
        "2026-11-01T00:00:00Z",
        &[
            (r#"{"frequency":"day"}"#, "2026-11-01 01:30-04:00 2026-11-02 01:30-05:00"),
            (
                r#"{"frequency":"week","schedule":{"weekDays":["sunday"]}}"#,
                "2026-11-01 01:30-04:00 2026-11-08 01:30-05:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"minutes":[30]}}"#,
                "2026-11-01 01:30-04:00 01:30-05:00 02:30-05:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]}}"#,
                "2026-11-01 01:30-04:00 01:30-05:00 02:30-05:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]}}"#,
                "2026-11-01 01:30-04:00 02:30-05:00 03:30-05:00",
            ),
        ],
    );
}

#[test]
fn starts_without_an_offset_are_times_of_the_zone() {
    // The clock skips the time, so the start moves forward; its time of day is the moved one.
    check_clock(
        NEW_YORK,
        "2026-03-08T02:30",
        "2026-03-01T00:00:00Z",
        &[(r#"{"frequency":"day"}"#, "2026-03-08 03:30-04:00 2026-03-09 03:30-04:00")],
    );
    // The clock shows the time twice; the start is the first of the two.
    check_clock(
        NEW_YORK,
        "2026-11-01",
        "2026-11-01T00:00:00Z",
        &[
            (
                r#"{"frequency":"minute","interval":30,"endTime":"2026-11-01T01:30"}"#,
                "2026-11-01 00:00-04:00 00:30-04:00 01:00-04:00 01:30-04:00 end",
            ),
            (
                r#"{"frequency":"minute","interval":30,"endTime":"2026-11-01T06:30Z"}"#,
                "2026-11-01 00:00-04:00 00:30-04:00 01:00-04:00 01:30-04:00 01:00-05:00 \
                01:30-05:00 \
                end",
            ),
            (
                r#"{"frequency":"day","endTime":"2026-11-03"}"#,
                "2026-11-01 00:00-04:00 2026-11-02 00:00-05:00 2026-11-03 00:00-05:00 end",
            ),
        ],
    );
}
