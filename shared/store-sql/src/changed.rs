//! Whether something that a start reads has changed since it was read.
//!
//! A snapshot that was read before its attempt is due is valid at its due time if nothing of it was written
//! in between. The thread that writes counts each change of a definition, a timing, a state, a collection's
//! switch, limits or plan, after its commit and before its answer. Each count is shared by jobs and
//! collections with the same remainder: at worst a snapshot is read once more.

use std::sync::atomic::{AtomicU32, Ordering};

use minutehand_domain::ids::fnv1a;

/// So many counts. When ten thousand one-time jobs are due at one instant, each that finishes is a change:
/// with as many counts as this, at most one start in seven reads its job again. All take 256 KB.
const COUNTS: usize = 65_536;

/// What stands for a job or a collection.
pub(crate) fn hash(uid: &str) -> u32 {
    fnv1a(uid.as_bytes())
}

/// Counts of changes. They may wrap around: no snapshot is as old as four thousand million changes.
#[derive(Debug)]
pub struct Changed(Vec<AtomicU32>);

impl Default for Changed {
    fn default() -> Self {
        Self((0..COUNTS).map(|_| AtomicU32::new(0)).collect())
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
    pub fn read(&self, of: [u32; 2]) -> [u32; 2] {
        of.map(|of| self.count(of).map_or(0, |count| count.load(Ordering::Acquire)))
    }

    fn count(&self, of: u32) -> Option<&AtomicU32> {
        self.0.get(usize::try_from(of).ok()? % COUNTS)
    }
}
