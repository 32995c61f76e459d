//! The order in which one process counts the attempts of a job that end at the same time.
//!
//! A count depends on the one before it. If all of them read, and then all write, one succeeds and the others
//! read again: the work grows with the square of their number. So who was too late once takes turns.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::lock::{Mutex, MutexGuard};

/// How many jobs can be counted at the same time. Others wait for a moment.
const TURNS: u8 = 32;

/// The turns, each for a part of all jobs.
#[derive(Default)]
pub(super) struct CountingTurns([Mutex<()>; TURNS as usize]);

impl CountingTurns {
    /// Waits for the turn of a job, and keeps it.
    pub(super) async fn take(&self, job_uid: &str) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        job_uid.hash(&mut hasher);
        let number = usize::try_from(hasher.finish() % u64::from(TURNS)).ok()?;
        Some(self.0.get(number)?.lock().await)
    }
}
