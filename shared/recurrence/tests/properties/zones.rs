//! Compares the clocks of all zones with jiff's.

use chrono::DateTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use minutehand_recurrence::{Recurrence, Rule, Timetable};
use serde_json::json;

/// Returns a timetable in a time zone.
fn timetable(zone: &str) -> Timetable {
    let json = json!({"frequency": "day", "timeZone": zone});
    let rule = Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap();
    Timetable::new(&rule, None, DateTime::UNIX_EPOCH).unwrap()
}

#[test]
fn every_clock_agrees_with_jiff_around_and_between_changes() {
    let from: Timestamp = "1900-01-01T00:00:00Z".parse().unwrap();
    let to: Timestamp = "2150-01-01T00:00:00Z".parse().unwrap();
    let mut zones = 0;
    for name in minutehand_recurrence::zone::names() {
        zones += 1;
        let timetable = timetable(name);
        let zone = TimeZone::get(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let check = |second: i64| {
            let instant = DateTime::from_timestamp(second, 0).unwrap();
            let (local, ahead) = timetable.local(instant);
            let offset = zone.to_offset(Timestamp::from_second(second).unwrap());
            assert_eq!(ahead.num_seconds(), i64::from(offset.seconds()), "{name} {instant}");
            assert_eq!(local, instant.naive_utc() + ahead, "{name} {instant}");
        };
        let changes = zone.following(from).map(|change| change.timestamp().as_second());
        let changes: Vec<_> = changes.take_while(|change| *change < to.as_second()).collect();
        for change in &changes {
            for distance in [-86_400, -1, 0, 1, 86_400] {
                check(change + distance);
            }
        }
        // A change that jiff does not know would be between two that it knows.
        for month in 0..(250 * 12) {
            check(from.as_second() + month * 2_629_746);
        }
        // The two ends of the calendar.
        check("0001-01-02T00:00:00Z".parse::<Timestamp>().unwrap().as_second());
        check("9999-12-29T00:00:00Z".parse::<Timestamp>().unwrap().as_second());
    }
    assert!(zones > 400, "only {zones} zones");
}
