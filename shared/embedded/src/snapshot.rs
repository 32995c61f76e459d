//! Copies the store of a running server, as it is at one moment.
//!
//! Another process has the data directory locked, and goes on writing. SQLite reads the store within one
//! transaction, so the copy is consistent: it holds everything that was answered before the copy began.
//! Until it ends, checkpoints leave the log as it is, and the log grows by what is written.
//!
//! The queue is not copied. Two databases cannot be copied at the same moment, and a message that was
//! between them would be lost. What the queue must have held is computed from the copy: see
//! [`begin_repair`](crate::DataDirectory::begin_repair).
//!
//! A crash leaves an incomplete copy. The store that is copied is never written.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::data_dir::{STORE_FILE, sync_entries};
use crate::database::STORE;
use crate::database_file;
use crate::directory::in_io;
use crate::error::OpenError;

/// Copies the store of the data directory `from` into the directory `to`, durably. Returns the number of
/// bytes.
///
/// # Errors
///
/// If the store is missing or damaged, or if the copy cannot be written.
pub fn snapshot_store(from: &Path, to: &Path) -> Result<u64, OpenError> {
    let (from, copy) = (from.join(STORE_FILE), to.join(STORE_FILE));
    database_file::prepare(STORE, &copy)?;
    write_copy(&from, &copy)?;
    let synced = File::open(&copy).and_then(|file| file.sync_all()).and_then(|()| sync_entries(to));
    let bytes = synced.and_then(|()| fs::metadata(&copy)).map(|metadata| metadata.len());
    bytes.map_err(in_io(STORE, copy))
}

fn write_copy(from: &Path, copy: &Path) -> Result<(), OpenError> {
    let in_file = |error| OpenError::of_sqlite(STORE, from, error);
    let text = copy.to_str().ok_or_else(|| OpenError::Path { path: copy.to_owned() })?;
    // A connection that can write would, as the last one to be closed, remove the log of a server that
    // was killed meanwhile.
    let source = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let source = source.map_err(in_file)?;
    source.execute("VACUUM INTO ?1", [text]).map_err(in_file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataDir, Store, SyncMode};

    #[tokio::test]
    async fn a_missing_store_is_not_created_and_a_damaged_one_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        let missing = snapshot_store(&from, &to).unwrap_err();
        assert!(missing.to_string().starts_with("cannot open the store "), "{missing}");
        assert!(!from.join(STORE_FILE).exists());

        Store::open(&DataDir::open(&from).unwrap(), SyncMode::Full).unwrap().close().await;
        let mut bytes = fs::read(from.join(STORE_FILE)).unwrap();
        let middle = bytes.len() / 2;
        bytes.truncate(middle);
        fs::write(from.join(STORE_FILE), bytes).unwrap();
        let damaged = snapshot_store(&from, &to).unwrap_err();
        assert!(damaged.to_string().contains(" is damaged: "), "{damaged}");
    }
}
