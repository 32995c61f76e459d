//! What has been written since a look, where this process alone writes to the table.
//!
//! Thousands of attempts may be due at one instant, and the last look at each of them costs more
//! than its request does. So a job is looked at ahead of its instant, and at the instant it is enough
//! that nothing of it was written since. That is known without asking the store: a write says so
//! before it begins and when it has ended.
//!
//! | a write | for a look that was marked | so |
//! |---|---|---|
//! | began after the mark | its beginning is after the mark | the job is looked at again |
//! | began before, and has ended since | its end is after the mark | the job is looked at again |
//! | began before, and is under way | neither is | the look stands: nobody was told of the write |
//! | was given up, so that nobody knows when it ends | it counts as under way for ever | the job is always looked at again |
//!
//! Keys share the places in which this is kept, so memory is bounded, and a write may cost a job
//! beside it a look that it did not need.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ports::firing::Mark;

use crate::DynamoStore;
use crate::keys::{EXECUTIONS, Key};

/// Places in which writes are noted: many more than there are attempts due at one instant.
const PLACES: usize = 1 << 17;
/// A write that was given up.
const UNKNOWN: u64 = u64::MAX;

/// The writes of this process.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The number of the latest beginning or end of a write.
    latest: AtomicU64,
    places: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// A write that is under way.
#[must_use]
pub(crate) struct Writing<'a> {
    changes: &'a Changes,
    places: Vec<usize>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        let places = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { latest: AtomicU64::new(0), places, hasher: RandomState::new() }
    }

    /// A mark for what is read from now on.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.latest.load(SeqCst))
    }

    /// Whether no write of these has begun, or ended, since.
    pub(crate) fn none_since<'k>(
        &self,
        Mark(mark): Mark,
        keys: impl IntoIterator<Item = &'k Key>,
    ) -> bool {
        keys.into_iter().all(|key| {
            self.places.get(self.place(key)).is_some_and(|place| place.load(SeqCst) <= mark)
        })
    }

    fn begin<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> Writing<'_> {
        // No look is at executions, which are what is written most.
        let keys = keys.into_iter().filter(|key| !key.pk.starts_with(EXECUTIONS));
        let places: Vec<usize> = keys.map(|key| self.place(key)).collect();
        self.note(&places);
        Writing { changes: self, places }
    }

    fn place(&self, key: &Key) -> usize {
        let places = PLACES as u64;
        usize::try_from(self.hasher.hash_one(key) % places).unwrap_or_default()
    }

    fn note(&self, places: &[usize]) {
        if places.is_empty() {
            return;
        }
        let number = self.latest.fetch_add(1, SeqCst) + 1;
        for place in places.iter().filter_map(|place| self.places.get(*place)) {
            // Never back: an unknown one stays, and of two at once the later one counts.
            place.fetch_max(number, SeqCst);
        }
    }
}

impl DynamoStore {
    /// Notes that a write of these begins, if anybody asks.
    pub(crate) fn begin<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> Option<Writing<'_>> {
        self.changes.as_ref().map(|changes| changes.begin(keys))
    }
}

/// Notes that a write was answered.
pub(crate) fn ended(writing: Option<Writing<'_>>) {
    if let Some(mut writing) = writing {
        let places = std::mem::take(&mut writing.places);
        writing.changes.note(&places);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        for place in self.places.iter().filter_map(|place| self.changes.places.get(*place)) {
            place.store(UNKNOWN, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn a_look_stands_until_a_write_begins_or_ends() {
        let changes = Changes::new();
        let (key, other) = (keys::timer("a"), keys::timer("b"));
        let stands = |mark| changes.none_since(mark, [&key]);

        let before = changes.mark();
        assert!(stands(before));
        ended(Some(changes.begin([&other])));
        // Two keys in one place would be no error, but these are to show the contrary.
        if changes.place(&key) != changes.place(&other) {
            assert!(stands(before));
        }

        let write = changes.begin([&key]);
        assert!(!stands(before), "begun");
        let during = changes.mark();
        assert!(stands(during), "nobody was told of it yet");
        ended(Some(write));
        assert!(!stands(during), "what was read may be what was there before");
        assert!(stands(changes.mark()));
    }

    #[test]
    fn nothing_stands_after_a_write_that_was_given_up() {
        let changes = Changes::new();
        let key = keys::timer("a");
        drop(changes.begin([&key]));
        assert!(!changes.none_since(changes.mark(), [&key]));
        ended(Some(changes.begin([&key])));
        assert!(!changes.none_since(changes.mark(), [&key]), "the first may still come");
    }
}
