//! The second judge's own recurrences, beside the product's: the same rules, the same instants.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use minutehand_recurrence::{Recurrence, Rule, Start, Timetable, WrittenDate};
use serde_json::{Value, json};

use super::second::ask_python;

/// Occurrences of each rule that are compared.
const COUNT: usize = 12;
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
/// Before the clocks change in spring and in autumn, and about the end of a month.
const SINCE: [&str; 4] = [
    "2027-01-30T22:17:05+00:00",
    "2027-03-13T23:50:00+00:00",
    "2027-03-27T23:50:00+00:00",
    "2027-10-30T21:10:30+00:00",
];

/// Rules of every frequency, with and without schedules.
fn rules() -> Vec<Value> {
    let mut rules = Vec::new();
    for interval in [1, 2, 5] {
        for frequency in ["minute", "hour", "day", "week", "month", "year"] {
            rules.push(json!({"frequency": frequency, "interval": interval}));
        }
        for schedule in [
            json!({"minutes": [5, 35]}),
            json!({"hours": [2]}),
            json!({"hours": [1, 2, 14], "minutes": [0, 30]}),
        ] {
            for frequency in ["minute", "hour", "day", "week", "month", "year"] {
                let schedule = schedule.clone();
                let rule =
                    json!({"frequency": frequency, "interval": interval, "schedule": schedule});
                rules.push(rule);
            }
        }
        let times = json!({"hours": [2, 9], "minutes": [30]});
        for (frequency, key, days) in [
            ("week", "weekDays", json!(["monday", "sunday"])),
            ("month", "monthDays", json!([1, 31, -1])),
            ("month", "monthlyOccurrences", json!([{"day": "sunday", "occurrence": -1}])),
            ("month", "monthlyOccurrences", json!([{"day": "friday"}])),
            ("year", "months", json!([3, 10, 11])),
        ] {
            let mut schedule = times.clone();
            schedule[key] = days;
            rules.push(json!({"frequency": frequency, "interval": interval, "schedule": schedule}));
        }
    }
    rules.push(json!({"frequency": "day", "count": 3}));
    rules.push(json!({"frequency": "hour", "endTime": "2027-11-01T03:00:00Z"}));
    rules
}

/// What the product says. `None` if it refuses the rule.
fn product(rule: &Value, start: Option<&str>, since: &str) -> Option<Vec<i64>> {
    let since: DateTime<Utc> = DateTime::parse_from_rfc3339(since).unwrap().into();
    let rule = Rule::canonical(&Recurrence::from_json(rule).ok()?).ok()?;
    let written = |it: &str| WrittenDate::parse(it).unwrap().instant(None).unwrap();
    let start = start.map_or(Start::Anchor(since), |it| Start::Given(written(it)));
    let timetable = Timetable::resumed(&rule, start, since, 0).ok()?;
    let occurrences = timetable.iter().take(COUNT);
    Some(occurrences.map(|at| at.timestamp_micros()).collect())
}

#[test]
#[ignore = "`make judge`"]
fn both_calendars_agree() {
    let mut asked = String::new();
    let mut expected = Vec::new();
    for mut rule in rules() {
        for zone in ZONES {
            rule["timeZone"] = json!(zone);
            for since in SINCE {
                for start in [None, Some("2027-01-31T02:30:15Z"), Some("2026-12-29T00:00:00Z")] {
                    let Some(occurrences) = product(&rule, start, since) else { continue };
                    let line =
                        json!({"recurrence": rule, "start": start, "since": since, "count": COUNT});
                    writeln!(asked, "{line}").unwrap();
                    expected.push((line, occurrences));
                }
            }
        }
    }
    let answers = ask_python("../judge/recurrence.py", vec![asked]);
    let answers: Vec<Vec<i64>> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), expected.len());
    let differ: Vec<_> = expected.iter().zip(&answers).filter(|((_, a), b)| a != *b).collect();
    println!("{} rules", expected.len());
    assert!(differ.is_empty(), "{} differ: {:#?}", differ.len(), &differ[..differ.len().min(3)]);
}
