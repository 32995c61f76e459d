//! A thread that serves requests from a channel in passes, and makes checkpoints.
//!
//! SQLite is synchronous and has one connection here, so one thread suffices, and a thread of its own
//! never blocks the async runtime. A pass serves the requests that wait in the channel, up to a limit,
//! and waits for the disk at most once. Checkpoints run between passes on the same thread, so they
//! contend for no lock.
//!
//! The thread ends when the last sender is dropped, or after [`ThreadMessage::Close`]. It answers all
//! requests that it accepted before. SQLite then makes a last checkpoint and removes its log. A crash
//! before that leaves the log, which contains everything that was answered.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::OpenError;
use crate::log::NoWrites;

/// The most requests that wait in a channel; further callers wait for a permit.
pub const IN_FLIGHT_MAX: usize = 1024;

/// A message to a thread.
pub(crate) enum ThreadMessage<R> {
    Request(R),
    /// Check whether the disk accepts writes.
    CheckDisk(oneshot::Sender<Result<(), NoWrites>>),
    /// Stop, drop the database, and reply. Later requests are not answered.
    Close(oneshot::Sender<()>),
}

/// Serves the requests of a thread.
pub(crate) trait Server: Send + 'static {
    /// The requests that this server serves.
    type Request: Send + 'static;

    /// How long a write may stay in the log only.
    const CHECKPOINT_EVERY: Duration;

    /// Serves a request, together with requests that wait behind it.
    fn pass(&mut self, first: Self::Request, waiting: &mut Waiting<'_, Self::Request>);

    /// Returns whether a checkpoint would have anything to do.
    fn is_ahead_of_checkpoint(&self) -> bool;

    /// Moves the log into the database.
    fn checkpoint(&mut self);

    /// Checks whether the disk accepts writes, by making one.
    fn accepts_writes(&mut self) -> Result<(), NoWrites>;
}

/// The requests that wait in the channel behind the first one of a pass.
pub(crate) struct Waiting<'a, R> {
    messages: &'a Receiver<ThreadMessage<R>>,
    /// The reply to a caller that checks the disk.
    checking: Option<oneshot::Sender<Result<(), NoWrites>>>,
    /// The reply to the caller that stops the thread.
    closing: Option<oneshot::Sender<()>>,
}

impl<'a, R> Waiting<'a, R> {
    pub(crate) const fn on(messages: &'a Receiver<ThreadMessage<R>>) -> Self {
        Self { messages, checking: None, closing: None }
    }

    /// Takes the next request. Returns `None` if none waits, or if another message came first.
    pub(crate) fn take(&mut self) -> Option<R> {
        if self.closing.is_some() || self.checking.is_some() {
            return None;
        }
        match self.messages.try_recv() {
            Ok(ThreadMessage::Request(request)) => Some(request),
            Ok(ThreadMessage::CheckDisk(reply)) => {
                self.checking = Some(reply);
                None
            }
            Ok(ThreadMessage::Close(reply)) => {
                self.closing = Some(reply);
                None
            }
            // Nothing waits, or all senders are gone; the next wait finds out which.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }
}

/// Starts the thread of the store or the queue.
pub(crate) fn start<S: Server>(
    what: &'static str,
    server: S,
) -> Result<Sender<ThreadMessage<S::Request>>, OpenError> {
    let (messages, received) = channel();
    Builder::new()
        .name(what.to_owned())
        .spawn(move || serve(server, &received))
        .map_err(|source| OpenError::Thread { what, source })?;
    Ok(messages)
}

/// Lets a thread answer all accepted requests and stop, and waits until it has dropped its
/// database.
pub(crate) async fn close<R>(messages: Sender<ThreadMessage<R>>) {
    let (reply, closed) = oneshot::channel();
    // If either fails, the thread has already ended.
    if messages.send(ThreadMessage::Close(reply)).is_ok() {
        let _ = closed.await;
    }
}

/// Serves until all senders are gone or the thread is closed.
pub(crate) fn serve<S: Server>(mut server: S, messages: &Receiver<ThreadMessage<S::Request>>) {
    let mut waiting = Waiting::on(messages);
    let mut checkpoint_at = None;
    while waiting.closing.is_none() {
        match wait(messages, checkpoint_at) {
            Ok(ThreadMessage::Request(request)) => server.pass(request, &mut waiting),
            Ok(ThreadMessage::CheckDisk(reply)) => waiting.checking = Some(reply),
            Ok(ThreadMessage::Close(reply)) => waiting.closing = Some(reply),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(reply) = waiting.checking.take() {
            // The caller may have been cancelled.
            let _ = reply.send(server.accepts_writes());
        }
        let now = Instant::now();
        if checkpoint_at.is_some_and(|at| at <= now) {
            checkpoint_at = None;
            server.checkpoint();
        }
        if checkpoint_at.is_none() && server.is_ahead_of_checkpoint() {
            checkpoint_at = Some(now + S::CHECKPOINT_EVERY);
        }
    }
    drop(server);
    if let Some(closed) = waiting.closing {
        // The caller may have been cancelled.
        let _ = closed.send(());
    }
}

/// Waits for a message, until the next checkpoint is due if there is one.
fn wait<R>(
    messages: &Receiver<ThreadMessage<R>>,
    until: Option<Instant>,
) -> Result<ThreadMessage<R>, RecvTimeoutError> {
    match until {
        Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
