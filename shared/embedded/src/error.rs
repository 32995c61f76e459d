//! Errors when a database is opened.

use std::io;
use std::path::PathBuf;

/// Why the store or the queue could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is not a database, a newer version wrote it, or it cannot be read.
    #[error("cannot open the {what} {}", path.display())]
    Database {
        /// "store" or "queue".
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
        /// The error of SQLite or dynoxide.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file of the database does not hold what it has to hold.
    #[error(
        "the {what} {} is damaged: {why}; restore the data directory from a backup",
        path.display()
    )]
    Damaged {
        /// "store" or "queue".
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something else has the name of the database.
    #[error(
        "the {what} {} is a symbolic link, or no regular file: move the file itself there; the data \
         directory as a whole may be a link",
        path.display()
    )]
    NotAFile {
        /// "store" or "queue".
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
    },
    /// A newer version wrote the database.
    #[error(
        "the {what} {} has version {found}, and this version reads up to {newest}: it was written \
         by a newer version, use that one",
        path.display()
    )]
    Newer {
        /// Always "queue": the store checks the version of its tables itself.
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
        /// The version of the database.
        found: u32,
        /// The newest version that this build reads.
        newest: u32,
    },
    /// A file beside the database could not be created or made durable.
    #[error("cannot prepare the files of the {what} {}", path.display())]
    Io {
        /// "store" or "queue".
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A database in memory could not be created.
    #[error("cannot create a {what} in memory")]
    Memory {
        /// "store" or "queue".
        what: &'static str,
        /// The error of SQLite or dynoxide.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// SQLite accepts paths in UTF-8 only.
    #[error("the path {} is not UTF-8: choose another data directory", path.display())]
    Path {
        /// The path of the database.
        path: PathBuf,
    },
    /// The operating system refused to start a thread.
    #[error("cannot start the thread of the {what}")]
    Thread {
        /// "store" or "queue".
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}
