//! Invalid values are refused with a message that says what to change.

use minutehand_recurrence::Recurrence;

use crate::table::{parse, timetable};

/// A JSON rule, the property to change, and the message.
type Refusal = (&'static str, &'static str, &'static str);

const MONDAY: &str = "2026-01-05T12:25:00Z";

fn check_refusals(start: Option<&str>, rows: &[Refusal]) {
    for (rule, field, message) in rows {
        match timetable(&parse(rule), start, MONDAY) {
            Ok(_) => panic!("{rule} is accepted"),
            Err(refused) => {
                assert_eq!(refused.to_string(), *message, "{rule}");
                assert_eq!(refused.field(), *field, "{rule}");
            }
        }
    }
}

/// Checks rows whose messages name the invalid value and the same allowed values.
fn check_values(field: &str, allowed: &str, rows: &[(&str, &str)]) {
    for (rule, given) in rows {
        let message = format!("'{field}' is {given}; {allowed}.");
        let refused = timetable(&parse(rule), Some(MONDAY), MONDAY).unwrap_err();
        assert_eq!(refused.to_string(), message, "{rule}");
        assert_eq!(refused.field(), field, "{rule}");
    }
}

#[test]
fn three_messages_are_exactly_those_of_azure_scheduler() {
    let month_days = "recurrence.schedule.monthDays";
    check_refusals(
        Some(MONDAY),
        &[
            (
                r#"{"frequency":"week","schedule":{"monthDays":[1]}}"#,
                month_days,
                "Cannot set days of month with recurrence unit 'Week'.",
            ),
            (
                r#"{"frequency":"month","schedule":{"weekDays":["monday"]}}"#,
                "recurrence.schedule.weekDays",
                "Cannot set week days with recurrence unit 'Month'.",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthDays":[1],"monthlyOccurrences":[{"day":"friday"}]}}"#,
                month_days,
                "Cannot set days of month together with monthly occurrences.",
            ),
        ],
    );
}

#[test]
fn each_part_of_a_schedule_has_its_frequencies() {
    let parts = [
        ("weekDays", r#""monday""#, "Cannot set week days", &["week"][..]),
        ("monthDays", "1", "Cannot set days of month", &["month"]),
        ("monthlyOccurrences", r#"{"day":"friday"}"#, "Cannot set days of month", &["month"]),
        ("months", "1", "Cannot set months", &["month", "year"]),
    ];
    let units = [
        ("minute", "Minute"),
        ("hour", "Hour"),
        ("day", "Day"),
        ("week", "Week"),
        ("month", "Month"),
        ("year", "Year"),
    ];
    for (property, value, message, allowed) in parts {
        for (frequency, unit) in units {
            let rule =
                format!(r#"{{"frequency":"{frequency}","schedule":{{"{property}":[{value}]}}}}"#);
            let answer = timetable(&parse(&rule), Some(MONDAY), MONDAY);
            if allowed.contains(&frequency) {
                assert!(answer.is_ok(), "{rule}: {answer:?}");
                continue;
            }
            let refused = answer.unwrap_err();
            assert_eq!(refused.to_string(), format!("{message} with recurrence unit '{unit}'."));
            assert_eq!(refused.field(), format!("recurrence.schedule.{property}"));
            let detail = refused.detail().unwrap();
            assert!(allowed.iter().all(|name| detail.contains(name)), "{rule}: {detail}");
        }
    }
}

#[test]
fn an_unknown_frequency_is_refused() {
    let names = "use one of minute, hour, day, week, month, year";
    check_refusals(
        Some(MONDAY),
        &[
            (
                "{}",
                "recurrence.frequency",
                "'recurrence.frequency' is missing; use one of minute, hour, day, week, month, year.",
            ),
            (
                r#"{"frequency":null}"#,
                "recurrence.frequency",
                "'recurrence.frequency' is missing; use one of minute, hour, day, week, month, year.",
            ),
        ],
    );
    check_values(
        "recurrence.frequency",
        names,
        &[
            (r#"{"frequency":"second"}"#, r#""second""#),
            (r#"{"frequency":""}"#, r#""""#),
            (r#"{"frequency":["day"]}"#, r#"["day"]"#),
            (r#"{"frequency":1}"#, "1"),
        ],
    );
    let names = "use one of minute, hour, day, week, month, year (is 'day' meant?)";
    let days = [(r#"{"frequency":"days"}"#, r#""days""#)];
    check_values("recurrence.frequency", names, &days);
}

#[test]
fn the_allowed_interval_depends_on_the_frequency() {
    let limits = [
        ("minute", 1_000),
        ("hour", 1_000),
        ("day", 548),
        ("week", 78),
        ("month", 18),
        ("year", 100),
    ];
    for (frequency, max) in limits {
        let rule = |interval: &str| {
            parse(&format!(r#"{{"frequency":"{frequency}","interval":{interval}}}"#))
        };
        let limit = max.to_string();
        for accepted in ["1", "1.0", "1e0", limit.as_str()] {
            assert!(Recurrence::from_json(&rule(accepted)).is_ok(), "{frequency} {accepted}");
        }
        let beyond = (max + 1).to_string();
        for given in
            ["0", "-1", "1.5", "\"1\"", "[1]", "18446744073709551615", "true", beyond.as_str()]
        {
            let refused = Recurrence::from_json(&rule(given)).unwrap_err();
            let message = format!(
                "'recurrence.interval' is {given}; with frequency '{frequency}' use a whole number from 1 to {max}."
            );
            assert_eq!(refused.to_string(), message);
            assert_eq!(refused.field(), "recurrence.interval");
        }
    }
}

#[test]
fn a_count_outside_1_to_2147483647_is_refused() {
    let allowed = "use a whole number from 1 to 2147483647";
    check_values(
        "recurrence.count",
        allowed,
        &[
            (r#"{"frequency":"day","count":0}"#, "0"),
            (r#"{"frequency":"day","count":-1}"#, "-1"),
            (r#"{"frequency":"day","count":2147483648}"#, "2147483648"),
            (r#"{"frequency":"day","count":2.5}"#, "2.5"),
            (r#"{"frequency":"day","count":"5"}"#, r#""5""#),
            (r#"{"frequency":"day","count":{}}"#, "{}"),
        ],
    );
}

#[test]
fn numbers_of_a_schedule_outside_their_range_are_refused() {
    check_values(
        "recurrence.schedule.minutes",
        "use whole numbers from 0 to 59",
        &[
            (r#"{"frequency":"day","schedule":{"minutes":[0,60]}}"#, "60"),
            (r#"{"frequency":"day","schedule":{"minutes":-1}}"#, "-1"),
            (r#"{"frequency":"day","schedule":{"minutes":["0"]}}"#, r#""0""#),
            (r#"{"frequency":"day","schedule":{"minute":[0.5]}}"#, "0.5"),
        ],
    );
    check_values(
        "recurrence.schedule.hours",
        "use whole numbers from 0 to 23",
        &[
            (r#"{"frequency":"day","schedule":{"hours":[24]}}"#, "24"),
            (r#"{"frequency":"day","schedule":{"hours":[[5]]}}"#, "[5]"),
            (r#"{"frequency":"day","schedule":{"hours":[null]}}"#, "null"),
            (r#"{"frequency":"day","schedule":{"hour":{"from":5}}}"#, r#"{"from":5}"#),
        ],
    );
    let days =
        "use whole numbers from 1 to 31, or from -31 to -1 counted from the end of the month";
    check_values(
        "recurrence.schedule.monthDays",
        days,
        &[
            (r#"{"frequency":"month","schedule":{"monthDays":[0]}}"#, "0"),
            (r#"{"frequency":"month","schedule":{"monthDays":[1,32]}}"#, "32"),
            (r#"{"frequency":"month","schedule":{"monthDays":-32}}"#, "-32"),
            (r#"{"frequency":"month","schedule":{"monthDays":["last"]}}"#, r#""last""#),
        ],
    );
    check_values(
        "recurrence.schedule.months",
        "use whole numbers from 1 to 12",
        &[
            (r#"{"frequency":"month","schedule":{"months":[0]}}"#, "0"),
            (r#"{"frequency":"year","schedule":{"months":[13]}}"#, "13"),
            (r#"{"frequency":"year","schedule":{"months":["may"]}}"#, r#""may""#),
        ],
    );
}

#[test]
fn unknown_weekdays_and_more_than_seven_are_refused() {
    let allowed = "use up to 7 of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
    let eight =
        r#"["monday","tuesday","wednesday","thursday","friday","saturday","sunday","monday"]"#;
    let eight_days = format!(r#"{{"frequency":"week","schedule":{{"weekDays":{eight}}}}}"#);
    // A message quotes 60 characters of the value.
    let cut: String = eight.chars().take(60).chain(['…']).collect();
    check_values(
        "recurrence.schedule.weekDays",
        allowed,
        &[
            (eight_days.as_str(), cut.as_str()),
            (r#"{"frequency":"week","schedule":{"weekDays":["mon"]}}"#, r#""mon""#),
            (r#"{"frequency":"week","schedule":{"weekDays":[1]}}"#, "1"),
            (r#"{"frequency":"week","schedule":{"weekDays":""}}"#, r#""""#),
        ],
    );
}

#[test]
fn an_invalid_monthly_occurrence_is_refused() {
    let field = "recurrence.schedule.monthlyOccurrences";
    let number = "use a whole number from 1 to 5, from -5 to -1 counted from the end of the month, or leave it out for every such day";
    check_values(
        &format!("{field}.occurrence"),
        number,
        &[
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":0}]}}"#,
                "0",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":6}]}}"#,
                "6",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":{"day":"friday","occurrence":-6}}}"#,
                "-6",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","Occurrence":"1"}]}}"#,
                r#""1""#,
            ),
        ],
    );
    let names = "use one of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
    check_values(
        &format!("{field}.day"),
        names,
        &[
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"fri"}]}}"#,
                r#""fri""#,
            ),
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":["friday"]}]}}"#,
                r#"["friday"]"#,
            ),
        ],
    );
    check_values(
        field,
        "use a JSON object",
        &[
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":["friday"]}}"#,
                r#""friday""#,
            ),
            (r#"{"frequency":"month","schedule":{"monthlyOccurrences":5}}"#, "5"),
        ],
    );
    check_refusals(
        Some(MONDAY),
        &[
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"occurrence":1}]}}"#,
                "recurrence.schedule.monthlyOccurrences.day",
                "'recurrence.schedule.monthlyOccurrences.day' is missing; use one of monday, tuesday, wednesday, thursday, friday, saturday, sunday.",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","week":1}]}}"#,
                "recurrence.schedule.monthlyOccurrences.week",
                "'recurrence.schedule.monthlyOccurrences.week' is not a property; known properties are day, occurrence.",
            ),
        ],
    );
}

#[test]
fn an_empty_list_is_refused() {
    let lists = [
        ("day", "minutes", "use whole numbers from 0 to 59"),
        ("day", "hours", "use whole numbers from 0 to 23"),
        (
            "week",
            "weekDays",
            "use up to 7 of monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        ),
        (
            "month",
            "monthDays",
            "use whole numbers from 1 to 31, or from -31 to -1 counted from the end of the month",
        ),
        ("month", "monthlyOccurrences", r#"use objects such as {"day":"friday","occurrence":-1}"#),
        ("year", "months", "use whole numbers from 1 to 12"),
    ];
    for (frequency, property, allowed) in lists {
        let rule = format!(r#"{{"frequency":"{frequency}","schedule":{{"{property}":[]}}}}"#);
        let field = format!("recurrence.schedule.{property}");
        check_values(&field, &format!("{allowed}, or leave it out"), &[(rule.as_str(), "[]")]);
    }
}

#[test]
fn an_invalid_date_is_refused() {
    let rule = |end: &str| format!(r#"{{"frequency":"day","endTime":{end}}}"#);
    let form =
        "write it as YYYY-MM-DD[Thh:mm[:ss[.fffffff]]][Z|±hh:mm], for example 2027-01-31T09:30:00Z";
    let quoted = "use a date in quotation marks, such as \"2027-01-31T09:30:00Z\"";
    let rows = [
        (r#""tomorrow""#, form),
        (r#""2027-1-1""#, form),
        (r#""2027-02-30""#, "the calendar has no such day"),
        (r#""2027-01-31T24:00Z""#, "hours go from 00 to 23, minutes and seconds from 00 to 59"),
        (r#""9999-12-31T23:00:00-05:00""#, "use a date in the years 0001 to 9999 in UTC"),
        ("1798761600", quoted),
        ("{}", quoted),
    ];
    for (end, allowed) in rows {
        check_values("recurrence.endTime", allowed, &[(rule(end).as_str(), end)]);
    }
    let refused = timetable(&parse(r#"{"frequency":"day"}"#), Some("soon"), MONDAY).unwrap_err();
    assert_eq!(refused.to_string(), format!("'startTime' is \"soon\"; {form}."));
    assert_eq!(refused.field(), "startTime");
}

#[test]
fn an_unknown_time_zone_is_refused_with_a_similar_name() {
    let allowed = |like| format!("use an IANA or Windows time zone name, such as '{like}'");
    let rows = [
        (r#""America/New York""#, "America/New_York"),
        (r#""Europ/Berlin""#, "Europe/Berlin"),
        (r#""berlin""#, "Europe/Berlin"),
        (r#""+05:30""#, "Europe/Paris"),
        (r#""""#, "Europe/Paris"),
        ("1", "Europe/Paris"),
    ];
    for (zone, like) in rows {
        let rule = format!(r#"{{"frequency":"day","timeZone":{zone}}}"#);
        check_values("recurrence.timeZone", &allowed(like), &[(rule.as_str(), zone)]);
    }
}
