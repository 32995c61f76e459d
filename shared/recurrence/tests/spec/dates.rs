//! Dates: the accepted forms, and the form of answers.

use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{DateError, WrittenDate, format_instant, read_start_time};
use serde_json::json;

#[test]
fn a_date_becomes_utc_with_up_to_seven_digits() {
    let rows = [
        ("2012-11-04", "2012-11-04T00:00:00Z"),
        ("2012-11-04Z", "2012-11-04T00:00:00Z"),
        ("2012-11-04+01:00", "2012-11-03T23:00:00Z"),
        ("2012-08-04T00:00Z", "2012-08-04T00:00:00Z"),
        ("2012-08-04T09:30", "2012-08-04T09:30:00Z"),
        ("2012-08-04T09:30:15", "2012-08-04T09:30:15Z"),
        ("2013-01-09T09:30:00-08:00", "2013-01-09T17:30:00Z"),
        ("2013-01-09T00:15:00+05:45", "2013-01-08T18:30:00Z"),
        ("2013-01-09T09:30:00-00:00", "2013-01-09T09:30:00Z"),
        ("2016-03-15T00:00:00.216Z", "2016-03-15T00:00:00.216Z"),
        ("2016-03-15T00:00:00.2160000Z", "2016-03-15T00:00:00.216Z"),
        ("2016-03-15T00:00:00.0Z", "2016-03-15T00:00:00Z"),
        ("2016-03-15T00:00:00.1234567Z", "2016-03-15T00:00:00.1234567Z"),
        ("2016-03-15T00:00:00.12345674Z", "2016-03-15T00:00:00.1234567Z"),
        ("2016-03-15T00:00:00.12345675Z", "2016-03-15T00:00:00.1234568Z"),
        ("2016-03-15T00:00:00.00000004999999999999Z", "2016-03-15T00:00:00Z"),
        ("2016-02-28T23:59:59.99999999Z", "2016-02-29T00:00:00Z"),
        ("2016-02-29", "2016-02-29T00:00:00Z"),
        ("2000-02-29", "2000-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"),
        ("9999-12-31T23:59:59-00:00", "9999-12-31T23:59:59Z"),
    ];
    for (date, answer) in rows {
        assert_eq!(format_instant(read_start_time(&json!(date), None).unwrap()), answer, "{date}");
    }
}

#[test]
fn a_date_without_an_offset_is_a_time_of_its_zone() {
    let rows = [
        ("America/New_York", "2026-01-05", "2026-01-05T05:00:00Z"),
        ("America/New_York", "2026-07-05T12:00", "2026-07-05T16:00:00Z"),
        ("America/New_York", "2026-07-05T12:00Z", "2026-07-05T12:00:00Z"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:30:00Z"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30:00Z"),
        ("America/New_York", "2026-11-01T01:30-05:00", "2026-11-01T06:30:00Z"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:45:00Z"),
        // Cuba keeps daylight saving time in the winter of 2026, since release 2026f.
        ("America/Havana", "2026-11-05T09:00", "2026-11-05T13:00:00Z"),
        ("America/Havana", "2027-11-08T09:00", "2027-11-08T14:00:00Z"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00", "2011-12-30T20:00:00Z"),
        ("Asia/Kolkata", "2026-01-05T00:00:00.5", "2026-01-04T18:30:00.5Z"),
        ("Asia/Kolkata", "9999-12-31T23:59:59", "9999-12-31T18:29:59Z"),
    ];
    for (zone, date, answer) in rows {
        let zone = Zone::named(zone).unwrap();
        assert_eq!(
            format_instant(read_start_time(&json!(date), Some(&zone)).unwrap()),
            answer,
            "{date}"
        );
    }
}

#[test]
fn an_invalid_date_is_refused_with_the_reason() {
    let (form, day, time) = (DateError::Form, DateError::NoSuchDay, DateError::NoSuchTime);
    let rows = [
        ("", form),
        ("now", form),
        ("2027", form),
        ("2027-01", form),
        ("2027-1-31", form),
        ("20270131", form),
        ("31.01.2027", form),
        ("2027-01-31 09:30", form),
        ("2027-01-31T", form),
        ("2027-01-31T09", form),
        ("2027-01-31T9:30", form),
        ("2027-01-31T09:30:", form),
        ("2027-01-31T09:30:00.", form),
        ("2027-01-31T09:30:00.Z", form),
        ("2027-01-31T09:30:00,5Z", form),
        ("2027-01-31T09:30.5Z", form),
        ("2027-01-31T09:30:00ZZ", form),
        ("2027-01-31T09:30:00+1", form),
        ("2027-01-31T09:30:00+01", form),
        ("2027-01-31T09:30:00+0100", form),
        ("2027-01-31T09:30:00 +01:00", form),
        (" 2027-01-31", form),
        ("2027-01-31 ", form),
        ("+2027-01-31", form),
        ("-0001-01-31", form),
        ("12027-01-31", form),
        ("２０２７-01-31", form),
        ("2027-00-31", day),
        ("2027-13-01", day),
        ("2027-01-00", day),
        ("2027-01-32", day),
        ("2027-02-29", day),
        ("2100-02-29", day),
        ("2027-04-31T09:30Z", day),
        ("0000-12-31", day),
        ("2027-01-31T24:00", time),
        ("2027-01-31T09:60", time),
        ("2027-01-31T23:59:60Z", time),
        ("2027-01-31T09:30:00+24:00", time),
        ("2027-01-31T09:30:00+01:60", time),
        ("0001-01-01T00:00:00+00:01", DateError::OutOfRange),
        ("9999-12-31T23:59:00-00:01", DateError::OutOfRange),
        ("9999-12-31T23:59:59.99999995Z", DateError::OutOfRange),
    ];
    for (date, error) in rows {
        let read = WrittenDate::parse(date).and_then(|date| date.instant(None));
        assert_eq!(read, Err(error), "{date}");
    }
}
