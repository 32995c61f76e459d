//! What the queue's thread does with the calls that wait for it.
//!
//! A pass is one transaction, and at most one wait for the disk: what ten senders brought together
//! costs little more than what one did. The answers come after both, for all of them or for none.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};

use super::file::QueueFile;
use crate::log::{NoWrites, SyncMode};
use crate::serving::{Server, Waiting};

/// How long a message may stay in the log alone. It is as durable there: what grows with the time
/// is the log, which the next start reads after a crash.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Messages that a pass takes on before it is committed and answered.
///
/// A thousand take a few milliseconds, about what a disk takes to sync them: more would only make
/// the first wait for the last.
const PASS_MAX: usize = 1_000;

/// What is asked of the thread.
pub(crate) struct QueueCommand {
    pub(super) kind: Kind,
    /// What it adds to a pass.
    pub(super) n_messages: usize,
    pub(super) work: Box<dyn Work>,
    /// The place in the channel, free again when the call is answered. What the queue asks of
    /// itself has none.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

/// What a call means to those who did not make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Adds messages: they are on the disk before it is answered.
    Sends,
    /// Makes messages visible, at once or later.
    Returns,
    /// Ends messages.
    Ends,
    /// Promises nothing: who reads, or hides what a crash makes visible again.
    Looks,
}

/// A piece of work in a transaction, and somebody who waits for it.
pub(super) trait Work: Send {
    /// Does it; called once.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// Says what became of it.
    fn answer(self: Box<Self>, outcome: Result<(), QueueFailure>);
}

/// Why a pass failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum QueueFailure {
    /// Nothing of it was done, and the next may succeed.
    #[error("cannot change the queue's database")]
    Database(#[source] Arc<rusqlite::Error>),
    /// It may be done or not.
    #[error("the disk refused a write of the embedded queue: start it again")]
    Disk,
    /// There is no thread.
    #[error("the queue is closed")]
    Closed,
}

/// The usual work: a function, whose result is the answer.
pub(super) struct Task<T, F> {
    perform: Option<F>,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, QueueFailure>>,
}

impl<T, F> Task<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send,
{
    pub(super) const fn new(perform: F, reply: oneshot::Sender<Result<T, QueueFailure>>) -> Self {
        Self { perform: Some(perform), result: None, reply }
    }
}

impl<T, F> Work for Task<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send,
{
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.result = self.perform.take().map(|perform| perform(connection)).transpose()?;
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), QueueFailure>) {
        let Self { result, reply, .. } = *self;
        // Who asked may have stopped waiting; it is done all the same.
        let _ = reply.send(outcome.and_then(|()| result.ok_or(QueueFailure::Closed)));
    }
}

/// The queue's end of the channel.
pub(super) struct QueueServer {
    pub(super) file: QueueFile,
    pub(super) sync: SyncMode,
    /// Who waits for a message.
    pub(super) wake: Arc<Notify>,
}

impl Server for QueueServer {
    type Request = QueueCommand;

    const CHECKPOINT_EVERY: Duration = CHECKPOINT_EVERY;

    fn pass(&mut self, first: QueueCommand, waiting: &mut Waiting<'_, QueueCommand>) {
        let mut n_messages = 0;
        let mut calls = Vec::new();
        let mut next = Some(first);
        while let Some(call) = next {
            n_messages += call.n_messages.max(1);
            calls.push(call);
            next = if n_messages < PASS_MAX { waiting.take() } else { None };
        }
        let outcome = self.perform(&mut calls);
        // Who waits on a queue that fails should hear of it too.
        let wakes = outcome.is_err() || calls.iter().any(|call| call.kind.wakes());
        for QueueCommand { work, place, .. } in calls {
            work.answer(outcome.clone());
            drop(place);
        }
        if wakes {
            self.wake.notify_one();
        }
    }

    fn is_ahead_of_checkpoint(&self) -> bool {
        self.file.is_ahead_of_checkpoint()
    }

    fn checkpoint(&mut self) {
        self.file.checkpoint();
    }

    fn takes_writes(&mut self) -> Result<(), NoWrites> {
        self.file.takes_writes()
    }
}

impl QueueServer {
    fn perform(&mut self, calls: &mut [QueueCommand]) -> Result<(), QueueFailure> {
        if self.file.has_failed() {
            return Err(QueueFailure::Disk);
        }
        self.file
            .transact(|connection| {
                calls.iter_mut().try_for_each(|call| call.work.perform(connection))
            })
            .map_err(|error| QueueFailure::Database(Arc::new(error)))?;
        let waits_for_disk = calls.iter().any(|call| call.kind.waits_for_disk(self.sync));
        if waits_for_disk && !self.file.sync() {
            return Err(QueueFailure::Disk);
        }
        Ok(())
    }
}

impl Drop for QueueServer {
    /// Who waits would wait for ever; now it finds the queue closed.
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

impl Kind {
    const fn wakes(self) -> bool {
        match self {
            Self::Sends | Self::Returns => true,
            Self::Ends | Self::Looks => false,
        }
    }

    fn waits_for_disk(self, sync: SyncMode) -> bool {
        match self {
            Self::Sends => true,
            Self::Returns | Self::Ends => sync == SyncMode::Full,
            Self::Looks => false,
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    use std::sync::mpsc::channel;

    use crate::data_dir::DataDir;
    use crate::queue::table::{self, StoredMessage};
    use crate::serving::{ThreadMessage, serve};

    type QueueAnswer = oneshot::Receiver<Result<(), QueueFailure>>;

    fn call(
        kind: Kind,
        perform: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> (ThreadMessage<QueueCommand>, QueueAnswer) {
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Task::new(perform, reply));
        (ThreadMessage::Request(QueueCommand { kind, n_messages: 1, work, place: None }), answer)
    }

    fn send() -> (ThreadMessage<QueueCommand>, QueueAnswer) {
        let letter = StoredMessage { due: 0, sent: 0, body: String::new() };
        call(Kind::Sends, move |connection| table::send(connection, &[letter]))
    }

    /// Anything that changes the database, of some kind.
    fn change(kind: Kind) -> (ThreadMessage<QueueCommand>, QueueAnswer) {
        call(kind, |connection| connection.execute("UPDATE message SET sent = 1", []).map(drop))
    }

    /// Serves these calls, in two passes, on a disk that cannot be synced.
    fn serve_broken(
        sync: SyncMode,
        calls: [Vec<(ThreadMessage<QueueCommand>, QueueAnswer)>; 2],
    ) -> Vec<bool> {
        let dir = tempfile::tempdir().unwrap();
        let mut file = QueueFile::open(&DataDir::open(dir.path()).unwrap()).unwrap();
        let letter = StoredMessage { due: 0, sent: 0, body: String::new() };
        file.transact(|connection| table::send(connection, &[letter])).unwrap();
        assert!(file.sync());
        file.break_disk();
        let mut server = QueueServer { file, sync, wake: Arc::default() };
        let mut answered = Vec::new();
        for pass in calls {
            let (messages, received) = channel();
            let mut answers = Vec::new();
            for (message, answer) in pass {
                messages.send(message).unwrap();
                answers.push(answer);
            }
            let Ok(ThreadMessage::Request(first)) = received.recv() else {
                panic!("a pass has a call");
            };
            server.pass(first, &mut Waiting::on(&received));
            answered.extend(answers.iter_mut().map(|a| a.try_recv().unwrap().is_ok()));
        }
        answered
    }

    #[test]
    fn a_send_waits_for_the_disk_in_both_modes_and_a_disk_that_refuses_once_is_not_asked_again() {
        for sync in [SyncMode::Normal, SyncMode::Full] {
            let answered =
                serve_broken(sync, [vec![send(), change(Kind::Looks)], vec![change(Kind::Looks)]]);
            assert_eq!(answered, [false, false, false], "{sync:?}");
        }
    }

    #[test]
    fn in_normal_mode_nothing_but_a_send_waits_for_the_disk() {
        for (sync, expected) in [(SyncMode::Normal, true), (SyncMode::Full, false)] {
            let calls = [vec![change(Kind::Looks)], vec![change(Kind::Ends)]];
            assert_eq!(serve_broken(sync, calls), [true, expected], "{sync:?}");
            let calls = [vec![change(Kind::Looks)], vec![change(Kind::Returns)]];
            assert_eq!(serve_broken(sync, calls), [true, expected], "{sync:?}");
        }
    }

    #[test]
    fn a_pass_that_fails_leaves_nothing_and_the_next_succeeds() {
        let file = QueueFile::in_memory().unwrap();
        let (messages, received) = channel();
        let broken = |connection: &Connection| connection.execute_batch("no such statement");
        let count = |expected: i64| {
            call(Kind::Looks, move |connection| {
                let sql = "SELECT count(*) FROM message";
                let found: i64 = connection.query_row(sql, [], |row| row.get(0))?;
                assert_eq!(found, expected);
                Ok(())
            })
        };
        let mut answers = Vec::new();
        for (message, answer) in [send(), call(Kind::Ends, broken)] {
            messages.send(message).unwrap();
            answers.push(answer);
        }
        let mut server = QueueServer { file, sync: SyncMode::Full, wake: Arc::default() };
        let Ok(ThreadMessage::Request(first)) = received.recv() else {
            panic!("a pass has a call")
        };
        server.pass(first, &mut Waiting::on(&received));
        for (message, answer) in [count(0), send(), count(1)] {
            messages.send(message).unwrap();
            answers.push(answer);
        }
        drop(messages);
        serve(server, &received);
        let answered: Vec<_> =
            answers.iter_mut().map(|answer| answer.try_recv().unwrap().is_ok()).collect();
        assert_eq!(answered, [false, false, true, true, true]);
    }
}
