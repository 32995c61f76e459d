//! Backups: the whole database as of one instant, in a file that SQLite has written anew.
//!
//! A backup has a connection of its own, and one read transaction, so it holds up neither writes nor reads of a
//! process that has the directory open; the log grows while it lasts. It has the number 0, so that it is never
//! taken for the database of a log.

use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::SqlError;
use super::files::{DATABASE, Paths, private, sync_dir};
use super::keeper::leave_log;
use super::perform::write_number;

/// The number of a backup: none.
const NO_NUMBER: u32 = 0;

/// Writes a backup of the database of one directory into another one, which must not have any, and syncs it.
/// Returns its length. If it fails, it may leave a part.
///
/// `is_open` says that another process has the directory open. Otherwise its files are looked at as they are
/// before a start.
///
/// # Errors
///
/// If the files do not belong together, or the database cannot be read or the backup cannot be written.
pub fn back_up(dir: &Path, target: &Path, is_open: bool) -> Result<u64, SqlError> {
    let paths = Paths::in_dir(dir);
    if !is_open {
        paths.look()?.map_err(SqlError::Copy)?;
    }
    let file = target.join(DATABASE);
    // SQLite reads a name as it is, and a path may be no text.
    let name = file.to_str().ok_or(SqlError::Path)?;
    // A database that is not there is not made.
    let connection =
        Connection::open_with_flags(&paths.database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Before SQLite makes it, so that only its user can read it.
    private().create_new(true).open(&file)?;
    leave_log(&connection, true)?;
    connection.execute("VACUUM INTO ?1", [name])?;
    let copy = Connection::open(&file)?;
    write_number(&copy, NO_NUMBER)?;
    copy.close().map_err(|(_, error)| error)?;
    let copy = File::open(&file)?;
    copy.sync_all()?;
    sync_dir(target)?;
    Ok(copy.metadata()?.len())
}
