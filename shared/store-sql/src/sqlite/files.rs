//! The files of a database: what is looked at before SQLite opens them, and the record of how much of the
//! log is on the disk.
//!
//! | file | what it is |
//! |---|---|
//! | `minutehand.db` | the database |
//! | `minutehand.db-wal` | its log: commits that are not in the database yet |
//! | `minutehand.db-shm` | an index of the log, made anew after a crash |
//! | `open` | there while a process has the directory open: see [`super::copies`] |

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::copies::{CopyProblem, OpenRecord, check};
use super::error::SqlError;
use super::log_file::{FRAME_BYTES, HEADER_BYTES, LogHeader, NUMBER_AT, Salt, read_log, word};

/// The name of the database in its directory.
pub const DATABASE: &str = "minutehand.db";
const OPEN: &str = "open";
/// The record while it is made.
const NEW_OPEN: &str = "open.new";
/// What a log is called that does not belong to the database.
const REFUSED_LOG: &str = "minutehand.db-wal.refused";
/// Only the user that runs the server may read the files.
const PRIVATE: u32 = 0o600;
/// How long a reader is thought to be in the way after it was. Readers of lists come again and again.
pub(super) const READER_STAYS: Duration = Duration::from_secs(1);

/// The paths of a database.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    dir: PathBuf,
    pub(super) database: PathBuf,
    log: PathBuf,
    open: PathBuf,
}

impl Paths {
    pub(super) fn in_dir(dir: &Path) -> Self {
        let database = dir.join(DATABASE);
        let log = dir.join(format!("{DATABASE}-wal"));
        Self { dir: dir.to_owned(), database, log, open: dir.join(OPEN) }
    }

    /// Whether the files belong together. It only reads.
    pub(super) fn look(&self) -> Result<Result<(), CopyProblem>, SqlError> {
        let about = found(fs::symlink_metadata(&self.database))?;
        if about.is_some_and(|about| !about.is_file()) {
            return Err(SqlError::NotAFile);
        }
        let record = found(fs::read(&self.open))?;
        let log = match found(File::open(&self.log))? {
            Some(log) => {
                let bytes = log.metadata()?.len();
                Some(read_log(log, bytes)?)
            }
            None => None,
        };
        let database = read_database_number(&self.database)?;
        let record = match record.map(|bytes| OpenRecord::read(&bytes)) {
            Some(None) => return Ok(Err(CopyProblem::DamagedRecord)),
            record => record.flatten(),
        };
        Ok(check(record.as_ref(), database, log.as_ref()))
    }

    /// Sets a log aside that does not belong to the database, and forgets what was promised.
    pub(super) fn set_aside(&self, problem: CopyProblem) -> Result<(), SqlError> {
        if matches!(problem, CopyProblem::OldLog | CopyProblem::OldDatabase) {
            fs::rename(&self.log, self.dir.join(REFUSED_LOG))?;
        }
        self.remove_record()
    }

    /// Makes the record, before the first commit, and the database, so that only its user can read it.
    pub(super) fn make(&self) -> Result<(), SqlError> {
        private().open(&self.database)?;
        if !self.open.exists() {
            // Complete or absent: a disk may be full, and a process may die here.
            let new = self.dir.join(NEW_OPEN);
            let open = private().open(&new)?;
            open.write_all_at(&OpenRecord::default().to_bytes(), 0)?;
            open.sync_all()?;
            fs::rename(new, &self.open)?;
        }
        Ok(sync_dir(&self.dir)?)
    }

    fn remove_record(&self) -> Result<(), SqlError> {
        found(fs::remove_file(&self.open))?;
        Ok(sync_dir(&self.dir)?)
    }
}

/// The database, opened a second time, so that the keeper can sync it.
///
/// POSIX releases a process's locks on a file when any of its handles is closed. So this one is opened before
/// SQLite locks the file, and closed after SQLite has closed it.
#[derive(Debug)]
pub(super) struct DatabaseFile(File);

impl DatabaseFile {
    pub(super) fn open(paths: &Paths) -> Result<Self, SqlError> {
        Ok(Self(private().open(&paths.database)?))
    }

    /// Waits until what was moved into the database is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// A device that cannot be synced.
    #[cfg(test)]
    pub(super) fn broken() -> Self {
        Self(File::open("/dev/null").unwrap())
    }
}

/// How much of the log was written, how much of that is on the disk, and how much in the database.
#[derive(Debug)]
pub(super) struct LogState {
    paths: Paths,
    /// The log, opened a second time. SQLite's locks are on other files: see [`DatabaseFile`].
    log: File,
    open: File,
    frame_bytes: u64,
    written: Mutex<Written>,
    /// What the record says.
    synced: Mutex<OpenRecord>,
    has_failed: AtomicBool,
    /// When a reader was in the way of the log beginning anew, if it was the last time.
    read_at: Mutex<Option<Instant>>,
    /// Held during a checkpoint: SQLite refuses a second one instead of waiting.
    checkpoint: Mutex<()>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Written {
    /// What the record is to say once this is on the disk.
    log: OpenRecord,
    /// Which log was moved into the database, and how many bytes of it.
    moved: (Option<Salt>, u64),
}

impl LogState {
    /// Follows the log of a database that SQLite has opened.
    pub(super) fn of(paths: Paths, page_bytes: u64) -> Result<Self, SqlError> {
        let log = private().open(&paths.log)?;
        log.sync_all()?;
        let open = private().open(&paths.open)?;
        sync_dir(&paths.dir)?;
        let frame_bytes = page_bytes + FRAME_BYTES as u64;
        let (written, synced, has_failed, read_at, checkpoint) = Default::default();
        Ok(Self { paths, log, open, frame_bytes, written, synced, has_failed, read_at, checkpoint })
    }

    /// After a commit: how many pages the log has, and the number of the commit.
    pub(super) fn committed(&self, pages: u64, number: u32) {
        let mut header = [0; HEADER_BYTES];
        let is_read = self.log.read_exact_at(&mut header, 0).is_ok();
        let header = if is_read { LogHeader::read(&header) } else { None };
        // Without a salt nothing is promised.
        let salt = header.map(|header| header.salt);
        let synced_bytes = HEADER_BYTES as u64 + pages.saturating_mul(self.frame_bytes);
        lock(&self.written).log = OpenRecord { salt, synced_bytes, number };
    }

    /// Syncs what was committed, and then says so in the record.
    pub(super) fn sync(&self) -> Result<(), SqlError> {
        let mut synced = lock(&self.synced);
        let written = lock(&self.written).log;
        if self.has_failed() {
            return Err(SqlError::DiskFailed);
        }
        if *synced == written {
            return Ok(());
        }
        if self.log.sync_data().is_err() {
            self.fail();
            return Err(SqlError::DiskFailed);
        }
        // If it cannot be written, it promises too little until it can.
        let is_recorded = self.open.write_all_at(&written.to_bytes(), 0);
        *synced = written;
        Ok(is_recorded?)
    }

    /// Whether commits are not on the disk.
    pub(super) fn is_ahead_of_disk(&self) -> bool {
        lock(&self.written).log != *lock(&self.synced)
    }

    /// How many bytes the log has, and how many of them are in the database.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let Written { log, moved: (salt, moved) } = *lock(&self.written);
        (log.synced_bytes, if salt == log.salt { moved } else { 0 })
    }

    /// Waits until no checkpoint is made, and keeps it so.
    pub(super) fn begin_checkpoint(&self) -> MutexGuard<'_, ()> {
        lock(&self.checkpoint)
    }

    /// The same, if no checkpoint is made now.
    pub(super) fn try_checkpoint(&self) -> Option<MutexGuard<'_, ()>> {
        self.checkpoint.try_lock().ok()
    }

    /// Which log a checkpoint begins to move.
    pub(super) fn salt(&self) -> Option<Salt> {
        lock(&self.written).log.salt
    }

    /// After a checkpoint: how many pages of a log are in the database.
    pub(super) fn moved(&self, salt: Option<Salt>, pages: u64) {
        let bytes = HEADER_BYTES as u64 + pages.saturating_mul(self.frame_bytes);
        lock(&self.written).moved = (salt, bytes);
    }

    /// Remembers that a sync failed. What the disk holds is unknown then, and only a start can find out: a
    /// second sync would succeed without writing what the first one lost.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// After the log was to begin anew: when a reader was in the way, if one was.
    pub(super) fn found_reader(&self, at: Option<Instant>) {
        *lock(&self.read_at) = at;
    }

    /// Whether a reader was in the way the last time, less than [`READER_STAYS`] ago.
    pub(super) fn is_read(&self, now: Instant) -> bool {
        lock(&self.read_at).is_some_and(|at| now.duration_since(at) < READER_STAYS)
    }

    /// Replaces the log by a device that accepts writes and cannot be synced.
    #[cfg(test)]
    pub(super) fn break_disk(&mut self) {
        self.log = File::open("/dev/null").unwrap();
    }

    /// Removes the record, once the whole log is in the database.
    pub(super) fn end(&self) -> Result<(), SqlError> {
        self.paths.remove_record()
    }
}

/// The number in the first page of a database; `None` if it has none.
pub(super) fn read_database_number(database: &Path) -> io::Result<Option<u32>> {
    let mut header = Vec::new();
    if let Some(file) = found(File::open(database))? {
        file.take(100).read_to_end(&mut header)?;
    }
    Ok(word(&header, NUMBER_AT))
}

/// What is not there is no error.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// How a file is opened or made that only its user can read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
    options
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    use rusqlite::Connection;

    #[test]
    fn after_a_failed_sync_nothing_is_promised_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::in_dir(dir.path());
        paths.make().unwrap();
        let connection = Connection::open(&paths.database).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER)").unwrap();
        let mut state = LogState::of(paths.clone(), 4_096).unwrap();
        state.committed(3, 7);
        assert!(state.is_ahead_of_disk());
        state.sync().unwrap();
        let promised = || OpenRecord::read(&fs::read(&paths.open).unwrap()).unwrap();
        let bytes = HEADER_BYTES as u64 + 3 * (4_096 + FRAME_BYTES as u64);
        assert_eq!((promised().number, promised().synced_bytes), (7, bytes));
        assert!(promised().salt.is_some() && !state.is_ahead_of_disk());
        state.break_disk();
        state.committed(4, 8);
        for _ in 0..2 {
            assert!(matches!(state.sync(), Err(SqlError::DiskFailed)));
        }
        assert!(state.has_failed());
        assert_eq!(promised().number, 7);
    }

    #[test]
    fn what_was_moved_of_one_log_says_nothing_of_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::in_dir(dir.path());
        paths.make().unwrap();
        let connection = Connection::open(&paths.database).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER)").unwrap();
        let state = LogState::of(paths, 4_096).unwrap();
        state.committed(3, 7);
        let before = state.salt();
        state.moved(before, 3);
        assert_eq!(state.bytes().0, state.bytes().1);
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        state.committed(1, 8);
        assert_ne!(state.salt(), before);
        assert_eq!(state.bytes().1, 0);
        // A checkpoint that ended late.
        state.moved(before, 3);
        assert_eq!(state.bytes().1, 0);
    }
}
