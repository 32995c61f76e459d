//! Errors of an archive: what failed, where, why, and what to do.

use std::io;

use minutehand_ports::StoreError;

use crate::location::Location;

/// Why something was not done in an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The folder does not exist.
    #[error(
        "the folder {location} does not exist: mount it, or create it; it is not created by \
         itself, since that would hide a file system that is not mounted"
    )]
    NoFolder {
        /// The folder.
        location: Location,
    },
    /// The archive was used before, and its mark is gone.
    #[error(
        "the archive {location} has no file minutehand.json, although it was used before: mount it, \
         or restore the file. For a new archive in its place, remove the file archive.json from the \
         data directory"
    )]
    NoMark {
        /// The archive.
        location: Location,
    },
    /// The mark has another id than the archive that was used before.
    #[error(
        "another archive is at {location}: mount the one that was used before, or correct --archive. To \
         use this one, stop the server, and remove the file archive.json from the data directory"
    )]
    Other {
        /// The archive.
        location: Location,
    },
    /// The mark is not a mark.
    #[error("the file minutehand.json of the archive {location} cannot be read: {why}")]
    BadMark {
        /// The archive.
        location: Location,
        /// The reason.
        why: String,
    },
    /// A backup cannot be used.
    #[error("the backup {backup} in {location} cannot be used: {why}")]
    BadBackup {
        /// The folder of the backup.
        backup: String,
        /// The place that it is in.
        location: Location,
        /// The reason.
        why: String,
    },
    /// Another process writes a backup of the same second.
    #[error("another backup is being written to {location} as {backup}: try again")]
    BackupExists {
        /// The folder of the backup.
        backup: String,
        /// The place that it is in.
        location: Location,
    },
    /// The environment lacks something that a bucket needs.
    #[error("cannot use the archive {location}: {why}")]
    Setup {
        /// The archive.
        location: Location,
        /// What to change.
        why: String,
    },
    /// The bucket does not exist.
    #[error("{location} does not exist: create the bucket, or correct its name")]
    NoBucket {
        /// The archive.
        location: Location,
        #[source]
        /// The answer.
        source: io::Error,
    },
    /// Access is refused.
    #[error(
        "cannot {what} the archive {location}: access is denied; the server needs to read, write, list \
         and delete there"
    )]
    Denied {
        /// The operation, with its object.
        what: String,
        /// The archive.
        location: Location,
        #[source]
        /// The cause.
        source: io::Error,
    },
    /// It failed for another reason, and may succeed later.
    #[error("cannot {what} the archive {location}")]
    Failed {
        /// The operation, with its object.
        what: String,
        /// The archive.
        location: Location,
        #[source]
        /// The cause.
        source: io::Error,
    },
}

impl From<ArchiveError> for StoreError {
    fn from(error: ArchiveError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl ArchiveError {
    /// Whether it may succeed later, without a change of the settings.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// What is wrong, and what to do, for everybody: without the location, and without the answer of a
    /// service.
    #[must_use]
    pub const fn advice(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoFolder { .. } | Self::NoMark { .. } => (
                "it has no file minutehand.json",
                "mount its file system, correct the name of the bucket, or restore the file",
            ),
            Self::Other { .. } => (
                "another archive is in its place",
                "mount the one that was used before, or correct --archive",
            ),
            Self::BadMark { .. } => (
                "its file minutehand.json cannot be read",
                "see that no proxy answers in the place of the service, or restore the file",
            ),
            Self::NoBucket { .. } => {
                ("the bucket does not exist", "create it, or correct its name in --archive")
            }
            Self::Denied { .. } => (
                "access is denied",
                "correct the permissions, or renew the keys in the environment and restart the server",
            ),
            Self::Setup { .. } => (
                "its settings are wrong",
                "correct the setting that the log names, and restart the server",
            ),
            Self::BadBackup { .. } | Self::BackupExists { .. } | Self::Failed { .. } => (
                "it does not answer, or refuses what is written",
                "see ArchiveFailed in the log for the reason",
            ),
        }
    }

    pub(crate) fn of(source: io::Error, location: &Location, what: impl Into<String>) -> Self {
        let (what, location) = (what.into(), location.clone());
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { what, location, source },
            io::ErrorKind::NotFound if matches!(location, Location::Bucket { .. }) => {
                Self::NoBucket { location, source }
            }
            io::ErrorKind::InvalidInput => Self::Setup { why: source.to_string(), location },
            _ => Self::Failed { what, location, source },
        }
    }
}
