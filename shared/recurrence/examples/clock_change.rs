//! Compares two rules on the days when the clock of New York changes.
//!
//! A rule that names an hour fires once a day. A rule that means every hour skips the hour that the
//! clock skips, and fires in both of the hours that the clock shows twice.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use minutehand_recurrence::{ClockChange, Timetable, WrittenDate, format_instant};

const RULES: [&str; 2] =
    [r#""schedule": {"hours": [1, 2], "minutes": [30]}"#, r#""schedule": {"minutes": [30]}"#];
/// The clock goes forward from 02:00 to 03:00, and back from 02:00 to 01:00.
const NIGHTS: [[&str; 2]; 2] = [
    ["2027-03-14T00:00:00-05:00", "2027-03-14T04:00:00-04:00"],
    ["2027-11-07T00:00:00-04:00", "2027-11-07T04:00:00-05:00"],
];

fn main() -> Result<(), Box<dyn Error>> {
    for rule in RULES {
        for [from, to] in NIGHTS {
            let from = WrittenDate::parse(from)?.instant(None)?;
            let to = WrittenDate::parse(to)?.instant(None)?;
            let text = format!(
                r#"{{
                    "startTime": "2027-01-01T00:00",
                    "recurrence": {{"frequency": "day", {rule}, "timeZone": "America/New_York"}}
                }}"#
            );
            let timetable = Timetable::from_json_text(&text, from)?;
            println!("{}", timetable.sentence());
            for occurrence in timetable.iter().take_while(|at| *at < to) {
                let (local, _) = timetable.local(occurrence);
                let note = match timetable.clock_change(occurrence) {
                    Some(ClockChange::Moved { skipped }) => {
                        format!(", moved from {}, which the clock skips", skipped.time())
                    }
                    Some(ClockChange::FirstOfTwo) => ", the first of two".to_owned(),
                    Some(ClockChange::SecondOfTwo) => ", the second of two".to_owned(),
                    None => String::new(),
                };
                println!("  {}  {local}{note}", format_instant(occurrence));
            }
        }
    }
    Ok(())
}
