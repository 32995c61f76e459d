//! Snapshots that were read before their attempts were due.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_ports::store::JobSnapshot;

/// The size of a generation. An entry of an attempt that never starts is forgotten after so many others, so
/// memory stays bounded. It is as large as the number of attempts that one process performs at a time.
const YOUNG_MAX: usize = 16_384;
/// The longest document that is kept while its attempt waits: thousands of attempts may wait.
const DOCUMENT_MAX: usize = 4_096;

/// Prefetched snapshots by the ids of their claims.
#[derive(Default)]
pub(crate) struct Prefetched(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<String, Entry>,
    /// The generation before.
    old: HashMap<String, Entry>,
}

/// A snapshot with the counts of changes from before it was read.
pub(crate) struct Entry {
    pub(crate) counts: [u32; 2],
    pub(crate) snapshot: Arc<JobSnapshot>,
}

impl Prefetched {
    /// Keeps a snapshot, unless it is long.
    pub(crate) fn keep(&self, claim_id: &str, entry: Entry) -> bool {
        if entry.snapshot.document.len() > DOCUMENT_MAX {
            return false;
        }
        let mut generations = self.generations();
        if generations.young.len() >= YOUNG_MAX {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(claim_id.to_owned(), entry);
        true
    }

    /// Takes the snapshot of a claim.
    pub(crate) fn take(&self, claim_id: &str) -> Option<Entry> {
        let mut generations = self.generations();
        let young = generations.young.remove(claim_id);
        young.or_else(|| generations.old.remove(claim_id))
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows no snapshot, as one may hold data of users.
impl fmt::Debug for Prefetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetched").finish_non_exhaustive()
    }
}
