//! A task that ends with its owner.

use tokio::task::AbortHandle;

/// A task, which ends when this value goes.
#[derive(Debug)]
pub(super) struct Task(AbortHandle);

impl Task {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
