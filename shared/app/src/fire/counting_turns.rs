//! The order in which one process counts the attempts of a job that end at the same time.
//!
//! A count depends on the one before it. If all of them read, and then all write, one succeeds and the others
//! read again: the work grows with the square of their number. So who was too late once takes turns.

use futures_util::lock::{Mutex, MutexGuard};
use minutehand_domain::ids::fnv1a;

/// How many jobs can be counted at the same time. Others wait for a moment.
const TURNS: usize = 32;

/// The turns, each for a part of all jobs.
#[derive(Default)]
pub(super) struct CountingTurns([Mutex<()>; TURNS]);

impl CountingTurns {
    /// Waits for the turn of a job, and keeps it.
    pub(super) async fn take(&self, job_uid: &str) -> Option<MutexGuard<'_, ()>> {
        let number = usize::try_from(fnv1a(job_uid.as_bytes())).ok()? % TURNS;
        Some(self.0.get(number)?.lock().await)
    }
}
