//! Which attempts a job's counters have in them, so that each is counted once.
//!
//! Whoever receives a message twice may come to count its attempt twice. So the counters of a job
//! stand beside a short memory of what was counted last, and both change in one write on the
//! condition that the memory is the one that was read.
//!
//! The memory is short, so there is a floor: the end of the newest attempt that fell out of it. What
//! ended no later than that is taken for counted.
//!
//! An occurrence that was skipped is counted, too, and never ended: so the floor says nothing of it,
//! and once it is forgotten it lifts the floor no higher than to when it was due.

use chrono::{DateTime, Utc};

use crate::attempt::Attempt;
use crate::ids::fnv1a;

/// How many attempts are remembered.
///
/// A model of the protocol let eight drift in one run of twelve; sixty-four drifted only in a burst
/// after an outage.
pub const REMEMBERED_MAX: usize = 64;

/// Bytes of one that is remembered: four of its identity, four of its end.
const ENTRY: usize = 8;
/// Bytes before them: the newest end, and the floor.
const HEAD: usize = 16;

/// The attempts that were counted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentlyCounted {
    /// In the order in which they were counted.
    recent: Vec<Entry>,
    /// The newest end of what is no longer in `recent`.
    floor: Option<i64>,
}

/// One that is remembered. Ends are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    id: u32,
    ended: i64,
}

impl RecentlyCounted {
    /// Whether an attempt is counted already. One without an end was skipped.
    #[must_use]
    pub fn has(&self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) -> bool {
        let id = short_id(attempt);
        let remembered = self.recent.iter().any(|entry| entry.id == id);
        remembered || ended_at.is_some_and(|end| Some(end.timestamp_millis()) <= self.floor)
    }

    /// Remembers an attempt; the one that was counted first is forgotten if there are too many.
    pub fn add(&mut self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) {
        let ended = ended_at.unwrap_or(attempt.due_at).timestamp_millis();
        self.recent.push(Entry { id: short_id(attempt), ended });
        while self.recent.len() > REMEMBERED_MAX {
            let forgotten = self.recent.remove(0);
            self.floor = self.floor.max(Some(forgotten.ended));
        }
    }

    /// Whether nothing was ever counted.
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
            // Seven weeks is as far back as it tells apart: much longer than a message lives.
            let before = u32::try_from(newest.saturating_sub(entry.ended)).unwrap_or(u32::MAX);
            bytes.extend(before.to_be_bytes());
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` if it did not.
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

/// The identity of an attempt in four bytes: one of sixty-four others has the same in one job of
/// sixty million.
fn short_id(attempt: &Attempt) -> u32 {
    fnv1a(attempt.id().to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::attempt::Occurrence;

    impl RecentlyCounted {
        /// The newest end of what was counted and is forgotten.
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
    fn what_was_counted_is_known_again() {
        let mut settled = RecentlyCounted::default();
        settled.add(&attempt(1), Some(at(61)));
        assert!(settled.has(&attempt(1), Some(at(61))));
        assert!(!settled.has(&attempt(2), Some(at(61))));
        assert!(!settled.has(&Attempt { number: 1, ..attempt(1) }, Some(at(95))));
    }

    #[test]
    fn what_ended_before_something_forgotten_is_taken_for_counted() {
        let mut settled = RecentlyCounted::default();
        for minute in 0..=64 {
            settled.add(&attempt(minute), Some(at(60 * minute + 1)));
        }
        assert_eq!(settled.recent.len(), REMEMBERED_MAX);
        assert_eq!(settled.floor(), Some(at(1)));
        assert!(settled.has(&attempt(0), Some(at(1))));
        // One that was still out when its successors were counted is not.
        assert!(!settled.has(&Attempt { number: 3, ..attempt(0) }, Some(at(2))));
    }

    #[test]
    fn what_was_skipped_is_counted_however_many_there_are() {
        let mut settled = RecentlyCounted::default();
        for minute in 0..200 {
            assert!(!settled.has(&attempt(minute), None), "{minute}");
            settled.add(&attempt(minute), None);
            assert!(settled.has(&attempt(minute), None), "{minute}");
        }
        // What ended after those were due that are forgotten is not taken for counted.
        assert_eq!(settled.floor(), Some(at(60 * 135)));
        assert!(!settled.has(&attempt(200), Some(at(60 * 135 + 1))));
    }

    #[test]
    fn it_is_small_and_reads_back_as_it_was() {
        let mut settled = RecentlyCounted::default();
        assert_eq!(RecentlyCounted::from_bytes(&settled.to_bytes()), Some(settled.clone()));
        for minute in 0..200 {
            settled.add(&attempt(minute), Some(at(60 * minute + 1)));
            let bytes = settled.to_bytes();
            assert!(bytes.len() <= 528);
            assert_eq!(RecentlyCounted::from_bytes(&bytes), Some(settled.clone()));
        }
        assert_eq!(RecentlyCounted::from_bytes(&[]), Some(RecentlyCounted::default()));
        for damaged in [&[1_u8][..], &[0; 17]] {
            assert_eq!(RecentlyCounted::from_bytes(damaged), None);
        }
    }
}
