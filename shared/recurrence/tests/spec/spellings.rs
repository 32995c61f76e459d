//! Names: unknown names are refused, and alternative spellings are accepted.

use minutehand_recurrence::{Recurrence, Rule};

use crate::table::parse;

#[test]
fn an_unknown_property_is_refused_with_the_nearest_name() {
    let of_schedule = "minutes, hours, weekDays, monthDays, monthlyOccurrences, months";
    let rows = [
        (r#"{"frequency":"day","schedul":{}}"#, "recurrence.schedul", "did you mean 'schedule'?"),
        (
            r#"{"frequency":"day","Schedules":{}}"#,
            "recurrence.Schedules",
            "did you mean 'schedule'?",
        ),
        (
            r#"{"frequency":"day","intervall":2}"#,
            "recurrence.intervall",
            "did you mean 'interval'?",
        ),
        (r#"{"frequency":"day","end_time":1}"#, "recurrence.end_time", "did you mean 'endTime'?"),
        (
            r#"{"frequency":"day","timezones":1}"#,
            "recurrence.timezones",
            "did you mean 'timeZone'?",
        ),
        (r#"{"frequncy":"day"}"#, "recurrence.frequncy", "did you mean 'frequency'?"),
        // `null` counts as missing for a known property only.
        (r#"{"frequency":"day","counts":null}"#, "recurrence.counts", "did you mean 'count'?"),
        (
            r#"{"frequency":"day","colour":"red"}"#,
            "recurrence.colour",
            "known properties are frequency, interval, count, endTime, schedule, timeZone.",
        ),
        (
            r#"{"frequency":"day","schedule":{"hrs":[5]}}"#,
            "recurrence.schedule.hrs",
            "did you mean 'hours'?",
        ),
        (
            r#"{"frequency":"week","schedule":{"weekday":["monday"]}}"#,
            "recurrence.schedule.weekday",
            "did you mean 'weekDays'?",
        ),
        (
            r#"{"frequency":"month","schedule":{"month_days":[1]}}"#,
            "recurrence.schedule.month_days",
            "did you mean 'monthDays'?",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurences":[]}}"#,
            "recurrence.schedule.monthlyOccurences",
            "did you mean 'monthlyOccurrences'?",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurence":1}]}}"#,
            "recurrence.schedule.monthlyOccurrences.occurence",
            "did you mean 'occurrence'?",
        ),
    ];
    for (rule, field, hint) in rows {
        let refused = Recurrence::from_json(&parse(rule)).unwrap_err();
        assert_eq!(refused.to_string(), format!("'{field}' is not a property; {hint}"));
        assert_eq!(refused.field(), field, "{rule}");
    }
    let refused = Recurrence::from_json(&parse(r#"{"frequency":"day","schedule":{"x":1}}"#));
    let message =
        format!("'recurrence.schedule.x' is not a property; known properties are {of_schedule}.");
    assert_eq!(refused.unwrap_err().to_string(), message);
}

#[test]
fn a_property_in_two_spellings_is_refused() {
    let rows = [
        (
            r#"{"frequency":"day","schedule":{"minute":[0],"minutes":[0]}}"#,
            "recurrence.schedule.minutes",
            ["minute", "minutes"],
        ),
        (
            r#"{"frequency":"day","schedule":{"hour":5,"hours":[5]}}"#,
            "recurrence.schedule.hours",
            ["hour", "hours"],
        ),
        (
            r#"{"Interval":2,"frequency":"day","interval":1}"#,
            "recurrence.interval",
            ["Interval", "interval"],
        ),
    ];
    for (rule, field, [first, second]) in rows {
        let refused = Recurrence::from_json(&parse(rule)).unwrap_err();
        let message =
            format!("'{field}' is given twice, as '{first}' and as '{second}'; keep one of them.");
        assert_eq!(refused.to_string(), message);
        assert_eq!(refused.field(), field);
    }
}

#[test]
fn a_recurrence_or_schedule_that_is_not_an_object_is_refused() {
    let rows = [
        (r#""daily""#, "recurrence", r#""daily""#),
        ("[]", "recurrence", "[]"),
        ("null", "recurrence", "null"),
        (r#"{"frequency":"day","schedule":[]}"#, "recurrence.schedule", "[]"),
        (r#"{"frequency":"day","schedule":"0 5 * * *"}"#, "recurrence.schedule", r#""0 5 * * *""#),
    ];
    for (rule, field, given) in rows {
        let refused = Recurrence::from_json(&parse(rule)).unwrap_err();
        assert_eq!(refused.to_string(), format!("'{field}' is {given}; use a JSON object."));
        assert_eq!(refused.field(), field);
    }
}

#[test]
fn alternative_spellings_become_canonical() {
    let rows = [
        (r#"{"frequency":"Minutely"}"#, r#"{"frequency":"minute","interval":1}"#),
        (r#"{"frequency":"HOURLY"}"#, r#"{"frequency":"hour","interval":1}"#),
        (r#"{"frequency":"DAILY","interval":2.0}"#, r#"{"frequency":"day","interval":2}"#),
        (r#"{"frequency":"Weekly"}"#, r#"{"frequency":"week","interval":1}"#),
        (r#"{"frequency":"monthly"}"#, r#"{"frequency":"month","interval":1}"#),
        (r#"{"frequency":"Year"}"#, r#"{"frequency":"year","interval":1}"#),
        (r#"{"frequency":"yearly","count":5}"#, r#"{"frequency":"year","count":5,"interval":1}"#),
        (
            r#"{"FREQUENCY":"day","EndTime":"2026-02-01"}"#,
            r#"{"frequency":"day","endTime":"2026-02-01T00:00:00Z","interval":1}"#,
        ),
        (
            r#"{"frequency":"day","interval":null,"count":null,"endTime":null,"schedule":null,"timeZone":null}"#,
            r#"{"frequency":"day","interval":1}"#,
        ),
        (
            r#"{"frequency":"day","schedule":{"minute":30,"HOUR":[17,5,17]}}"#,
            r#"{"frequency":"day","interval":1,"schedule":{"minutes":[30],"hours":[17,5]}}"#,
        ),
        (
            r#"{"frequency":"day","schedule":{"minute":null,"minutes":[15,0,15]}}"#,
            r#"{"frequency":"day","interval":1,"schedule":{"minutes":[15,0]}}"#,
        ),
        (
            r#"{"frequency":"week","schedule":{"weekdays":"FRIDAY"}}"#,
            r#"{"frequency":"week","interval":1,"schedule":{"weekDays":["friday"]}}"#,
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":-1,"months":6}}"#,
            r#"{"frequency":"month","interval":1,"schedule":{"monthDays":[-1],"months":[6]}}"#,
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":{"day":"Friday","Occurrence":-1}}}"#,
            r#"{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}}"#,
        ),
        // Answers of the API spell the name in both cases, and clients send them back.
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"Occurrence":1,"day":"friday","occurrence":1}]}}"#,
            r#"{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":1}]}}"#,
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"Sunday","occurrence":null}]}}"#,
            r#"{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"sunday"}]}}"#,
        ),
    ];
    for (sent, answered) in rows {
        let recurrence = Recurrence::from_json(&parse(sent)).unwrap();
        assert_eq!(recurrence.to_string(), answered, "{sent}");
        let again = Recurrence::from_json(&parse(answered)).unwrap();
        assert_eq!(again, recurrence, "{sent}");
        assert_eq!(Rule::canonical(&again), Rule::canonical(&recurrence), "{sent}");
    }
}

#[test]
fn a_time_zone_keeps_the_name_that_its_author_wrote() {
    for name in ["America/New_York", "america/new_york", "Eastern Standard Time", "UTC"] {
        let sent = format!(r#"{{"frequency":"day","interval":1,"timeZone":"{name}"}}"#);
        assert_eq!(Recurrence::from_json(&parse(&sent)).unwrap().to_string(), sent);
    }
}
