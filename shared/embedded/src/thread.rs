//! The store's thread: it takes requests from the channel in passes, and looks after the disk.
//!
//! dynoxide is synchronous and has one connection, so one thread is all it can use, and on a
//! thread of its own it never holds up the runtime. A pass is what waits in the channel, up to
//! [`PASS_MAX`]. In [`SyncMode::Full`] the answers of a pass, from its first write on, wait for one
//! `fsync`: nobody, not even a reader, is told of a write that a power cut could take back. Each
//! request is still a transaction of its own in SQLite, since dynoxide begins and ends it, so a
//! pass shares the wait for the disk and not the commit.
//!
//! Checkpoints are made between passes, on this thread, so that none contends for a lock.
//!
//! The thread ends when the last sender is gone, or after [`Message::Close`], with everything it
//! had accepted before answered. SQLite then makes a last checkpoint and removes its log. A crash
//! before the end leaves the log, and with it everything that was answered.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use aws_smithy_types::body::SdkBody;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::database::{Answer, Database};
use crate::store::SyncMode;

/// How long something that was written may stay in the log alone.
///
/// With [`SyncMode::Normal`] it is also what a power cut can take.
pub const CHECKPOINT_EVERY: Duration = Duration::from_millis(100);

/// Requests that are served before their writes are synced and answered together.
///
/// Sixty-four writes take a few milliseconds, about what a disk takes to sync them: more would only
/// make the first wait for the last.
pub const PASS_MAX: usize = 64;

/// Requests that may wait in the channel; further callers wait for a place.
pub const IN_FLIGHT_MAX: usize = 1024;

/// What the thread is asked.
pub(crate) enum Message {
    Call(Call),
    /// Stop, drop the database, and say so. What comes after is not answered.
    Close(oneshot::Sender<()>),
}

/// One request of the SDK.
pub(crate) struct Call {
    pub(crate) operation: String,
    pub(crate) body: SdkBody,
    pub(crate) reply: oneshot::Sender<Answer>,
    /// The place in the channel, free again when the request is answered.
    pub(crate) place: OwnedSemaphorePermit,
}

/// Serves until there is nobody left to serve.
pub(crate) fn serve(mut database: Database, sync: SyncMode, messages: &Receiver<Message>) {
    let mut checkpoint_at = None;
    let closed = loop {
        let closing = match wait(messages, checkpoint_at) {
            Ok(Message::Call(call)) => pass(&mut database, sync, call, messages),
            Ok(Message::Close(reply)) => Some(reply),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break None,
        };
        if closing.is_some() {
            break closing;
        }
        let now = Instant::now();
        if checkpoint_at.is_some_and(|at| at <= now) {
            checkpoint_at = None;
            database.checkpoint();
        }
        if checkpoint_at.is_none() && database.is_ahead_of_checkpoint() {
            checkpoint_at = Some(now + CHECKPOINT_EVERY);
        }
    };
    drop(database);
    if let Some(closed) = closed {
        // Who asked may have stopped waiting.
        let _ = closed.send(());
    }
}

/// Waits for a message; without something to write back, for as long as it takes.
fn wait(messages: &Receiver<Message>, until: Option<Instant>) -> Result<Message, RecvTimeoutError> {
    match until {
        Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

/// Serves a request and what waits behind it. Returns whom to tell if one of them says to stop.
fn pass(
    database: &mut Database,
    sync: SyncMode,
    mut call: Call,
    messages: &Receiver<Message>,
) -> Option<oneshot::Sender<()>> {
    let mut held = Vec::new();
    let mut n_served = 0;
    let closing = loop {
        let answer = database.answer(&call.operation, call.body.bytes().unwrap_or_default());
        // A caller that has stopped waiting has also stopped caring: its request was performed,
        // as one would be whose answer was lost on the way from AWS.
        if sync == SyncMode::Full && database.is_ahead_of_disk() {
            held.push((call.reply, answer, call.place));
        } else {
            let _ = call.reply.send(answer);
        }
        n_served += 1;
        if n_served == PASS_MAX {
            break None;
        }
        match messages.try_recv() {
            Ok(Message::Call(next)) => call = next,
            Ok(Message::Close(reply)) => break Some(reply),
            // Nothing waits, or nobody is left to send: the next wait tells which.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break None,
        }
    };
    if !held.is_empty() {
        let is_durable = database.sync();
        for (reply, answer, _place) in held {
            let _ = reply.send(if is_durable { answer } else { Database::failed() });
        }
    }
    closing
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use tokio::sync::Semaphore;

    use crate::database::tests::{GET, PUT, break_disk, with_table};

    /// Queues the requests and a request to stop, serves them, and returns the statuses answered.
    fn serve_all(database: Database, sync: SyncMode, requests: &[(&str, &str)]) -> Vec<u16> {
        let places = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        let (messages, received) = channel();
        let mut answers = Vec::new();
        for (operation, body) in requests {
            let (reply, answer) = oneshot::channel();
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            let (operation, body) = ((*operation).to_owned(), SdkBody::from(*body));
            messages.send(Message::Call(Call { operation, body, reply, place })).unwrap();
            answers.push(answer);
        }
        let (reply, mut closed) = oneshot::channel();
        messages.send(Message::Close(reply)).unwrap();
        serve(database, sync, &received);
        closed.try_recv().unwrap();
        assert_eq!(places.available_permits(), IN_FLIGHT_MAX, "every place is free again");
        answers.iter_mut().map(|answer| answer.try_recv().unwrap().status).collect()
    }

    #[test]
    fn what_was_accepted_before_the_end_is_answered() {
        let dir = tempfile::tempdir().unwrap();
        let requests = [("PutItem", PUT); 3 * PASS_MAX];
        let answers = serve_all(with_table(dir.path()), SyncMode::Full, &requests);
        assert_eq!(answers, [200; 3 * PASS_MAX]);
    }

    #[cfg(unix)]
    #[test]
    fn in_full_mode_nobody_is_told_of_a_write_that_is_not_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        assert!(database.sync());
        break_disk(&mut database);
        let requests = [("GetItem", GET), ("PutItem", PUT), ("GetItem", GET)];
        // The first read knows nothing of the write; the second would have told of it.
        assert_eq!(serve_all(database, SyncMode::Full, &requests), [200, 500, 500]);
    }

    #[cfg(unix)]
    #[test]
    fn in_normal_mode_no_answer_waits_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        break_disk(&mut database);
        assert_eq!(serve_all(database, SyncMode::Normal, &[("PutItem", PUT)]), [200]);
    }
}
