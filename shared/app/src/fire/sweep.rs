//! A sweep: one pass over the timers that are due, the oldest first.
//!
//! A pass reads all shards page by page, several pages at a time, each of another shard. The next
//! page is always of the shard that has advanced least. So a pass that runs out of time has left out
//! the timers that were due last, in any shard. A shard that is slow or fails delays only itself. And
//! writes are spread over all shards, each of which takes only so many in a second.
//!
//! A pass may gather the timers of several pages and dispatch them together, so that the queue can put
//! attempts of one second into one message, whichever shards their timers are in. It dispatches near the
//! end of a second: instants are whole seconds, and a queue that delays by whole seconds then delivers
//! a message shortly before it is due. It gathers for less than two seconds, so a slow shard still
//! delays only itself.
//!
//! A timer whose move is throttled stays due, and the pass goes on with fewer steps at a time: see `Pace`. Its
//! message is sent once more by the next pass, and claimed once.
//!
//! A pass only reads the index and dispatches. A crash in it leaves the rest of the timers due, and
//! the next pass begins with the oldest again. The same holds for a pass that runs out of time: it
//! begins no further page, and pages that are still in progress when its caller stops waiting are
//! cancelled.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use futures_util::future::{Either, pending, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use minutehand_domain::firing::Outage;
use minutehand_domain::firing::limits::PASS;
use minutehand_ports::store::{Due, PageRequest};
use minutehand_ports::{Clock, ErrorType, Timers};

use super::spans;
use super::{DispatchReport, Dispatcher, Healer, Heartbeat};
use crate::error::{AppError, Result};
use pace::Pace;

mod pace;
mod part;

pub use part::SweepPart;

/// Timers of a page.
const PAGE_ITEMS: u32 = 100;
/// The part of a second after which gathered timers are dispatched. The rest is enough to send them.
const SEND_AFTER: TimeDelta = TimeDelta::milliseconds(800);
/// How long a pass gathers although pages are still read. What it has is sent at the next end of a second.
const GATHER_MAX: TimeDelta = TimeDelta::seconds(1);
/// How long it is believed when the first timer of a shard is due.
const FIRST_DUE_FOR: TimeDelta = TimeDelta::seconds(30);

/// Finds due timers and dispatches them.
#[derive(Clone)]
pub struct Sweeper {
    timers: Arc<dyn Timers>,
    dispatcher: Dispatcher,
    heartbeat: Arc<Heartbeat>,
    clock: Arc<dyn Clock>,
    concurrent_pages: NonZeroUsize,
    gathered_max: usize,
    healer: Option<Healer>,
    first_due: Arc<FirstDue>,
}

/// When the first timer of each shard is due, as it was last read.
///
/// A pass that finds timers of a shard, should have found some, or cannot read it, has it read again. All are read again after [`FIRST_DUE_FOR`], because others create and move timers.
#[derive(Default)]
struct FirstDue(Mutex<KnownShards>);

#[derive(Default)]
struct KnownShards {
    /// When the first of them was read.
    since: Option<DateTime<Utc>>,
    first: HashMap<u32, Option<DateTime<Utc>>>,
}

impl FirstDue {
    fn known(&self) -> MutexGuard<'_, KnownShards> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, shard: u32, first: Option<DateTime<Utc>>) {
        self.known().first.insert(shard, first);
    }

    /// Forgets the shards with timers that a pass until this instant dispatches.
    fn forget_until(&self, until: DateTime<Utc>) {
        self.known().first.retain(|_, first| first.is_none_or(|first| first > until));
    }

    fn forget(&self, shard: u32) {
        self.known().first.remove(&shard);
    }

    /// Forgets all shards if they were read too long ago.
    fn forget_old(&self, now: DateTime<Utc>) {
        let mut known = self.known();
        if known.since.is_none_or(|since| now >= since + FIRST_DUE_FOR) {
            *known = KnownShards { since: Some(now), first: HashMap::new() };
        }
    }
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
    /// Timers whose moves were throttled: the next pass begins with them.
    pub throttled: usize,
}

impl Pass {
    /// Logs the pass in one line; at debug level if nothing was due.
    pub fn log(&self) {
        let DispatchReport { timers, messages, overtaken, .. } = self.dispatched;
        if timers == 0 && self.failed == 0 {
            tracing::debug!(shards = self.shards, "a sweep found nothing due");
        } else {
            let (failed, is_cut, throttled) = (self.failed, self.is_cut, self.throttled);
            tracing::info!(timers, messages, overtaken, failed, is_cut, throttled, "swept");
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

/// What a pass does at a time.
enum Step {
    /// Read the page at this cursor.
    Read(ShardCursor),
    /// Dispatch what was gathered.
    Dispatch(Gathered),
}

/// How a step ended.
enum Stepped {
    Read(u32, Result<(Vec<Due>, Option<ShardCursor>)>),
    Dispatched(Gathered, Dispatched),
}

/// The result of a dispatch, with the timers that were not moved.
type Dispatched = Result<(DispatchReport, Vec<(usize, AppError)>)>;

/// Timers that are dispatched together.
#[derive(Default)]
struct Gathered {
    due: Vec<Due>,
    /// The pages that they were read in: shards, and how many timers each page has.
    pages: Vec<(u32, usize)>,
    /// When the first of them was read.
    since: Option<DateTime<Utc>>,
}

/// A pass that is under way.
struct UnderWay {
    /// Where it goes on in each shard that is not read to its end.
    waiting: BTreeSet<ShardCursor>,
    /// How many pages are being read.
    reading: usize,
    gathered: Gathered,
    /// What is to be dispatched as soon as possible.
    ready: VecDeque<Gathered>,
    dispatched: DispatchReport,
    /// Shards that were read to their end.
    ended: BTreeSet<u32>,
    failed: BTreeSet<u32>,
    pace: Pace,
    /// Timers whose moves were throttled.
    throttled: usize,
    is_cut: bool,
}

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
        Self {
            timers,
            dispatcher,
            heartbeat,
            clock,
            concurrent_pages,
            gathered_max: 1,
            healer: None,
            first_due: Arc::default(),
        }
    }

    /// Gathers timers, and dispatches them near the end of a second, or when there are this many.
    #[must_use]
    pub fn gathering(self, timers_max: NonZeroUsize) -> Self {
        Self { gathered_max: timers_max.get(), ..self }
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
        self.pass_part(SweepPart::WHOLE, 0, first_shard, over).await
    }

    /// The same for a part of the shards, in a round of several sweepers that divide them.
    ///
    /// Each of them gives the sign of life of all: an outage is a time in which none was there.
    pub async fn pass_part(
        &self,
        part: SweepPart,
        round: u32,
        first_shard: u32,
        over: impl Future<Output = ()>,
    ) -> Pass {
        let mut cursors = first_cursors(self.timers.shards(), first_shard);
        cursors.retain(|cursor| part.has(cursor.shard, round));
        let ends_at = self.clock.work_now() + PASS;
        let until = self.clock.now() + spans(self.clock.as_ref()).ahead;
        self.first_due.forget_until(until);
        if let Err(error) = self.heartbeat.beat().await {
            // Without it, an outage that is just over would not be known.
            let error_type = ErrorType::ShardFailed;
            tracing::error!(%error_type, %error, "no shard was swept");
            let failed = u32::try_from(cursors.len()).unwrap_or(u32::MAX);
            return Pass { failed, ..Pass::default() };
        }
        let outages = self.heartbeat.known_outages();
        let mut over = pin!(over);
        let mut under_way = UnderWay::new(cursors, Pace::new(self.concurrent_pages));
        let mut in_progress = FuturesUnordered::new();
        // Bounded by the timers of all shards, and by the time of a pass.
        loop {
            let send_at = under_way.send_at(self.clock.now());
            let is_full = under_way.gathered.due.len() >= self.gathered_max;
            if is_full || send_at.is_some_and(|at| at <= self.clock.now()) {
                under_way.finish_gathering();
                continue;
            }
            while in_progress.len() < under_way.pace.at_once() {
                under_way.is_cut |=
                    !under_way.waiting.is_empty() && self.clock.work_now() >= ends_at;
                let Some(step) = under_way.next_step() else { break };
                in_progress.push(self.step(step, until, &outages));
            }
            if in_progress.is_empty() && send_at.is_none() {
                return under_way.pass();
            }
            let pages = in_progress.len();
            let stepped = pin!(async {
                match in_progress.next().await {
                    Some(stepped) => stepped,
                    None => pending().await,
                }
            });
            let sends = pin!(async {
                match send_at {
                    Some(at) => self.clock.wait_until(at).await,
                    None => pending().await,
                }
            });
            match select(select(stepped, sends), &mut over).await {
                Either::Left((Either::Left((stepped, _)), _)) => {
                    under_way.stepped(stepped, self.clock.now());
                }
                Either::Left((Either::Right(_), _)) => under_way.finish_gathering(),
                Either::Right(_) => {
                    tracing::warn!(
                        pages,
                        "sweep timed out; unfinished pages are left to the next sweep"
                    );
                    under_way.is_cut = true;
                    return under_way.pass();
                }
            }
        }
    }

    /// When the next timer is due. It reads the shards of which passes have found timers, and all of them
    /// if they were last read half a minute ago. So a timer that was created or moved since, and is due
    /// after the passes of that time, may not be known yet.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn next_due_at(&self) -> Result<Option<DateTime<Utc>>> {
        self.first_due.forget_old(self.clock.work_now());
        let mut next = None;
        for shard in 0..self.timers.shards() {
            let known = self.first_due.known().first.get(&shard).copied();
            let first = if let Some(first) = known {
                first
            } else {
                let page = PageRequest { from: None, items_max: 1 };
                let page = self.timers.due(shard, DateTime::<Utc>::MAX_UTC, page).await?;
                let first = page.items.first().map(|due| due.due_at);
                self.first_due.keep(shard, first);
                first
            };
            next = [next, first].into_iter().flatten().min();
        }
        Ok(next)
    }

    async fn step(&self, step: Step, until: DateTime<Utc>, outages: &[Outage]) -> Stepped {
        match step {
            Step::Read(cursor) => Stepped::Read(cursor.shard, self.read(cursor, until).await),
            Step::Dispatch(gathered) => {
                let dispatched = self.dispatcher.dispatch_each(&gathered.due, outages).await;
                Stepped::Dispatched(gathered, dispatched)
            }
        }
    }

    /// Reads a page. Returns its timers, and where its shard goes on.
    async fn read(
        &self,
        cursor: ShardCursor,
        until: DateTime<Utc>,
    ) -> Result<(Vec<Due>, Option<ShardCursor>)> {
        let ShardCursor { reached, pages, turn, shard, from } = cursor;
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = self.timers.due(shard, until, request).await;
        if page.as_ref().map_or(true, |page| !page.items.is_empty()) {
            self.first_due.forget(shard);
        }
        let page = page?;
        let reached = page.items.last().map_or(reached, |last| Some(last.due_at));
        let due = match &self.healer {
            Some(healer) => healer.heal(page.items).await,
            None => page.items,
        };
        let next = page.next.map(|from| ShardCursor {
            reached,
            pages: pages.saturating_add(1),
            turn,
            shard,
            from: Some(from),
        });
        Ok((due, next))
    }
}

impl UnderWay {
    fn new(waiting: BTreeSet<ShardCursor>, pace: Pace) -> Self {
        Self {
            waiting,
            reading: 0,
            gathered: Gathered::default(),
            ready: VecDeque::new(),
            dispatched: DispatchReport::default(),
            ended: BTreeSet::new(),
            failed: BTreeSet::new(),
            pace,
            throttled: 0,
            is_cut: false,
        }
    }

    /// Whether more timers may come.
    fn is_reading(&self) -> bool {
        self.reading > 0 || (!self.waiting.is_empty() && !self.is_cut)
    }

    /// When what is gathered is dispatched, unless it becomes too much before.
    fn send_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let since = self.gathered.since?;
        Some(near_end_of_second(if self.is_reading() { since + GATHER_MAX } else { now }))
    }

    /// Has what is gathered dispatched.
    fn finish_gathering(&mut self) {
        self.ready.push_back(std::mem::take(&mut self.gathered));
    }

    fn next_step(&mut self) -> Option<Step> {
        if let Some(gathered) = self.ready.pop_front() {
            return Some(Step::Dispatch(gathered));
        }
        if self.waiting.is_empty() || self.is_cut {
            return None;
        }
        self.reading += 1;
        self.waiting.pop_first().map(Step::Read)
    }

    fn stepped(&mut self, stepped: Stepped, now: DateTime<Utc>) {
        match stepped {
            Stepped::Read(shard, Ok((due, next))) => {
                self.reading -= 1;
                match next {
                    Some(next) => drop(self.waiting.insert(next)),
                    None => drop(self.ended.insert(shard)),
                }
                self.gathered.add(shard, due, now);
            }
            Stepped::Read(shard, Err(error)) => {
                self.reading -= 1;
                self.fail(shard, &error);
            }
            Stepped::Dispatched(gathered, Ok((dispatched, unmoved))) => {
                self.dispatched.add(dispatched);
                let (throttled, unmoved): (Vec<_>, Vec<_>) =
                    unmoved.into_iter().partition(|(_, error)| error.is_throttling());
                self.pace.dispatched(!throttled.is_empty());
                self.throttled += throttled.len();
                for (place, error) in unmoved {
                    if let Some(shard) = gathered.shard_of(place) {
                        self.fail(shard, &error);
                    }
                }
            }
            // Each page by itself, to find the one that the queue refuses.
            Stepped::Dispatched(gathered, Err(error))
                if gathered.pages.len() > 1 && !error.is_retryable() =>
            {
                self.ready.extend(gathered.divided());
            }
            Stepped::Dispatched(gathered, Err(error)) => {
                for (shard, _) in gathered.pages {
                    self.fail(shard, &error);
                }
            }
        }
    }

    /// The next pass begins with what the shard has left.
    fn fail(&mut self, shard: u32, error: &AppError) {
        self.waiting.retain(|cursor| cursor.shard != shard);
        if self.failed.insert(shard) {
            let error_type = ErrorType::ShardFailed;
            tracing::error!(%error_type, shard, %error, "a shard was not swept to its end");
        }
    }

    fn pass(&self) -> Pass {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Pass {
            dispatched: self.dispatched,
            shards: count(self.ended.difference(&self.failed).count()),
            is_cut: self.is_cut,
            failed: count(self.failed.len()),
            throttled: self.throttled,
        }
    }
}

impl Gathered {
    fn add(&mut self, shard: u32, due: Vec<Due>, now: DateTime<Utc>) {
        if due.is_empty() {
            return;
        }
        self.since.get_or_insert(now);
        self.pages.push((shard, due.len()));
        self.due.extend(due);
    }

    /// The shard of a timer.
    fn shard_of(&self, place: usize) -> Option<u32> {
        let mut end = 0;
        let mut ends = self.pages.iter().map(|(shard, timers)| {
            end += timers;
            (*shard, end)
        });
        ends.find(|(_, end)| place < *end).map(|(shard, _)| shard)
    }

    /// The pages, each by itself.
    fn divided(self) -> impl Iterator<Item = Self> {
        let Self { due, pages, since } = self;
        let mut due = due.into_iter();
        pages.into_iter().map(move |(shard, timers)| {
            let due: Vec<Due> = due.by_ref().take(timers).collect();
            Self { due, pages: vec![(shard, timers)], since }
        })
    }
}

/// The first instant from this on that is near the end of its second.
fn near_end_of_second(at: DateTime<Utc>) -> DateTime<Utc> {
    at.max(at.trunc_subsecs(0) + SEND_AFTER)
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
    mod first_timers;

    use super::*;

    /// The shards in the order in which they are read, given the due time that each page reaches.
    fn order(first_shard: u32, pages: &[&[i64]]) -> Vec<u32> {
        let waiting = first_cursors(u32::try_from(pages.len()).unwrap(), first_shard);
        let mut under_way = UnderWay::new(waiting, Pace::new(NonZeroUsize::MIN));
        let mut order = Vec::new();
        while let Some(Step::Read(cursor)) = under_way.next_step() {
            order.push(cursor.shard);
            let pages = pages[usize::try_from(cursor.shard).unwrap()];
            let read = usize::try_from(cursor.pages).unwrap();
            if let Some(reached) = pages.get(read) {
                let reached = DateTime::from_timestamp(*reached, 0);
                let next = ShardCursor { reached, pages: cursor.pages + 1, ..cursor };
                under_way.waiting.insert(next);
            }
        }
        order
    }

    #[test]
    fn after_a_pass_the_shards_are_read_again_whose_first_timer_it_should_have_found() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        let first_due = FirstDue::default();
        first_due.forget_old(at(0));
        for (shard, first) in [(0, Some(at(10))), (1, Some(at(11))), (2, None), (3, Some(at(9)))] {
            first_due.keep(shard, first);
        }
        let known = || first_due.known().first.clone();
        first_due.forget_until(at(10));
        assert_eq!(known(), HashMap::from([(1, Some(at(11))), (2, None)]));
        first_due.forget(2);
        assert_eq!(known(), HashMap::from([(1, Some(at(11)))]));
        first_due.forget_old(at(29));
        assert_eq!(known(), HashMap::from([(1, Some(at(11)))]));
        first_due.forget_old(at(30));
        assert_eq!(known(), HashMap::new());
    }

    #[test]
    fn gathered_timers_are_sent_in_the_last_fifth_of_a_second() {
        for (ms, expected) in [(0, 800), (799, 800), (800, 800), (999, 999), (1_000, 1_800)] {
            let at = |ms| DateTime::from_timestamp_millis(ms).unwrap();
            assert_eq!(near_end_of_second(at(ms)), at(expected), "{ms}");
        }
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
