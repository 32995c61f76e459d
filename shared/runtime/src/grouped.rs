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
//!
//! Settlements of one job exclude each other: each is written if the counters are as they were read,
//! and then the others have to look again. After an outage hundreds of them may come at once, so
//! those that were decided on the same reading are joined, and are one write. Should that fail, or
//! its answer be lost, it is with each of them as if it had come alone.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::work_item::JobRef;
use ports::firing::{
    Advance, Claim, Claimed, CounterUpdate, Due, Execution, Finish, FiringStore, Held, JobSnapshot,
    LongRetry, Mark, Recorded, Recording,
};
use ports::store::{Page, PageRequest};
use ports::{Gate, History, StoreError, TimerStore, Turn};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
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
    looks: Gathering<JobRef, Option<JobSnapshot>>,
    records: Gathering<Recording, Recorded>,
    settlements: Gathering<CounterUpdate, bool>,
    advanced: Arc<Advanced>,
    starts: Arc<Starts>,
}

/// Where attempts start.
pub struct Starts {
    places: Arc<Semaphore>,
    open: Arc<Open>,
    is_closed: watch::Sender<bool>,
}

#[async_trait]
impl Gate for Starts {
    async fn turn(&self) -> Turn {
        // While it waits, what comes after actions waits, too.
        let _open = self.open.open(1);
        // The places are never closed; without one it starts all the same.
        Box::new(self.places.clone().acquire_owned().await.ok())
    }

    async fn closed(&self) {
        // Nobody waits for longer than it is there.
        let _ = self.is_closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    fn close(&self) {
        self.is_closed.send_replace(true);
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
            claims: Gathering::new(&store, &before_actions, each_for_itself, |store, group| {
                Box::pin(async move { store.claim(&group).await })
            }),
            releases: Gathering::new(&store, &last, each_for_itself, |store, group| {
                Box::pin(async move { store.release(&group).await })
            }),
            looks: Gathering::new(&store, &before_actions, each_for_itself, |store, group| {
                Box::pin(async move {
                    let n = group.len();
                    each(store.look(&group).await, n)
                })
            }),
            records: Gathering::new(&store, &records, each_for_itself, |store, group| {
                Box::pin(async move { store.record(&group).await })
            }),
            settlements: Gathering::new(&store, &last, join_settlements, |store, group| {
                Box::pin(async move { store.settle(&group).await })
            }),
            advanced: Arc::default(),
            starts: Arc::new(Starts {
                places: Arc::new(Semaphore::new(STARTS_MAX)),
                open: urgent,
                is_closed: watch::Sender::new(false),
            }),
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
impl TimerStore for Grouped {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let moved = self.store.advance(advances).await;
        self.advanced.moved(advances);
        moved
    }
}

#[async_trait]
impl History for Grouped {
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.store.executions(job_uid, page).await
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

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        self.claims.ask(claims).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        self.releases.ask(claims).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
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

    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
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
}

/// Where an answer goes.
type Reply<A> = oneshot::Sender<Result<A, StoreError>>;
/// A request, and where its answer goes.
type Asked<Q, A> = (Q, Reply<A>);
/// The answers to a group, in its order.
type Answers<A> = Pin<Box<dyn Future<Output = Vec<Result<A, StoreError>>> + Send>>;
/// Performs a group.
type Perform<Q, A> = fn(Arc<dyn FiringStore>, Vec<Q>) -> Answers<A>;
/// Takes a request into a group.
type Take<Q, A> = fn(&mut Group<Q, A>, Asked<Q, A>) -> Option<Asked<Q, A>>;

/// Requests that are performed together, and where their answers go.
struct Group<Q, A> {
    requests: Vec<Q>,
    /// Of each of them.
    replies: Vec<Replies<A>>,
    /// Where in it the request of a job is, of kinds that are one for each job.
    of_job: HashMap<String, usize>,
}

/// Where the answer to a request goes.
struct Replies<A> {
    first: Reply<A>,
    /// To whom else, as others were joined to it.
    joined: Vec<Reply<A>>,
}

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

impl<Q: Clone + Send + 'static, A: Clone + Send + 'static> Gathering<Q, A> {
    fn new(
        store: &Arc<dyn FiringStore>,
        rank: &Rank,
        take: Take<Q, A>,
        perform: Perform<Q, A>,
    ) -> Self {
        let (sender, requests) = mpsc::channel(WAITING_MAX);
        tokio::spawn(gather(store.clone(), requests, rank.clone(), take, perform));
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

impl<Q, A> Group<Q, A> {
    fn new() -> Self {
        Self { requests: Vec::new(), replies: Vec::new(), of_job: HashMap::new() }
    }

    fn push(&mut self, (request, reply): Asked<Q, A>) {
        self.requests.push(request);
        self.replies.push(Replies { first: reply, joined: Vec::new() });
    }

    /// How many were asked for.
    fn asked(&self) -> usize {
        self.replies.iter().map(|replies| 1 + replies.joined.len()).sum()
    }
}

impl<A: Clone> Replies<A> {
    /// Gives each the answer: there is mostly one, so it is not copied for the first.
    fn send(self, answer: Result<A, StoreError>) {
        for reply in self.joined {
            let same = answer.as_ref().map(A::clone).map_err(copy);
            // Who asked may have gone.
            let _ = reply.send(same);
        }
        let _ = self.first.send(answer);
    }
}

fn each_for_itself<Q, A>(group: &mut Group<Q, A>, asked: Asked<Q, A>) -> Option<Asked<Q, A>> {
    group.push(asked);
    None
}

/// Joins what was decided on the same reading of a job; what was decided on another one is to find
/// what those have counted, and is given back.
fn join_settlements(
    group: &mut Group<CounterUpdate, bool>,
    (settlement, reply): Asked<CounterUpdate, bool>,
) -> Option<Asked<CounterUpdate, bool>> {
    let place = group.of_job.get(&settlement.job_uid).copied();
    let Some((there, replies)) =
        place.and_then(|at| group.requests.get_mut(at).zip(group.replies.get_mut(at)))
    else {
        group.of_job.insert(settlement.job_uid.clone(), group.requests.len());
        group.push((settlement, reply));
        return None;
    };
    match there.join(settlement) {
        Ok(()) => replies.joined.push(reply),
        Err(settlement) => return Some((settlement, reply)),
    }
    None
}

/// Performs what gathers, until nobody is left to ask.
async fn gather<Q, A: Clone>(
    store: Arc<dyn FiringStore>,
    mut requests: mpsc::Receiver<Asked<Q, A>>,
    rank: Rank,
    take: Take<Q, A>,
    perform: Perform<Q, A>,
) {
    // What cannot be in a group with another that is under way.
    let mut held: Vec<Asked<Q, A>> = Vec::new();
    // What has waited for long enough, and yields no more.
    let mut patient = 0;
    loop {
        if held.is_empty() {
            match requests.recv().await {
                Some(first) => held.push(first),
                None => return,
            }
        }
        if patient == 0 && !rank.turn().await {
            // All that is here by now, or under a load that never rests the queue would only grow.
            patient = held.len() + requests.len();
        }
        let mut group = Group::new();
        for asked in std::mem::take(&mut held) {
            held.extend(take(&mut group, asked));
        }
        // Joined, they make no group larger: but more may come as fast as they are taken.
        for _ in 0..WAITING_MAX {
            if group.requests.len() + held.len() >= GROUP_MAX {
                break;
            }
            match requests.try_recv() {
                Ok(next) => held.extend(take(&mut group, next)),
                Err(_) => break,
            }
        }
        patient = patient.saturating_sub(group.asked());
        let mut answers = perform(store.clone(), group.requests).await.into_iter();
        for replies in group.replies {
            let answer = answers.next().unwrap_or_else(|| Err(ended()));
            replies.send(answer);
        }
    }
}

/// The answer to each of a group that is answered, or fails, as one.
fn each<A>(answers: Result<Vec<A>, StoreError>, n: usize) -> Vec<Result<A, StoreError>> {
    match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) => (0..n).map(|_| Err(copy(&error))).collect(),
    }
}

/// An error for each of several that it is the answer to.
fn copy(error: &StoreError) -> StoreError {
    let source = crate::chain(error).into();
    if error.is_retryable() { StoreError::Unavailable(source) } else { StoreError::Refused(source) }
}

fn ended() -> StoreError {
    StoreError::Unavailable("the store's tasks have ended".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    use domain::attempt::Occurrence;
    use embedded::Store;
    use store_dynamodb::{DynamoStore, ensure_table};
    use tokio::time::Instant;

    /// More than two groups of them.
    const RELEASES: u32 = 1_000;

    #[tokio::test(start_paused = true)]
    async fn what_goes_last_keeps_up_while_something_always_goes_first() {
        let store = Store::in_memory().unwrap();
        ensure_table(&store.client(), "table").await.unwrap();
        let grouped =
            Arc::new(Grouped::new(Arc::new(DynamoStore::new(store.client(), "table"))));
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
