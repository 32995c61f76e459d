//! The queue's thread: performs the commands that wait for it.
//!
//! A pass performs several commands in one transaction, with at most one wait for the disk: ten
//! concurrent senders cost little more than one. All commands of a pass are answered afterwards;
//! they succeed together or fail together.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};

use super::file::QueueFile;
use crate::log::{NoWrites, SyncMode};
use crate::serving::{Server, Waiting};

/// How long a message may stay in the log only. It is durable there; a longer time makes the log
/// longer, which the next start reads after a crash.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Messages of a pass before it is committed and answered.
///
/// A thousand messages take a few milliseconds, about as long as the disk takes to sync them. More
/// would only make the first command wait for the last.
const PASS_MAX: usize = 1_000;

/// A command for the thread.
pub(crate) struct QueueCommand {
    pub(super) kind: Kind,
    /// How many messages it adds to a pass.
    pub(super) n_messages: usize,
    pub(super) work: Box<dyn Work>,
    /// The caller's permit, released when the command is answered. Commands of the queue itself have
    /// none.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// What a command does. It decides whether the command waits for the disk and wakes receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Adds messages. They are on the disk before the command is answered.
    Send,
    /// Makes messages visible, at once or later.
    PutBack,
    /// Deletes or buries messages.
    Finish,
    /// Reads, or hides messages that a crash makes visible again. Nothing needs to be durable.
    Read,
}

/// Work in a transaction, and the reply to its caller.
pub(super) trait Work: Send {
    /// Performs the work; called once.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// Sends the reply.
    fn answer(self: Box<Self>, outcome: Result<(), QueueFailure>);
}

/// Why a pass failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum QueueFailure {
    /// The pass changed nothing, and the next one may succeed.
    #[error("cannot change the queue's database")]
    Database(#[source] Arc<rusqlite::Error>),
    /// The pass may have been performed or not.
    #[error("{}", NoWrites::Failed)]
    Disk,
    /// The thread has ended.
    #[error("the queue is closed")]
    Closed,
}

/// Work that is a function; its result is the reply.
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
        // The caller may have been cancelled; the work is done anyway.
        let _ = reply.send(outcome.and_then(|()| result.ok_or(QueueFailure::Closed)));
    }
}

/// Serves the commands of the queue's channel.
pub(super) struct QueueServer {
    pub(super) file: QueueFile,
    pub(super) sync: SyncMode,
    /// Wakes the receiver that waits for a message.
    pub(super) wake: Arc<Notify>,
}

impl Server for QueueServer {
    type Request = QueueCommand;

    const CHECKPOINT_EVERY: Duration = CHECKPOINT_EVERY;

    fn pass(&mut self, first: QueueCommand, waiting: &mut Waiting<'_, QueueCommand>) {
        let mut n_messages = 0;
        let mut commands = Vec::new();
        let mut next = Some(first);
        while let Some(command) = next {
            n_messages += command.n_messages.max(1);
            commands.push(command);
            next = if n_messages < PASS_MAX { waiting.take() } else { None };
        }
        let outcome = self.perform(&mut commands);
        // If the queue fails, a waiting receiver must find out.
        let wakes = outcome.is_err() || commands.iter().any(|command| command.kind.wakes());
        for QueueCommand { work, permit, .. } in commands {
            work.answer(outcome.clone());
            drop(permit);
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

    fn accepts_writes(&mut self) -> Result<(), NoWrites> {
        self.file.accepts_writes()
    }
}

impl QueueServer {
    fn perform(&mut self, commands: &mut [QueueCommand]) -> Result<(), QueueFailure> {
        if self.file.has_failed() {
            return Err(QueueFailure::Disk);
        }
        self.file
            .transact(|connection| {
                commands.iter_mut().try_for_each(|command| command.work.perform(connection))
            })
            .map_err(|error| {
                self.file.doubt();
                QueueFailure::Database(Arc::new(error))
            })?;
        let mut kinds = commands.iter().map(|command| command.kind);
        let waits_for_disk = kinds.any(|kind| kind.waits_for_disk(self.sync));
        if waits_for_disk && !self.file.sync() {
            return Err(QueueFailure::Disk);
        }
        Ok(())
    }
}

impl Drop for QueueServer {
    /// Wakes a waiting receiver, which then finds the queue closed.
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

impl Kind {
    const fn wakes(self) -> bool {
        match self {
            Self::Send | Self::PutBack => true,
            Self::Finish | Self::Read => false,
        }
    }

    fn waits_for_disk(self, sync: SyncMode) -> bool {
        match self {
            Self::Send => true,
            Self::PutBack | Self::Finish => sync == SyncMode::Full,
            Self::Read => false,
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    use std::pin::pin;
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
        (ThreadMessage::Request(QueueCommand { kind, n_messages: 1, work, permit: None }), answer)
    }

    fn send() -> (ThreadMessage<QueueCommand>, QueueAnswer) {
        let message = StoredMessage { due: 0, sent: 0, body: String::new() };
        call(Kind::Send, move |connection| table::send(connection, &[message]))
    }

    /// A command of this kind that changes the database.
    fn change(kind: Kind) -> (ThreadMessage<QueueCommand>, QueueAnswer) {
        call(kind, |connection| connection.execute("UPDATE message SET sent = 1", []).map(drop))
    }

    /// Serves these commands in two passes, on a disk that cannot be synced.
    fn serve_broken(
        sync: SyncMode,
        calls: [Vec<(ThreadMessage<QueueCommand>, QueueAnswer)>; 2],
    ) -> Vec<bool> {
        let dir = tempfile::tempdir().unwrap();
        let mut file = QueueFile::open(&DataDir::open(dir.path()).unwrap()).unwrap();
        let message = StoredMessage { due: 0, sent: 0, body: String::new() };
        file.transact(|connection| table::send(connection, &[message])).unwrap();
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
    fn a_send_waits_for_the_disk_in_both_modes_and_a_failed_disk_is_not_used_again() {
        for sync in [SyncMode::Normal, SyncMode::Full] {
            let answered =
                serve_broken(sync, [vec![send(), change(Kind::Read)], vec![change(Kind::Read)]]);
            assert_eq!(answered, [false, false, false], "{sync:?}");
        }
    }

    #[test]
    fn in_normal_mode_only_a_send_waits_for_the_disk() {
        for (sync, expected) in [(SyncMode::Normal, true), (SyncMode::Full, false)] {
            let calls = [vec![change(Kind::Read)], vec![change(Kind::Finish)]];
            assert_eq!(serve_broken(sync, calls), [true, expected], "{sync:?}");
            let calls = [vec![change(Kind::Read)], vec![change(Kind::PutBack)]];
            assert_eq!(serve_broken(sync, calls), [true, expected], "{sync:?}");
        }
    }

    /// A receiver waits for a message, and finds out that the queue has failed.
    #[test]
    fn a_waiting_receiver_is_woken_by_a_message_and_by_a_failed_pass() {
        let works = |_: &Connection| Ok(());
        let fails = |connection: &Connection| connection.execute_batch("no such statement");
        for (what, (message, _answer), wakes) in [
            ("a message", send(), true),
            ("a message that is put back", call(Kind::PutBack, works), true),
            ("a read", call(Kind::Read, works), false),
            ("a finished message", call(Kind::Finish, works), false),
            ("a read that fails", call(Kind::Read, fails), true),
            ("a message whose end fails", call(Kind::Finish, fails), true),
        ] {
            let wake = Arc::new(Notify::new());
            let file = QueueFile::in_memory().unwrap();
            let mut server = QueueServer { file, sync: SyncMode::Full, wake: wake.clone() };
            let (_messages, received) = channel();
            let ThreadMessage::Request(command) = message else { panic!("a request") };
            server.pass(command, &mut Waiting::on(&received));
            let is_woken = pin!(wake.notified()).as_mut().enable();
            assert_eq!(is_woken, wakes, "{what}");
        }
    }

    #[test]
    fn a_failed_pass_changes_nothing_and_the_next_succeeds() {
        let file = QueueFile::in_memory().unwrap();
        let (messages, received) = channel();
        let broken = |connection: &Connection| connection.execute_batch("no such statement");
        let count = |expected: i64| {
            call(Kind::Read, move |connection| {
                let sql = "SELECT count(*) FROM message";
                let found: i64 = connection.query_row(sql, [], |row| row.get(0))?;
                assert_eq!(found, expected);
                Ok(())
            })
        };
        let mut answers = Vec::new();
        for (message, answer) in [send(), call(Kind::Finish, broken)] {
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
