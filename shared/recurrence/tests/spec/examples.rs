//! The examples in the documentation of Azure Scheduler: its table of schedules and its example of
//! `startTime`. Each of the 31 rows of the table is checked with interval 1 and interval 3.

use minutehand_recurrence::Timetable;
use serde_json::json;

use crate::table::{
    check, check_json, check_timetable, check_without_start, instant, parse, timetable,
};

/// The start of all rows: the minutes of row 6, "12:25 PM", on a Monday.
const START: &str = "2026-01-05T12:25:00Z";

/// A row of the table: the schedule, and its occurrences with interval 1 and interval 3.
type Example = (&'static str, &'static str, &'static str);

/// A row with frequent occurrences, which are checked from a later instant on.
type Dense = (&'static str, &'static str, &'static str, &'static str);

fn check_examples(frequency: &str, examples: &[Example]) {
    for (schedule, every, every_third) in examples {
        check_dense(frequency, &[(*schedule, START, *every, *every_third)]);
    }
}

fn check_dense(frequency: &str, examples: &[Dense]) {
    for (schedule, now, every, every_third) in examples {
        for (interval, expected) in [(1, every), (3, every_third)] {
            let rule = json!({
                "frequency": frequency, "interval": interval, "schedule": parse(schedule),
            });
            check_json(&rule, Some(START), now, expected);
        }
    }
}

#[test]
fn hours_and_minutes_are_times_of_each_day() {
    check_examples(
        "day",
        &[
            (
                r#"{"hours":[5]}"#,
                "2026-01-06 05:25 2026-01-07 05:25 2026-01-08 05:25",
                "2026-01-08 05:25 2026-01-11 05:25 2026-01-14 05:25",
            ),
            (
                r#"{"minutes":[15],"hours":[5]}"#,
                "2026-01-06 05:15 2026-01-07 05:15 2026-01-08 05:15",
                "2026-01-08 05:15 2026-01-11 05:15 2026-01-14 05:15",
            ),
            (
                r#"{"minutes":[15],"hours":[5,17]}"#,
                "2026-01-05 17:15 2026-01-06 05:15 17:15 2026-01-07 05:15 17:15",
                "2026-01-05 17:15 2026-01-08 05:15 17:15 2026-01-11 05:15 17:15",
            ),
            (
                r#"{"minutes":[15,45],"hours":[5,17]}"#,
                "2026-01-05 17:15 17:45 2026-01-06 05:15 05:45 17:15 17:45 2026-01-07 05:15",
                "2026-01-05 17:15 17:45 2026-01-08 05:15 05:45 17:15 17:45 2026-01-11 05:15",
            ),
        ],
    );
    check_dense(
        "day",
        &[
            (
                r#"{"minutes":[0,15,30,45]}"#,
                "2026-01-05T23:20:00Z",
                "2026-01-05 23:30 23:45 2026-01-06 00:00 00:15",
                "2026-01-05 23:30 23:45 2026-01-08 00:00 00:15",
            ),
            (
                r#"{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]}"#,
                "2026-01-05T22:00:00Z",
                "2026-01-05 22:25 23:25 2026-01-06 00:25 01:25",
                "2026-01-05 22:25 23:25 2026-01-08 00:25 01:25",
            ),
            (
                r#"{"minutes":[0]}"#,
                "2026-01-05T22:00:00Z",
                "2026-01-05 22:00 23:00 2026-01-06 00:00 01:00",
                "2026-01-05 22:00 23:00 2026-01-08 00:00 01:00",
            ),
            (
                r#"{"minutes":[15]}"#,
                "2026-01-05T22:00:00Z",
                "2026-01-05 22:15 23:15 2026-01-06 00:15 01:15",
                "2026-01-05 22:15 23:15 2026-01-08 00:15 01:15",
            ),
        ],
    );
}

#[test]
fn every_hour_of_one_day_of_each_week_or_month() {
    check_dense(
        "week",
        &[(
            r#"{"minutes":[0]}"#,
            "2026-01-05T22:30:00Z",
            "2026-01-05 23:00 2026-01-12 00:00 01:00",
            "2026-01-05 23:00 2026-01-26 00:00 01:00",
        )],
    );
    check_dense(
        "month",
        &[
            (
                r#"{"minutes":[0]}"#,
                "2026-01-05T22:30:00Z",
                "2026-01-05 23:00 2026-02-05 00:00 01:00",
                "2026-01-05 23:00 2026-04-05 00:00 01:00",
            ),
            (
                r#"{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]}"#,
                "2026-01-05T22:30:00Z",
                "2026-01-05 23:25 2026-02-05 00:25 01:25",
                "2026-01-05 23:25 2026-04-05 00:25 01:25",
            ),
        ],
    );
}

#[test]
fn every_hour_of_each_day_means_the_same_as_hourly() {
    let all_hours: Vec<u32> = (0..24).collect();
    let pairs = [
        (json!({"frequency": "day", "schedule": {"hours": all_hours}}), START),
        (json!({"frequency": "day", "schedule": {"minutes": [0]}}), "2026-01-05T12:00:00Z"),
    ];
    for (daily, start) in pairs {
        let hourly = timetable(&json!({"frequency": "hour"}), Some(start), start).unwrap();
        let daily = timetable(&daily, Some(start), start).unwrap();
        assert!(daily.iter().take(1_000).eq(hourly.iter().take(1_000)), "from {start}");
    }
}

#[test]
fn week_days_are_days_of_each_week() {
    check_examples(
        "week",
        &[
            (
                r#"{"hours":[17],"weekDays":["saturday"]}"#,
                "2026-01-10 17:25 2026-01-17 17:25 2026-01-24 17:25",
                "2026-01-10 17:25 2026-01-31 17:25 2026-02-21 17:25",
            ),
            (
                r#"{"hours":[17],"weekDays":["monday","wednesday","friday"]}"#,
                "2026-01-05 17:25 2026-01-07 17:25 2026-01-09 17:25 2026-01-12 17:25",
                "2026-01-05 17:25 2026-01-07 17:25 2026-01-09 17:25 2026-01-26 17:25",
            ),
            (
                r#"{"minutes":[15,45],"hours":[17],"weekDays":["monday","wednesday","friday"]}"#,
                "2026-01-05 17:15 17:45 2026-01-07 17:15 17:45 2026-01-09 17:15 17:45 \
            2026-01-12 17:15",
                "2026-01-05 17:15 17:45 2026-01-07 17:15 17:45 2026-01-09 17:15 17:45 \
            2026-01-26 17:15",
            ),
            (
                r#"{"hours":[5,17],"weekDays":["monday","wednesday","friday"]}"#,
                "2026-01-05 17:25 2026-01-07 05:25 17:25 2026-01-09 05:25 17:25 2026-01-12 05:25",
                "2026-01-05 17:25 2026-01-07 05:25 17:25 2026-01-09 05:25 17:25 2026-01-26 05:25",
            ),
            (
                r#"{"minutes":[15,45],"hours":[5,17],"weekDays":["monday","wednesday","friday"]}"#,
                "2026-01-05 17:15 17:45 2026-01-07 05:15 05:45 17:15 17:45 \
            2026-01-09 05:15 05:45 17:15 17:45 2026-01-12 05:15",
                "2026-01-05 17:15 17:45 2026-01-07 05:15 05:45 17:15 17:45 \
            2026-01-09 05:15 05:45 17:15 17:45 2026-01-26 05:15",
            ),
            (
                r#"{"weekDays":["sunday"]}"#,
                "2026-01-11 12:25 2026-01-18 12:25 2026-01-25 12:25",
                "2026-01-11 12:25 2026-02-01 12:25 2026-02-22 12:25",
            ),
            (
                r#"{"weekDays":["tuesday","thursday"]}"#,
                "2026-01-06 12:25 2026-01-08 12:25 2026-01-13 12:25 2026-01-15 12:25",
                "2026-01-06 12:25 2026-01-08 12:25 2026-01-27 12:25 2026-01-29 12:25",
            ),
        ],
    );
    check_dense(
        "week",
        &[
            (
                r#"{"minutes":[0,15,30,45],"weekDays":["monday","tuesday","wednesday","thursday","friday"]}"#,
                "2026-01-09T23:20:00Z",
                "2026-01-09 23:30 23:45 2026-01-12 00:00 00:15",
                "2026-01-09 23:30 23:45 2026-01-26 00:00 00:15",
            ),
            (
                r#"{"minutes":[0,15,30,45],"hours":[9,10,11,12,13,14,15,16],"weekDays":["monday","tuesday","wednesday","thursday","friday"]}"#,
                "2026-01-09T16:20:00Z",
                "2026-01-09 16:30 16:45 2026-01-12 09:00 09:15",
                "2026-01-09 16:30 16:45 2026-01-26 09:00 09:15",
            ),
        ],
    );
}

#[test]
fn month_days_are_days_of_each_month() {
    check_examples(
        "month",
        &[
            (
                r#"{"minutes":[0],"hours":[6],"monthDays":[28]}"#,
                "2026-01-28 06:00 2026-02-28 06:00 2026-03-28 06:00",
                "2026-01-28 06:00 2026-04-28 06:00 2026-07-28 06:00",
            ),
            (
                r#"{"minutes":[0],"hours":[6],"monthDays":[-1]}"#,
                "2026-01-31 06:00 2026-02-28 06:00 2026-03-31 06:00 2026-04-30 06:00",
                "2026-01-31 06:00 2026-04-30 06:00 2026-07-31 06:00 2026-10-31 06:00",
            ),
            (
                r#"{"minutes":[0],"hours":[6],"monthDays":[1,-1]}"#,
                "2026-01-31 06:00 2026-02-01 06:00 2026-02-28 06:00 2026-03-01 06:00",
                "2026-01-31 06:00 2026-04-01 06:00 2026-04-30 06:00 2026-07-01 06:00",
            ),
            (
                r#"{"monthDays":[1,-1]}"#,
                "2026-01-31 12:25 2026-02-01 12:25 2026-02-28 12:25 2026-03-01 12:25",
                "2026-01-31 12:25 2026-04-01 12:25 2026-04-30 12:25 2026-07-01 12:25",
            ),
            (
                r#"{"monthDays":[1,14]}"#,
                "2026-01-14 12:25 2026-02-01 12:25 2026-02-14 12:25 2026-03-01 12:25",
                "2026-01-14 12:25 2026-04-01 12:25 2026-04-14 12:25 2026-07-01 12:25",
            ),
            (
                r#"{"monthDays":[2]}"#,
                "2026-02-02 12:25 2026-03-02 12:25 2026-04-02 12:25",
                "2026-04-02 12:25 2026-07-02 12:25 2026-10-02 12:25",
            ),
        ],
    );
}

#[test]
fn monthly_occurrences_are_weekdays_of_each_month() {
    check_examples(
        "month",
        &[
            (
                r#"{"minutes":[0],"hours":[5],"monthlyOccurrences":[{"day":"friday","occurrence":1}]}"#,
                "2026-02-06 05:00 2026-03-06 05:00 2026-04-03 05:00",
                "2026-04-03 05:00 2026-07-03 05:00 2026-10-02 05:00",
            ),
            (
                r#"{"monthlyOccurrences":[{"day":"friday","occurrence":1}]}"#,
                "2026-02-06 12:25 2026-03-06 12:25 2026-04-03 12:25",
                "2026-04-03 12:25 2026-07-03 12:25 2026-10-02 12:25",
            ),
            (
                r#"{"monthlyOccurrences":[{"day":"friday","occurrence":-3}]}"#,
                "2026-01-16 12:25 2026-02-13 12:25 2026-03-13 12:25",
                "2026-01-16 12:25 2026-04-10 12:25 2026-07-17 12:25",
            ),
            (
                r#"{"minutes":[15],"hours":[5],"monthlyOccurrences":[{"day":"friday","occurrence":1},{"day":"friday","occurrence":-1}]}"#,
                "2026-01-30 05:15 2026-02-06 05:15 2026-02-27 05:15 2026-03-06 05:15",
                "2026-01-30 05:15 2026-04-03 05:15 2026-04-24 05:15 2026-07-03 05:15",
            ),
            (
                r#"{"monthlyOccurrences":[{"day":"friday","occurrence":1},{"day":"friday","occurrence":-1}]}"#,
                "2026-01-30 12:25 2026-02-06 12:25 2026-02-27 12:25 2026-03-06 12:25",
                "2026-01-30 12:25 2026-04-03 12:25 2026-04-24 12:25 2026-07-03 12:25",
            ),
            (
                r#"{"monthlyOccurrences":[{"day":"friday","occurrence":5}]}"#,
                "2026-01-30 12:25 2026-05-29 12:25 2026-07-31 12:25 2026-10-30 12:25",
                "2026-01-30 12:25 2026-07-31 12:25 2026-10-30 12:25 2027-01-29 12:25",
            ),
            (
                r#"{"minutes":[15,45],"hours":[5,17],"monthlyOccurrences":[{"day":"wednesday","occurrence":3}]}"#,
                "2026-01-21 05:15 05:45 17:15 17:45 2026-02-18 05:15",
                "2026-01-21 05:15 05:45 17:15 17:45 2026-04-15 05:15",
            ),
        ],
    );
    check_dense(
        "month",
        &[(
            r#"{"minutes":[0,15,30,45],"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}"#,
            "2026-01-30T23:20:00Z",
            "2026-01-30 23:30 23:45 2026-02-27 00:00 00:15",
            "2026-01-30 23:30 23:45 2026-04-24 00:00 00:15",
        )],
    );
}

#[test]
fn a_start_in_the_past_only_fixes_the_phase() {
    let every_other_day = r#"{"frequency":"day","interval":2}"#;
    for day in ["07", "05", "01"] {
        let start = format!("2015-04-{day}T14:00:00Z");
        let expected = "2015-04-09 14:00 2015-04-11 14:00 2015-04-13 14:00 2015-04-15 14:00";
        check(every_other_day, &start, "2015-04-08T13:00:00Z", expected);
    }
}

#[test]
fn a_job_without_a_recurrence_runs_once() {
    let now = "2026-01-05T12:25:30.5Z";
    let rows = [
        (None, "2026-01-05 12:25:30.5 end"),
        (Some("2025-01-01T00:00:00Z"), "2026-01-05 12:25:30.5 end"),
        (Some(now), "2026-01-05 12:25:30.5 end"),
        (Some("2026-02-01T00:00:00.25Z"), "2026-02-01 00:00:00.25 end"),
    ];
    for (start, expected) in rows {
        let timetable = Timetable::once(start.map(instant), instant(now));
        check_timetable(&timetable, expected, &format!("once, {start:?}"));
        assert_eq!(timetable.smallest_gap(), None);
    }
}

#[test]
fn the_first_occurrence_depends_on_the_start() {
    let daily = r#"{"frequency":"day"}"#;
    let at_five = r#"{"frequency":"day","schedule":{"hours":[5],"minutes":[0]}}"#;
    let now = "2026-01-05T12:25:30.5Z";
    check_without_start(daily, now, "2026-01-05 12:25:30.5 2026-01-06 12:25:30.5");
    check_without_start(at_five, now, "2026-01-05 12:25:30 2026-01-06 05:00 2026-01-07 05:00");

    let past = "2025-12-24T14:00:00Z";
    check(daily, past, now, "2026-01-05 14:00 2026-01-06 14:00");
    check(at_five, past, now, "2026-01-06 05:00 2026-01-07 05:00");

    check(daily, now, now, "2026-01-05 12:25:30.5 2026-01-06 12:25:30.5");
    check(at_five, now, now, "2026-01-06 05:00 2026-01-07 05:00");
    check(
        at_five,
        "2026-01-05T05:00:00Z",
        "2026-01-05T05:00:00Z",
        "2026-01-05 05:00 2026-01-06 05:00",
    );

    let future = "2026-02-01T14:00:00Z";
    check(daily, future, now, "2026-02-01 14:00 2026-02-02 14:00");
    check(at_five, future, now, "2026-02-02 05:00 2026-02-03 05:00");
    check(at_five, "2026-02-01T05:00:00Z", now, "2026-02-01 05:00 2026-02-02 05:00");
}
