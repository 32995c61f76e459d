//! Backups: the whole database as of one instant, in a file that SQLite has written anew.
//!
//! A backup has a connection of its own, and one read transaction, so it holds up neither writes nor reads;
//! the log grows while it lasts. It has the number 0, so that it is never taken for the database of a log.

use std::fs::File;
use std::path::Path;

use rusqlite::Connection;

use super::error::SqlError;
use super::files::sync_dir;
use super::keeper::leave_log;
use super::perform::write_number;

/// The number of a backup: none.
const NO_NUMBER: u32 = 0;

/// Writes a backup into a file that must not exist, and syncs it. If it fails, it may leave a part.
pub(super) fn back_up(database: &Path, target: &Path) -> Result<(), SqlError> {
    let connection = Connection::open(database)?;
    leave_log(&connection, true)?;
    // SQLite reads a name as it is, and a path may be no text.
    let name = target.to_str().ok_or(SqlError::Path)?;
    connection.execute("VACUUM INTO ?1", [name])?;
    let copy = Connection::open(target)?;
    write_number(&copy, NO_NUMBER)?;
    copy.close().map_err(|(_, error)| error)?;
    let sync = || {
        File::open(target)?.sync_all()?;
        target.parent().map_or(Ok(()), sync_dir)
    };
    sync().map_err(SqlError::Files)
}
