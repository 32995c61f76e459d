//! The thread that writes: takes what waits, performs it as one pass, and answers after the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Notify;

use super::error::SqlError;
use super::files::{DatabaseFile, LogState};
use super::keeper::{self, Mode, Step};
use super::order::Waiting;
use super::orders::{Asked, Durability, Order};
use super::perform::{PerformedPass, perform};
use super::schema::next_number;
use crate::changed::Changed;
use crate::script::Script;

/// A pass of so many scripts comes from a burst: more are about to follow.
const BURST_FROM: usize = 16;
/// How long the thread then lets scripts gather before the next pass. Scripts of one pass share pages, and so
/// write less: without it, firings of a burst took 1.3 to 1.6 times the processor's time.
const GATHERS: Duration = Duration::from_millis(1);
/// How long a clean end waits for a reader.
const END_WAITS: Duration = Duration::from_secs(10);

/// The thread that writes.
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// After the connection, because it is closed after it. `None` for a database in memory.
    #[expect(dead_code, reason = "it is only kept")]
    pub(super) kept_open: Option<Arc<DatabaseFile>>,
    /// The number of the last commit.
    pub(super) number: u32,
    /// `None` for a database in memory.
    pub(super) log: Option<WrittenLog>,
    pub(super) changed: Arc<Changed>,
    pub(super) woken: Arc<Notify>,
}

/// The log of a database in a file, as the thread that writes knows it.
pub(super) struct WrittenLog {
    pub(super) state: Arc<LogState>,
    /// How many pages the log has after the last commit.
    pub(super) pages: Arc<AtomicU64>,
    pub(super) sync: Durability,
    /// Tells the keeper that there are commits.
    pub(super) commits: SyncSender<()>,
    /// The threads with other connections, which end before this one.
    pub(super) others: Vec<JoinHandle<()>>,
    pub(super) step: Step,
}

impl Writer {
    /// Performs scripts until it is told to end, or every handle is dropped, and none is left.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        let mut waiting = Waiting::default();
        let mut is_open = true;
        let mut is_burst = false;
        while is_open {
            let Ok(Order::Perform(first)) = orders.recv() else { break };
            add(&mut waiting, first);
            while !waiting.is_empty() {
                // Nothing is gained where nothing is written to a file.
                if is_burst && self.log.is_some() && waiting.len() < BURST_FROM {
                    thread::sleep(GATHERS);
                }
                while is_open && let Ok(order) = orders.try_recv() {
                    match order {
                        Order::Perform(asked) => add(&mut waiting, asked),
                        Order::End => is_open = false,
                    }
                }
                let pass = waiting.take_pass();
                is_burst = pass.len() >= BURST_FROM;
                self.pass(pass);
            }
        }
        if let Some(log) = self.log {
            log.end(&self.connection);
        }
        // A receiver that waits finds the database closed.
        self.woken.notify_one();
    }

    fn pass(&mut self, pass: Vec<Asked>) {
        let scripts: Vec<&Script> = pass.iter().map(|asked| &asked.script).collect();
        let next = next_number(self.number);
        let has_failed = self.log.as_ref().is_some_and(|log| log.state.has_failed());
        let PerformedPass { mut answers, is_numbered } = if has_failed {
            PerformedPass { answers: Vec::new(), is_numbered: false }
        } else {
            perform(&self.connection, &scripts, next)
        };
        if is_numbered {
            self.number = next;
            let is_durable = self.log.as_mut().is_none_or(|log| log.committed(next));
            if !is_durable {
                answers.clear();
            }
        }
        // Whether or not it was performed: a failure may leave a change.
        pass.iter().flat_map(|asked| &asked.script.changed).for_each(|of| self.changed.raise(*of));
        // If the database fails, a receiver that waits must find out.
        let fails = answers.len() < pass.len() || answers.iter().any(Result::is_err);
        if fails || pass.iter().any(|asked| asked.script.wakes) {
            // Before the answers are sent: a caller that has its answer can rely on the receiver having been woken.
            self.woken.notify_one();
        }
        let mut answers = answers.into_iter();
        for Asked { answer, .. } in pass {
            // A caller that has gone needs no answer.
            let _ = answer.send(answers.next().unwrap_or(Err(SqlError::DiskFailed)));
        }
        if let Some(log) = &mut self.log {
            log.step.restart(&self.connection, &log.state);
        }
    }
}

impl WrittenLog {
    /// After a commit; `false` if what it wrote may be lost.
    fn committed(&self, number: u32) -> bool {
        self.state.committed(self.pages.load(Ordering::Relaxed), number);
        let is_durable = self.sync == Durability::Normal || self.state.sync().is_ok();
        // If the keeper was told before, it looks again by itself.
        let _ = self.commits.try_send(());
        is_durable || !self.state.has_failed()
    }

    /// The clean end. If a step of it fails, the record stays, and the next start finds the log.
    fn end(self, connection: &Connection) {
        drop(self.commits);
        for thread in self.others {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        let _ = connection.busy_timeout(END_WAITS);
        let is_whole = keeper::checkpoint(connection, &self.state, Mode::Restart);
        if !is_whole || self.state.has_failed() {
            return;
        }
        // The log goes with the connection, once nothing says that there is one.
        let ended = self.state.end().and_then(|()| Ok(keeper::leave_log(connection, false)?));
        if let Err(error) = ended {
            tracing::warn!(%error, "the record of the data directory cannot be removed");
        }
    }
}

fn add(waiting: &mut Waiting<Asked>, asked: Asked) {
    let Script { urgency, turn, ref statements, .. } = asked.script;
    let statements = statements.len();
    waiting.add(urgency, turn, statements, asked);
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::{Mutex, mpsc};

    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use crate::script::{ScriptOutcome, Statement, Turn, Urgency, Value};
    use crate::sqlite::database::{Database, configure};
    use crate::sqlite::files::Paths;

    fn insert(key: &str) -> (Asked, oneshot::Receiver<Result<ScriptOutcome, SqlError>>) {
        let parameters = vec![Value::Text(key.to_owned()), Value::Text(key.to_owned())];
        let statements = vec![Statement::new(
            "INSERT INTO subscriptions (key, name) VALUES (?1, ?2)",
            parameters,
        )];
        let (urgency, turn, changed) = (Urgency::Rest, Turn::default(), vec![7]);
        let script = Script { changed, ..Script::new(urgency, turn, statements) };
        let (answer, answered) = oneshot::channel();
        (Asked { script, answer }, answered)
    }

    /// A writer of a new database in a directory, each of whose commits is brought to the disk.
    fn writer(paths: &Paths, change: impl FnOnce(&mut LogState)) -> Writer {
        let (database, threads) = Database::open_files(paths.clone(), Durability::Full).unwrap();
        drop(database);
        threads.join();
        paths.make().unwrap();
        let connection = Connection::open(&paths.database).unwrap();
        configure(&connection).unwrap();
        let number = crate::sqlite::perform::read_number(&connection).unwrap();
        let mut state = LogState::of(paths.clone(), 4_096).unwrap();
        change(&mut state);
        let (commits, _told) = mpsc::sync_channel(1);
        let log = WrittenLog {
            state: Arc::new(state),
            pages: Arc::new(AtomicU64::new(1)),
            sync: Durability::Full,
            commits,
            others: Vec::new(),
            step: Step::default(),
        };
        let changed = Arc::new(Changed::default());
        Writer {
            connection,
            kept_open: None,
            number,
            log: Some(log),
            changed,
            woken: Arc::default(),
        }
    }

    #[test]
    fn no_script_of_a_pass_is_answered_before_its_commit() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&Paths::in_dir(dir.path()), |_| ());
        let (pass, answers): (Vec<_>, Vec<_>) = ["a", "b"].map(insert).into_iter().unzip();
        let answers = Arc::new(Mutex::new(answers));
        let (in_commit, found) = (answers.clone(), Arc::new(Mutex::new(Vec::new())));
        let seen = found.clone();
        let look = move || {
            let mut answers = in_commit.lock().unwrap();
            seen.lock().unwrap().extend(answers.iter_mut().map(|it| it.try_recv().is_ok()));
            // The commit goes on.
            false
        };
        writer.connection.commit_hook(Some(look)).unwrap();
        writer.pass(pass);
        assert_eq!(
            *found.lock().unwrap(),
            [false, false],
            "in one commit, and before both answers"
        );
        for answer in &mut *answers.lock().unwrap() {
            assert!(matches!(answer.try_recv(), Ok(Ok(_))));
        }
    }

    #[test]
    fn after_a_failed_sync_every_script_fails_and_the_files_stay_for_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::in_dir(dir.path());
        let mut writer = writer(&paths, LogState::break_disk);
        for key in ["a", "b"] {
            let (asked, mut answered) = insert(key);
            writer.pass(vec![asked]);
            assert!(matches!(answered.try_recv(), Ok(Err(SqlError::DiskFailed))), "{key}");
            let woken = writer.woken.notified().now_or_never();
            assert!(woken.is_some(), "a receiver that waits finds out");
        }
        assert_eq!(writer.changed.read([7, 8]), [2, 0], "a failure may leave a change");
        writer.log.take().unwrap().end(&writer.connection);
        drop(writer);
        for name in ["minutehand.db-wal", "open"] {
            assert!(dir.path().join(name).exists(), "{name}");
        }
        // The first write was committed, and the second was not tried.
        let (database, threads) = Database::open(dir.path(), Durability::Full).unwrap();
        drop(database);
        threads.join();
        let connection = Connection::open(&paths.database).unwrap();
        let count = "SELECT count(*) FROM subscriptions";
        assert_eq!(connection.query_row(count, [], |row| row.get(0)), Ok(1));
    }
}
