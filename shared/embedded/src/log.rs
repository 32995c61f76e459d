//! SQLite's log, and how much of it is where.
//!
//! What is committed is in the log, `*.db-wal`, first; from there a checkpoint moves it into the
//! database. SQLite runs at `synchronous = NORMAL`: commits go to the log without waiting for the
//! disk, checkpoints wait. What `synchronous = FULL` would add, the log's way to the disk before an
//! answer, is done from outside: [`Log::sync`] once for as many commits as came together, where
//! SQLite would wait for each, and only for those that somebody was promised.
//!
//! A crash before `sync` loses commits that were not promised; during it, the same or fewer. The
//! log's frames carry a running checksum, so what is half written is not there.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ffi};

use crate::data_dir::{DataDir, private};

/// When a write is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Within [`CHECKPOINT_EVERY`](crate::CHECKPOINT_EVERY): a power cut loses at most that. What
    /// must not be lost even then, a message of the [`Queue`](crate::Queue), is on the disk before
    /// it is answered in this mode too.
    #[default]
    Normal,
    /// Before it is answered: a power cut loses nothing.
    Full,
}

/// For how long a write that was tried tells that the disk takes others.
const TRIED_FOR: Duration = Duration::from_secs(10);

/// Why the disk takes no writes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoWrites {
    /// It refuses them; when there is room again, or whatever it is, it will take them.
    #[error("the disk refuses a write")]
    Refused(#[source] rusqlite::Error),
    /// It could not make something durable.
    #[error("the disk has failed, and only a new start can find out what it has: start it again")]
    Failed,
}

/// The log of one connection.
#[derive(Debug)]
pub(crate) struct Log {
    /// A database in memory has none.
    disk: Option<LogFile>,
    has_failed: bool,
    /// When the disk last took a write that was tried, if it has refused none since.
    tried_at: Option<Instant>,
}

#[derive(Debug)]
struct LogFile {
    /// The log, opened a second time. SQLite's locks are on other files, which must never be
    /// opened here: POSIX drops a process's locks on a file when *any* of its handles is closed.
    log: File,
    /// SQLite's count of changed rows when the log was last known to be on the disk.
    synced_changes: u64,
    /// The same, when all of the log was last in the database.
    checkpointed_changes: u64,
    _data_dir: DataDir,
}

/// Creates the file of a database, unless it is there: an empty file is an empty database, and the
/// log takes its mode from it.
pub(crate) fn create(database: &Path) -> io::Result<()> {
    private().create(true).truncate(false).open(database).map(drop)
}

/// Tells SQLite to leave waiting for the disk to the [`Log`], and how much of the database to keep
/// in memory.
pub(crate) fn configure(connection: &Connection, cache_kib: i32) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // A negative number of pages is a number of KiB.
    connection.pragma_update(None, "cache_size", -cache_kib)
}

impl Log {
    pub(crate) const fn in_memory() -> Self {
        Self { disk: None, has_failed: false, tried_at: None }
    }

    /// Opens the log of a database, and makes durable that both exist.
    ///
    /// The log exists since the connection's first look into the database, and is the same file
    /// until the connection is closed.
    pub(crate) fn open(
        connection: &Connection,
        database: &Path,
        data_dir: &DataDir,
    ) -> io::Result<Self> {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        let log = private().open(path)?;
        log.sync_all()?;
        data_dir.sync()?;
        let changes = connection.total_changes();
        let disk = LogFile {
            log,
            synced_changes: changes,
            checkpointed_changes: changes,
            _data_dir: data_dir.clone(),
        };
        Ok(Self { disk: Some(disk), has_failed: false, tried_at: None })
    }

    /// Whether the disk has refused once. What is in the log is then unknown, and only a new start
    /// can find out.
    pub(crate) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether a power cut would lose something.
    pub(crate) fn is_ahead_of_disk(&self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        self.disk.as_ref().is_some_and(|disk| disk.synced_changes != changes)
    }

    /// Whether a checkpoint would find something to do.
    pub(crate) fn is_ahead_of_checkpoint(&self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        let is_ahead = |disk: &LogFile| disk.checkpointed_changes != changes;
        !self.has_failed && self.disk.as_ref().is_some_and(is_ahead)
    }

    /// Puts everything that was committed on the disk. False if the disk refuses; it then has
    /// failed, since a second try would succeed without having written what the first lost.
    #[must_use]
    pub(crate) fn sync(&mut self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        if let Some(disk) = self.disk.as_mut().filter(|_| !self.has_failed) {
            match disk.log.sync_data() {
                Ok(()) => disk.synced_changes = changes,
                Err(_) => self.has_failed = true,
            }
        }
        !self.has_failed
    }

    /// Moves the log into the database, and in any case puts everything on the disk.
    ///
    /// A reader in another process can hold a part back, a full disk all of it. It stays in the
    /// log for the next time, and there it is as durable as was promised.
    pub(crate) fn checkpoint(&mut self, connection: &Connection) {
        if self.try_checkpoint(connection).is_err() {
            self.tried_at = None;
        }
    }

    /// Whether the disk takes writes. Unless that was tried a moment ago, this writes what is there
    /// already, and moves it all the way into the database: a disk may be full, or be mounted for
    /// reading only, and still answer every question.
    pub(crate) fn takes_writes(&mut self, connection: &Connection) -> Result<(), NoWrites> {
        if self.disk.is_none() || self.tried_at.is_some_and(|at| at.elapsed() < TRIED_FOR) {
            return Ok(());
        }
        self.tried_at = None;
        if !self.has_failed {
            write_again(connection).map_err(NoWrites::Refused)?;
            self.try_checkpoint(connection)?;
        }
        if self.has_failed {
            return Err(NoWrites::Failed);
        }
        self.tried_at = Some(Instant::now());
        Ok(())
    }

    fn try_checkpoint(&mut self, connection: &Connection) -> Result<(), NoWrites> {
        let changes = connection.total_changes();
        match checkpoint(connection) {
            Ok(true) => {
                if let Some(disk) = &mut self.disk {
                    disk.synced_changes = changes;
                    disk.checkpointed_changes = changes;
                }
            }
            // Tried again, it would succeed, and the log be written over.
            Err(error) if is_refused_sync(&error) => {
                self.has_failed = true;
                return Err(NoWrites::Failed);
            }
            Ok(false) => {
                let _ = self.sync(connection);
            }
            Err(error) => {
                let _ = self.sync(connection);
                return Err(NoWrites::Refused(error));
            }
        }
        Ok(())
    }

    /// A device takes what is written to it, and cannot be synced.
    #[cfg(test)]
    pub(crate) fn break_disk(&mut self) {
        self.disk.as_mut().unwrap().log = File::open("/dev/null").unwrap();
    }
}

/// A transaction that changes nothing and is written all the same: a number in the first page.
fn write_again(connection: &Connection) -> rusqlite::Result<()> {
    let number: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    connection.pragma_update(None, "user_version", number)
}

/// Returns whether all of the log is now in the database.
fn checkpoint(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (is_busy, in_log, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(!is_busy && in_log == moved)
    })
}

fn is_refused_sync(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC)
}
