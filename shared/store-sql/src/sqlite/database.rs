//! The database as everyone else uses it: a handle of the thread that writes, and of those that read.
//!
//! One thread writes: see [`super::writer`]. Threads with connections of their own read lists, so that none
//! of them holds up a claim. A read that begins after an answer sees what was answered, because an answer
//! follows its commit.
//!
//! A database in memory has no readers: there, readers would lock out the writer.
//!
//! A clean end moves the whole log into the database, removes the record `open`, and closes the files.
//!
//! | the process ends, or the power fails, after | it leaves |
//! |---|---|
//! | a commit | nothing of it, or all of it: SQLite ignores half of a commit |
//! | an answer, with [`Durability::Full`] | what was answered |
//! | an answer, with [`Durability::Normal`] | what was answered; after a power cut, what was older than [`SYNC_EVERY`](super::SYNC_EVERY) |
//! | any step of a clean end | what the next start accepts: see [`super::copies`] |

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{Notify, oneshot};

use super::copies::CopyProblem;
use super::error::SqlError;
use super::files::{DatabaseFile, LogState, Paths, read_database_number};
use super::keeper::{self, Step};
use super::orders::{Asked, Durability, Order};
use super::perform::perform;
use super::schema;
use super::writer::{Writer, WrittenLog};
use crate::changed::Changed;
use crate::script::{Script, ScriptOutcome, Statement, Turn, Urgency, Value};

/// The connections that read.
const READERS: usize = 2;
/// Prepared statements that a connection keeps: about as many as there are.
const STATEMENTS_MAX: usize = 128;
/// The page cache of the connection that writes, in KiB.
const CACHE_KIB: i32 = 8 * 1024;
/// That of a connection that reads. Each commit of the other one empties it.
const READ_CACHE_KIB: i32 = 2 * 1024;

/// Gives some pages back, a few milliseconds of work, and says how many are left.
const GIVE_BACK: [&str; 2] =
    ["PRAGMA incremental_vacuum(128)", "SELECT freelist_count FROM pragma_freelist_count"];
/// Free pages that a database keeps.
const SPARE_PAGES: i64 = 256;

/// A database. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    writer: Sender<Order>,
    readers: Option<Sender<Order>>,
    /// The number of this process.
    process: i64,
    /// What tells this database from others.
    installation: i64,
    changed: Arc<Changed>,
    /// Wakes the receiver that waits for a message.
    woken: Arc<Notify>,
}

/// What a database in a file has that one in memory has not.
struct Files {
    readers: Sender<Order>,
    log: WrittenLog,
    kept_open: Arc<DatabaseFile>,
}

/// The threads of a database, which end when it is closed or its last handle is dropped.
#[derive(Debug)]
#[must_use = "a database is closed when its threads have ended"]
pub struct Threads(JoinHandle<()>);

impl Threads {
    /// Waits until everything is written and the files are closed.
    pub fn join(self) {
        // A thread that panicked has said so, and has closed its connection.
        let _ = self.0.join();
    }

    /// The same, for a task that must not hold up others.
    pub async fn ended(self) {
        // If the runtime ends first, so does the process.
        let _ = tokio::task::spawn_blocking(|| self.join()).await;
    }
}

impl Database {
    /// A new database in memory.
    ///
    /// # Errors
    ///
    /// If the system refuses memory or a thread.
    pub fn in_memory() -> Result<(Self, Threads), SqlError> {
        let connection = Connection::open_in_memory()?;
        configure(&connection)?;
        let opened = schema::prepare(&connection)?;
        Self::start(connection, opened, None)
    }

    /// Opens the database in a directory, or makes it.
    ///
    /// # Errors
    ///
    /// If its files do not belong together, it cannot be opened, or a newer version made it.
    pub fn open(dir: &Path, sync: Durability) -> Result<(Self, Threads), SqlError> {
        let paths = Paths::in_dir(dir);
        paths.look()?.map_err(SqlError::Copy)?;
        Self::open_files(paths, sync)
    }

    /// Opens the database in a directory although its files may not belong together, and checks the whole
    /// file. A log that does not belong to the database is set aside. Returns what was wrong.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); and if the check finds damage.
    pub fn open_copy(
        dir: &Path,
        sync: Durability,
    ) -> Result<(Self, Threads, Option<CopyProblem>), SqlError> {
        let paths = Paths::in_dir(dir);
        let problem = paths.look()?.err();
        if let Some(problem) = problem {
            paths.set_aside(problem)?;
        }
        check_whole(&paths.database)?;
        let (database, threads) = Self::open_files(paths, sync)?;
        Ok((database, threads, problem))
    }

    pub(super) fn open_files(paths: Paths, sync: Durability) -> Result<(Self, Threads), SqlError> {
        paths.make()?;
        let kept_open = Arc::new(DatabaseFile::open(&paths)?);
        let file = paths.database.clone();
        let mut connection = Connection::open(&file)?;
        keeper::leave_log(&connection, true)?;
        let number = read_database_number(&file)?;
        let new = if number.unwrap_or_default() == 0 {
            // It only takes effect while there is no table yet.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            // Before there is a log, so that the first log follows a number, and no table is in a log alone.
            Some(schema::prepare(&connection)?)
        } else {
            None
        };
        connection.pragma_update(None, "journal_mode", "WAL")?;
        configure(&connection)?;
        let pages = Arc::new(AtomicU64::new(0));
        let counted = pages.clone();
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counted.store(u64::try_from(pages).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        let another = || -> Result<Connection, SqlError> {
            let connection = Connection::open(&file)?;
            configure(&connection)?;
            connection.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
            Ok(connection)
        };
        let reader = || {
            let connection = another()?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        let readers = (0..READERS).map(|_| reader()).collect::<Result<Vec<_>, SqlError>>()?;
        let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let opened = new.map_or_else(|| schema::prepare(&connection), Ok)?;
        let state = Arc::new(LogState::of(paths, page_bytes.into())?);
        state.committed(pages.load(Ordering::Relaxed), opened.number);
        // A log that was made anew has another salt than the record.
        state.sync()?;
        let (commits, told) = mpsc::sync_channel(1);
        let (keeper, of_keeper, synced) = (another()?, state.clone(), kept_open.clone());
        let thread =
            spawn("store-keeper", move || keeper::run(&keeper, &synced, &of_keeper, &told))?;
        let _ = commits.try_send(());
        let (read, orders) = mpsc::channel();
        let orders = Arc::new(Mutex::new(orders));
        let mut others = vec![thread];
        for connection in readers {
            let orders = orders.clone();
            others.push(spawn("store-reader", move || read_until_end(&connection, &orders))?);
        }
        let log = WrittenLog { state, pages, sync, commits, others, step: Step::default() };
        Self::start(connection, opened, Some(Files { readers: read, log, kept_open }))
    }

    fn start(
        connection: Connection,
        schema::Opened { process, number, installation }: schema::Opened,
        files: Option<Files>,
    ) -> Result<(Self, Threads), SqlError> {
        let (readers, log, kept_open) = match files {
            Some(Files { readers, log, kept_open }) => (Some(readers), Some(log), Some(kept_open)),
            None => (None, None, None),
        };
        let (writer, orders) = mpsc::channel();
        let (changed, woken) = (Arc::new(Changed::default()), Arc::new(Notify::new()));
        let shared = Shared {
            writer,
            readers,
            process,
            installation,
            changed: changed.clone(),
            woken: woken.clone(),
        };
        let thread = Writer { connection, kept_open, number, log, changed, woken };
        let thread = spawn("store", move || thread.run(&orders))?;
        Ok((Self { shared: Arc::new(shared) }, Threads(thread)))
    }

    /// The number of this process: no other process that opened the database has it.
    #[must_use]
    pub fn process(&self) -> i64 {
        self.shared.process
    }

    /// What tells this database from others, in 16 digits. Copies and backups have the same.
    #[must_use]
    pub fn installation(&self) -> String {
        format!("{:016x}", self.shared.installation)
    }

    /// The counts of changes that starts read.
    #[must_use]
    pub fn changed(&self) -> &Changed {
        &self.shared.changed
    }

    /// Performs a script.
    ///
    /// # Errors
    ///
    /// If SQLite refuses it, or the database is closed. Nothing of it is stored then, except if the
    /// process ends before the answer.
    pub async fn perform(&self, script: Script) -> Result<ScriptOutcome, SqlError> {
        ask(&self.shared.writer, script).await
    }

    /// Has a script performed, whatever becomes of it.
    pub(crate) fn tell(&self, script: Script) {
        drop(send(&self.shared.writer, script));
    }

    /// Waits until a script has added a message, or shown one again.
    pub(crate) async fn woken(&self) {
        self.shared.woken.notified().await;
    }

    /// Performs scripts, each by itself. The answers are in their order.
    pub async fn perform_all(&self, scripts: Vec<Script>) -> Vec<Result<ScriptOutcome, SqlError>> {
        // All are sent before the first answer is awaited.
        let asked: Vec<_> =
            scripts.into_iter().map(|script| send(&self.shared.writer, script)).collect();
        let mut answers = Vec::with_capacity(asked.len());
        for answer in asked {
            answers.push(answer.await.unwrap_or(Err(SqlError::Closed)));
        }
        answers
    }

    /// Performs a script that only reads, beside the writes.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn read(&self, script: Script) -> Result<ScriptOutcome, SqlError> {
        ask(self.shared.readers.as_ref().unwrap_or(&self.shared.writer), script).await
    }

    /// Gives the space of removed rows back to the file system, some pages at a time. A database keeps some
    /// for what is written next.
    ///
    /// # Errors
    ///
    /// If SQLite refuses. Some may be given back by then.
    pub async fn give_back_space(&self) -> Result<(), SqlError> {
        let mut before = i64::MAX;
        loop {
            let statements =
                GIVE_BACK.map(|sql| Statement::new(sql, Vec::new())).into_iter().collect();
            let script = Script::new(Urgency::Background, Turn::default(), statements);
            let ScriptOutcome::Done(rows) = self.perform(script).await? else {
                return Ok(());
            };
            let left = match rows.last().and_then(|rows| rows.first()?.first()) {
                Some(Value::Integer(left)) => *left,
                _ => return Ok(()),
            };
            // A database that cannot give pages back would be tried for ever.
            if left <= SPARE_PAGES || left >= before {
                return Ok(());
            }
            before = left;
        }
    }

    /// Has the threads end, once everything that was asked before is answered. What is asked later fails.
    pub fn close(&self) {
        // A thread that has ended needs not be told.
        let _ = self.shared.writer.send(Order::End);
        for _ in 0..READERS {
            let _ = self.shared.readers.as_ref().map(|readers| readers.send(Order::End));
        }
    }
}

async fn ask(thread: &Sender<Order>, script: Script) -> Result<ScriptOutcome, SqlError> {
    send(thread, script).await.unwrap_or(Err(SqlError::Closed))
}

fn send(
    thread: &Sender<Order>,
    script: Script,
) -> oneshot::Receiver<Result<ScriptOutcome, SqlError>> {
    let (answer, answered) = oneshot::channel();
    // If the thread has ended, the answer is dropped with the script.
    let _ = thread.send(Order::Perform(Asked { script, answer }));
    answered
}

pub(super) fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, SqlError> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(SqlError::Thread)
}

pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    keeper::leave_log(connection, true)?;
    // A statement keeps its plan whatever its parameters are. SQLite would otherwise prepare it again each time
    // that one is bound which it compared with the condition of a partial index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // No connection waits for a lock: the thread that writes tries again by itself.
    connection.busy_timeout(Duration::ZERO)?;
    // SQLite overwrites deleted rows: their URLs and messages may be confidential.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // What a savepoint would restore stays in memory, instead of in a temporary file.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // SQLite would make checkpoints in the middle of a commit.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // On macOS a sync reaches the drive's cache only. There, this makes a checkpoint empty that cache, too.
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // SQLite reads a negative number as KiB instead of pages.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)
}

/// Checks a whole file.
fn check_whole(file: &Path) -> Result<(), SqlError> {
    let connection = Connection::open(file)?;
    keeper::leave_log(&connection, true)?;
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(SqlError::Damaged(found)) }
}

fn read_until_end(connection: &Connection, orders: &Mutex<Receiver<Order>>) {
    loop {
        // One reader waits for the next script, the others for that one.
        let next = orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Order::Perform(Asked { script, answer })) = next else { return };
        let answers = perform(connection, &[&script], 0).answers;
        let _ = answer.send(answers.into_iter().next().unwrap_or(Err(SqlError::Ended)));
    }
}
