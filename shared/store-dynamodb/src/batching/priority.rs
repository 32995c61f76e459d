//! Which calls go first when the store is busy.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::Notify;

use super::host::Host;

/// How long a group waits for calls of a higher priority: far less than a lease, and about as long
/// as the reads of ten thousand attempts take.
pub(super) const YIELD_MAX: Duration = Duration::from_secs(1);

/// The priorities, the highest first.
pub(super) struct Priorities {
    /// Calls that an action waits for.
    pub(super) before_actions: Priority,
    /// Records of actions that have ended.
    pub(super) records: Priority,
    /// Everything that no action and no record waits for.
    pub(super) last: Priority,
}

/// When the calls of a kind are performed.
#[derive(Clone)]
pub(super) struct Priority {
    /// The open calls of this priority.
    pub(super) open: Arc<OpenCalls>,
    /// The open calls of higher priorities.
    higher: Vec<Arc<OpenCalls>>,
    /// Runs the tasks of its kinds.
    pub(super) host: Arc<dyn Host>,
}

/// Counts calls that are open.
#[derive(Default)]
pub(super) struct OpenCalls {
    count: AtomicUsize,
    none: Notify,
}

/// A call that is open until this is dropped.
pub(super) struct OpenCall(Arc<OpenCalls>);

impl Priorities {
    pub(super) fn new(host: &Arc<dyn Host>) -> Self {
        let (urgent, recording) = (Arc::<OpenCalls>::default(), Arc::<OpenCalls>::default());
        let priority = |open: &Arc<OpenCalls>, higher: &[&Arc<OpenCalls>]| Priority {
            open: open.clone(),
            higher: higher.iter().copied().cloned().collect(),
            host: host.clone(),
        };
        Self {
            before_actions: priority(&urgent, &[]),
            records: priority(&recording, &[&urgent]),
            last: priority(&Arc::default(), &[&urgent, &recording]),
        }
    }
}

impl Priority {
    /// Waits until no call of a higher priority is open, at most [`YIELD_MAX`]. False if one still
    /// is.
    pub(super) async fn turn(&self) -> bool {
        let turn = pin!(async {
            for open in &self.higher {
                open.none().await;
            }
        });
        matches!(select(turn, self.host.sleep(YIELD_MAX)).await, Either::Left(_))
    }
}

impl OpenCalls {
    pub(super) fn open(self: &Arc<Self>) -> OpenCall {
        self.count.fetch_add(1, Ordering::AcqRel);
        OpenCall(self.clone())
    }

    async fn none(&self) {
        loop {
            // Created before the check, so that no notification is missed in between.
            let none = self.none.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
