//! A thread that serves requests from a channel, in passes, and looks after its log.
//!
//! SQLite is synchronous and has one connection here, so one thread is all it can use, and on a
//! thread of its own it never holds up the runtime. A pass is what waits in the channel, up to a
//! limit: whoever serves it makes one wait for the disk of it. Checkpoints are made between passes,
//! on this thread, so that none contends for a lock.
//!
//! The thread ends when the last sender is gone, or after [`ThreadMessage::Close`], with everything it
//! had accepted before answered. SQLite then makes a last checkpoint and removes its log. A crash
//! before the end leaves the log, and with it everything that was answered.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::OpenError;
use crate::log::NoWrites;

/// Requests that may wait in a channel; further callers wait for a place.
pub const IN_FLIGHT_MAX: usize = 1024;

/// What a thread is asked.
pub(crate) enum ThreadMessage<R> {
    Request(R),
    /// Say whether the disk takes writes.
    Try(oneshot::Sender<Result<(), NoWrites>>),
    /// Stop, drop the database, and say so. What comes after is not answered.
    Close(oneshot::Sender<()>),
}

/// Who serves the requests.
pub(crate) trait Server: Send + 'static {
    /// What it is asked.
    type Request: Send + 'static;

    /// How long something that was written may stay in the log alone.
    const CHECKPOINT_EVERY: Duration;

    /// Serves a request and as many of those that wait behind it as it takes together.
    fn pass(&mut self, first: Self::Request, waiting: &mut Waiting<'_, Self::Request>);

    /// Whether a checkpoint would find something to do.
    fn is_ahead_of_checkpoint(&self) -> bool;

    /// Moves the log into the database.
    fn checkpoint(&mut self);

    /// Whether the disk takes writes; it tries one.
    fn takes_writes(&mut self) -> Result<(), NoWrites>;
}

/// What waits in the channel behind a request.
pub(crate) struct Waiting<'a, R> {
    messages: &'a Receiver<ThreadMessage<R>>,
    /// Who wants to know whether the disk takes writes.
    trying: Option<oneshot::Sender<Result<(), NoWrites>>>,
    /// Whom to tell when the thread has stopped, once it was told to.
    closing: Option<oneshot::Sender<()>>,
}

impl<'a, R> Waiting<'a, R> {
    pub(crate) const fn on(messages: &'a Receiver<ThreadMessage<R>>) -> Self {
        Self { messages, trying: None, closing: None }
    }

    /// Takes the next one; `None` if none waits, or the thread is told something else.
    pub(crate) fn take(&mut self) -> Option<R> {
        if self.closing.is_some() || self.trying.is_some() {
            return None;
        }
        match self.messages.try_recv() {
            Ok(ThreadMessage::Request(request)) => Some(request),
            Ok(ThreadMessage::Try(reply)) => {
                self.trying = Some(reply);
                None
            }
            Ok(ThreadMessage::Close(reply)) => {
                self.closing = Some(reply);
                None
            }
            // Nothing waits, or nobody is left to send: the next wait tells which.
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

/// Stops a thread once what it has accepted is answered, and waits until it has dropped its
/// database.
pub(crate) async fn close<R>(messages: Sender<ThreadMessage<R>>) {
    let (reply, closed) = oneshot::channel();
    // If either fails the thread has ended by itself, which is what was wanted.
    if messages.send(ThreadMessage::Close(reply)).is_ok() {
        let _ = closed.await;
    }
}

/// Serves until there is nobody left to serve.
pub(crate) fn serve<S: Server>(mut server: S, messages: &Receiver<ThreadMessage<S::Request>>) {
    let mut waiting = Waiting::on(messages);
    let mut checkpoint_at = None;
    while waiting.closing.is_none() {
        match wait(messages, checkpoint_at) {
            Ok(ThreadMessage::Request(request)) => server.pass(request, &mut waiting),
            Ok(ThreadMessage::Try(reply)) => waiting.trying = Some(reply),
            Ok(ThreadMessage::Close(reply)) => waiting.closing = Some(reply),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(reply) = waiting.trying.take() {
            // Who asked may have stopped waiting.
            let _ = reply.send(server.takes_writes());
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
        // Who asked may have stopped waiting.
        let _ = closed.send(());
    }
}

/// Waits for a message; without something to write back, for as long as it takes.
fn wait<R>(
    messages: &Receiver<ThreadMessage<R>>,
    until: Option<Instant>,
) -> Result<ThreadMessage<R>, RecvTimeoutError> {
    match until {
        Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
