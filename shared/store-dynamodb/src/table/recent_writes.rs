//! Which items were written recently, for a process that is the only writer of the table.
//!
//! With it the store can tell whether a job that was read some time ago is unchanged, without
//! asking the service. A prefetched snapshot is used at its due time only if that is so. A write
//! registers twice: before it begins and after it has ended.
//!
//! | a write of the item | relative to the read version | so the prefetched copy |
//! |---|---|---|
//! | began after the read version | its beginning is newer | is read again |
//! | began before, and has ended since | its end is newer | is read again |
//! | began before, and is in progress | neither is newer | is used: no caller was told of the write yet |
//! | was cancelled, so that its end is unknown | counts as in progress for ever | is never used |
//!
//! Many keys share a slot, so that memory is bounded. A write may therefore cause a needless read of
//! an unrelated job.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::client::Table;
use super::keys::{EXECUTIONS, Key};

/// Slots in which writes are registered: many more than there are attempts due at one instant.
const SLOTS: usize = 1 << 17;
/// The number in the slot of a write that was cancelled.
const UNKNOWN: u64 = u64::MAX;

/// A moment in the order of all writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadVersion(u64);

/// The writes of this process.
#[derive(Debug)]
pub(crate) struct RecentWrites {
    /// The number of the latest beginning or end of a write.
    latest: AtomicU64,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// A write in progress. If it is dropped before [`Table::end_write`], it counts as cancelled.
#[must_use]
pub(crate) struct WriteInProgress<'a> {
    writes: &'a RecentWrites,
    slots: Vec<usize>,
}

impl RecentWrites {
    pub(crate) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
        Self { latest: AtomicU64::new(0), slots, hasher: RandomState::new() }
    }

    /// The version of what is read from now on.
    pub(crate) fn version(&self) -> ReadVersion {
        ReadVersion(self.latest.load(SeqCst))
    }

    /// Whether no write of these items has begun or ended since a version.
    pub(crate) fn unchanged_since<'k>(
        &self,
        ReadVersion(version): ReadVersion,
        keys: impl IntoIterator<Item = &'k Key>,
    ) -> bool {
        keys.into_iter().all(|key| {
            self.slots.get(self.slot(key)).is_some_and(|slot| slot.load(SeqCst) <= version)
        })
    }

    fn begin<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> WriteInProgress<'_> {
        // Attempts are written most, and no snapshot holds one.
        let keys = keys.into_iter().filter(|key| !key.pk.starts_with(EXECUTIONS));
        let slots: Vec<usize> = keys.map(|key| self.slot(key)).collect();
        self.register(&slots);
        WriteInProgress { writes: self, slots }
    }

    fn slot(&self, key: &Key) -> usize {
        let slots = SLOTS as u64;
        usize::try_from(self.hasher.hash_one(key) % slots).unwrap_or_default()
    }

    fn register(&self, slots: &[usize]) {
        if slots.is_empty() {
            return;
        }
        let number = self.latest.fetch_add(1, SeqCst) + 1;
        for slot in slots.iter().filter_map(|slot| self.slots.get(*slot)) {
            // A slot never goes back: UNKNOWN stays, and of two writes the later one counts.
            slot.fetch_max(number, SeqCst);
        }
    }
}

impl Table {
    /// Registers that a write of these items begins, if this process is the only writer.
    pub(super) fn begin_write<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k Key>,
    ) -> Option<WriteInProgress<'_>> {
        self.recent_writes.as_ref().map(|writes| writes.begin(keys))
    }

    /// Registers that the service has answered a write.
    pub(super) fn end_write(write: Option<WriteInProgress<'_>>) {
        if let Some(mut write) = write {
            let slots = std::mem::take(&mut write.slots);
            write.writes.register(&slots);
        }
    }
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        for slot in self.slots.iter().filter_map(|slot| self.writes.slots.get(*slot)) {
            slot.store(UNKNOWN, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn an_item_is_unchanged_until_a_write_of_it_begins_or_ends() {
        let writes = RecentWrites::new();
        let (key, other) = (keys::timer("a"), keys::timer("b"));
        let unchanged_since = |version| writes.unchanged_since(version, [&key]);

        let before = writes.version();
        assert!(unchanged_since(before));
        Table::end_write(Some(writes.begin([&other])));
        // If both keys have one slot, this write is taken for one of the other item.
        if writes.slot(&key) != writes.slot(&other) {
            assert!(unchanged_since(before));
        }

        let write = writes.begin([&key]);
        assert!(!unchanged_since(before), "a write has begun");
        let during = writes.version();
        assert!(unchanged_since(during), "no caller was told of the write yet");
        Table::end_write(Some(write));
        assert!(!unchanged_since(during), "the copy may be older than the write");
        assert!(unchanged_since(writes.version()));
    }

    #[test]
    fn an_item_counts_as_changed_after_a_cancelled_write() {
        let writes = RecentWrites::new();
        let key = keys::timer("a");
        drop(writes.begin([&key]));
        assert!(!writes.unchanged_since(writes.version(), [&key]));
        Table::end_write(Some(writes.begin([&key])));
        assert!(!writes.unchanged_since(writes.version(), [&key]), "the first may still be done");
    }
}
