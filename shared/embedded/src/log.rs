//! SQLite's write-ahead log, and how much of it is durable.
//!
//! A commit goes into the log, `*.db-wal`, first; a checkpoint moves it from there into the database.
//! SQLite runs at `synchronous = NORMAL`: commits do not wait for the disk, checkpoints do.
//! `synchronous = FULL` would sync the log at every commit. [`Log::sync`] does so instead: once for all
//! commits that came together, and only for those that were promised to be durable.
//!
//! A power cut before `sync` loses commits that were not promised, and during `sync` the same or
//! fewer. The frames of the log have a running checksum, so half-written frames do not count.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

use crate::data_dir::{DataDir, private};

/// When a write becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Within [`CHECKPOINT_EVERY`](crate::CHECKPOINT_EVERY), which is the most that a power cut loses.
    /// Messages that are sent to the [`Queue`](crate::Queue) must not be lost: in this mode, too, they
    /// are on the disk before the send is answered.
    #[default]
    Normal,
    /// Before the write is answered. A power cut loses nothing.
    Full,
}

/// The most pages that one checkpoint gives back to the file system: a few milliseconds of work.
const PAGES_PER_CHECKPOINT: u32 = 128;

/// Free pages that a database keeps for what is written next.
const SPARE_PAGES: u32 = 256;

/// A larger database of an earlier version keeps its free pages: to prepare it for giving them back,
/// it has to be written anew, and the start would wait for that.
const REWRITE_BYTES_MAX: i64 = 256 * 1024 * 1024;

/// What a log that has grown larger is cut to, once all of it is in the database.
const LOG_BYTES_KEPT: i64 = 16 * 1024 * 1024;

/// How long a successful write proves that the disk accepts writes.
const PROVEN_FOR: Duration = Duration::from_secs(10);

/// Why the disk does not accept writes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoWrites {
    /// The disk refuses writes, because it is full for instance. It may accept them again later.
    #[error("the disk refuses a write")]
    Refused(#[source] rusqlite::Error),
    /// The disk failed to make something durable.
    #[error(
        "a sync failed, so what the disk has is not known: start Minutehand again, which checks it"
    )]
    Failed,
}

/// The log of one connection.
#[derive(Debug)]
pub(crate) struct Log {
    /// `None` for a database in memory.
    disk: Option<LogFile>,
    has_failed: bool,
    /// Whether the database has free pages that the next checkpoint gives back.
    has_free_pages: bool,
    /// When a write last proved that the disk accepts writes, if none was refused since.
    proven_at: Cell<Option<Instant>>,
}

#[derive(Debug)]
struct LogFile {
    /// The log, opened a second time. SQLite's locks are on other files, which must never be opened
    /// here: POSIX releases a process's locks on a file when *any* of its handles is closed.
    log: File,
    /// SQLite's count of changed rows when the log was last synced.
    synced_changes: u64,
    /// SQLite's count of changed rows at the last complete checkpoint.
    checkpointed_changes: u64,
    _data_dir: DataDir,
}

/// Leaves syncs and the space of deleted rows to the [`Log`], and sets the size of the page cache.
pub(crate) fn configure(connection: &Connection, cache_kib: i32) -> rusqlite::Result<()> {
    // SQLite overwrites deleted rows: their URLs and messages may be confidential.
    connection.pragma_update(None, "secure_delete", true)?;
    // A full disk must not prevent the start. The next start tries this again.
    let _ = give_back_free_pages(connection);
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // What a savepoint would restore stays in memory, instead of in a temporary file. A VACUUM, which
    // needs as much room as the database, has ended above.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // All checkpoints are made in time by the thread. SQLite would make others in the middle of a commit.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    // On macOS a sync reaches the drive's cache only. There, this makes a checkpoint empty that cache, too.
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // SQLite reads a negative number as KiB instead of pages.
    connection.pragma_update(None, "cache_size", -cache_kib)
}

impl Log {
    pub(crate) const fn in_memory() -> Self {
        Self { disk: None, has_failed: false, has_free_pages: false, proven_at: Cell::new(None) }
    }

    /// Opens the log of a database, and makes the existence of both files durable.
    ///
    /// SQLite creates the log when the connection first reads the database, and keeps the same file
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
        Ok(Self {
            disk: Some(disk),
            has_failed: false,
            has_free_pages: false,
            proven_at: Cell::new(None),
        })
    }

    /// Returns whether a sync has failed. What the log holds is unknown then, and only a restart can
    /// find out.
    pub(crate) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns whether a power cut would lose commits.
    pub(crate) fn is_ahead_of_disk(&self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        self.disk.as_ref().is_some_and(|disk| disk.synced_changes != changes)
    }

    /// Returns whether a checkpoint would have anything to do.
    pub(crate) fn is_ahead_of_checkpoint(&self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        let is_ahead = |disk: &LogFile| self.has_free_pages || disk.checkpointed_changes != changes;
        !self.has_failed && self.disk.as_ref().is_some_and(is_ahead)
    }

    /// Writes everything that was committed to the disk. Returns false if that fails. The log has
    /// failed then, because a second sync would succeed without writing what the first one lost.
    #[must_use]
    pub(crate) fn sync(&mut self, connection: &Connection) -> bool {
        let changes = connection.total_changes();
        if let Some(disk) = self.disk.as_mut().filter(|_| !self.has_failed) {
            match disk.log.sync_data() {
                Ok(()) => disk.synced_changes = changes,
                Err(_) => self.fail(connection),
            }
        }
        !self.has_failed
    }

    /// Leaves the files as they are, for the next start to check. SQLite would otherwise make a
    /// checkpoint when the connection is closed, and delete the log: a checkpoint checks no checksums.
    fn fail(&mut self, connection: &Connection) {
        self.has_failed = true;
        // It only sets a flag, so it cannot fail on a connection that is open.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }

    /// Has the next health check try a write, because one was refused.
    pub(crate) fn doubt(&self) {
        self.proven_at.set(None);
    }

    /// Moves the log into the database, and syncs the log in any case.
    ///
    /// A reader in another process can hold back a part of the log, a full disk all of it. That part
    /// stays in the log until the next checkpoint, and is durable there.
    pub(crate) fn checkpoint(&mut self, connection: &Connection) {
        // A checkpoint that was due before a sync failed.
        if self.has_failed {
            return;
        }
        // Space that cannot be given back now can be used again all the same.
        self.has_free_pages = vacuum_step(connection).unwrap_or(false);
        if self.try_checkpoint(connection).is_err() {
            self.doubt();
        }
    }

    /// Checks whether the disk accepts writes: a full or read-only disk still answers reads. Unless a
    /// recent write succeeded, this writes a value that is already there, and makes a checkpoint.
    pub(crate) fn accepts_writes(&mut self, connection: &Connection) -> Result<(), NoWrites> {
        if self.disk.is_none() || self.proven_at.get().is_some_and(|at| at.elapsed() < PROVEN_FOR) {
            return Ok(());
        }
        self.doubt();
        if !self.has_failed {
            write_again(connection).map_err(NoWrites::Refused)?;
            self.try_checkpoint(connection)?;
        }
        if self.has_failed {
            return Err(NoWrites::Failed);
        }
        self.proven_at.set(Some(Instant::now()));
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
            // A second try would succeed, and SQLite would overwrite the log.
            Err(error) if is_refused_sync(&error) => {
                self.fail(connection);
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

    /// Replaces the log by a device that accepts writes and cannot be synced.
    #[cfg(test)]
    pub(crate) fn break_disk(&mut self) {
        self.disk.as_mut().unwrap().log = File::open("/dev/null").unwrap();
    }
}

/// Lets a database keep track of its free pages, so that they can be given back in steps. A database
/// that does not do so has to be written anew; a new one is tiny.
fn give_back_free_pages(connection: &Connection) -> rusqlite::Result<()> {
    let incremental = 2;
    let read = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if read("auto_vacuum")? == incremental
        || read("page_count")?.saturating_mul(read("page_size")?) > REWRITE_BYTES_MAX
    {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", incremental)?;
    connection.execute_batch("VACUUM")
}

/// Gives free pages back to the file system, a bounded number of them. Returns whether more are left.
fn vacuum_step(connection: &Connection) -> rusqlite::Result<bool> {
    let free: u32 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    let Some(excess) = free.checked_sub(SPARE_PAGES).filter(|excess| *excess > 0) else {
        return Ok(false);
    };
    let pages = excess.min(PAGES_PER_CHECKPOINT);
    // Each step of the statement gives back one page.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut steps = vacuum.query([])?;
    while steps.next()?.is_some() {}
    let left: u32 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    // A database that cannot give pages back would be tried for ever.
    Ok(left > SPARE_PAGES && left < free)
}

/// Writes a transaction that changes nothing: a number in the first page.
fn write_again(connection: &Connection) -> rusqlite::Result<()> {
    let number: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    connection.pragma_update(None, "user_version", number)
}

/// Makes a checkpoint. Returns whether the database now contains all of the log.
fn checkpoint(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (is_busy, in_log, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(!is_busy && in_log == moved)
    })
}

fn is_refused_sync(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC)
}
