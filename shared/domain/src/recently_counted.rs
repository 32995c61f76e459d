//! The attempts that a job's counters contain, so that each attempt is counted once.
//!
//! A message may be delivered twice, and its attempt could then be counted twice. So the counters of a
//! job are stored with a list of the attempts that were counted last. Both change in one write, on the
//! condition that the list is the one that was read.
//!
//! The list is short. When it is full, most of its entries are evicted, the oldest first. They are
//! stored as [`Evicted`], in an item of their own, *before* the list forgets them. So whether an attempt
//! is counted can always be told, and how long the list is decides only how often it takes a read:
//! - an attempt in the list is counted;
//! - an attempt that ended after all that were ever evicted, which is the *floor*, is not;
//! - any other one is counted if an evicted item has it.
//!
//! Earlier versions evicted entries without a trace. What ended at or before the floor of such a
//! version is *presumed* to be counted. An earlier version may also write the list after this one did,
//! for example while a new version is rolled out. So a hash of the list is stored beside it: if it does
//! not match, an earlier version wrote the list, and its floor is presumed from then on.
//!
//! A skipped occurrence is counted, too. It has no end time, so its due time stands for that.

use chrono::{DateTime, Utc};

use crate::attempt::Attempt;
use crate::ids::fnv1a;

/// A list that would be longer than this is cut.
pub const REMEMBERED_MAX: usize = 44;
/// So many fewer fit into the timer of a job with policies, which has them in its line.
const POLICIES_INSTEAD_OF: usize = 13;
/// How many attempts a list that is cut still remembers. The others cost one write together.
const REMEMBERED_MIN: usize = 4;

/// Bytes of an entry: four of its identity, four of its end.
const ENTRY: usize = 8;
/// Bytes before the entries: the newest end, and the floor.
const HEAD: usize = 16;
/// Bytes of an identity.
const ID: usize = 4;

/// The attempts that were counted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentlyCounted {
    /// In the order in which they were counted.
    recent: Vec<Entry>,
    /// The newest end of the attempts that were evicted from `recent`.
    floor: Option<i64>,
    /// What ended at or before this time is presumed to be counted.
    presumed: Option<i64>,
    /// Whether it shares the timer with policies.
    is_beside_policies: bool,
}

/// An attempt that was counted. Ends are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    id: u32,
    ended: i64,
}

/// Whether an attempt is counted, as far as the list knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsCounted {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It is if it is among the evicted ones.
    IfEvicted,
}

/// Attempts that were counted, and that a list no longer remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evicted {
    ids: Vec<u32>,
    /// The newest of their ends, in milliseconds since 1970.
    newest: i64,
}

impl RecentlyCounted {
    /// Whether an attempt is counted. A skipped attempt has no end.
    #[must_use]
    pub fn has(&self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) -> IsCounted {
        let id = short_id(attempt);
        if self.recent.iter().any(|entry| entry.id == id) {
            return IsCounted::Yes;
        }
        let end = Some(end_of(attempt, ended_at));
        if ended_at.is_some() && end <= self.presumed {
            return IsCounted::Yes;
        }
        if end <= self.floor { IsCounted::IfEvicted } else { IsCounted::No }
    }

    /// The same list in the timer of a job with policies.
    #[must_use]
    pub fn beside_policies(self) -> Self {
        Self { is_beside_policies: true, ..self }
    }

    /// Adds an attempt.
    pub fn add(&mut self, attempt: &Attempt, ended_at: Option<DateTime<Utc>>) {
        self.recent.push(Entry { id: short_id(attempt), ended: end_of(attempt, ended_at) });
    }

    /// Makes room for so many attempts, if there is too little. What is returned must be stored before
    /// this list is: it is counted already.
    #[must_use = "what is evicted must be stored"]
    pub fn make_room(&mut self, attempts: usize) -> Option<Evicted> {
        let max = if self.is_beside_policies {
            REMEMBERED_MAX - POLICIES_INSTEAD_OF
        } else {
            REMEMBERED_MAX
        };
        if self.recent.len() + attempts <= max {
            return None;
        }
        let evicted = self.recent.len().saturating_sub(REMEMBERED_MIN);
        let evicted: Vec<Entry> = self.recent.drain(..evicted).collect();
        let newest = evicted.iter().map(|entry| entry.ended).max()?;
        self.floor = self.floor.max(Some(newest));
        Some(Evicted { ids: evicted.iter().map(|entry| entry.id).collect(), newest })
    }

    /// Whether no attempt was ever counted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.floor.is_none()
    }

    /// As bytes, less than half a kilobyte when it is full.
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

    /// What is stored beside [`Self::to_bytes`]: the hash of those bytes, and what is presumed.
    #[must_use]
    pub fn checksum(&self) -> Vec<u8> {
        let mut checksum = fnv1a(&self.to_bytes()).to_be_bytes().to_vec();
        checksum.extend(self.presumed.into_iter().flat_map(i64::to_be_bytes));
        checksum
    }

    /// Reads the bytes of [`Self::to_bytes`] and of [`Self::checksum`], which earlier versions do not
    /// write; `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], checksum: Option<&[u8]>) -> Option<Self> {
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
        let floor = (floor != i64::MIN).then_some(floor);
        let recent = entries.iter().map(|[a, b, c, d, e, f, g, h]| Entry {
            id: u32::from_be_bytes([*a, *b, *c, *d]),
            ended: newest.saturating_sub(i64::from(u32::from_be_bytes([*e, *f, *g, *h]))),
        });
        let (hash, presumed) = read_checksum(checksum)?;
        let is_own = hash == Some(fnv1a(bytes));
        let presumed = if is_own { presumed } else { presumed.max(floor) };
        Some(Self { recent: recent.collect(), floor, presumed, ..Self::default() })
    }
}

/// The hash of the list and what is presumed; `None` if the checksum is damaged.
fn read_checksum(checksum: Option<&[u8]>) -> Option<(Option<u32>, Option<i64>)> {
    let Some(checksum) = checksum else { return Some((None, None)) };
    let (hash, presumed) = checksum.split_first_chunk::<4>()?;
    let presumed = match presumed {
        [] => None,
        presumed => Some(i64::from_be_bytes(presumed.try_into().ok()?)),
    };
    Some((Some(u32::from_be_bytes(*hash)), presumed))
}

impl Evicted {
    /// Whether an attempt is among them.
    #[must_use]
    pub fn has(&self, attempt: &Attempt) -> bool {
        self.ids.contains(&short_id(attempt))
    }

    /// No attempt among them ended after this time, in milliseconds since 1970.
    #[must_use]
    pub const fn newest(&self) -> i64 {
        self.newest
    }

    /// The bytes of their identities.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.ids.iter().flat_map(|id| id.to_be_bytes()).collect()
    }

    /// Reads the bytes of [`Self::to_bytes`]; `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], newest: i64) -> Option<Self> {
        let (ids, []) = bytes.as_chunks::<ID>() else {
            return None;
        };
        Some(Self { ids: ids.iter().map(|id| u32::from_be_bytes(*id)).collect(), newest })
    }
}

/// When an attempt ended, in milliseconds since 1970. The evicted attempts are found by it.
#[must_use]
pub fn end_of(attempt: &Attempt, ended_at: Option<DateTime<Utc>>) -> i64 {
    ended_at.unwrap_or(attempt.due_at).timestamp_millis()
}

/// The identity of an attempt in four bytes. In one job of eighty million, one of forty-eight other
/// attempts has the same.
fn short_id(attempt: &Attempt) -> u32 {
    fnv1a(attempt.id().to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Occurrence;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn attempt(minute: i64) -> Attempt {
        Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60 * minute) })
    }

    fn ended(minute: i64) -> DateTime<Utc> {
        at(60 * minute + 1)
    }

    /// Counts the attempts of these minutes, one after the other; returns what was evicted.
    fn count(counted: &mut RecentlyCounted, minutes: std::ops::Range<i64>) -> Vec<Evicted> {
        let mut evicted = Vec::new();
        for minute in minutes {
            evicted.extend(counted.make_room(1));
            counted.add(&attempt(minute), Some(ended(minute)));
        }
        evicted
    }

    /// Reads what was written.
    fn again(counted: &RecentlyCounted) -> RecentlyCounted {
        RecentlyCounted::from_bytes(&counted.to_bytes(), Some(&counted.checksum())).unwrap()
    }

    #[test]
    fn an_attempt_that_was_added_is_counted() {
        let mut counted = RecentlyCounted::default();
        count(&mut counted, 1..2);
        assert_eq!(counted.has(&attempt(1), Some(ended(1))), IsCounted::Yes);
        assert_eq!(counted.has(&attempt(2), Some(ended(1))), IsCounted::No);
        assert_eq!(
            counted.has(&Attempt { number: 1, ..attempt(1) }, Some(ended(2))),
            IsCounted::No
        );
    }

    #[test]
    fn an_attempt_that_is_not_remembered_is_counted_if_it_was_evicted() {
        let mut counted = RecentlyCounted::default();
        assert_eq!(count(&mut counted, 0..44), []);
        assert_eq!(counted.recent.len(), REMEMBERED_MAX);
        let evicted = count(&mut counted, 44..45);
        assert_eq!(counted.recent.len(), 5);
        assert_eq!((evicted.len(), evicted[0].ids.len()), (1, 40));
        assert_eq!(evicted[0].newest(), at(39 * 60 + 1).timestamp_millis());
        assert_eq!(counted.has(&attempt(0), Some(ended(0))), IsCounted::IfEvicted);
        assert!(evicted[0].has(&attempt(0)) && evicted[0].has(&attempt(39)));
        assert!(!evicted[0].has(&attempt(40)));
        // An attempt that ended after the evicted ones is not among them.
        let another = Attempt { number: 3, ..attempt(0) };
        assert_eq!(counted.has(&another, Some(ended(39))), IsCounted::IfEvicted);
        assert_eq!(counted.has(&another, Some(at(39 * 60 + 2))), IsCounted::No);
        // One that was skipped has its due time in the place of the end.
        assert_eq!(counted.has(&another, None), IsCounted::IfEvicted);
    }

    #[test]
    fn attempts_that_are_counted_together_are_all_remembered() {
        let mut counted = RecentlyCounted::default();
        for (first, evicted) in [(0, None), (500, Some(496)), (1_000, Some(500))] {
            let made = counted.make_room(500);
            assert_eq!(made.map(|evicted| evicted.ids.len()), evicted);
            for minute in first..first + 500 {
                counted.add(&attempt(minute), Some(ended(minute)));
            }
        }
        assert_eq!(counted.recent.len(), 504);
        assert_eq!(again(&counted), counted);
    }

    #[test]
    fn what_an_earlier_version_evicted_is_presumed_to_be_counted() {
        let mut counted = RecentlyCounted::default();
        count(&mut counted, 0..49);
        let (bytes, checksum) = (counted.to_bytes(), counted.checksum());
        let read = |bytes: &[u8], checksum| RecentlyCounted::from_bytes(bytes, checksum).unwrap();
        // The list is as this version wrote it.
        assert_eq!(read(&bytes, Some(&checksum)).presumed, None);
        // An earlier version wrote it, from the beginning.
        let mut old = read(&bytes, None);
        assert_eq!(old.has(&attempt(0), Some(ended(0))), IsCounted::Yes);
        assert_eq!(old.has(&attempt(100), Some(ended(39))), IsCounted::Yes);
        assert_eq!(old.has(&attempt(100), None), IsCounted::No);
        // This version goes on, and evicts more.
        let evicted = count(&mut old, 100..150);
        let old = again(&old);
        assert!(!evicted.is_empty());
        assert_eq!(old.has(&attempt(0), Some(ended(0))), IsCounted::Yes);
        assert_eq!(old.has(&attempt(100), Some(ended(100))), IsCounted::IfEvicted);
        // Then an earlier version changes the list, and leaves the checksum as it is.
        let mut changed = old.clone();
        changed.add(&attempt(200), Some(ended(200)));
        let changed = read(&changed.to_bytes(), Some(&old.checksum()));
        assert_eq!(changed.has(&attempt(100), Some(ended(100))), IsCounted::Yes);
        assert_eq!(again(&changed), changed);
    }

    #[test]
    fn the_bytes_are_few_and_read_back_as_they_were() {
        let mut counted = RecentlyCounted::default();
        assert_eq!(again(&counted), counted);
        for minute in 0..200 {
            for evicted in count(&mut counted, minute..minute + 1) {
                let (bytes, newest) = (evicted.to_bytes(), evicted.newest());
                assert_eq!(Evicted::from_bytes(&bytes, newest), Some(evicted));
            }
            let bytes = counted.to_bytes();
            assert!(bytes.len() <= 400 && counted.checksum().len() <= 12);
            assert_eq!(again(&counted), counted);
        }
        assert_eq!(RecentlyCounted::from_bytes(&[], None), Some(RecentlyCounted::default()));
        for damaged in [&[1_u8][..], &[0; 17]] {
            assert_eq!(RecentlyCounted::from_bytes(damaged, None), None);
        }
        for damaged in [&[1_u8][..], &[0; 11], &[0; 13]] {
            assert_eq!(RecentlyCounted::from_bytes(&[0; 16], Some(damaged)), None);
        }
        assert_eq!(Evicted::from_bytes(&[0; 3], 0), None);
    }
}
