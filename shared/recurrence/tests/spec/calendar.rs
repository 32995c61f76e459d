//! The calendar: months of different lengths, leap days, weekdays of a month, named months.

use minutehand_recurrence::format_instant;
use serde_json::json;

use crate::table::{check_from_start, check_json, instant, parse, timetable};

/// The lengths of the months of a common year.
const LENGTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

#[test]
fn a_day_from_the_start_is_clamped_in_short_months_only() {
    check_from_start(&[
        (
            r#"{"frequency":"month"}"#,
            "2026-01-31T10:00:00Z",
            "2026-01-31 10:00 2026-02-28 10:00 2026-03-31 10:00 2026-04-30 10:00 \
            2026-05-31 10:00 2026-06-30 10:00",
        ),
        (
            r#"{"frequency":"month"}"#,
            "2027-12-31T10:00:00Z",
            "2027-12-31 10:00 2028-01-31 10:00 2028-02-29 10:00 2028-03-31 10:00",
        ),
        (
            r#"{"frequency":"month"}"#,
            "2027-12-30T10:00:00Z",
            "2027-12-30 10:00 2028-01-30 10:00 2028-02-29 10:00 2028-03-30 10:00",
        ),
        (
            r#"{"frequency":"month"}"#,
            "2027-01-29T10:00:00Z",
            "2027-01-29 10:00 2027-02-28 10:00 2027-03-29 10:00",
        ),
        (
            r#"{"frequency":"month","interval":3}"#,
            "2026-11-30T10:00:00Z",
            "2026-11-30 10:00 2027-02-28 10:00 2027-05-30 10:00 2027-08-30 10:00",
        ),
        (
            r#"{"frequency":"month","interval":12}"#,
            "2028-02-29T10:00:00Z",
            "2028-02-29 10:00 2029-02-28 10:00 2030-02-28 10:00 2031-02-28 10:00 2032-02-29 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"hours":[6],"minutes":[0]}}"#,
            "2026-01-31T10:00:00Z",
            "2026-02-28 06:00 2026-03-31 06:00 2026-04-30 06:00 2026-05-31 06:00",
        ),
        (
            r#"{"frequency":"month","interval":5,"schedule":{"hours":[6]}}"#,
            "2026-01-31T10:00:00Z",
            "2026-06-30 06:00 2026-11-30 06:00 2027-04-30 06:00 2027-09-30 06:00",
        ),
    ]);
}

#[test]
fn a_leap_day_from_the_start_is_clamped_in_common_years_only() {
    check_from_start(&[
        (
            r#"{"frequency":"year"}"#,
            "2028-02-29T10:00:00Z",
            "2028-02-29 10:00 2029-02-28 10:00 2030-02-28 10:00 2031-02-28 10:00 2032-02-29 10:00",
        ),
        (
            r#"{"frequency":"year","schedule":{"hours":[6],"minutes":[0]}}"#,
            "2028-02-29T10:00:00Z",
            "2029-02-28 06:00 2030-02-28 06:00 2031-02-28 06:00 2032-02-29 06:00",
        ),
        // 2100 is a common year; 2000 was a leap year.
        (
            r#"{"frequency":"year","interval":4}"#,
            "2092-02-29T10:00:00Z",
            "2092-02-29 10:00 2096-02-29 10:00 2100-02-28 10:00 2104-02-29 10:00",
        ),
        (
            r#"{"frequency":"year","interval":4}"#,
            "1892-02-29T10:00:00Z",
            "1892-02-29 10:00 1896-02-29 10:00 1900-02-28 10:00 1904-02-29 10:00",
        ),
        (
            r#"{"frequency":"year","interval":100}"#,
            "1600-02-29T10:00:00Z",
            "1600-02-29 10:00 1700-02-28 10:00 1800-02-28 10:00 1900-02-28 10:00 2000-02-29 10:00",
        ),
        (
            r#"{"frequency":"year","interval":3}"#,
            "2028-02-29T10:00:00Z",
            "2028-02-29 10:00 2031-02-28 10:00 2034-02-28 10:00 2037-02-28 10:00 2040-02-29 10:00",
        ),
    ]);
}

#[test]
fn a_listed_day_is_never_clamped() {
    check_from_start(&[
        (
            r#"{"frequency":"month","schedule":{"monthDays":[31]}}"#,
            "2026-01-01T10:00:00Z",
            "2026-01-31 10:00 2026-03-31 10:00 2026-05-31 10:00 2026-07-31 10:00 \
            2026-08-31 10:00 2026-10-31 10:00 2026-12-31 10:00 2027-01-31 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[30]}}"#,
            "2027-12-01T10:00:00Z",
            "2027-12-30 10:00 2028-01-30 10:00 2028-03-30 10:00 2028-04-30 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[29]}}"#,
            "2027-01-31T10:00:00Z",
            "2027-03-29 10:00 2027-04-29 10:00 2027-05-29 10:00",
        ),
        (
            r#"{"frequency":"month","interval":2,"schedule":{"monthDays":[31]}}"#,
            "2026-02-01T10:00:00Z",
            "2026-08-31 10:00 2026-10-31 10:00 2026-12-31 10:00 2027-08-31 10:00 2027-10-31 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[28,-1]}}"#,
            "2027-01-31T10:00:00Z",
            "2027-01-31 10:00 2027-02-28 10:00 2027-03-28 10:00 2027-03-31 10:00 2027-04-28 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[31,-31,15]}}"#,
            "2027-01-20T10:00:00Z",
            "2027-01-31 10:00 2027-02-15 10:00 2027-03-01 10:00 2027-03-15 10:00 \
            2027-03-31 10:00 2027-04-15 10:00",
        ),
    ]);
}

#[test]
fn a_listed_leap_day_occurs_in_leap_years_only() {
    check_from_start(&[
        (
            r#"{"frequency":"month","schedule":{"monthDays":[29],"months":[2]}}"#,
            "2026-01-01T10:00:00Z",
            "2028-02-29 10:00 2032-02-29 10:00 2036-02-29 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[29],"months":[2]}}"#,
            "2092-02-29T10:00:01Z",
            "2092-02-29 10:00:01 2096-02-29 10:00:01 2104-02-29 10:00:01",
        ),
        (
            r#"{"frequency":"month","interval":12,"schedule":{"monthDays":[29]}}"#,
            "2089-02-01T10:00:00Z",
            "2092-02-29 10:00 2096-02-29 10:00 2104-02-29 10:00 2108-02-29 10:00",
        ),
        (
            r#"{"frequency":"month","interval":18,"schedule":{"monthDays":[29],"months":[2]}}"#,
            "2024-08-01T10:00:00Z",
            "2032-02-29 10:00 2044-02-29 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[-29],"months":[2]}}"#,
            "2093-01-01T10:00:00Z",
            "2096-02-01 10:00 2104-02-01 10:00 2108-02-01 10:00",
        ),
    ]);
}

#[test]
fn a_fifth_monday_in_february_is_found_forty_years_later() {
    check_from_start(&[
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"monday","occurrence":5}],"months":[2]}}"#,
            "2026-01-01T10:00:00Z",
            "2044-02-29 10:00 2072-02-29 10:00 2112-02-29 10:00 2140-02-29 10:00 2168-02-29 10:00",
        ),
        (
            r#"{"frequency":"month","interval":12,"schedule":{"monthlyOccurrences":[{"day":"monday","occurrence":-5}]}}"#,
            "2073-02-01T10:00:00Z",
            "2112-02-01 10:00 2140-02-01 10:00",
        ),
    ]);
}

#[test]
fn every_day_of_the_month_counts_from_either_end() {
    for day in 1..=31 {
        // Counted from the start and from the end, both name the same day of a month, or none.
        for (month_day, of_length) in [(day, None), (-day, Some(1 - day))] {
            let days = (1..).zip(LENGTHS).filter(|(_, length)| day <= *length);
            let days = days.map(|(month, length): (u32, i64)| {
                let day = of_length.map_or(day, |from_end| length + from_end);
                format!("2026-{month:02}-{day:02} 10:00")
            });
            let expected = format!("{} end", days.collect::<Vec<_>>().join(" "));
            let rule = json!({
                "frequency": "month", "endTime": "2026-12-31T23:00:00Z",
                "schedule": {"monthDays": [month_day]},
            });
            let start = "2026-01-01T10:00:00Z";
            check_json(&rule, Some(start), start, &expected);
        }
    }
}

#[test]
fn listing_all_days_of_the_month_means_every_day() {
    let month_days: Vec<i32> = (-31..=31).filter(|day| *day != 0).collect();
    let rule = json!({"frequency": "month", "schedule": {"monthDays": month_days}});
    let start = "2028-02-27T10:00:00Z";
    let expected = "2028-02-27 10:00 2028-02-28 10:00 2028-02-29 10:00 2028-03-01 10:00";
    check_json(&rule, Some(start), start, expected);
}

#[test]
fn a_fifth_weekday_exists_in_some_months_only() {
    let start = "2026-01-01T10:00:00Z";
    let rows = [
        ("monday", "03-30 06-29 08-31 11-30", "03-02 06-01 08-03 11-02"),
        ("tuesday", "03-31 06-30 09-29 12-29", "03-03 06-02 09-01 12-01"),
        ("wednesday", "04-29 07-29 09-30 12-30", "04-01 07-01 09-02 12-02"),
        ("thursday", "01-29 04-30 07-30 10-29 12-31", "01-01 04-02 07-02 10-01 12-03"),
        ("friday", "01-30 05-29 07-31 10-30", "01-02 05-01 07-03 10-02"),
        ("saturday", "01-31 05-30 08-29 10-31", "01-03 05-02 08-01 10-03"),
        ("sunday", "03-29 05-31 08-30 11-29", "03-01 05-03 08-02 11-01"),
    ];
    for (day, fifth, fifth_from_the_end) in rows {
        for (occurrence, days) in [(5, fifth), (-5, fifth_from_the_end)] {
            let rule = json!({
                "frequency": "month", "endTime": "2026-12-31T23:00:00Z",
                "schedule": {"monthlyOccurrences": [{"day": day, "occurrence": occurrence}]},
            });
            let days = days.replace(' ', " 10:00 2026-");
            check_json(&rule, Some(start), start, &format!("2026-{days} 10:00 end"));
        }
    }
}

#[test]
fn weekdays_of_a_month_count_from_either_end() {
    // February 2026 has exactly four weeks and begins on a Sunday, and so does March.
    check_from_start(&[
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"sunday","occurrence":1},{"day":"sunday","occurrence":-4}]}}"#,
            "2026-02-01T10:00:00Z",
            "2026-02-01 10:00 2026-03-01 10:00 2026-03-08 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"saturday","occurrence":4},{"day":"saturday","occurrence":-1}]}}"#,
            "2026-02-01T10:00:00Z",
            "2026-02-28 10:00 2026-03-28 10:00 2026-04-25 10:00 2026-05-23 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"tuesday","occurrence":2},{"day":"thursday","occurrence":-2},{"day":"sunday","occurrence":3}]}}"#,
            "2026-02-01T10:00:00Z",
            "2026-02-10 10:00 2026-02-15 10:00 2026-02-19 10:00 2026-03-10 10:00 \
            2026-03-15 10:00 2026-03-19 10:00",
        ),
        // Without `occurrence`, every such day matches; listing one of them again changes nothing.
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"sunday"}]}}"#,
            "2026-03-01T10:00:00Z",
            "2026-03-01 10:00 2026-03-08 10:00 2026-03-15 10:00 2026-03-22 10:00 \
            2026-03-29 10:00 2026-04-05 10:00",
        ),
        (
            r#"{"frequency":"month","interval":2,"schedule":{"monthlyOccurrences":[{"day":"sunday"},{"day":"sunday","occurrence":1},{"day":"sunday"}]}}"#,
            "2026-03-16T10:00:00Z",
            "2026-03-22 10:00 2026-03-29 10:00 2026-05-03 10:00 2026-05-10 10:00",
        ),
    ]);
}

#[test]
fn listed_months_filter_a_monthly_rule() {
    check_from_start(&[
        (
            r#"{"frequency":"month","schedule":{"months":[2,4,12]}}"#,
            "2026-01-31T10:00:00Z",
            "2026-02-28 10:00 2026-04-30 10:00 2026-12-31 10:00 2027-02-28 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"months":[12,6],"monthDays":[1,-1]}}"#,
            "2026-06-02T10:00:00Z",
            "2026-06-30 10:00 2026-12-01 10:00 2026-12-31 10:00 2027-06-01 10:00 2027-06-30 10:00",
        ),
        // Periods still count from the start: every second month from January is an odd month.
        (
            r#"{"frequency":"month","interval":2,"schedule":{"months":[1,2,3]}}"#,
            "2026-01-15T10:00:00Z",
            "2026-01-15 10:00 2026-03-15 10:00 2027-01-15 10:00 2027-03-15 10:00",
        ),
        (
            r#"{"frequency":"month","interval":5,"schedule":{"months":[1]}}"#,
            "2026-01-15T10:00:00Z",
            "2026-01-15 10:00 2031-01-15 10:00 2036-01-15 10:00",
        ),
        (
            r#"{"frequency":"month","interval":18,"schedule":{"months":[7]}}"#,
            "2026-01-15T10:00:00Z",
            "2027-07-15 10:00 2030-07-15 10:00 2033-07-15 10:00",
        ),
        (
            r#"{"frequency":"month","schedule":{"months":[3,9],"monthlyOccurrences":[{"day":"friday","occurrence":-1}],"hours":[6],"minutes":[0]}}"#,
            "2026-01-15T10:00:00Z",
            "2026-03-27 06:00 2026-09-25 06:00 2027-03-26 06:00",
        ),
    ]);
}

#[test]
fn listed_months_replace_the_start_month_of_a_yearly_rule() {
    check_from_start(&[
        (
            r#"{"frequency":"year","schedule":{"months":[2,4,12]}}"#,
            "2027-03-31T10:00:00Z",
            "2027-04-30 10:00 2027-12-31 10:00 2028-02-29 10:00 2028-04-30 10:00 2028-12-31 10:00",
        ),
        (
            r#"{"frequency":"year","interval":2,"schedule":{"months":[6,1]}}"#,
            "2026-03-15T10:00:00Z",
            "2026-06-15 10:00 2028-01-15 10:00 2028-06-15 10:00 2030-01-15 10:00",
        ),
        (
            r#"{"frequency":"year","schedule":{"months":[2],"hours":[6,18],"minutes":[0]}}"#,
            "2027-08-29T10:00:00Z",
            "2028-02-29 06:00 18:00 2029-02-28 06:00 18:00 2030-02-28 06:00",
        ),
        (
            r#"{"frequency":"year","schedule":{"minutes":[0]}}"#,
            "2026-03-15T22:30:00Z",
            "2026-03-15 23:00 2027-03-15 00:00 01:00 02:00",
        ),
    ]);
}

#[test]
fn unsorted_and_repeated_values_change_nothing() {
    check_from_start(&[
        (
            r#"{"frequency":"day","schedule":{"hours":[17,5,17,5],"minutes":[45,15,45]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 17:15 17:45 2026-01-06 05:15 05:45 17:15 17:45 2026-01-07 05:15",
        ),
        (
            r#"{"frequency":"week","schedule":{"weekDays":["friday","Monday","FRIDAY","monday"]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-01-09 12:25 2026-01-12 12:25 2026-01-16 12:25",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthDays":[-1,15,1,15,-1,31]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-15 12:25 2026-01-31 12:25 2026-02-01 12:25 2026-02-15 12:25 \
            2026-02-28 12:25 2026-03-01 12:25",
        ),
        (
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1},{"day":"monday","occurrence":1},{"day":"Friday","occurrence":-1}]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-01-05 12:25 2026-01-30 12:25 2026-02-02 12:25 2026-02-27 12:25",
        ),
        (
            r#"{"frequency":"year","schedule":{"months":[9,3,9]}}"#,
            "2026-01-05T12:25:00Z",
            "2026-03-05 12:25 2026-09-05 12:25 2027-03-05 12:25",
        ),
    ]);
}

#[test]
fn an_answer_in_another_month_or_year_has_the_right_date() {
    let rule = r#"{"frequency":"year","schedule":{"months":[1,2,3,12],"hours":[0],"minutes":[0]}}"#;
    let start = "2023-01-31T00:00:00Z";
    let timetable = timetable(&parse(rule), Some(start), start).unwrap();
    let rows = [
        ("2023-01-31T00:00:00Z", "2023-02-28T00:00:00Z"),
        ("2023-03-31T23:59:59.5Z", "2023-12-31T00:00:00Z"),
        ("2023-12-31T00:00:00Z", "2024-01-31T00:00:00Z"),
        ("2023-12-31T23:59:59.9999999Z", "2024-01-31T00:00:00Z"),
        ("2024-01-31T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("2024-03-31T00:00:00Z", "2024-12-31T00:00:00Z"),
        ("2024-12-31T00:00:00Z", "2025-01-31T00:00:00Z"),
        ("2099-12-31T00:00:00Z", "2100-01-31T00:00:00Z"),
        ("2100-01-31T00:00:00Z", "2100-02-28T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "2023-01-31T00:00:00Z"),
        ("9999-03-31T00:00:00Z", "9999-12-31T00:00:00Z"),
    ];
    for (asked, expected) in rows {
        let found = timetable.after(instant(asked)).map(format_instant);
        assert_eq!(found.as_deref(), Some(expected), "after {asked}");
    }
    assert_eq!(timetable.after(instant("9999-12-31T00:00:00Z")), None);
}
