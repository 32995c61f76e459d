//! Why there is no backup.

use minutehand_archive_objects::ArchiveError;
use minutehand_ports::StoreError;

/// A backup was not written.
#[derive(Debug, thiserror::Error)]
pub enum BackupFailed {
    /// None are made here.
    #[error("no backups are made: deploy with BackupsKept above 0")]
    NotMade,
    /// There is more to back up than a day has time for.
    #[error(
        "the time of a day was over after {jobs} jobs, and {backup} is not finished: deploy with a larger \
         Size, which makes it faster"
    )]
    TooLong {
        /// The name of its folder.
        backup: String,
        /// How many jobs are written.
        jobs: u64,
    },
    /// The table does not answer.
    #[error("cannot read the table for a backup")]
    Store(#[from] StoreError),
    /// The bucket does not answer.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}
