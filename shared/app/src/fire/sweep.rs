//! A sweep: one pass over the timers that are due, the oldest first.
//!
//! A pass reads all shards page by page, several pages at a time, each of another shard. The next
//! page is always of the shard that has advanced least. So a pass that runs out of time has left out
//! the timers that were due last, in any shard. A shard that is slow or fails delays only itself. And
//! writes are spread over all shards, each of which takes only so many in a second.
//!
//! A pass only reads the index and dispatches. A crash in it leaves the rest of the timers due, and
//! the next pass begins with the oldest again. The same holds for a pass that runs out of time: it
//! begins no further page, and pages that are still in progress when its caller stops waiting are
//! cancelled.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::firing::Outage;
use domain::firing::limits::PASS;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ports::store::PageRequest;
use ports::{Clock, ErrorType, Timers};

use super::spans;
use super::{DispatchReport, Dispatcher, Healer, Heartbeat};
use crate::error::AppError;

/// Timers of a page.
const PAGE_ITEMS: u32 = 100;

/// Finds due timers and dispatches them.
#[derive(Clone)]
pub struct Sweeper {
    timers: Arc<dyn Timers>,
    dispatcher: Dispatcher,
    heartbeat: Arc<Heartbeat>,
    clock: Arc<dyn Clock>,
    concurrent_pages: NonZeroUsize,
    healer: Option<Healer>,
}

/// The result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pass {
    /// What was dispatched.
    pub dispatched: DispatchReport,
    /// Shards that were read to the end.
    pub shards: u32,
    /// Whether the pass ran out of time before it was complete.
    pub is_cut: bool,
    /// Shards that failed; the next pass begins with what they left.
    pub failed: u32,
}

impl Pass {
    /// Logs the pass in one line; at debug level if nothing was due.
    pub fn log(&self) {
        let DispatchReport { timers, messages, overtaken, .. } = self.dispatched;
        if timers == 0 && self.failed == 0 {
            tracing::debug!(shards = self.shards, "a sweep found nothing due");
        } else {
            let (failed, is_cut) = (self.failed, self.is_cut);
            tracing::info!(timers, messages, overtaken, failed, is_cut, "swept");
        }
    }
}

/// Where a pass goes on in a shard. The pass takes the least cursor next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ShardCursor {
    /// The due time up to which the shard is dispatched; `None`, which is first, if nothing of it was
    /// read yet.
    reached: Option<DateTime<Utc>>,
    /// How many pages of it were read, so that shards whose timers are all due at one instant take
    /// turns.
    pages: u32,
    /// The order of shards that are equal otherwise.
    turn: u32,
    shard: u32,
    /// Where the next page begins.
    from: Option<String>,
}

/// The result of a page: what was dispatched of it, and where its shard goes on.
type Swept = Result<(DispatchReport, Option<ShardCursor>), AppError>;

impl Sweeper {
    /// A sweeper over these ports, which processes one page at a time.
    #[must_use]
    pub fn new(
        timers: Arc<dyn Timers>,
        dispatcher: Dispatcher,
        heartbeat: Arc<Heartbeat>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let concurrent_pages = NonZeroUsize::MIN;
        Self { timers, dispatcher, heartbeat, clock, concurrent_pages, healer: None }
    }

    /// Sets how many pages are processed concurrently, each of another shard. The number of
    /// concurrent requests is this number times what the store and the queue allow for a page.
    #[must_use]
    pub fn with_concurrent_pages(self, concurrent_pages: NonZeroUsize) -> Self {
        Self { concurrent_pages, ..self }
    }

    /// Sends occurrences again that a queue has lost.
    #[must_use]
    pub fn with_healer(self, healer: Healer) -> Self {
        Self { healer: Some(healer), ..self }
    }

    /// Dispatches every timer that is due or due soon. After the time of a pass it begins no further
    /// page. When `over` ends, it cancels the pages that are still in progress.
    ///
    /// The pass begins with `first_shard`, so that the same shards are not the last ones each time.
    pub async fn pass(&self, first_shard: u32, over: impl Future<Output = ()>) -> Pass {
        let ends_at = self.clock.work_now() + PASS;
        let until = self.clock.now() + spans(self.clock.as_ref()).ahead;
        if let Err(error) = self.heartbeat.beat().await {
            // Without it, an outage that is just over would not be known.
            let error_type = ErrorType::ShardFailed;
            tracing::error!(%error_type, %error, "no shard was swept");
            return Pass { failed: self.timers.shards(), ..Pass::default() };
        }
        let outages = self.heartbeat.known_outages();
        let mut over = pin!(over);
        let mut waiting = first_cursors(self.timers.shards(), first_shard);
        let mut in_progress = FuturesUnordered::new();
        let mut pass = Pass::default();
        // Bounded by the timers of all shards, and by the time of a pass.
        loop {
            while in_progress.len() < self.concurrent_pages.get()
                && !waiting.is_empty()
                && !pass.is_cut
            {
                if self.clock.work_now() >= ends_at {
                    pass.is_cut = true;
                } else if let Some(cursor) = waiting.pop_first() {
                    in_progress.push(self.page(cursor, until, &outages));
                }
            }
            match select(in_progress.next(), &mut over).await {
                Either::Left((Some((_, Ok((dispatched, next)))), _)) => {
                    pass.dispatched.add(dispatched);
                    match next {
                        Some(next) => drop(waiting.insert(next)),
                        None => pass.shards += 1,
                    }
                }
                Either::Left((Some((shard, Err(error))), _)) => {
                    let error_type = ErrorType::ShardFailed;
                    tracing::error!(%error_type, shard, %error, "a shard was not swept to its end");
                    pass.failed += 1;
                }
                Either::Left((None, _)) => return pass,
                Either::Right(_) => {
                    let pages = in_progress.len();
                    tracing::warn!(
                        pages,
                        "sweep timed out; unfinished pages are left to the next sweep"
                    );
                    pass.is_cut = true;
                    return pass;
                }
            }
        }
    }

    /// When the next timer is due, as far as the index knows.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn next_due_at(&self) -> Result<Option<DateTime<Utc>>, AppError> {
        let mut next = None;
        for shard in 0..self.timers.shards() {
            let page = PageRequest { from: None, items_max: 1 };
            let page = self.timers.due(shard, DateTime::<Utc>::MAX_UTC, page).await?;
            for due in page.items {
                next = Some(next.map_or(due.due_at, |next: DateTime<Utc>| next.min(due.due_at)));
            }
        }
        Ok(next)
    }

    /// Dispatches a page.
    async fn page(
        &self,
        cursor: ShardCursor,
        until: DateTime<Utc>,
        outages: &[Outage],
    ) -> (u32, Swept) {
        (cursor.shard, self.dispatch(cursor, until, outages).await)
    }

    async fn dispatch(
        &self,
        cursor: ShardCursor,
        until: DateTime<Utc>,
        outages: &[Outage],
    ) -> Swept {
        let ShardCursor { reached, pages, turn, shard, from } = cursor;
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = self.timers.due(shard, until, request).await?;
        let reached = page.items.last().map_or(reached, |last| Some(last.due_at));
        let due = match &self.healer {
            Some(healer) => healer.heal(page.items).await,
            None => page.items,
        };
        let dispatched = match due.as_slice() {
            [] => DispatchReport::default(),
            due => self.dispatcher.dispatch(due, outages).await?,
        };
        let next = page.next.map(|from| ShardCursor {
            reached,
            pages: pages.saturating_add(1),
            turn,
            shard,
            from: Some(from),
        });
        Ok((dispatched, next))
    }
}

/// The cursors at the beginning of all shards, with this shard first.
fn first_cursors(shards: u32, first_shard: u32) -> BTreeSet<ShardCursor> {
    let cursor = |turn| {
        let shard = (first_shard % shards + turn) % shards;
        ShardCursor { reached: None, pages: 0, turn, shard, from: None }
    };
    (0..shards).map(cursor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shards in the order in which they are read, given the due time that each page reaches.
    fn order(first_shard: u32, pages: &[&[i64]]) -> Vec<u32> {
        let mut waiting = first_cursors(u32::try_from(pages.len()).unwrap(), first_shard);
        let mut order = Vec::new();
        while let Some(cursor) = waiting.pop_first() {
            order.push(cursor.shard);
            let pages = pages[usize::try_from(cursor.shard).unwrap()];
            let read = usize::try_from(cursor.pages).unwrap();
            if let Some(reached) = pages.get(read) {
                let reached = DateTime::from_timestamp(*reached, 0);
                waiting.insert(ShardCursor { reached, pages: cursor.pages + 1, ..cursor });
            }
        }
        order
    }

    #[test]
    fn the_next_page_is_of_the_shard_that_has_advanced_least() {
        // One page of every shard is read before a second page of any.
        assert_eq!(order(0, &[&[], &[], &[]]), [0, 1, 2]);
        assert_eq!(order(0, &[&[5], &[], &[]]), [0, 1, 2, 0]);
        // The pass begins with the given shard.
        assert_eq!(order(2, &[&[], &[], &[]]), [2, 0, 1]);
        assert_eq!(order(u32::MAX, &[&[], &[], &[]]), [0, 1, 2]);
        // A shard with old timers goes first, until it is no further behind than the others.
        assert_eq!(order(0, &[&[9], &[1, 2, 10], &[8]]), [0, 1, 2, 1, 1, 2, 0, 1]);
        // Shards whose timers are due at one instant take turns.
        assert_eq!(order(1, &[&[7, 7], &[7, 7], &[7, 7]]), [1, 2, 0, 1, 2, 0, 1, 2, 0]);
    }
}
