//! Why SQLite did not do what it was asked.

use rusqlite::ffi::ErrorCode;

use super::copies::CopyProblem;

/// An error of SQLite, or of what is around it.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// SQLite refused.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite ended a transaction without an error.
    #[error("SQLite ended the transaction")]
    Ended,
    /// A statement returned more rows than a page holds.
    #[error("a statement returned too many rows: its list has no bound")]
    TooManyRows,
    /// A sync has failed, so what the disk holds is not known.
    #[error(
        "a sync failed, so what the disk holds is not known: start Minutehand again, which checks it"
    )]
    DiskFailed,
    /// The system refused a thread.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// A file beside the database cannot be read or written.
    #[error("a file of the data directory cannot be read or written")]
    Files(#[from] std::io::Error),
    /// A path cannot be given to SQLite.
    #[error("the path is not valid Unicode")]
    Path,
    /// Something else has the name of the database.
    #[error(
        "it is a symbolic link, or no regular file: move the file itself there; the data directory as a whole may \
         be a link"
    )]
    NotAFile,
    /// The files of the directory are of different moments.
    #[error(
        "the files of the data directory do not belong together: {0}. Restore a backup, or a copy that was \
         made while Minutehand was stopped. `--accept-copy` makes what it can of these files, and what was \
         answered before the copy may be missing"
    )]
    Copy(CopyProblem),
    /// The database is damaged.
    #[error("the database is damaged: {0}. Restore a backup")]
    Damaged(String),
    /// A newer version made the database, and this one cannot use it.
    #[error("a newer version of Minutehand made this database, and this version cannot use it")]
    Newer,
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl SqlError {
    /// Whether the database, or its disk, has no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull))
    }

    /// Whether the file is not a database, or a damaged one.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    /// Whether something is wrong with a request: another try does not help.
    pub(crate) fn is_of_request(&self) -> bool {
        let Self::Sqlite(error) = self else { return matches!(self, Self::TooManyRows) };
        error.sqlite_error_code().is_none_or(|code| {
            // The text or its values.
            matches!(
                code,
                ErrorCode::ConstraintViolation
                    | ErrorCode::TypeMismatch
                    | ErrorCode::TooBig
                    | ErrorCode::ApiMisuse
                    | ErrorCode::ParameterOutOfRange
                    | ErrorCode::Unknown
            )
        })
    }
}

/// Two errors are equal if they say the same: for tests of answers.
#[cfg(test)]
impl PartialEq for SqlError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
