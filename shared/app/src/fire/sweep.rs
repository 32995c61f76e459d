//! A sweep: one pass over the timers that are due, oldest first.
//!
//! A pass goes through all shards page by page, several pages at once, each of another shard. The
//! next page is always that of the shard that has come least far. So what a pass is cut short of is
//! what fell due last, wherever it is; a shard that is slow or fails holds up nobody but itself; and
//! what is written is spread over all shards, as each of them takes so much in a second.
//!
//! A pass only reads the index and dispatches; a crash in it leaves the rest of the timers due, and
//! the next pass begins with the oldest again. So does one whose time is over: it begins no further
//! page, and what is still under way when its caller waits no longer is dropped where it stands.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::firing::limits::PASS;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ports::firing::FiringStore;
use ports::store::PageRequest;
use ports::{Clock, ErrorType};

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
    at_once: NonZeroUsize,
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

/// Where a pass goes on in a shard. The least of several is the next one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ShardCursor {
    /// How far it has come: what is before is dispatched. Nobody knows what is in a shard that was
    /// not looked at, so that it comes first.
    reached: Option<DateTime<Utc>>,
    /// Pages that were read of it: shards in which all is due at one instant take turns.
    pages: u32,
    /// When it has its turn among those that are equal.
    turn: u32,
    shard: u32,
    /// Where the page begins.
    from: Option<String>,
}

/// What became of a page: what was dispatched of it, and where its shard goes on.
type Swept = Result<(DispatchReport, Option<ShardCursor>), AppError>;

impl Sweeper {
    /// A sweeper over these ports, with one page at once.
    #[must_use]
    pub fn new(store: Arc<dyn FiringStore>, dispatcher: Dispatcher, clock: Arc<dyn Clock>) -> Self {
        Self { store, dispatcher, clock, at_once: NonZeroUsize::MIN }
    }

    /// It with so many pages at once, each of another shard. What a page has under way at once is
    /// the store's and the queue's, so that the product of both is what all of them see.
    #[must_use]
    pub fn with_at_once(self, at_once: NonZeroUsize) -> Self {
        Self { at_once, ..self }
    }

    /// Dispatches every timer that comes into view. When its time is over it begins nothing more
    /// and ends what it is at, for which `over` waits, and no longer.
    ///
    /// `first_shard` is where it begins, so that the same shards are not the last ones each time.
    pub async fn pass(&self, first_shard: u32, over: impl Future<Output = ()>) -> Pass {
        let ends_at = self.clock.work_now() + PASS;
        let until = self.clock.now() + spans(self.clock.as_ref()).ahead;
        let mut over = pin!(over);
        let mut waiting = first_places(self.store.shards(), first_shard);
        let mut under_way = FuturesUnordered::new();
        let mut pass = Pass::default();
        // Bounded by the timers of all shards, and by the time of a pass.
        loop {
            while under_way.len() < self.at_once.get() && !waiting.is_empty() && !pass.is_cut {
                if self.clock.work_now() >= ends_at {
                    pass.is_cut = true;
                } else if let Some(place) = waiting.pop_first() {
                    under_way.push(self.page(place, until));
                }
            }
            match select(under_way.next(), &mut over).await {
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
                    let pages = under_way.len();
                    tracing::warn!(pages, "a pass is over, and what it was at is dropped");
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
        for shard in 0..self.store.shards() {
            let page = PageRequest { from: None, items_max: 1 };
            let page = self.store.due(shard, DateTime::<Utc>::MAX_UTC, page).await?;
            for due in page.items {
                next = Some(next.map_or(due.due_at, |next: DateTime<Utc>| next.min(due.due_at)));
            }
        }
        Ok(next)
    }

    /// Dispatches a page.
    async fn page(&self, place: ShardCursor, until: DateTime<Utc>) -> (u32, Swept) {
        (place.shard, self.dispatch(place, until).await)
    }

    async fn dispatch(&self, place: ShardCursor, until: DateTime<Utc>) -> Swept {
        let ShardCursor { reached, pages, turn, shard, from } = place;
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = self.store.due(shard, until, request).await?;
        let dispatched = match page.items.as_slice() {
            [] => DispatchReport::default(),
            due => self.dispatcher.dispatch(due).await?,
        };
        let reached = page.items.last().map_or(reached, |last| Some(last.due_at));
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

/// The beginnings of all shards, this one first.
fn first_places(shards: u32, first_shard: u32) -> BTreeSet<ShardCursor> {
    let place = |turn| {
        let shard = (first_shard % shards + turn) % shards;
        ShardCursor { reached: None, pages: 0, turn, shard, from: None }
    };
    (0..shards).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shards in the order in which they are read, if each page reaches as far as it says.
    fn order(first_shard: u32, pages: &[&[i64]]) -> Vec<u32> {
        let mut waiting = first_places(u32::try_from(pages.len()).unwrap(), first_shard);
        let mut order = Vec::new();
        while let Some(place) = waiting.pop_first() {
            order.push(place.shard);
            let pages = pages[usize::try_from(place.shard).unwrap()];
            let read = usize::try_from(place.pages).unwrap();
            if let Some(reached) = pages.get(read) {
                let reached = DateTime::from_timestamp(*reached, 0);
                waiting.insert(ShardCursor { reached, pages: place.pages + 1, ..place });
            }
        }
        order
    }

    #[test]
    fn the_next_page_is_that_of_the_shard_that_has_come_least_far() {
        // Every shard is looked at before any is gone on with.
        assert_eq!(order(0, &[&[], &[], &[]]), [0, 1, 2]);
        assert_eq!(order(0, &[&[5], &[], &[]]), [0, 1, 2, 0]);
        // The first is that of the pass.
        assert_eq!(order(2, &[&[], &[], &[]]), [2, 0, 1]);
        assert_eq!(order(u32::MAX, &[&[], &[], &[]]), [0, 1, 2]);
        // What an outage left in one shard goes first, until it is no older than the rest.
        assert_eq!(order(0, &[&[9], &[1, 2, 10], &[8]]), [0, 1, 2, 1, 1, 2, 0, 1]);
        // Of what is due at one instant, each has a page in turn.
        assert_eq!(order(1, &[&[7, 7], &[7, 7], &[7, 7]]), [1, 2, 0, 1, 2, 0, 1, 2, 0]);
    }
}
