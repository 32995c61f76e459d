//! The preview as text: a sentence, then a table.

use std::fmt::Write as _;

use chrono::{DateTime, Datelike, TimeDelta, Utc};
use minutehand_cli::{capitalized, span_text};
use minutehand_domain::preview::{hours_and_minutes, note};
use minutehand_domain::schedule::Schedule;
use minutehand_recurrence::zone::Zone;

use super::Preview;

/// One line of the table: a number, UTC, local time, the weekday, how long until then, and what to know about it. The
/// column of local time is empty if the job uses UTC.
type Row = [String; 6];

pub(super) fn text(preview: &Preview) -> String {
    let mut text = format!("{}\n", capitalized(&preview.schedule.sentence()));
    if preview.disabled {
        text.push_str("The job is disabled: this is what it would do if it were enabled.\n");
    }
    if let Some(window) = preview.starts_within {
        let window = span_text(window.delta());
        let _ = writeln!(text, "Each occurrence starts within {window} after its time.");
    }
    text.push('\n');
    if preview.occurrences.is_empty() {
        text.push_str("Nothing follows: the rule has ended.\n");
        return text;
    }
    write_table(&mut text, &rows(preview));
    if preview.ends {
        text.push_str("\nNothing follows.\n");
    }
    text
}

fn rows(preview: &Preview) -> Vec<Row> {
    let timetable = &preview.schedule.timetable;
    let zone = timetable.zone();
    let mut rows =
        vec![["#", "UTC", zone.map_or("", Zone::name), "weekday", "in", ""].map(str::to_owned)];
    let mut offset_before = None;
    for (number, at) in (1..).zip(&preview.occurrences) {
        let (local, offset) = timetable.local(*at);
        let local_time = zone.map(|_| format!("{local} {}", hours_and_minutes(offset)));
        rows.push([
            format!("{number}"),
            at.naive_utc().to_string(),
            local_time.unwrap_or_default(),
            local.weekday().to_string(),
            until(*at - preview.from),
            mark(&preview.schedule, *at, offset_before),
        ]);
        offset_before = Some(offset);
    }
    rows
}

/// What to know about an occurrence, with a mark.
fn mark(schedule: &Schedule, at: DateTime<Utc>, offset_before: Option<TimeDelta>) -> String {
    note(schedule, at, offset_before).map_or_else(String::new, |note| format!("* {}", note.text))
}

/// How long it takes until an occurrence.
fn until(span: TimeDelta) -> String {
    if span.num_seconds() == 0 { "now".to_owned() } else { span_text(span) }
}

fn write_table(text: &mut String, rows: &[Row]) {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in rows {
        let mut line = String::new();
        for (column, (width, cell)) in widths.into_iter().zip(row).enumerate() {
            // Writing to a string does not fail.
            let _ = match (column, width) {
                (_, 0) => Ok(()),
                (0, _) => write!(line, "{cell:>width$}"),
                _ => write!(line, "  {cell:<width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
