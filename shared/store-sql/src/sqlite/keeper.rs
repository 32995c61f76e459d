//! The thread that brings commits to the disk, and from the log into the database, beside the thread that
//! writes.
//!
//! Its checkpoints are passive: no reader and no commit waits for them. But they never let the log begin anew
//! while commits come without a pause; the thread that writes does that: see [`Step::restart`].

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

use super::files::{DatabaseFile, LogState};

/// How long commits stay away from the disk at most, where they are answered before they are there.
pub const SYNC_EVERY: Duration = Duration::from_millis(100);
/// How long they stay in the log alone, unless it is large.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// A log that has so much more than the database is moved at once.
const MOVED_AT_ONCE: u64 = 16 * MIB;
/// A larger log is moved again and again, until less than [`LAST_STEP`] of it is left: that is what the thread
/// that writes moves. Commits wait for it, for some milliseconds.
const LARGE: u64 = 64 * MIB;
const LAST_STEP: u64 = MIB;
/// The keeper did not get so far: commits come as fast as it moves them. From here on, the last step is larger,
/// unless a reader was just in the way of one: then a large one would likely be in vain, too, and keep claims
/// waiting.
const TOO_LARGE: u64 = 112 * MIB;
const LONGEST_STEP: u64 = 8 * MIB;
/// How long it waits before it tries again, because a reader was in the way.
const TRIED_EVERY: Duration = Duration::from_millis(100);
const MIB: u64 = 1024 * 1024;

/// Runs until the thread that writes has ended.
pub(super) fn run(
    connection: &Connection,
    file: &DatabaseFile,
    log: &LogState,
    commits: &Receiver<()>,
) {
    // Nothing is done while nothing is written.
    while commits.recv().is_ok() {
        let mut again_at = Instant::now();
        let mut checkpoint_at = again_at + CHECKPOINT_EVERY;
        loop {
            match commits.recv_timeout(SYNC_EVERY) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let (written, moved) = log.bytes();
            let now = Instant::now();
            let is_due = now >= checkpoint_at;
            let is_moved = is_due || (now >= again_at && is_much(written, moved, log.is_read(now)));
            let no_other = is_moved.then(|| log.begin_checkpoint());
            if is_moved {
                checkpoint_at = now + CHECKPOINT_EVERY;
                checkpoint(connection, log, Mode::Passive);
                sync_before_last_step(file, log);
                if log.bytes().1 <= moved {
                    // A reader is in the way.
                    again_at = Instant::now() + TRIED_EVERY;
                }
            }
            // A failure is in the state, which the thread that writes looks at. The last step syncs the log, too:
            // now it finds little to do.
            let _ = log.sync();
            drop(no_other);
            let (written, moved) = log.bytes();
            if log.has_failed() || (is_due && !log.is_ahead_of_disk() && written <= moved) {
                break;
            }
        }
    }
}

/// Brings the database to the disk before the thread that writes takes the last step, in which SQLite does that.
/// A passive checkpoint does it only if no commit came meanwhile, so the step would have all of it to write.
fn sync_before_last_step(file: &DatabaseFile, log: &LogState) {
    if log.bytes().1 <= LARGE - LAST_STEP {
        return;
    }
    if let Err(error) = file.sync() {
        // A second try would succeed without writing what the first one lost.
        log.fail();
        tracing::warn!(%error, "the database cannot be brought to the disk");
    }
}

/// Whether so much of the log is not in the database that the keeper moves it at once.
const fn is_much(written: u64, moved: u64, is_read: bool) -> bool {
    let is_large = written > LARGE || written.saturating_sub(moved) > MOVED_AT_ONCE;
    is_large && !is_for_last_step(written, moved, is_read)
}

/// Whether the thread that writes moves what is left, and lets the log begin anew.
const fn is_for_last_step(written: u64, moved: u64, is_read: bool) -> bool {
    let longest = if written > TOO_LARGE && !is_read { LONGEST_STEP } else { LAST_STEP };
    written > LARGE && written.saturating_sub(moved) < longest
}

/// How a checkpoint treats others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It moves what it can.
    Passive,
    /// It waits for all, and lets the log begin anew.
    Restart,
}

/// Moves the log into the database; `true` if all of it is there now.
pub(super) fn checkpoint(connection: &Connection, log: &LogState, mode: Mode) -> bool {
    if log.has_failed() {
        return false;
    }
    let sql = match mode {
        Mode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
        Mode::Restart => "PRAGMA wal_checkpoint(RESTART)",
    };
    let salt = log.salt();
    let moved = connection.query_row(sql, [], |row| {
        let (is_busy, pages, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((!is_busy && pages == moved, u64::try_from(moved).unwrap_or_default()))
    });
    match moved {
        Ok((is_whole, moved)) => {
            log.moved(salt, moved);
            is_whole
        }
        Err(error) => {
            // A second try would succeed, and SQLite would overwrite the log.
            if error.sqlite_error().is_some_and(|it| it.extended_code == ffi::SQLITE_IOERR_FSYNC) {
                log.fail();
            }
            tracing::warn!(%error, "the log cannot be moved into the database");
            false
        }
    }
}

/// Whether the log is left as it is when the connection is closed. SQLite would otherwise move it into the
/// database and remove it with the last connection, whatever the record `open` says of it.
pub(super) fn leave_log(connection: &Connection, is_left: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_left).map(drop)
}

/// The last step of a checkpoint, which the thread that writes takes between two transactions.
#[derive(Debug, Default)]
pub(super) struct Step {
    tried_at: Option<Instant>,
}

impl Step {
    /// Lets the log begin anew if it is time, and the keeper does not move any of it.
    pub(super) fn restart(&mut self, connection: &Connection, log: &LogState) {
        let (written, moved) = log.bytes();
        let now = Instant::now();
        let is_soon = self.tried_at.is_some_and(|at| now.duration_since(at) < TRIED_EVERY);
        if is_soon || !is_for_last_step(written, moved, log.is_read(now)) {
            return;
        }
        if let Some(_no_other) = log.try_checkpoint() {
            self.tried_at = Some(now);
            let is_whole = checkpoint(connection, log, Mode::Restart);
            log.found_reader((!is_whole).then_some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::sqlite::files::{Paths, READER_STAYS};
    use crate::sqlite::log_file::FRAME_BYTES;

    fn empty_log() -> (tempfile::TempDir, LogState) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::in_dir(dir.path());
        paths.make().unwrap();
        let log = LogState::of(paths, 4_096).unwrap();
        (dir, log)
    }

    #[test]
    fn a_large_log_is_moved_until_the_last_step_is_small() {
        let (keeper, writer, nobody) = ((true, false), (false, true), (false, false));
        for (written, left, expected) in [
            (MOVED_AT_ONCE, MOVED_AT_ONCE, nobody),
            (MOVED_AT_ONCE + 1, MOVED_AT_ONCE + 1, keeper),
            (LARGE, MOVED_AT_ONCE, nobody),
            (LARGE, 0, nobody),
            (LARGE + 1, LAST_STEP, keeper),
            (LARGE + 1, LAST_STEP - 1, writer),
            (LARGE + 1, 0, writer),
            (TOO_LARGE, LAST_STEP, keeper),
            (TOO_LARGE + 1, LONGEST_STEP - 1, writer),
            (TOO_LARGE + 1, LONGEST_STEP, keeper),
            (16 * TOO_LARGE, 15 * TOO_LARGE, keeper),
        ] {
            let found = |is_read| {
                let moved = written - left;
                (is_much(written, moved, is_read), is_for_last_step(written, moved, is_read))
            };
            assert_eq!(found(false), expected, "{left} of {written}");
            // Beside a reader, a step is never larger.
            let expected = if left >= LAST_STEP && expected == writer { keeper } else { expected };
            assert_eq!(found(true), expected, "{left} of {written}, read");
        }
    }

    #[test]
    fn a_reader_that_was_in_the_way_is_thought_to_stay_for_a_while() {
        let (_dir, log) = empty_log();
        let at = Instant::now();
        assert!(!log.is_read(at));
        log.found_reader(Some(at));
        assert!(log.is_read(at + READER_STAYS / 2));
        // Commits that come as fast as the keeper moves them leave no other way for the log to begin anew.
        assert!(!log.is_read(at + READER_STAYS));
        log.found_reader(None);
        assert!(!log.is_read(at));
    }

    #[test]
    fn a_database_that_cannot_be_synced_before_the_last_step_fails_as_a_log_does() {
        let (_dir, log) = empty_log();
        let pages = |bytes: u64| bytes.div_ceil(4_096 + FRAME_BYTES as u64);
        for (moved, is_synced) in [(LARGE - 2 * LAST_STEP, false), (LARGE, true)] {
            log.committed(pages(LARGE), 1);
            log.moved(log.salt(), pages(moved));
            sync_before_last_step(&DatabaseFile::broken(), &log);
            assert_eq!(log.has_failed(), is_synced, "{moved}");
        }
    }
}
