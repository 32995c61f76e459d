//! The file of a database, before SQLite opens it: there, of the right kind, and for its owner only.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::data_dir::private;
use crate::error::OpenError;

/// The first bytes of every database of SQLite.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Creates the file of a database if it is missing, and checks one that is there. An empty file is an
/// empty database, and SQLite creates the log with the file's mode.
///
/// This comes before SQLite has the database open: see the locks in [`log`](crate::log).
pub(crate) fn prepare(what: &'static str, path: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io { what, path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(OpenError::NotAFile { what, path: path.to_owned() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let mut file = private().create(true).truncate(false).open(path).map_err(io)?;
    if is_database(&mut file).map_err(io)? {
        Ok(())
    } else {
        Err(OpenError::damaged(what, path, "it is not a database"))
    }
}

fn is_database(file: &mut File) -> io::Result<bool> {
    let mut header = Vec::with_capacity(HEADER.len());
    file.take(HEADER.len() as u64).read_to_end(&mut header)?;
    Ok(header.is_empty() || header == HEADER)
}
