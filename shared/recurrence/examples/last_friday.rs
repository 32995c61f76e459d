//! Runs at 17:30 in Berlin on the last Friday of each month of 2027.
//!
//! The local time stays the same all year, and the time in UTC changes with daylight saving time.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use minutehand_recurrence::{Timetable, WrittenDate, format_instant};

const RULE: &str = r#"{
    "frequency": "month",
    "endTime": "2027-12-31T23:59",
    "schedule": {
        "monthlyOccurrences": [{"day": "friday", "occurrence": -1}],
        "hours": [17],
        "minutes": [30]
    },
    "timeZone": "Europe/Berlin"
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let new_year = WrittenDate::parse("2027-01-01")?.instant(None)?;
    let timetable = Timetable::from_json_text(RULE, new_year)?;
    println!("{}", timetable.sentence());
    // Without a `startTime`, the first execution is immediate.
    for occurrence in timetable.iter().skip(1) {
        let (local, offset) = timetable.local(occurrence);
        println!("{local}  UTC+{}  {}", offset.num_hours(), format_instant(occurrence));
    }
    Ok(())
}
