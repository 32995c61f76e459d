//! A sweep: one pass over the timers that are due, oldest first.
//!
//! A pass only reads the index and dispatches; a crash in it leaves the rest of the timers due, and
//! the next pass begins with the oldest again.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::firing::limits::PASS;
use ports::Clock;
use ports::firing::FiringStore;
use ports::store::PageRequest;

use super::spans;
use super::{DispatchReport, Dispatcher};
use crate::error::AppError;

/// Timers of a page.
const PAGE_ITEMS: u32 = 100;

/// Sweeps.
#[derive(Clone)]
pub struct Sweeper {
    store: Arc<dyn FiringStore>,
    dispatcher: Dispatcher,
    clock: Arc<dyn Clock>,
}

/// What a pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pass {
    /// What was dispatched.
    pub dispatched: DispatchReport,
    /// Shards that were swept to the end.
    pub shards: u32,
    /// Whether it ended before its work did, as its time was over.
    pub is_cut: bool,
    /// Shards that failed; the next pass begins with what they left.
    pub failed: u32,
}

impl Sweeper {
    /// A sweeper over these ports.
    #[must_use]
    pub fn new(store: Arc<dyn FiringStore>, dispatcher: Dispatcher, clock: Arc<dyn Clock>) -> Self {
        Self { store, dispatcher, clock }
    }

    /// Dispatches every timer that comes into view, and stops when its time is over.
    ///
    /// `first_shard` is where it begins, so that the same shards are not the last ones each time.
    pub async fn pass(&self, first_shard: u32) -> Pass {
        let ends_at = self.clock.work_now() + PASS;
        let mut pass = Pass::default();
        let shards = self.store.shards();
        for n in 0..shards {
            let shard = first_shard.wrapping_add(n) % shards;
            match self.shard(shard, ends_at, &mut pass).await {
                Ok(()) if pass.is_cut => break,
                Ok(()) => pass.shards += 1,
                Err(error) => {
                    tracing::error!(shard, %error, "a shard was not swept to its end");
                    pass.failed += 1;
                }
            }
        }
        pass
    }

    /// When the next timer is due, as far as the index knows.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn next_due_at(&self) -> Result<Option<DateTime<Utc>>, AppError> {
        let mut next = None;
        for shard in 0..self.store.shards() {
            let page = PageRequest { from: None, items_max: 1 };
            let page = self.store.due(shard, DateTime::<Utc>::MAX_UTC, page).await?;
            for due in page.items {
                next = Some(next.map_or(due.due_at, |next: DateTime<Utc>| next.min(due.due_at)));
            }
        }
        Ok(next)
    }

    async fn shard(
        &self,
        shard: u32,
        ends_at: DateTime<Utc>,
        pass: &mut Pass,
    ) -> Result<(), AppError> {
        let until = self.clock.now() + spans(self.clock.as_ref()).ahead;
        let mut from = None;
        // Bounded by the timers of the shard, and by the time of a pass.
        loop {
            let request = PageRequest { from, items_max: PAGE_ITEMS };
            let page = self.store.due(shard, until, request).await?;
            if !page.items.is_empty() {
                pass.dispatched.add(self.dispatcher.dispatch(&page.items).await?);
            }
            match page.next {
                None => return Ok(()),
                Some(_) if self.clock.work_now() >= ends_at => {
                    pass.is_cut = true;
                    return Ok(());
                }
                Some(next) => from = Some(next),
            }
        }
    }
}
