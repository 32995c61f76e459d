//! Errors when a database is opened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::database::STORE;

/// What to do about damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Only a backup has what is lost.
    Restore,
    /// What is lost can be computed from the store.
    Repair,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restore => "restore the data directory from a backup",
            Self::Repair => {
                "run `minutehand repair`, which sends again what may be lost, or restore the data \
                 directory from a backup"
            }
        })
    }
}

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
    #[error("the {what} {} is damaged: {why}; {remedy}", path.display())]
    Damaged {
        /// "store" or "queue".
        what: &'static str,
        /// The path of the database.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do about it.
        remedy: Remedy,
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

impl OpenError {
    /// What to do, if a database is damaged.
    #[must_use]
    pub const fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Damaged { remedy, .. } => Some(*remedy),
            Self::Database { .. }
            | Self::NotAFile { .. }
            | Self::Newer { .. }
            | Self::Io { .. }
            | Self::Memory { .. }
            | Self::Path { .. }
            | Self::Thread { .. } => None,
        }
    }

    /// A damaged database. A queue can be made anew, a store cannot.
    pub(crate) fn damaged(what: &'static str, path: &Path, why: impl Into<String>) -> Self {
        let remedy = if what == STORE { Remedy::Restore } else { Remedy::Repair };
        Self::Damaged { what, path: path.to_owned(), why: why.into(), remedy }
    }

    /// An error of SQLite: some of them say that the file is damaged.
    pub(crate) fn of_sqlite(what: &'static str, path: &Path, error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::damaged(what, path, error.to_string())
            }
            _ => Self::Database { what, path: path.to_owned(), source: error.into() },
        }
    }
}
