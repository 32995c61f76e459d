//! Each `nextExecutionTime` that was recorded from Azure Scheduler.
//!
//! The recordings were made on Wednesday 2016-03-30 at about 20:40, and at 19:36 for the rows with a
//! schedule. Azure Scheduler started some jobs 20 seconds late; here they start immediately.

use minutehand_recurrence::Timetable;

use crate::table::{check, check_timetable, check_without_start, instant};

const NOW: &str = "2016-03-30T20:40:00Z";

#[test]
fn a_job_without_a_recurrence_runs_at_its_start_or_now() {
    let rows = [
        (None, "2016-03-30 20:40 end"),
        (Some("2015-07-13T00:00:00Z"), "2016-03-30 20:40 end"),
        (Some("2016-03-31T08:15:30.1234567Z"), "2016-03-31 08:15:30.1234567 end"),
    ];
    for (start, expected) in rows {
        let timetable = Timetable::once(start.map(instant), instant(NOW));
        check_timetable(&timetable, expected, &format!("once, {start:?}"));
    }
}

#[test]
fn a_rule_without_a_schedule_keeps_the_phase_of_its_start() {
    let rows = [
        // The start is a Monday.
        (r#"{"frequency":"Week"}"#, "2015-07-13T00:00:00Z", "2016-04-04 00:00 2016-04-11 00:00"),
        (r#"{"frequency":"Day"}"#, "2015-07-14T00:00:00Z", "2016-03-31 00:00 2016-04-01 00:00"),
        // A future start is kept to the seventh digit.
        (
            r#"{"frequency":"Day"}"#,
            "2016-03-31T08:15:30.1234567Z",
            "2016-03-31 08:15:30.1234567 2016-04-01 08:15:30.1234567",
        ),
        // Slightly past: the first occurrence was missed and is skipped.
        (
            r#"{"frequency":"Minute","interval":30}"#,
            "2016-03-30T20:35:00Z",
            "2016-03-30 21:05 21:35 22:05",
        ),
    ];
    for (rule, start, expected) in rows {
        check(rule, start, NOW, expected);
    }
    check_without_start(r#"{"frequency":"Day"}"#, NOW, "2016-03-30 20:40 2016-03-31 20:40");
}

#[test]
fn a_schedule_continues_from_now() {
    let times = r#""hours":[5,10,15,20],"minutes":[0,10,20,30,40,50]"#;
    let rows = [
        ("Day", "", "2016-03-30 20:00 20:10"),
        ("Week", r#","weekDays":["Monday"]"#, "2016-04-04 05:00 05:10"),
        ("Month", r#","monthDays":[15,30]"#, "2016-03-30 20:00 20:10"),
        (
            "Month",
            r#","monthlyOccurrences":[{"day":"Monday","Occurrence":1},{"day":"Friday","Occurrence":1}]"#,
            "2016-04-01 05:00 05:10",
        ),
    ];
    for (frequency, days, expected) in rows {
        let rule = format!(r#"{{"frequency":"{frequency}","schedule":{{{times}{days}}}}}"#);
        check(&rule, "2015-07-13T00:00:00Z", "2016-03-30T19:36:00Z", expected);
    }
}
