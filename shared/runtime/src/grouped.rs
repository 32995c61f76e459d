//! Requests that come together, performed as one group.
//!
//! On one machine a commit costs the same whether it holds one claim or a hundred. So requests of a
//! kind go through one task: while a group is under way the next one gathers, and takes with it what
//! has come by then. A request that comes alone is a group of its own, and waits for nobody.
//!
//! A request whose caller has gone is performed all the same, as one is whose answer was lost.
//!
//! When thousands of attempts fall due at one instant, the store is busy for longer than the instant
//! lasts. What an action waits for then goes first: claims and looks at once, records when none of
//! those is open and no attempt waits for its turn to start, settlements when no record is either.
//! None waits longer than [`YIELD_MAX`] for that, and then all that has come goes, so what goes last
//! keeps up under any load.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::errand::JobRef;
use domain::execution::Attempt;
use ports::firing::{
    Advance, Claim, Claimed, Due, Execution, Finish, FiringStore, Held, LongRetry, Mark, Recorded,
    Recording, Settlement, Sight,
};
use ports::store::{Page, PageRequest};
use ports::{Gate, StoreError, Turn};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

/// The most requests of a group: some transactions' worth, so that the store can prepare one while it
/// performs another.
const GROUP_MAX: usize = 400;
/// Requests of a kind that may wait; further callers wait for a place.
const WAITING_MAX: usize = 4_096;
/// The most attempts that start at once: as many requests as keep a target on the same machine busy.
const STARTS_MAX: usize = 256;
/// How long a group lets others go first: far less than a lease, and about what the looks of ten
/// thousand attempts take.
const YIELD_MAX: Duration = Duration::from_secs(1);

/// A store whose claims, releases, looks, records and settlements gather into groups.
pub struct Grouped {
    store: Arc<dyn FiringStore>,
    claims: Gathering<Claim, Claimed>,
    releases: Gathering<Held, ()>,
    looks: Gathering<JobRef, Option<Sight>>,
    records: Gathering<Recording, Recorded>,
    settlements: Gathering<Settlement, bool>,
    advanced: Arc<Advanced>,
    starts: Arc<Starts>,
}

/// Where attempts start.
pub struct Starts {
    places: Arc<Semaphore>,
    open: Arc<Open>,
}

#[async_trait]
impl Gate for Starts {
    async fn turn(&self) -> Turn {
        // While it waits, what comes after actions waits, too.
        let _open = self.open.open(1);
        // The places are never closed; without one it starts all the same.
        Box::new(self.places.clone().acquire_owned().await.ok())
    }
}

/// Timers that were moved on, for the sweeper that waits for the next of them.
#[derive(Debug, Default)]
pub struct Advanced {
    next: Mutex<Option<DateTime<Utc>>>,
    moved: Notify,
}

impl Advanced {
    /// Waits until timers are moved on; returns when the first of them is due. One waits at a time.
    pub async fn next(&self) -> DateTime<Utc> {
        loop {
            self.moved.notified().await;
            let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(next) = next {
                return next;
            }
        }
    }

    fn moved(&self, advances: &[Advance]) {
        let Some(first) = advances.iter().map(|advance| advance.to).min() else { return };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(first, |next| next.min(first)));
        drop(next);
        self.moved.notify_one();
    }
}

impl Grouped {
    /// Groups what is asked of a store. It has to be made within a runtime, where its tasks run
    /// until it is dropped.
    #[must_use]
    pub fn new(store: Arc<dyn FiringStore>) -> Self {
        // Open requests: those that an action waits for, and records.
        let (urgent, recording) = (Arc::new(Open::default()), Arc::new(Open::default()));
        let before_actions = Rank { open: urgent.clone(), after: Vec::new() };
        let records = Rank { open: recording.clone(), after: vec![urgent.clone()] };
        let last = Rank { open: Arc::default(), after: vec![urgent.clone(), recording] };
        Self {
            claims: Gathering::new(&store, &before_actions, None, |store, group| {
                Box::pin(async move { store.claim(&group).await })
            }),
            releases: Gathering::new(&store, &last, None, |store, group| {
                Box::pin(async move { store.release(&group).await })
            }),
            looks: Gathering::new(&store, &before_actions, None, |store, group| {
                Box::pin(async move {
                    let n = group.len();
                    each(store.look(&group).await, n)
                })
            }),
            records: Gathering::new(&store, &records, None, |store, group| {
                Box::pin(async move { store.record(&group).await })
            }),
            // Of two settlements of one job the second is to find what the first has counted.
            settlements: Gathering::new(&store, &last, Some(|one| &one.job_uid), |store, group| {
                Box::pin(async move { store.settle(&group).await })
            }),
            advanced: Arc::default(),
            starts: Arc::new(Starts { places: Arc::new(Semaphore::new(STARTS_MAX)), open: urgent }),
            store,
        }
    }

    /// Lets attempts start; what the store has to do for others waits for those.
    #[must_use]
    pub fn starts(&self) -> Arc<Starts> {
        self.starts.clone()
    }

    /// Tells of timers that were moved on, so that a sweeper which waits for the next one knows
    /// whether that is still the next.
    #[must_use]
    pub fn advanced(&self) -> Arc<Advanced> {
        self.advanced.clone()
    }
}

#[async_trait]
impl FiringStore for Grouped {
    fn shards(&self) -> u32 {
        self.store.shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.store.due(shard, until, page).await
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let moved = self.store.advance(advances).await;
        self.advanced.moved(advances);
        moved
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        self.claims.ask(claims).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        self.releases.ask(claims).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<Sight>>, StoreError> {
        self.looks.ask(jobs).await.into_iter().collect()
    }

    fn mark(&self) -> Option<Mark> {
        self.store.mark()
    }

    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        self.store.stands(job, since)
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        self.records.ask(recordings).await
    }

    async fn settle(&self, settlements: &[Settlement]) -> Vec<Result<bool, StoreError>> {
        self.settlements.ask(settlements).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.store.finish(finish).await
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.store.keep_retries(retries).await
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        self.store.drop_retries(retries).await
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.store.retries(job_uid, max).await
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.store.delete_finished(job, generation).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.store.purge(collection_uid).await
    }

    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.store.executions(job_uid, page).await
    }
}

/// A request, and where its answer goes.
type Asked<Q, A> = (Q, oneshot::Sender<Result<A, StoreError>>);
/// The answers to a group, in its order.
type Answers<A> = Pin<Box<dyn Future<Output = Vec<Result<A, StoreError>>> + Send>>;
/// Performs a group.
type Perform<Q, A> = fn(Arc<dyn FiringStore>, Vec<Q>) -> Answers<A>;
/// What no two requests of a group have in common.
type Key<Q> = fn(&Q) -> &String;

/// Requests that are open, and who waits for there to be none.
#[derive(Default)]
struct Open {
    requests: AtomicUsize,
    none: Notify,
}

/// Requests of a caller, open until this is dropped.
struct Opened(Arc<Open>, usize);

/// When the requests of a kind are performed.
#[derive(Clone)]
struct Rank {
    /// Where they are counted.
    open: Arc<Open>,
    /// What goes first.
    after: Vec<Arc<Open>>,
}

impl Open {
    fn open(self: &Arc<Self>, n: usize) -> Opened {
        self.requests.fetch_add(n, Ordering::AcqRel);
        Opened(self.clone(), n)
    }

    async fn none(&self) {
        loop {
            // Made before the look, so that nothing is missed in between.
            let none = self.none.notified();
            if self.requests.load(Ordering::Acquire) == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Self(open, n) = self;
        if open.requests.fetch_sub(*n, Ordering::AcqRel) == *n {
            open.none.notify_waiters();
        }
    }
}

impl Rank {
    /// Waits until nothing is open that goes first, but not for long. False if something still is.
    async fn turn(&self) -> bool {
        let turn = async {
            for open in &self.after {
                open.none().await;
            }
        };
        timeout(YIELD_MAX, turn).await.is_ok()
    }
}

/// Where requests of a kind gather.
struct Gathering<Q, A> {
    requests: mpsc::Sender<Asked<Q, A>>,
    open: Arc<Open>,
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Gathering<Q, A> {
    fn new(
        store: &Arc<dyn FiringStore>,
        rank: &Rank,
        key: Option<Key<Q>>,
        perform: Perform<Q, A>,
    ) -> Self {
        let (sender, requests) = mpsc::channel(WAITING_MAX);
        tokio::spawn(gather(store.clone(), requests, rank.clone(), key, perform));
        Self { requests: sender, open: rank.open.clone() }
    }

    async fn ask(&self, requests: &[Q]) -> Vec<Result<A, StoreError>> {
        let _open = self.open.open(requests.len());
        let mut waiting = Vec::with_capacity(requests.len());
        for request in requests {
            let (reply, answer) = oneshot::channel();
            // If it cannot be sent the answer says so, too.
            let _ = self.requests.send((request.clone(), reply)).await;
            waiting.push(answer);
        }
        let mut answers = Vec::with_capacity(waiting.len());
        for answer in waiting {
            answers.push(answer.await.unwrap_or_else(|_| Err(ended())));
        }
        answers
    }
}

/// Performs what gathers, until nobody is left to ask.
async fn gather<Q, A>(
    store: Arc<dyn FiringStore>,
    mut requests: mpsc::Receiver<Asked<Q, A>>,
    rank: Rank,
    key: Option<Key<Q>>,
    perform: Perform<Q, A>,
) {
    // What has the key of another that is under way.
    let mut held: VecDeque<Asked<Q, A>> = VecDeque::new();
    // What has waited for long enough, and yields no more.
    let mut patient = 0;
    loop {
        if held.is_empty() {
            match requests.recv().await {
                Some(first) => held.push_back(first),
                None => return,
            }
        }
        if patient == 0 && !rank.turn().await {
            // All that is here by now, or under a load that never rests the queue would only grow.
            patient = held.len() + requests.len();
        }
        while held.len() < GROUP_MAX {
            match requests.try_recv() {
                Ok(next) => held.push_back(next),
                Err(_) => break,
            }
        }
        let mut keys = HashSet::new();
        let (mut group, mut replies) = (Vec::new(), Vec::new());
        for (request, reply) in std::mem::take(&mut held) {
            if key.is_none_or(|key| keys.insert(key(&request).clone())) {
                group.push(request);
                replies.push(reply);
            } else {
                held.push_back((request, reply));
            }
        }
        patient = patient.saturating_sub(group.len());
        let mut answers = perform(store.clone(), group).await.into_iter();
        for reply in replies {
            // Who asked may have gone.
            let _ = reply.send(answers.next().unwrap_or_else(|| Err(ended())));
        }
    }
}

/// The answer to each of a group that is answered, or fails, as one.
fn each<A>(answers: Result<Vec<A>, StoreError>, n: usize) -> Vec<Result<A, StoreError>> {
    match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) => {
            let retryable = error.is_retryable();
            let text = crate::chain(&error);
            let copy = || {
                let source = text.clone().into();
                if retryable {
                    StoreError::Unavailable(source)
                } else {
                    StoreError::Refused(source)
                }
            };
            (0..n).map(|_| Err(copy())).collect()
        }
    }
}

fn ended() -> StoreError {
    StoreError::Unavailable("the store's tasks have ended".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    use domain::execution::Occurrence;
    use embedded::Store;
    use store_dynamodb::{DynamoJobStore, ensure_table};
    use tokio::time::Instant;

    /// More than two groups of them.
    const RELEASES: u32 = 1_000;

    #[tokio::test(start_paused = true)]
    async fn what_goes_last_keeps_up_while_something_always_goes_first() {
        let store = Store::in_memory().unwrap();
        ensure_table(&store.client(), "table").await.unwrap();
        let grouped =
            Arc::new(Grouped::new(Arc::new(DynamoJobStore::new(store.client(), "table"))));
        let starts = grouped.starts();
        let mut turns = Vec::new();
        for _ in 0..STARTS_MAX {
            turns.push(starts.turn().await);
        }
        let waiting = tokio::spawn(async move { starts.turn().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "there is no place left");

        let since = Instant::now();
        let releases = (0..RELEASES).map(|number| {
            let grouped = grouped.clone();
            tokio::spawn(async move { grouped.release(&[held(number)]).await.remove(0) })
        });
        for release in releases.collect::<Vec<_>>() {
            release.await.unwrap().unwrap();
        }
        let yielded = since.elapsed();
        assert!(yielded >= YIELD_MAX, "it went before the turn: {yielded:?}");
        assert!(yielded < 2 * YIELD_MAX, "each group waited: {yielded:?}");

        drop(turns);
        drop(waiting.await.unwrap());
        let since = Instant::now();
        grouped.release(&[held(0)]).await.remove(0).unwrap();
        assert!(since.elapsed() < YIELD_MAX, "nobody goes first");
        store.close().await;
    }

    fn held(number: u32) -> Held {
        let occurrence = Occurrence::Scheduled { nominal_at: DateTime::UNIX_EPOCH };
        let attempt = Attempt { number, ..Attempt::first(0, occurrence) };
        Held { job_uid: "job".to_owned(), attempt, claim_id: "claim".to_owned() }
    }
}
