//! The attempts that a job's counters contain, so that each attempt is counted once.
//!
//! A message may be delivered twice, and its attempt could then be counted twice. So the counters of a
//! job are stored with a list of the attempts that were counted last. Both change in one write, on the
//! condition that the list is the one that was read.
//!
//! The list is short, so there is a floor: the end of the newest attempt that was evicted from it. An
//! attempt that ended no later than the floor is taken for counted.
//!
//! A skipped occurrence is counted, too. It has no end time, so the floor does not cover it. When its
//! entry is evicted, the floor rises to its due time at most.

use chrono::{DateTime, Utc};

use crate::attempt::Attempt;
use crate::ids::fnv1a;

/// How many attempts are remembered.
///
/// In a model of the protocol, counters drifted in one run of twelve with eight entries. With sixty-four
/// they drifted only in a burst after an outage.
pub const REMEMBERED_MAX: usize = 64;

/// Bytes of an entry: four of its identity, four of its end.
const ENTRY: usize = 8;
/// Bytes before the entries: the newest end, and the floor.
const HEAD: usize = 16;

/// The attempts that were counted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentlyCounted {
    /// In the order in which they were counted.
    recent: Vec<Entry>,
    /// The newest end of the attempts that were evicted from `recent`.
    floor: Option<i64>,
}

/// An attempt that was counted. Ends are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    id: u32,
    ended: i64,
}

impl RecentlyCounted {
    /// Whether an attempt is counted already. A skipped attempt has no end.
    #[must_use]
    pub fn has(&self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) -> bool {
        let id = short_id(attempt);
        let remembered = self.recent.iter().any(|entry| entry.id == id);
        remembered || ended_at.is_some_and(|end| Some(end.timestamp_millis()) <= self.floor)
    }

    /// Adds an attempt. If there are too many, the attempt that was counted first is evicted.
    pub fn add(&mut self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) {
        let ended = ended_at.unwrap_or(attempt.due_at).timestamp_millis();
        self.recent.push(Entry { id: short_id(attempt), ended });
        while self.recent.len() > REMEMBERED_MAX {
            let forgotten = self.recent.remove(0);
            self.floor = self.floor.max(Some(forgotten.ended));
        }
    }

    /// Whether no attempt was ever counted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.floor.is_none()
    }

    /// As bytes, about half a kilobyte when it is full.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let newest = self.recent.iter().map(|entry| entry.ended).max().unwrap_or(0);
        let mut bytes = Vec::with_capacity(HEAD + ENTRY * self.recent.len());
        bytes.extend(newest.to_be_bytes());
        bytes.extend(self.floor.unwrap_or(i64::MIN).to_be_bytes());
        for entry in &self.recent {
            bytes.extend(entry.id.to_be_bytes());
            // The ends of the last seven weeks are told apart: much longer than a message lives.
            let before = u32::try_from(newest.saturating_sub(entry.ended)).unwrap_or(u32::MAX);
            bytes.extend(before.to_be_bytes());
        }
        bytes
    }

    /// Reads the bytes of [`Self::to_bytes`]; `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let (newest, rest) = bytes.split_first_chunk::<8>()?;
        let (floor, rest) = rest.split_first_chunk::<8>()?;
        let (entries, []) = rest.as_chunks::<ENTRY>() else {
            return None;
        };
        let newest = i64::from_be_bytes(*newest);
        let floor = i64::from_be_bytes(*floor);
        let recent = entries.iter().map(|[a, b, c, d, e, f, g, h]| Entry {
            id: u32::from_be_bytes([*a, *b, *c, *d]),
            ended: newest.saturating_sub(i64::from(u32::from_be_bytes([*e, *f, *g, *h]))),
        });
        Some(Self { recent: recent.collect(), floor: (floor != i64::MIN).then_some(floor) })
    }
}

/// The identity of an attempt in four bytes. In one job of sixty million, one of sixty-four other
/// attempts has the same.
fn short_id(attempt: &Attempt) -> u32 {
    fnv1a(attempt.id().to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::attempt::Occurrence;

    impl RecentlyCounted {
        /// The newest end of the attempts that were evicted.
        fn floor(&self) -> Option<DateTime<Utc>> {
            let floor = self.floor?;
            DateTime::UNIX_EPOCH.checked_add_signed(TimeDelta::try_milliseconds(floor)?)
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn attempt(minute: i64) -> Attempt {
        Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60 * minute) })
    }

    #[test]
    fn an_attempt_that_was_added_is_counted() {
        let mut counted = RecentlyCounted::default();
        counted.add(&attempt(1), Some(at(61)));
        assert!(counted.has(&attempt(1), Some(at(61))));
        assert!(!counted.has(&attempt(2), Some(at(61))));
        assert!(!counted.has(&Attempt { number: 1, ..attempt(1) }, Some(at(95))));
    }

    #[test]
    fn an_attempt_that_ended_before_the_floor_is_taken_for_counted() {
        let mut counted = RecentlyCounted::default();
        for minute in 0..=64 {
            counted.add(&attempt(minute), Some(at(60 * minute + 1)));
        }
        assert_eq!(counted.recent.len(), REMEMBERED_MAX);
        assert_eq!(counted.floor(), Some(at(1)));
        assert!(counted.has(&attempt(0), Some(at(1))));
        // An attempt that ended after the evicted one is not.
        assert!(!counted.has(&Attempt { number: 3, ..attempt(0) }, Some(at(2))));
    }

    #[test]
    fn skipped_attempts_are_counted_however_many_there_are() {
        let mut counted = RecentlyCounted::default();
        for minute in 0..200 {
            assert!(!counted.has(&attempt(minute), None), "{minute}");
            counted.add(&attempt(minute), None);
            assert!(counted.has(&attempt(minute), None), "{minute}");
        }
        // An attempt that ended after the due times of the evicted ones is not taken for counted.
        assert_eq!(counted.floor(), Some(at(60 * 135)));
        assert!(!counted.has(&attempt(200), Some(at(60 * 135 + 1))));
    }

    #[test]
    fn the_bytes_are_few_and_read_back_as_they_were() {
        let mut counted = RecentlyCounted::default();
        assert_eq!(RecentlyCounted::from_bytes(&counted.to_bytes()), Some(counted.clone()));
        for minute in 0..200 {
            counted.add(&attempt(minute), Some(at(60 * minute + 1)));
            let bytes = counted.to_bytes();
            assert!(bytes.len() <= 528);
            assert_eq!(RecentlyCounted::from_bytes(&bytes), Some(counted.clone()));
        }
        assert_eq!(RecentlyCounted::from_bytes(&[]), Some(RecentlyCounted::default()));
        for damaged in [&[1_u8][..], &[0; 17]] {
            assert_eq!(RecentlyCounted::from_bytes(damaged), None);
        }
    }
}
