//! Why a database could not be opened.

use std::io;
use std::path::PathBuf;

/// Why the store or the queue could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database is not one, was written by a newer version, or cannot be read.
    #[error("cannot open the {what} {}", path.display())]
    Database {
        /// The store, or the queue.
        what: &'static str,
        /// The database.
        path: PathBuf,
        /// What SQLite, or what stands on it, says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version wrote it.
    #[error(
        "the {what} {} has version {found}, and this version reads up to {newest}: it was written \
         by a newer version, use that one",
        path.display()
    )]
    Newer {
        /// The queue: the store looks after its own.
        what: &'static str,
        /// The database.
        path: PathBuf,
        /// The version it has.
        found: u32,
        /// The newest that is read.
        newest: u32,
    },
    /// A file beside the database could not be created or made durable.
    #[error("cannot prepare the files of the {what} {}", path.display())]
    Io {
        /// The store, or the queue.
        what: &'static str,
        /// The database.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A database in memory could not be made.
    #[error("cannot make a {what} in memory")]
    Memory {
        /// The store, or the queue.
        what: &'static str,
        /// What SQLite, or what stands on it, says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// SQLite takes paths in UTF-8 only.
    #[error("the path {} is not UTF-8: choose another data directory", path.display())]
    Path {
        /// The database.
        path: PathBuf,
    },
    /// The operating system gave no thread.
    #[error("cannot start the thread of the {what}")]
    Thread {
        /// The store, or the queue.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}
