//! Where the tasks of a batching store run.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A task, or a wait.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs the tasks of a [`BatchingStore`](super::BatchingStore), and measures time for them.
pub trait Host: Send + Sync {
    /// Runs a task until it ends.
    fn spawn(&self, task: Running);

    /// The time on a stopwatch.
    fn elapsed(&self) -> Duration;

    /// Waits for so long.
    fn sleep(&self, time: Duration) -> Running;
}

/// The Tokio runtime that a store is made in.
pub(super) struct TokioHost {
    since: Instant,
}

impl TokioHost {
    pub(super) fn new() -> Self {
        Self { since: Instant::now() }
    }
}

impl Host for TokioHost {
    fn spawn(&self, task: Running) {
        tokio::spawn(task);
    }

    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn sleep(&self, time: Duration) -> Running {
        let until = Instant::now() + time;
        Box::pin(sleep_until(until))
    }
}
