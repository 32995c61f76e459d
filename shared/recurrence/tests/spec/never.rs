//! Rules that never occur are refused; rules that occur rarely are accepted.

use minutehand_recurrence::Refused;

use crate::table::{check_from_start, parse, timetable};

const MONDAY: &str = "2026-01-05T12:25:00Z";

fn check_never(rows: &[(&str, &str, &str)]) {
    for (rule, start, why) in rows {
        let refused = timetable(&parse(rule), Some(start), MONDAY).expect_err(rule);
        assert!(matches!(refused, Refused::NeverOccurs { .. }), "{rule}: {refused:?}");
        assert_eq!(refused.to_string(), format!("The recurrence never occurs: {why}."), "{rule}");
        assert_eq!(refused.field(), "recurrence");
    }
}

#[test]
fn a_rule_that_reaches_no_month_with_its_days_is_refused() {
    let reached = |interval: u32, from: &str| {
        format!(
            "an interval of {interval} {} from {from} reaches no month up to 9999-12 with a day of \
             the schedule; change the days, the months or the interval",
            if interval == 1 { "month" } else { "months" },
        )
    };
    let (february, january) = ("2026-02-10T12:25:00Z", MONDAY);
    let rows = [
        (r#"{"frequency":"month","interval":12,"schedule":{"monthDays":[31]}}"#, february, 12),
        (r#"{"frequency":"month","interval":12,"schedule":{"monthDays":[-31,30]}}"#, february, 12),
        (r#"{"frequency":"month","schedule":{"monthDays":[30],"months":[2]}}"#, january, 1),
        (r#"{"frequency":"month","schedule":{"monthDays":[-30],"months":[2]}}"#, january, 1),
        (r#"{"frequency":"month","schedule":{"monthDays":[31],"months":[4,6,9,11]}}"#, january, 1),
        (r#"{"frequency":"month","interval":2,"schedule":{"months":[4,12]}}"#, january, 2),
        (r#"{"frequency":"month","interval":12,"schedule":{"months":[2]}}"#, january, 12),
        (r#"{"frequency":"month","interval":18,"schedule":{"months":[3]}}"#, january, 18),
        // A count or an end does not change the refusal.
        (
            r#"{"frequency":"month","count":3,"endTime":"2030-01-01","schedule":{"monthDays":[30],"months":[2]}}"#,
            january,
            1,
        ),
    ];
    for (rule, start, interval) in rows {
        check_never(&[(rule, start, &reached(interval, &start[..7]))]);
    }
}

#[test]
fn an_hourly_interval_that_never_reaches_its_hours_is_refused() {
    let why = |interval: u32| {
        format!(
            "an interval of {interval} hours from the start never reaches the hours of the \
             schedule; start in one of them, or change the interval"
        )
    };
    let rows = [
        (r#"{"frequency":"hour","interval":24,"schedule":{"hours":[5]}}"#, 24),
        (r#"{"frequency":"hour","interval":2,"schedule":{"hours":[5,17],"minutes":[0]}}"#, 2),
        (r#"{"frequency":"hour","interval":1000,"schedule":{"hours":[5]}}"#, 1_000),
        (r#"{"frequency":"hour","interval":48,"schedule":{"hours":[0,1,2]}}"#, 48),
        (
            r#"{"frequency":"hour","interval":12,"schedule":{"hours":[1]},"timeZone":"Asia/Kolkata"}"#,
            12,
        ),
    ];
    for (rule, interval) in rows {
        check_never(&[(rule, MONDAY, &why(interval))]);
    }
}

#[test]
fn a_minutely_interval_that_never_reaches_its_times_is_refused() {
    let why = |interval: u32| {
        format!(
            "an interval of {interval} minutes from the start never reaches the hours and minutes \
             of the schedule; start at one of them, or change the interval"
        )
    };
    let rows = [
        (r#"{"frequency":"minute","interval":2,"schedule":{"minutes":[0,30]}}"#, 2),
        (r#"{"frequency":"minute","interval":60,"schedule":{"minutes":[0]}}"#, 60),
        (r#"{"frequency":"minute","interval":720,"schedule":{"hours":[5]}}"#, 720),
        (r#"{"frequency":"minute","interval":1000,"schedule":{"hours":[5],"minutes":[0]}}"#, 1_000),
        (r#"{"frequency":"minute","interval":999,"schedule":{"hours":[0],"minutes":[0]}}"#, 999),
        // The offset of Kolkata is not a whole hour, so minute 25 there is minute 55 in UTC.
        (
            r#"{"frequency":"minute","interval":60,"schedule":{"minutes":[25]},"timeZone":"Asia/Kolkata"}"#,
            60,
        ),
    ];
    for (rule, interval) in rows {
        check_never(&[(rule, MONDAY, &why(interval))]);
    }
}

#[test]
fn a_rule_without_a_match_before_the_year_10000_is_refused() {
    let why = |from: &str| format!("no date matches from {from} to the end of the year 9999");
    let rows = [
        (r#"{"frequency":"day","schedule":{"hours":[5]}}"#, "9999-12-31T12:25:00Z"),
        (r#"{"frequency":"week","schedule":{"weekDays":["saturday"]}}"#, "9999-12-27T12:25:00Z"),
        (r#"{"frequency":"year","schedule":{"months":[2]}}"#, "9999-03-01T12:25:00Z"),
    ];
    for (rule, start) in rows {
        check_never(&[(rule, start, &why(&start[..10]))]);
    }
    check_never(&[(
        r#"{"frequency":"month","schedule":{"monthDays":[29],"months":[2]}}"#,
        "9997-01-01T00:00:00Z",
        "an interval of 1 month from 9997-01 reaches no month up to 9999-12 with a day of the \
         schedule; change the days, the months or the interval",
    )]);
}

#[test]
fn a_rule_that_never_occurs_is_refused_without_a_start_too() {
    let rules = [
        r#"{"frequency":"month","schedule":{"monthDays":[30],"months":[2]}}"#,
        r#"{"frequency":"hour","interval":24,"schedule":{"hours":[5]}}"#,
        r#"{"frequency":"minute","interval":60,"schedule":{"minutes":[0]}}"#,
    ];
    for rule in rules {
        let refused = timetable(&parse(rule), None, MONDAY).expect_err(rule);
        assert!(matches!(refused, Refused::NeverOccurs { .. }), "{rule}: {refused:?}");
    }
}

#[test]
fn rare_occurrences_are_found() {
    let rows = [
        (
            r#"{"frequency":"month","interval":12,"schedule":{"monthDays":[29]}}"#,
            "2097-02-10T12:25:00Z",
            "2104-02-29 12:25 2108-02-29 12:25",
        ),
        (
            r#"{"frequency":"month","interval":18,"schedule":{"months":[2],"monthDays":[29]}}"#,
            "2096-08-10T12:25:00Z",
            "2104-02-29 12:25 2116-02-29 12:25",
        ),
        (
            r#"{"frequency":"month","interval":11,"schedule":{"monthlyOccurrences":[{"day":"saturday","occurrence":5}],"months":[2]}}"#,
            "2026-01-05T12:25:00Z",
            "2212-02-29 12:25",
        ),
        (
            r#"{"frequency":"minute","interval":997,"schedule":{"hours":[0],"minutes":[0]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-10-06 00:00 2029-06-29 00:00",
        ),
        (
            r#"{"frequency":"hour","interval":995,"schedule":{"hours":[11]}}"#,
            "2026-01-05T12:25:00Z",
            "2027-06-28 11:25 2030-03-19 11:25",
        ),
    ];
    check_from_start(&rows);
}
