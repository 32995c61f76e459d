//! Prints a rule as a sentence, and its next occurrences.
//!
//! ```text
//! cargo run --example next -- '{"frequency": "week", "schedule": {"weekDays": ["monday"]}}' 2026-11-21T10:17:00Z
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use minutehand_recurrence::{Timetable, WrittenDate, format_instant};

const RULE: &str = r#"{
    "startTime": "2026-01-05T08:30",
    "recurrence": {
        "frequency": "week",
        "interval": 2,
        "schedule": {"weekDays": ["monday", "thursday"]},
        "timeZone": "America/New_York"
    }
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rule = arguments.next().unwrap_or_else(|| RULE.to_owned());
    // The crate has no clock: the caller says what time it is.
    let now = arguments.next().unwrap_or_else(|| "2026-11-21T10:17:00Z".to_owned());
    let now = WrittenDate::parse(&now)?.instant(None)?;

    let timetable = Timetable::from_json_text(&rule, now)?;
    println!("{}", timetable.sentence());
    for occurrence in timetable.iter().take(5) {
        let (local, _) = timetable.local(occurrence);
        println!("{}  (local time {local})", format_instant(occurrence));
    }
    Ok(())
}
