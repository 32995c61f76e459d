//! `queue.db`: opens it, runs transactions in it, makes it durable.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{schema, table};
use crate::data_dir::DataDir;
use crate::database_file;
use crate::error::OpenError;
use crate::identity;
use crate::log::{self, Log, NoWrites};

/// The name of the queue in errors, and of its thread.
pub(crate) const QUEUE: &str = "queue";
/// The page cache of SQLite in KiB: room for about twenty thousand messages.
const CACHE_KIB: i32 = 8 * 1024;
/// Compiled statements that SQLite keeps: more than this crate has.
const STATEMENTS_MAX: usize = 32;

pub(crate) struct QueueFile {
    // The order of the fields matters: SQLite closes its files before the directory is released.
    connection: Connection,
    log: Log,
}

impl QueueFile {
    pub(super) fn in_memory() -> Result<Self, OpenError> {
        let open = || {
            let mut connection = Connection::open_in_memory()?;
            schema::create(&mut connection)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
            Ok(Self { connection, log: Log::in_memory() })
        };
        open().map_err(|source: rusqlite::Error| OpenError::Memory {
            what: QUEUE,
            source: source.into(),
        })
    }

    pub(crate) fn open(data_dir: &DataDir) -> Result<Self, OpenError> {
        let path = data_dir.queue_file();
        let in_file = |error: rusqlite::Error| OpenError::of_sqlite(QUEUE, &path, error);
        let io = |source| OpenError::Io { what: QUEUE, path: path.clone(), source };
        database_file::prepare(QUEUE, &path)?;
        // Only one thread uses the connection, so SQLite needs no mutex.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(in_file)?;
        let found = schema::version(&connection).map_err(in_file)?;
        if found > schema::VERSION {
            let newest = schema::VERSION;
            return Err(OpenError::Newer { what: QUEUE, path, found, newest });
        }
        configure(&connection).map_err(in_file)?;
        check(&connection, &path)?;
        schema::create(&mut connection).map_err(in_file)?;
        table::void_leases(&connection).map_err(in_file)?;
        let log = Log::open(&connection, &path, data_dir).map_err(io)?;
        Ok(Self { connection, log })
    }

    /// The identity of the directory that the database belongs to.
    pub(crate) fn identity(&self) -> rusqlite::Result<Option<String>> {
        identity::of_database(&self.connection)
    }

    /// Writes the identity into a database that has none.
    pub(crate) fn add_identity(&self, id: &str) -> rusqlite::Result<()> {
        identity::add_to_database(&self.connection, id)
    }

    /// Performs everything in one transaction. After success it is committed to the log; after an
    /// error nothing has changed.
    pub(super) fn transact(
        &mut self,
        perform: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        perform(&transaction)?;
        transaction.commit()
    }

    /// Has the next health check try a write, because one was refused.
    pub(super) fn doubt(&self) {
        self.log.doubt();
    }

    /// Returns whether an `fsync` has failed. The queue then refuses every request.
    pub(super) const fn has_failed(&self) -> bool {
        self.log.has_failed()
    }

    /// Writes everything that was committed to the disk. Returns false if the disk fails; the queue
    /// has failed then.
    #[must_use]
    pub(crate) fn sync(&mut self) -> bool {
        !self.log.is_ahead_of_disk(&self.connection) || self.log.sync(&self.connection)
    }

    pub(super) fn is_ahead_of_checkpoint(&self) -> bool {
        self.log.is_ahead_of_checkpoint(&self.connection)
    }

    pub(crate) fn checkpoint(&mut self) {
        self.log.checkpoint(&self.connection);
    }

    pub(super) fn accepts_writes(&mut self) -> Result<(), NoWrites> {
        self.log.accepts_writes(&self.connection)
    }

    #[cfg(test)]
    #[cfg(unix)]
    pub(super) fn break_disk(&mut self) {
        self.log.break_disk();
    }
}

/// Checks the whole database, which is small. A page that is damaged would otherwise stop the delivery
/// of messages whenever SQLite comes across it, or hide some of them for ever.
fn check(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let in_file = |error| OpenError::of_sqlite(QUEUE, path, error);
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(in_file)?;
    if found == "ok" { Ok(()) } else { Err(OpenError::damaged(QUEUE, path, found)) }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // If SQLite made checkpoints, it would do so during a commit, and senders would wait for it.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    log::configure(connection, CACHE_KIB)
}
