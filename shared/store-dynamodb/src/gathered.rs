//! Gathers concurrent reads of snapshots, and concurrent counts, of the messages of one invocation.
//!
//! The jobs of a batch are mostly of a few collections. Read together, the switch of each collection is read
//! once, which saves up to a third of the price. Counter updates of one job exclude each other: each is written
//! only if the counters are as they were read, and after it the others must read again. After an outage
//! hundreds of them may come at once. So updates that were decided on the same reading are joined into one
//! write. If that write fails, or its answer is lost, it is for each of them as if it had come alone.
//!
//! Calls of a kind go through one task: while it performs a group, the next group gathers. A call that comes
//! alone is a group of its own, and waits for no other call of its kind. A call is performed even if its
//! caller has gone, as if its answer was lost.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{StreamExt as _, iter};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Claim, CounterUpdate, CountersLayer, JobSnapshot, Layer, SnapshotsLayer,
};
use minutehand_ports::{Counters, Snapshots, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::store::DynamoStore;
use crate::table::{SharedError, WRITES_IN_FLIGHT_MAX};

/// The most jobs whose snapshots are read together.
const READ_MAX: usize = 400;
/// The most calls of a kind that may wait. Further callers wait for a place.
const WAITING_MAX: usize = 4_096;

/// Where an answer goes.
type Reply<A> = oneshot::Sender<Result<A, StoreError>>;
type Snapshot = Option<Arc<JobSnapshot>>;

/// The snapshots and the counters of a store, whose calls gather. It must be called within a Tokio runtime; its
/// tasks end when both are dropped.
#[must_use]
pub fn gathering(store: &Arc<DynamoStore>) -> (Arc<dyn Snapshots>, Arc<dyn Counters>) {
    let (reads, reading) = mpsc::channel(WAITING_MAX);
    tokio::spawn(read(store.clone(), reading));
    let (updates, updating) = mpsc::channel(WAITING_MAX);
    tokio::spawn(count(store.clone(), updating));
    let counters = Gathered { store: store.clone(), calls: updates };
    (Arc::new(Gathered { store: store.clone(), calls: reads }), Arc::new(counters))
}

/// A store of whose calls one kind gathers.
struct Gathered<Q, A> {
    store: Arc<DynamoStore>,
    calls: mpsc::Sender<(Q, Reply<A>)>,
}

impl<Q: Send, A: Send> Gathered<Q, A> {
    async fn ask(&self, request: Q) -> Result<A, StoreError> {
        let (reply, answer) = oneshot::channel();
        // If the request cannot be sent, the reply channel is closed.
        let _ = self.calls.send((request, reply)).await;
        answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("its task has ended".into())))
    }
}

impl<Q: Send, A: Send> Layer for Gathered<Q, A> {
    type Inner = DynamoStore;

    fn inner(&self) -> Arc<DynamoStore> {
        self.store.clone()
    }
}

#[async_trait]
impl SnapshotsLayer for Gathered<JobRef, Snapshot> {
    async fn read(&self, job: &JobRef) -> Result<Snapshot, StoreError> {
        self.ask(job.clone()).await
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Snapshot, StoreError> {
        self.ask(claim.job.clone()).await
    }
}

#[async_trait]
impl CountersLayer for Gathered<CounterUpdate, bool> {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        self.ask(update.clone()).await
    }
}

/// Reads snapshots until no caller is left.
async fn read(store: Arc<DynamoStore>, mut calls: mpsc::Receiver<(JobRef, Reply<Snapshot>)>) {
    let mut group = Vec::new();
    while calls.recv_many(&mut group, READ_MAX).await > 0 {
        let (jobs, replies): (Vec<_>, Vec<_>) = group.drain(..).unzip();
        match store.read_all(&jobs).await {
            Ok(snapshots) => succeed(replies, snapshots),
            Err(error) => fail(replies, error),
        }
    }
}

/// Counts until no caller is left.
async fn count(store: Arc<DynamoStore>, mut calls: mpsc::Receiver<(CounterUpdate, Reply<bool>)>) {
    let mut waiting = Vec::new();
    loop {
        if waiting.is_empty() && calls.recv_many(&mut waiting, WAITING_MAX).await == 0 {
            return;
        }
        let (group, rest) = joined(std::mem::take(&mut waiting));
        waiting = rest;
        let counting =
            group.into_values().map(async |(update, replies)| match store.add(&update).await {
                Ok(is_counted) => succeed(replies, std::iter::repeat(is_counted)),
                Err(error) => fail(replies, error),
            });
        let counting: Vec<_> = counting.collect();
        iter(counting).buffer_unordered(WRITES_IN_FLIGHT_MAX).collect::<()>().await;
    }
}

/// The updates to write now, by job, and where their answers go. An update that was decided on another reading
/// than the one of its job before it waits: it fails if others were counted.
fn joined(calls: Vec<(CounterUpdate, Reply<bool>)>) -> (Joined, Vec<(CounterUpdate, Reply<bool>)>) {
    let (mut group, mut rest) = (Joined::new(), Vec::new());
    for (update, reply) in calls {
        match group.get_mut(&update.job_uid) {
            None => {
                group.insert(update.job_uid.clone(), (update, vec![reply]));
            }
            Some((first, replies)) => match first.join(update) {
                Ok(()) => replies.push(reply),
                Err(update) => rest.push((*update, reply)),
            },
        }
    }
    (group, rest)
}

/// Updates and where their answers go, by job.
type Joined = HashMap<String, (CounterUpdate, Vec<Reply<bool>>)>;

/// Gives each caller its answer. A caller may have gone.
fn succeed<A>(replies: Vec<Reply<A>>, answers: impl IntoIterator<Item = A>) {
    for (reply, answer) in replies.into_iter().zip(answers) {
        let _ = reply.send(Ok(answer));
    }
}

fn fail<A>(replies: Vec<Reply<A>>, error: StoreError) {
    let error = SharedError::new(error);
    for reply in replies {
        let _ = reply.send(Err(error.copy()));
    }
}
