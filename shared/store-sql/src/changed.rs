//! Whether something that a start reads has changed since it was read.
//!
//! A snapshot that was read before its attempt is due is valid at its due time if nothing of it was written
//! in between. The thread that writes counts each change of a definition, a timing, a state, a collection's
//! switch, limits or plan, after its commit and before its answer. The counts are few, and each is shared by
//! jobs and collections with the same remainder: at worst a snapshot is read once more.

use std::sync::atomic::{AtomicU64, Ordering};

use minutehand_domain::ids::fnv1a;

/// So many counts.
const COUNTS: usize = 4_096;

/// What stands for a job or a collection.
pub(crate) fn hash(uid: &str) -> u32 {
    fnv1a(uid.as_bytes())
}

/// Counts of changes.
#[derive(Debug)]
pub struct Changed(Vec<AtomicU64>);

impl Default for Changed {
    fn default() -> Self {
        Self((0..COUNTS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Changed {
    /// Counts a change.
    pub fn raise(&self, of: u32) {
        if let Some(count) = self.count(of) {
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// The counts of a job and its collection.
    #[must_use]
    pub fn read(&self, of: [u32; 2]) -> [u64; 2] {
        of.map(|of| self.count(of).map_or(0, |count| count.load(Ordering::Acquire)))
    }

    fn count(&self, of: u32) -> Option<&AtomicU64> {
        self.0.get(usize::try_from(of).ok()? % COUNTS)
    }
}
