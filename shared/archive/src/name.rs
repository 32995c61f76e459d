//! The names of objects.
//!
//! `{stream}/date={day}/{first}-{last}-{hash}.jsonl.gz`: the hash is of the lines, so the same lines have
//! the same name. `first` and `last` are the smallest and the largest beginning of the ids in it, so that
//! a reader of one job skips what cannot have it.

use chrono::NaiveDate;
use minutehand_domain::ids::hex;
use sha2::{Digest as _, Sha256};

use crate::line::Stream;

/// The characters of an id in a name: enough to tell some thousands of objects apart.
const UID_CHARS: usize = 8;
/// The bytes of the hash in a name.
const HASH_BYTES: usize = 12;
const FOLDER: &str = "date=";
const EXTENSION: &str = ".jsonl.gz";

/// The folder of the objects of a day.
#[must_use]
pub fn day_folder(stream: Stream, day: NaiveDate) -> String {
    format!("{}/{}", stream.folder(), date_folder(day))
}

/// The last part of that folder.
#[must_use]
pub fn date_folder(day: NaiveDate) -> String {
    format!("{FOLDER}{day}")
}

/// The day of a folder, from the last part of its name.
#[must_use]
pub fn day_of_folder(folder: &str) -> Option<NaiveDate> {
    folder.strip_prefix(FOLDER)?.parse().ok()
}

/// Whether an object, by the last part of its name, may contain lines of a job or a collection. A name
/// that another writer chose says nothing, so that object may.
#[must_use]
pub fn may_contain(name: &str, uid: &str) -> bool {
    match ends(name) {
        Some([first, last]) => (first..=last).contains(&beginning(uid).as_str()),
        None => name.ends_with(EXTENSION),
    }
}

/// The letter of an id by which sorted objects are divided.
#[must_use]
pub fn letter(uid: &str) -> Option<char> {
    beginning(uid).chars().next()
}

/// Whether an object, by the last part of its name, has lines of ids with several letters: no writer has
/// sorted it. A name that another writer chose says nothing.
#[must_use]
pub fn has_several_letters(name: &str) -> bool {
    ends(name).is_some_and(|[first, last]| letter(first) != letter(last))
}

/// The first and the last beginning of the ids, from a name that this crate gave.
fn ends(name: &str) -> Option<[&str; 2]> {
    let mut parts = name.strip_suffix(EXTENSION)?.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(first), Some(last), Some(hash), None) if hash.len() == 2 * HASH_BYTES => {
            Some([first, last])
        }
        _ => None,
    }
}

/// The beginning of an id, in characters that names may have.
pub(crate) fn beginning(uid: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    uid.chars().map(plain).take(UID_CHARS).collect()
}

/// The name of an object with these lines.
pub(crate) fn object(
    stream: Stream,
    day: NaiveDate,
    [first, last]: [&str; 2],
    lines: &[u8],
) -> String {
    let mut hash = hex(&Sha256::digest(lines));
    hash.truncate(2 * HASH_BYTES);
    format!("{}/{first}-{last}-{hash}{EXTENSION}", day_folder(stream, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_from_the_lines_and_says_whose_they_are() {
        let day = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
        let name = object(Stream::History, day, ["2b", "5f012345"], b"x\n");
        assert_eq!(
            name,
            "history/v1/date=2026-11-21/2b-5f012345-73cb3858a687a8494ca33230.jsonl.gz"
        );
        let (folder, last) = name.rsplit_once('/').unwrap();
        assert_eq!(folder, day_folder(Stream::History, day));
        assert_eq!(day_of_folder(folder.rsplit_once('/').unwrap().1), Some(day));
        for (uid, may) in [
            ("2a", false),
            ("2b", true),
            ("2bffffffff", true),
            ("5f01234567", true),
            ("5f012346", false),
            ("ä", false),
        ] {
            assert_eq!(may_contain(last, uid), may, "{uid}");
        }
        assert!(has_several_letters(last) && !has_several_letters("shard-1-2.jsonl.gz"));
        let one = object(Stream::History, day, ["2b", "2f"], b"x\n");
        assert!(!has_several_letters(one.rsplit_once('/').unwrap().1));
        assert_eq!((letter("2b"), letter("äb"), letter("")), (Some('2'), Some('_'), None));
        assert!(may_contain("shard-1-2.jsonl.gz", "2a"));
        assert!(!may_contain("_SUCCESS", "2b"));
        assert_eq!(day_of_folder("date=yesterday"), None);
    }
}
