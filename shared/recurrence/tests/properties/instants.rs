//! Random instants, and their conversion between chrono and jiff.

use chrono::{DateTime, Utc};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::seeds::Chance;

const DAY: i64 = 86_400;

pub(crate) fn now(chance: &mut Chance, zone: &TimeZone) -> Timestamp {
    let [first, last] = match chance.within(0..=19) {
        0..=13 => ["1990-01-01T00:00:00Z", "2060-01-01T00:00:00Z"],
        14..=17 => ["1880-01-01T00:00:00Z", "2200-01-01T00:00:00Z"],
        18 => ["0001-01-02T00:00:00Z", "9990-01-01T00:00:00Z"],
        _ => ["9950-01-01T00:00:00Z", "9999-12-20T00:00:00Z"],
    };
    let between = |text: &str| text.parse::<Timestamp>().unwrap().as_second();
    let now = seconds(chance.within(between(first)..=between(last)));
    let now = if chance.percent(30) { near_clock_change(chance, now, zone) } else { now };
    rounded(chance, now)
}

/// Returns a start: none, or near, far or at a clock change.
pub(crate) fn start(chance: &mut Chance, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let far = match chance.within(0..=9) {
        0 | 1 => return None,
        2 => 0,
        3 => 2 * DAY,
        4 => 60 * DAY,
        5 | 6 => 800 * DAY,
        7 => 20_000 * DAY,
        _ => 40_000 * DAY,
    };
    let earliest = "0001-01-02T00:00:00Z".parse::<Timestamp>().unwrap().as_second();
    let latest = "9999-12-25T00:00:00Z".parse::<Timestamp>().unwrap().as_second();
    // Old jobs have their start in the past, so most starts are there.
    let distance = chance.within(-far..=far / 3);
    let start = seconds((now.as_second() + distance).clamp(earliest, latest));
    let start = if chance.percent(30) { near_clock_change(chance, start, zone) } else { start };
    // Days are missing at the ends of months and years.
    let start = if chance.percent(15) { end_of_month(start, zone) } else { start };
    Some(rounded(chance, start))
}

/// Returns an instant within three hours of the next clock change of a zone, if there is one.
pub(crate) fn near_clock_change(
    chance: &mut Chance,
    instant: Timestamp,
    zone: &TimeZone,
) -> Timestamp {
    let next = zone.following(instant).next().map_or(instant, |change| change.timestamp());
    let latest = "9999-12-20T00:00:00Z".parse::<Timestamp>().unwrap().as_second();
    seconds((next.as_second() + chance.within(-180..=180) * 60).min(latest))
}

fn end_of_month(instant: Timestamp, zone: &TimeZone) -> Timestamp {
    let civil = zone.to_datetime(instant);
    let last = civil.date().last_of_month().to_datetime(civil.time());
    zone.to_timestamp(last).unwrap_or(instant)
}

/// Rounds some instants, and leaves a fraction in others.
fn rounded(chance: &mut Chance, instant: Timestamp) -> Timestamp {
    let second = instant.as_second();
    match chance.within(0..=5) {
        0 => seconds(second.div_euclid(3600) * 3600),
        1 | 2 => seconds(second.div_euclid(60) * 60),
        3 => seconds(second) + SignedDuration::from_nanos(chance.within(0..=9_999_999) * 100),
        _ => seconds(second),
    }
}

/// Returns the second that contains an instant; jiff rounds towards 1970.
pub(crate) fn whole_second(instant: Timestamp) -> i64 {
    i64::try_from(instant.as_nanosecond().div_euclid(1_000_000_000)).unwrap()
}

fn seconds(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn to_chrono(instant: Timestamp) -> DateTime<Utc> {
    let nanos = instant.as_nanosecond().rem_euclid(1_000_000_000);
    DateTime::from_timestamp(whole_second(instant), u32::try_from(nanos).unwrap()).unwrap()
}

/// Converts an instant; jiff cannot represent the last day of the calendar, which becomes jiff's last
/// instant.
pub(crate) fn to_jiff(instant: DateTime<Utc>) -> Timestamp {
    let nanos = i32::try_from(instant.timestamp_subsec_nanos()).unwrap();
    Timestamp::new(instant.timestamp(), nanos).unwrap_or(Timestamp::MAX)
}
