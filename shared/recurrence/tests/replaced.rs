//! Time zones of another release than the built-in one. A process replaces them once, so this is one test.

use minutehand_recurrence::zone::{
    ReplaceError, Zone, built_in_version, database_date, database_version, replace,
};
use minutehand_recurrence::{Timetable, WrittenDate, format_instant};

/// A file of version 2 with one offset, and this many leap seconds.
fn file(seconds: i32, footer: &str, leaps: u32) -> Vec<u8> {
    let header = |leaps: u32| {
        let counts = [0, 0, leaps, 0, 1, 4].map(u32::to_be_bytes).concat();
        [b"TZif2".to_vec(), vec![0; 15], counts].concat()
    };
    let block = [&seconds.to_be_bytes()[..], &[0, 0], b"LMT\0"].concat();
    let leap = vec![0; 12 * leaps as usize];
    let footer = format!("\n{footer}\n").into_bytes();
    [header(0), block.clone(), header(leaps), block, leap, footer].concat()
}

#[test]
fn zones_are_replaced_once_and_as_a_whole() {
    let named = |name: &str, content| vec![(name.to_owned(), content)];
    let nine = || file(9 * 3_600, "<+09>-9", 0);
    let refused = |files| replace("2099z", files).unwrap_err();
    assert_eq!(
        refused(named("Europe/Atlantis", nine())),
        ReplaceError::Unknown("Europe/Atlantis".to_owned())
    );
    let cut = nine()[..40].to_vec();
    for content in [
        Vec::new(),
        b"<html>".to_vec(),
        cut,
        file(9 * 3_600, "<+09>-9", 1),
        file(i32::MAX, "", 0),
        file(9 * 3_600, "no rule", 0),
    ] {
        let mut files = named("Asia/Tokyo", nine());
        files.extend(named("Europe/Berlin", content));
        assert_eq!(refused(files), ReplaceError::Unreadable("Europe/Berlin"));
    }
    let stays = "2026-07-01T07:00:00Z";
    let next = |zone: &str| {
        let rule = format!(
            r#"{{"recurrence":{{"frequency":"day","timeZone":"{zone}","schedule":{{"hours":[9],"minutes":[0]}}}}}}"#
        );
        let created = WrittenDate::parse("2026-07-01").unwrap().instant(None).unwrap();
        let timetable = Timetable::from_json_text(&rule, created).unwrap();
        let line = timetable.to_string();
        assert_eq!(line.parse(), Ok(timetable), "{line}");
        format_instant(timetable.iter().nth(1).unwrap())
    };
    assert_eq!(next("Europe/Paris"), stays);

    // The thread has found a zone before, and finds the new one from now on.
    assert_eq!(next("Europe/Berlin"), stays);
    replace("2099z", named("europe/BERLIN", nine())).unwrap();
    for name in ["Europe/Berlin", "europe/berlin", "W. Europe Standard Time"] {
        assert_eq!(next(name), "2026-07-02T00:00:00Z", "{name}");
        assert_eq!(Zone::named(name).unwrap().name(), "Europe/Berlin");
    }
    assert_eq!(next("Europe/Paris"), stays, "a zone without a file stays");
    assert_eq!((database_version(), database_date()), ("2099z", None));
    assert_ne!(built_in_version(), "2099z");
    assert_eq!(refused(named("Asia/Tokyo", nine())), ReplaceError::Again);
}
