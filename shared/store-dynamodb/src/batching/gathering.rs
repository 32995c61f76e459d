//! One task for each kind of call: it performs a group while the next one gathers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use minutehand_ports::StoreError;
use tokio::sync::{mpsc, oneshot};

use super::permits::Permits;
use super::priority::{OpenCalls, Priority};
use crate::table::SharedError;

/// The most requests of a group: several transactions, so that the store prepares one while it
/// performs another.
const GROUP_MAX: usize = 400;
/// The most requests of a kind that may gather, of kinds for which collections take turns. While one
/// group is performed, another one gathers.
const IN_TURN_MAX: usize = 600;
/// The most requests of a kind that may wait. Further callers wait for a place.
const WAITING_MAX: usize = 4_096;

/// Where an answer goes.
type Reply<A> = oneshot::Sender<Result<A, StoreError>>;
/// A request with its reply channel.
pub(super) type Call<Q, A> = (Q, Reply<A>);
/// The answers to a group, in its order.
type Answers<A> = Pin<Box<dyn Future<Output = Vec<Result<A, StoreError>>> + Send>>;
/// Performs a group.
type Perform<S, Q, A> = fn(Arc<S>, Vec<Q>) -> Answers<A>;
/// Takes a call into a group. It returns the call if the call must wait for the next group.
type Take<Q, A> = fn(&mut Group<Q, A>, Call<Q, A>) -> Option<Call<Q, A>>;

/// Where calls of a kind gather.
pub(super) struct Gathering<Q, A> {
    calls: mpsc::Sender<Call<Q, A>>,
    open: Arc<OpenCalls>,
    turns: Arc<Permits>,
}

/// Requests that are performed together, and where their answers go.
pub(super) struct Group<Q, A> {
    pub(super) requests: Vec<Q>,
    /// For each request.
    pub(super) replies: Vec<Replies<A>>,
    /// The position of the request of a job, for kinds with one request for each job.
    pub(super) of_job: HashMap<String, usize>,
}

/// The callers that wait for the answer to one request.
pub(super) struct Replies<A> {
    first: Reply<A>,
    /// The callers whose requests were joined to it.
    pub(super) joined: Vec<Reply<A>>,
}

impl<Q: Send + 'static, A: Clone + Send + 'static> Gathering<Q, A> {
    pub(super) fn new<S: Send + Sync + 'static>(
        store: &Arc<S>,
        priority: &Priority,
        take: Take<Q, A>,
        perform: Perform<S, Q, A>,
    ) -> Self {
        let (sender, calls) = mpsc::channel(WAITING_MAX);
        let gathering = gather(store.clone(), calls, priority.clone(), take, perform);
        priority.host.spawn(Box::pin(gathering));
        Self { calls: sender, open: priority.open.clone(), turns: Permits::new(IN_TURN_MAX) }
    }

    /// As [`ask`](Self::ask), and collections take turns: the burst of one is not before the requests
    /// of another.
    pub(super) async fn ask_in_turn(
        &self,
        collection_uid: &str,
        request: Q,
    ) -> Result<A, StoreError> {
        let _open = self.open.open();
        let _permit = self.turns.permit(collection_uid).await;
        self.ask(request).await
    }

    pub(super) async fn ask(&self, request: Q) -> Result<A, StoreError> {
        let _open = self.open.open();
        let (reply, answer) = oneshot::channel();
        // If the request cannot be sent, the reply channel is closed.
        let _ = self.calls.send((request, reply)).await;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl<Q, A> Group<Q, A> {
    fn new() -> Self {
        Self { requests: Vec::new(), replies: Vec::new(), of_job: HashMap::new() }
    }

    pub(super) fn push(&mut self, (request, reply): Call<Q, A>) {
        self.requests.push(request);
        self.replies.push(Replies { first: reply, joined: Vec::new() });
    }

    /// How many calls are in it.
    fn calls(&self) -> usize {
        self.replies.iter().map(|replies| 1 + replies.joined.len()).sum()
    }
}

impl<A: Clone> Replies<A> {
    /// Gives the answer to each caller. Mostly there is one, so the answer is not copied for it. A
    /// caller may have gone.
    fn send(self, answer: Result<A, StoreError>) {
        let answer = match answer {
            Err(error) if !self.joined.is_empty() => {
                let error = SharedError::new(error);
                for reply in self.joined {
                    let _ = reply.send(Err(error.copy()));
                }
                Err(error.copy())
            }
            answer => {
                for reply in self.joined {
                    if let Ok(answer) = &answer {
                        let _ = reply.send(Ok(answer.clone()));
                    }
                }
                answer
            }
        };
        let _ = self.first.send(answer);
    }
}

/// Takes a call into a group as a request of its own.
pub(super) fn add_to_group<Q, A>(group: &mut Group<Q, A>, call: Call<Q, A>) -> Option<Call<Q, A>> {
    group.push(call);
    None
}

/// Performs groups until no caller is left.
async fn gather<S, Q, A: Clone>(
    store: Arc<S>,
    mut calls: mpsc::Receiver<Call<Q, A>>,
    priority: Priority,
    take: Take<Q, A>,
    perform: Perform<S, Q, A>,
) {
    // Calls that must not be in one group with another call that is in progress.
    let mut held: Vec<Call<Q, A>> = Vec::new();
    // How many calls have waited for long enough, and no longer yield.
    let mut patient = 0;
    loop {
        if held.is_empty() {
            match calls.recv().await {
                Some(first) => held.push(first),
                None => return,
            }
        }
        if patient == 0 && !priority.turn().await {
            // All calls that have come by now: under a constant load the queue would only grow.
            patient = held.len() + calls.len();
        }
        let mut group = Group::new();
        for call in std::mem::take(&mut held) {
            held.extend(take(&mut group, call));
        }
        // Joined calls make a group no larger, but more may come as fast as they are taken.
        for _ in 0..WAITING_MAX {
            if group.requests.len() + held.len() >= GROUP_MAX {
                break;
            }
            match calls.try_recv() {
                Ok(next) => held.extend(take(&mut group, next)),
                Err(_) => break,
            }
        }
        patient = patient.saturating_sub(group.calls());
        let mut answers = perform(store.clone(), group.requests).await.into_iter();
        for replies in group.replies {
            let answer = answers.next().unwrap_or_else(|| Err(ended()));
            replies.send(answer);
        }
    }
}

fn ended() -> StoreError {
    StoreError::Unavailable("the store's tasks have ended".into())
}
