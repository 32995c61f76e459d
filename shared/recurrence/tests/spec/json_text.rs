//! A timetable from JSON text: the accepted forms, and the refusals.

use minutehand_recurrence::{Refused, Timetable};

use crate::table::{check_timetable, instant};

const NOW: &str = "2026-01-05T12:25:00Z";

#[test]
fn a_recurrence_a_start_or_both_are_accepted() {
    let rows = [
        (r#"{"frequency":"day"}"#, "2026-01-05 12:25 2026-01-06 12:25"),
        (r#"{"recurrence":{"frequency":"day"}}"#, "2026-01-05 12:25 2026-01-06 12:25"),
        (
            r#"{"startTime":"2026-01-01T09:00Z","recurrence":{"frequency":"day","count":2}}"#,
            "2026-01-06 09:00 2026-01-07 09:00 end",
        ),
        (
            r#"{"StartTime":"2026-02-01T09:00","Recurrence":{"frequency":"day","timeZone":"Asia/Kolkata"}}"#,
            "2026-02-01 03:30 2026-02-02 03:30",
        ),
        (r#"{"startTime":"2026-02-01T09:00Z"}"#, "2026-02-01 09:00 end"),
        (r#"{"startTime":null,"recurrence":null}"#, "2026-01-05 12:25 end"),
    ];
    for (text, expected) in rows {
        let timetable = Timetable::from_json_text(text, instant(NOW));
        let timetable = timetable.unwrap_or_else(|refused| panic!("{text}: {refused}"));
        check_timetable(&timetable, expected, text);
    }
}

/// Checks texts, the property to change, and the message.
fn check_refused(rows: &[(&str, &str, &str)]) {
    for (text, field, message) in rows {
        let refused = Timetable::from_json_text(text, instant(NOW)).unwrap_err();
        assert_eq!(refused.to_string(), *message, "{text}");
        assert_eq!(refused.field(), *field, "{text}");
    }
}

#[test]
fn an_invalid_text_is_refused() {
    check_refused(&[
        (
            "",
            "recurrence",
            "The recurrence is not valid JSON: EOF while parsing a value at line 1 column 0.",
        ),
        (
            "every day",
            "recurrence",
            "The recurrence is not valid JSON: expected value at line 1 column 1.",
        ),
        (r#""daily""#, "recurrence", r#"'recurrence' is "daily"; use a JSON object."#),
        (
            "{}",
            "recurrence.frequency",
            "'recurrence.frequency' is missing; use one of minute, hour, day, week, month, year.",
        ),
        (
            r#"{"startTime":"2026-01-01","recurence":{"frequency":"day"}}"#,
            "recurence",
            "'recurence' is not a property; did you mean 'recurrence'?",
        ),
        (
            r#"{"startTime":"2026-01-01","frequency":"day"}"#,
            "frequency",
            "'frequency' is not a property; known properties are startTime, recurrence.",
        ),
        (
            r#"{"startTime":1,"recurrence":{"frequency":"day"}}"#,
            "startTime",
            r#"'startTime' is 1; use a date in quotation marks, such as "2027-01-31T09:30:00Z"."#,
        ),
    ]);
}

#[test]
fn a_text_that_only_resembles_a_valid_one_is_refused() {
    check_refused(&[
        (
            r#"["day",2,null,null,null,null]"#,
            "recurrence",
            r#"'recurrence' is ["day",2,null,null,null,null]; use a JSON object."#,
        ),
        (
            r#"{"recurrence":["day",2,null,null,null,null]}"#,
            "recurrence",
            r#"'recurrence' is ["day",2,null,null,null,null]; use a JSON object."#,
        ),
        (
            r#"{"frequency":"day","schedule":[[0],[9],null,null,null,null]}"#,
            "recurrence.schedule",
            "'recurrence.schedule' is [[0],[9],null,null,null,null]; use a JSON object.",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[["friday",1]]}}"#,
            "recurrence.schedule.monthlyOccurrences",
            r#"'recurrence.schedule.monthlyOccurrences' is ["friday",1]; use a JSON object."#,
        ),
        (
            r#"{"frequency":"week","schedule":{"weekDays":[{"monday":null}]}}"#,
            "recurrence.schedule.weekDays",
            r#"'recurrence.schedule.weekDays' is {"monday":null}; use up to 7 of monday, tuesday, wednesday, thursday, friday, saturday, sunday."#,
        ),
        (
            r#"{"frequency":"day","count":0}"#,
            "recurrence.count",
            "'recurrence.count' is 0; use a whole number from 1 to 2147483647.",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[0]}}"#,
            "recurrence.schedule.monthDays",
            "'recurrence.schedule.monthDays' is 0; use whole numbers from 1 to 31, or from -31 to -1 counted from the end of the month.",
        ),
        (
            r#"{"frequency":"day","timeZone":"Mars/Phobos"}"#,
            "recurrence.timeZone",
            "'recurrence.timeZone' is \"Mars/Phobos\"; use an IANA or Windows time zone name, such as 'Europe/Paris'.",
        ),
    ]);
}

#[test]
fn a_text_that_never_occurs_is_refused() {
    let text = r#"{"frequency":"month","schedule":{"monthDays":[30],"months":[2]}}"#;
    let refused = Timetable::from_json_text(text, instant(NOW)).unwrap_err();
    assert!(matches!(refused, Refused::NeverOccurs { .. }), "{refused:?}");
}
