//! The name of an item of history, under which clients know it, and which the body of a failure has too.

use std::fmt;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::attempt::Attempt;
use crate::tick::{from_ticks, ticks};

/// The last tick of the year 9999, counted from the year 1.
const LAST_TICK: i64 = 3_155_378_975_999_999_999;
/// The first tick of 1970.
const TICK_OF_1970: i64 = 621_355_968_000_000_000;
/// The digits of each part.
const DIGITS: usize = 20;

/// The name `{A}:{B}`, with twenty digits each. A is the number of .NET ticks from the start of the
/// attempt to the end of the calendar, so that names sort from the newest to the oldest. B was a counter in
/// the original; here it is a hash of the attempt's identity, so that an item always has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryName {
    left: i64,
    own: u64,
}

impl HistoryName {
    /// The name of an attempt that started at this instant.
    #[must_use]
    pub fn new(attempt: &Attempt, started_at: DateTime<Utc>) -> Self {
        let left = LAST_TICK.saturating_sub(TICK_OF_1970.saturating_add(ticks(started_at)));
        let hash: [u8; 32] = Sha256::digest(attempt.id().to_string()).into();
        let own = hash.into_iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(byte));
        Self { left: left.max(0), own: own >> 1 }
    }

    /// Reads a name.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (left, own) = text.split_once(':')?;
        let is_part = |part: &str| part.len() == DIGITS && part.bytes().all(|c| c.is_ascii_digit());
        if !is_part(left) || !is_part(own) {
            return None;
        }
        Some(Self { left: left.parse().ok()?, own: own.parse().ok()? })
    }

    /// When the attempt started; `None` if the name is of no instant.
    #[must_use]
    pub fn started_at(self) -> Option<DateTime<Utc>> {
        from_ticks(LAST_TICK.checked_sub(self.left)?.checked_sub(TICK_OF_1970)?)
    }
}

impl fmt::Display for HistoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}:{:020}", self.left, self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Occurrence;

    fn instant(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_as_in_the_recordings() {
        for (started_at, a) in [
            ("2016-03-30T20:39:53.8021951Z", "02519429304061978048"),
            ("2015-06-14T06:28:54.1459279Z", "02519680374658540720"),
            ("9999-12-31T23:59:59.9999999Z", "00000000000000000000"),
        ] {
            let nominal_at = instant("2016-03-30T20:39:52Z");
            let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
            let name = HistoryName::new(&attempt, instant(started_at)).to_string();
            let (first, second) = name.split_once(':').unwrap();
            assert_eq!((first, second.len()), (a, 20));
            assert!(second.parse::<i64>().is_ok(), "{second}");
        }
    }

    #[test]
    fn a_name_is_read_back_and_tells_when_the_attempt_started() {
        let nominal_at = instant("2016-03-30T20:39:53Z");
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
        for at in ["1970-01-01T00:00:00Z", "2016-03-30T20:39:53.8021951Z", "2031-01-01T00:00:00Z"] {
            let name = HistoryName::new(&attempt, instant(at));
            assert_eq!(HistoryName::read(&name.to_string()), Some(name));
            assert_eq!(name.started_at(), Some(instant(at)));
        }
        let other = Attempt { number: 1, ..attempt.clone() };
        assert_ne!(HistoryName::new(&attempt, nominal_at), HistoryName::new(&other, nominal_at));
    }

    #[test]
    fn what_is_no_name_is_not_read() {
        for text in [
            "",
            ":",
            "02519429304061978048",
            "02519429304061978048:0251942930406197804",
            "02519429304061978048:+2519429304061978048",
            "99999999999999999999:00000000000000000001",
            "02519429304061978048:02519429304061978048:1",
            "../../02519429304061:02519429304061978048",
        ] {
            assert_eq!(HistoryName::read(text), None, "{text}");
        }
    }
}
