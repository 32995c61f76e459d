//! Rules across clock changes: whole years, whole days, times that move together, a missing day, and
//! changes far in the future.

use chrono::{NaiveDate, TimeDelta};
use minutehand_recurrence::ClockChange;

use crate::table::{check_clock, in_zone, instant, timetable};

const NEW_YORK: &str = "America/New_York";

#[test]
fn four_times_a_day_stays_four_times_a_day_all_year() {
    let six_hourly = r#"{"frequency":"hour","interval":6,"schedule":{"hours":[0,6,12,18]}}"#;
    let start = "2026-01-01T00:00:00-05:00";
    let timetable = timetable(&in_zone(NEW_YORK, six_hourly), Some(start), start).unwrap();
    let shown = timetable.iter().map(|at| timetable.local(at).0);
    let midnight = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap().and_time(chrono::NaiveTime::MIN);
    let clock = (0..365 * 4).map(|nth| midnight + TimeDelta::hours(6 * nth));
    assert!(shown.take(365 * 4).eq(clock));
    let year = (instant(start), instant("2027-01-01T00:00:00-05:00"));
    assert_eq!(timetable.count_between(year.0, year.1), 365 * 4);
}

#[test]
fn every_quarter_of_an_hour_fires_on_each_quarter_of_a_long_or_short_day() {
    let quarters = r#"{"frequency":"day","schedule":{"minutes":[0,15,30,45]}}"#;
    let days = [
        (NEW_YORK, "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00", 92),
        (NEW_YORK, "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00", 100),
        (NEW_YORK, "2026-11-02T00:00:00-05:00", "2026-11-03T00:00:00-05:00", 96),
        ("Europe/Paris", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 92),
        ("Europe/Paris", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 100),
        ("Australia/Lord_Howe", "2026-10-04T00:00:00+10:30", "2026-10-05T00:00:00+11:00", 94),
        ("Australia/Lord_Howe", "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30", 98),
        ("Pacific/Chatham", "2026-09-27T00:00:00+12:45", "2026-09-28T00:00:00+13:45", 92),
        ("Pacific/Chatham", "2026-04-05T00:00:00+13:45", "2026-04-06T00:00:00+12:45", 100),
        ("America/Santiago", "2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00", 92),
        ("America/Santiago", "2026-04-04T00:00:00-03:00", "2026-04-05T00:00:00-04:00", 100),
        // Only one midnight lies between the 29th and the 31st.
        ("Pacific/Apia", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00", 96),
        ("Asia/Kolkata", "2026-03-29T00:00:00+05:30", "2026-03-30T00:00:00+05:30", 96),
    ];
    for (zone, from, to, firings) in days {
        let timetable = timetable(&in_zone(zone, quarters), Some(from), from).unwrap();
        let (from, to) = (instant(from), instant(to));
        assert_eq!(timetable.count_between(from, to), firings, "{zone} {from}");
        let walked: Vec<_> = timetable.iter().take_while(|at| *at < to).collect();
        let elapsed = (0..).map(|nth| from + TimeDelta::minutes(15 * nth));
        assert_eq!(walked, elapsed.take_while(|at| *at < to).collect::<Vec<_>>(), "{zone} {from}");
    }
}

#[test]
fn an_hourly_rule_fires_once_for_each_elapsed_hour_of_a_year() {
    let hourly = r#"{"frequency":"day","schedule":{"minutes":[0]}}"#;
    for zone in [NEW_YORK, "Europe/Paris", "America/Santiago", "Asia/Tokyo"] {
        let start = "2026-01-01T00:00:00Z";
        let timetable = timetable(&in_zone(zone, hourly), Some(start), start).unwrap();
        let century = (instant(start), instant("2126-01-01T00:00:00Z"));
        assert_eq!(timetable.count_between(century.0, century.1), 36_524 * 24, "{zone}");
    }
}

#[test]
fn a_skipped_time_and_the_time_it_moves_to_fire_once() {
    check_clock(
        NEW_YORK,
        "2026-03-07T12:00",
        "2026-03-07T12:00:00-05:00",
        &[
            (
                r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[30]}}"#,
                "2026-03-08 03:30-04:00 2026-03-09 02:30-04:00 2026-03-10 02:30-04:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"hours":[2,3],"minutes":[30]}}"#,
                "2026-03-08 03:30-04:00 2026-03-09 02:30-04:00 03:30-04:00 2026-03-10 02:30-04:00",
            ),
            // Moved times fire among the times that the clock shows.
            (
                r#"{"frequency":"week","schedule":{"weekDays":["sunday"],"hours":[2,3],"minutes":[0,15,45]}}"#,
                "2026-03-08 03:00-04:00 03:15-04:00 03:45-04:00 2026-03-15 02:00-04:00",
            ),
            (
                r#"{"frequency":"day","count":2,"schedule":{"hours":[2,3],"minutes":[30]}}"#,
                "2026-03-08 03:30-04:00 2026-03-09 02:30-04:00 end",
            ),
        ],
    );
    // The gap is half an hour: 02:00 and 02:15 move in between 02:30 and 02:45.
    let lord_howe = ("Australia/Lord_Howe", "2026-10-03T12:00", "2026-10-03T12:00:00+10:30");
    check_clock(
        lord_howe.0,
        lord_howe.1,
        lord_howe.2,
        &[
            (
                r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[0,10,15,35,45]}}"#,
                "2026-10-04 02:30+11:00 02:35+11:00 02:40+11:00 02:45+11:00 \
                2026-10-05 02:00+11:00 02:10+11:00",
            ),
            (
                r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[0,15,30]}}"#,
                "2026-10-04 02:30+11:00 02:45+11:00 2026-10-05 02:00+11:00",
            ),
        ],
    );
    check_clock(
        lord_howe.0,
        lord_howe.1,
        "2026-10-04T02:40:00+11:00",
        &[(
            r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[0,10,15,35,45]}}"#,
            "2026-10-04 02:40+11:00 02:45+11:00 2026-10-05 02:00+11:00",
        )],
    );
}

#[test]
fn the_interval_counts_skipped_days() {
    check_clock(
        "Pacific/Apia",
        "2011-12-26T10:00",
        "2011-12-26T00:00:00Z",
        &[
            (
                r#"{"frequency":"day","interval":2}"#,
                "2011-12-26 10:00-10:00 2011-12-28 10:00-10:00 2011-12-31 10:00+14:00 \
                2012-01-01 10:00+14:00 2012-01-03 10:00+14:00",
            ),
            (
                r#"{"frequency":"day","interval":3}"#,
                "2011-12-26 10:00-10:00 2011-12-29 10:00-10:00 2012-01-01 10:00+14:00 \
                2012-01-04 10:00+14:00",
            ),
            (
                r#"{"frequency":"day","interval":2,"schedule":{"hours":[10],"minutes":[0]}}"#,
                "2011-12-26 10:00-10:00 2011-12-28 10:00-10:00 2011-12-31 10:00+14:00 \
                2012-01-01 10:00+14:00 2012-01-03 10:00+14:00",
            ),
            (
                r#"{"frequency":"month","schedule":{"monthDays":[30,31],"hours":[9,10]}}"#,
                "2011-12-31 09:00+14:00 10:00+14:00 2012-01-30 09:00+14:00 10:00+14:00 \
                2012-01-31 09:00+14:00",
            ),
            (
                r#"{"frequency":"week","schedule":{"weekDays":["friday"],"hours":[9,21]}}"#,
                "2011-12-31 09:00+14:00 21:00+14:00 2012-01-06 09:00+14:00 21:00+14:00",
            ),
        ],
    );
    check_clock(
        "Pacific/Apia",
        "2011-12-26T10:00",
        "2011-12-29T07:00:00Z",
        &[
            // Hours are numbered by the clock, and the skipped 30th has 24 of them.
            (
                r#"{"frequency":"hour","interval":7,"schedule":{"minutes":[0]}}"#,
                "2011-12-29 01:00-10:00 08:00-10:00 15:00-10:00 22:00-10:00 \
                2011-12-31 02:00+14:00",
            ),
            (
                r#"{"frequency":"hour","interval":7}"#,
                "2011-12-29 01:00-10:00 08:00-10:00 15:00-10:00 22:00-10:00 \
                2011-12-31 05:00+14:00",
            ),
        ],
    );
}

#[test]
fn clock_changes_never_end() {
    let rows = [
        (
            "America/New_York",
            "2040-03-11T00:00:00-05:00",
            r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[30]}}"#,
            "2040-03-11 03:30-04:00 2040-03-12 02:30-04:00",
        ),
        (
            "America/New_York",
            "2150-03-08T00:00:00-05:00",
            r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[30]}}"#,
            "2150-03-08 03:30-04:00 2150-03-09 02:30-04:00",
        ),
        (
            "America/New_York",
            "2150-11-01T01:00:00-04:00",
            r#"{"frequency":"day","schedule":{"minutes":[30]}}"#,
            "2150-11-01 01:30-04:00 01:30-05:00 02:30-05:00",
        ),
        (
            "Europe/Paris",
            "2400-10-29T02:00:00+02:00",
            r#"{"frequency":"hour","schedule":{"minutes":[30]}}"#,
            "2400-10-29 02:30+02:00 02:30+01:00 03:30+01:00",
        ),
        (
            "Australia/Lord_Howe",
            "2150-10-04T00:00:00+10:30",
            r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[15,30]}}"#,
            "2150-10-04 02:30+11:00 02:45+11:00 2150-10-05 02:15+11:00 02:30+11:00",
        ),
        (
            "Pacific/Chatham",
            "9998-04-05T02:30:00+13:45",
            r#"{"frequency":"hour"}"#,
            "9998-04-05 02:30+13:45 03:30+13:45 03:30+12:45",
        ),
        (
            "America/Santiago",
            "9998-09-05T00:30:00-04:00",
            r#"{"frequency":"day"}"#,
            "9998-09-05 00:30-04:00 9998-09-06 01:30-03:00 9998-09-07 00:30-03:00",
        ),
    ];
    for (zone, start, rule, expected) in rows {
        check_clock(zone, start, start, &[(rule, expected)]);
    }
    // The start that fixes the phase is many years ago.
    check_clock(
        NEW_YORK,
        "1930-01-31T02:30",
        "2150-01-01T00:00:00Z",
        &[
            (
                r#"{"frequency":"day","interval":37}"#,
                "2150-01-04 02:30-05:00 2150-02-10 02:30-05:00 2150-03-19 02:30-04:00",
            ),
            (
                r#"{"frequency":"month","interval":2}"#,
                "2150-01-31 02:30-05:00 2150-03-31 02:30-04:00 2150-05-31 02:30-04:00",
            ),
            (
                r#"{"frequency":"hour","interval":1000}"#,
                "2150-01-10 10:30-05:00 2150-02-21 02:30-05:00 2150-04-03 19:30-04:00",
            ),
            (
                r#"{"frequency":"hour","interval":1000,"schedule":{"minutes":[0]}}"#,
                "2150-01-10 10:00-05:00 2150-02-21 02:00-05:00 2150-04-03 18:00-04:00",
            ),
        ],
    );
}

#[test]
fn a_windows_name_means_the_same_zone() {
    let names = [
        ("Eastern Standard Time", NEW_YORK),
        ("Romance Standard Time", "Europe/Paris"),
        ("Lord Howe Standard Time", "Australia/Lord_Howe"),
        ("Chatham Islands Standard Time", "Pacific/Chatham"),
        ("Pacific SA Standard Time", "America/Santiago"),
        ("Samoa Standard Time", "Pacific/Apia"),
        ("India Standard Time", "Asia/Kolkata"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("india standard time", "ASIA/KOLKATA"),
        ("UTC", "Etc/UTC"),
    ];
    let daily = r#"{"frequency":"day","schedule":{"hours":[2],"minutes":[30]}}"#;
    let start = "2026-01-01T00:00:00Z";
    for (windows, iana) in names {
        let occurrences = |zone| {
            let timetable = timetable(&in_zone(zone, daily), Some(start), start).unwrap();
            timetable.iter().take(400).collect::<Vec<_>>()
        };
        assert_eq!(occurrences(windows), occurrences(iana), "{windows}");
    }
}

#[test]
fn clock_change_tells_how_a_change_affected_an_occurrence() {
    let skipped = NaiveDate::from_ymd_opt(2026, 3, 8).unwrap().and_hms_opt(2, 30, 0).unwrap();
    let named = r#"{"frequency":"day","schedule":{"hours":[1,2],"minutes":[30]}}"#;
    let every = r#"{"frequency":"day","schedule":{"minutes":[30]}}"#;
    let rows = [
        (named, "2026-03-08T01:30:00-05:00", None),
        (named, "2026-03-08T03:30:00-04:00", Some(ClockChange::Moved { skipped })),
        (named, "2026-03-09T02:30:00-04:00", None),
        (named, "2026-11-01T01:30:00-04:00", Some(ClockChange::FirstOfTwo)),
        (named, "2026-11-01T02:30:00-05:00", None),
        (every, "2026-03-08T03:30:00-04:00", None),
        (every, "2026-11-01T00:30:00-04:00", None),
        (every, "2026-11-01T01:30:00-04:00", Some(ClockChange::FirstOfTwo)),
        (every, "2026-11-01T01:30:00-05:00", Some(ClockChange::SecondOfTwo)),
        (every, "2026-11-01T02:30:00-05:00", None),
    ];
    for (rule, at, change) in rows {
        let start = "2026-01-01T00:00:00Z";
        let timetable = timetable(&in_zone(NEW_YORK, rule), Some(start), start).unwrap();
        let at = instant(at);
        assert_eq!(timetable.at_or_after(at), Some(at), "{rule} {at}");
        assert_eq!(timetable.clock_change(at), change, "{rule} {at}");
    }
}
