use super::*;

/// An instant at which no expression of these tables is odd.
fn now() -> DateTime<Utc> {
    "2027-01-01T00:00:42Z".parse().unwrap()
}

const UNIX: &[(&str, &str)] = &[
    ("* * * * *", r#"{"frequency":"minute","interval":1}"#),
    ("*/15 * * * *", r#"{"frequency":"hour","schedule":{"minutes":[0,15,30,45]}}"#),
    ("5/20 * * * *", r#"{"frequency":"hour","schedule":{"minutes":[5,25,45]}}"#),
    ("0 0-23 * * *", r#"{"frequency":"hour","schedule":{"minutes":[0]}}"#),
    ("30 2 * * *", r#"{"frequency":"day","schedule":{"minutes":[30],"hours":[2]}}"#),
    (
        "0,30 8-12/2,17 * * *",
        r#"{"frequency":"day","schedule":{"minutes":[0,30],"hours":[8,10,12,17]}}"#,
    ),
    (
        "0 9 * * mon,WED,5-7",
        r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[9],"weekDays":["monday","wednesday","friday","saturday","sunday"]}}"#,
    ),
    (
        "0 9 * * */7",
        r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[9],"weekDays":["sunday"]}}"#,
    ),
    ("0 9 * * 0-7", r#"{"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}"#),
    (
        "0 9 1,15 * *",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthDays":[1,15]}}"#,
    ),
    (
        "0 9 15,L,L-3 * *",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthDays":[15,-1,-4]}}"#,
    ),
    (
        "0 9 1 jan,4-5 ?",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthDays":[1],"months":[1,4,5]}}"#,
    ),
    (
        "0 9 * 3 mon",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthlyOccurrences":[{"day":"monday"}],"months":[3]}}"#,
    ),
    (
        "0 9 * * friL,tue#2",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthlyOccurrences":[{"day":"friday","occurrence":-1},{"day":"tuesday","occurrence":2}]}}"#,
    ),
    // Either one of both kinds of days.
    (
        "0 0 13 * 5",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[0],"monthDays":[13]}} and {"frequency":"week","schedule":{"minutes":[0],"hours":[0],"weekDays":["friday"]}}"#,
    ),
    // 30 February does not exist, but Mondays of February do.
    (
        "0 0 30 2 1",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[0],"monthlyOccurrences":[{"day":"monday"}],"months":[2]}}"#,
    ),
    // Every day of the week, or day 13: every day.
    ("0 0 13 * 0-6", r#"{"frequency":"day","schedule":{"minutes":[0],"hours":[0]}}"#),
    // A star that leaves nothing out.
    (
        "0 0 */1 * 5",
        r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[0],"weekDays":["friday"]}}"#,
    ),
    ("@Daily", r#"{"frequency":"day","schedule":{"minutes":[0],"hours":[0]}}"#),
    ("@hourly", r#"{"frequency":"hour","schedule":{"minutes":[0]}}"#),
    (
        "@weekly",
        r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[0],"weekDays":["sunday"]}}"#,
    ),
    (
        "@yearly",
        r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[0],"monthDays":[1],"months":[1]}}"#,
    ),
];

const REFUSED: &[(&str, &str)] = &[
    (
        "0 0 15W * *",
        "'15W' is the working day nearest to another day, and a recurrence cannot say that; name the day itself, or let the target shift it",
    ),
    (
        "0 0 LW * *",
        "'LW' is the working day nearest to another day, and a recurrence cannot say that; name the day itself, or let the target shift it",
    ),
    (
        "0 0 */2 * 1",
        "because one of the fields for days begins with '*', cron wants both to match, and a recurrence cannot say that; name days of the month or days of the week, and let the target check the other",
    ),
    (
        "0 0 30 2 *",
        "the expression matches no day up to the year 9999; change the day or the month",
    ),
    (
        "@reboot",
        "'@reboot' means the start of a machine, which is not a time; let the machine call at its start, for example from a systemd unit",
    ),
    (
        "@every 15m",
        "'@every 15m' is an interval, not a cron expression; use a frequency with an interval, such as {\"frequency\":\"minute\",\"interval\":15}",
    ),
    (
        "@dayly",
        "'@dayly' is not a name for an expression; use @yearly, @monthly, @weekly, @daily or @hourly",
    ),
    (
        "0 30 2 * * *",
        "the cron expression '0 30 2 * * *' has 6 fields; leave out the seconds: '30 2 * * *'",
    ),
    (
        "*/10 30 2 * * *",
        "the cron expression '*/10 30 2 * * *' has 6 fields; give five: seconds and years are not part of them, and a job fires on whole minutes",
    ),
    (
        "0 9 * *",
        "the cron expression '0 9 * *' has 4 fields; give five: minute, hour, day of month, month, day of week",
    ),
    (
        "",
        "the cron expression '' has 0 fields; give five: minute, hour, day of month, month, day of week",
    ),
    ("60 9 * * *", "'60' is not a minute; use a number from 0 to 59"),
    ("0 24 * * *", "'24' is not an hour; use a number from 0 to 23"),
    ("0 9 0 * *", "'0' is not a day of the month; use a number from 1 to 31"),
    (
        "0 9 * 1-13 *",
        "'13' in '1-13' is not a month; use a number from 1 to 12, or a name from 'jan' to 'dec'",
    ),
    (
        "0 9 * * monday",
        "'monday' is not a day of the week; use a number from 0 to 7, or a name from 'sun' to 'sat'",
    ),
    ("0 9 * * fri-mon", "the range 'fri-mon' runs backwards; write it as two ranges, or as a list"),
    (
        "0 9 * * 5#6",
        "the number after '#' in '5#6' is not from 1 to 5; write the second Friday as 'fri#2', and the last one as 'friL'",
    ),
    (
        "0 9 * * L",
        "'L' alone is not a day of the week; write the last Friday of the month as 'friL', or Saturday as 'sat'",
    ),
    ("*/0 9 * * *", "the step of '*/0' is not a whole number above 0; write a step such as '*/5'"),
    ("0~59 9 * * *", "'0~59' is chosen at random by cron; choose a number yourself"),
    ("H 9 * * *", "'H' is chosen by Jenkins from the name of its job; choose a number yourself"),
    ("? 9 * * *", "'?' is for days only; use '*' for every value of a minute"),
    ("0,, 9 * * *", "'' is not a minute; use a number from 0 to 59"),
    ("-1 9 * * *", "'' in '-1' is not a minute; use a number from 0 to 59"),
];

fn shown(cron: &Result<Cron, Unsayable>) -> String {
    match cron.as_ref().map(|cron| cron.timings(None, now())) {
        Ok(Ok(timings)) => {
            let recurrences = timings.iter().map(|timing| timing.recurrence.to_string());
            recurrences.collect::<Vec<_>>().join(" and ").replace(r#""interval":1,"#, "")
        }
        Ok(Err(refused)) => refused.to_string(),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn five_fields_become_recurrences() {
    for (expression, expected) in UNIX {
        assert_eq!(shown(&Cron::unix(expression)), *expected, "{expression}");
    }
}

#[test]
fn what_a_recurrence_cannot_say_is_refused_with_the_reason_and_a_remedy() {
    for (expression, expected) in REFUSED {
        assert_eq!(shown(&Cron::unix(expression)), *expected, "{expression}");
    }
}

#[test]
fn six_fields_of_event_bridge_become_recurrences() {
    for (expression, expected) in [
        ("0 10 * * ? *", r#"{"frequency":"day","schedule":{"minutes":[0],"hours":[10]}}"#),
        (
            "15 10 ? * 6L 2019-2099",
            r#"{"frequency":"month","schedule":{"minutes":[15],"hours":[10],"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}}"#,
        ),
        (
            "0 18 ? * MON-FRI *",
            r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[18],"weekDays":["monday","tuesday","wednesday","thursday","friday"]}}"#,
        ),
        (
            "0 8 ? * 3#2 *",
            r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[8],"monthlyOccurrences":[{"day":"tuesday","occurrence":2}]}}"#,
        ),
        (
            "0 8 ? * L *",
            r#"{"frequency":"week","schedule":{"minutes":[0],"hours":[8],"weekDays":["saturday"]}}"#,
        ),
        (
            "0 8 L * ? *",
            r#"{"frequency":"month","schedule":{"minutes":[0],"hours":[8],"monthDays":[-1]}}"#,
        ),
        (
            "0/5 8-17 ? * 1 *",
            r#"{"frequency":"week","schedule":{"minutes":[0,5,10,15,20,25,30,35,40,45,50,55],"hours":[8,9,10,11,12,13,14,15,16,17],"weekDays":["sunday"]}}"#,
        ),
        (
            "0 8 3W * ? *",
            "'3W' is the working day nearest to another day, and a recurrence cannot say that; name the day itself, or let the target shift it",
        ),
        (
            "0 8 1 * 2 *",
            "the expression names days of the month and days of the week, and EventBridge allows one of them; write '?' for the other",
        ),
        (
            "0 8 ? * 0 *",
            "'0' is not a day of the week; use a number from 1 to 7, or a name from 'sun' to 'sat'",
        ),
        (
            "0 8 * * ? 2027,2029",
            "the years '2027,2029' are not in a row; write one schedule for each row of years",
        ),
        (
            "0 8 * * ?",
            "the cron expression '0 8 * * ?' has 5 fields; give six: minute, hour, day of month, month, day of week, year",
        ),
    ] {
        assert_eq!(shown(&Cron::event_bridge(expression)), expected, "{expression}");
    }
    let years = |expression| Cron::event_bridge(expression).unwrap().years();
    assert_eq!(years("0 8 * * ? *"), None);
    assert_eq!(years("0 8 * * ? 2027"), Some((2027, 2027)));
    assert_eq!(years("0 8 * * ? 2029,2027-2028"), Some((2027, 2029)));
}

#[test]
fn an_unknown_zone_is_named_with_the_nearest_one() {
    let refused = Cron::unix("@daily").unwrap().timings(Some("Europe/Berlni"), now()).unwrap_err();
    assert!(refused.remedy.contains("Europe/Berlin"), "{refused}");
}

#[test]
fn the_start_is_in_the_past_so_nothing_fires_at_once() {
    let timings = Cron::unix("* * * * *").unwrap().timings(None, now()).unwrap();
    let [timing] = timings.as_slice() else { panic!("{timings:?}") };
    assert!(timing.start_time < now());
    assert_eq!(timing.timetable.at_or_after(now()), "2027-01-01T00:01:00Z".parse().ok());
}

#[test]
fn a_long_expression_is_refused() {
    let long = format!("{} * * * *", "1,".repeat(600));
    assert!(Cron::unix(&long).unwrap_err().why.contains("512"));
}
