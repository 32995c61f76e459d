//! The daily backup: all that an export carries, as an export writes it, in the bucket of the archive.
//!
//! Secrets stay as they are sealed, so no key is needed. The manifest says that the schedule made the backup.
//! When it is written, old backups of the schedule are deleted.
//!
//! | what happens | what comes of it |
//! |---|---|
//! | the time of the invocation is nearly over | an error, and files without a manifest, which are not backup; a run that is a day later deletes them |
//! | the table or the bucket does not answer | the same |
//! | old backups cannot be deleted | an error in the log, and trouble; the new one is there, and the next run deletes them |
//! | Lambda hands over the event twice | two backups, or one of the same second |

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::StreamExt as _;
use minutehand_archive::{BackupAbout, SealedWith, backup_name};
use minutehand_archive_objects::{ArchiveError, RemovedBackups};
use minutehand_carry::{CARRIED_KINDS, backup_entries};
use minutehand_ports::StoreError;
use minutehand_runtime::chain;
use minutehand_runtime_aws::{ErrorType, Metric};
use serde_json::{Value, json};

use crate::Function;

/// What the manifest says of its writer.
pub(crate) const WRITTEN_BY: &str = concat!("minutehand ", env!("CARGO_PKG_VERSION"));
/// What a backup leaves of its time: to write the last files, and to delete old ones.
const RESERVE: TimeDelta = TimeDelta::minutes(2);

/// A backup was not written.
#[derive(Debug, thiserror::Error)]
pub enum BackupFailed {
    /// None are made here.
    #[error("no backups are made: deploy with BackupsKept above 0")]
    NotMade,
    /// There is more to back up than an invocation has time for.
    #[error(
        "the time was over after {0} things, and there is no backup: deploy with a larger Size, which makes \
         it faster"
    )]
    TooLong(u64),
    /// The table does not answer.
    #[error("cannot read the table for a backup")]
    Store(#[from] StoreError),
    /// The bucket does not answer.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl Function {
    /// Writes a backup, and then deletes old ones.
    pub(crate) async fn back_up(&self, until: DateTime<Utc>) -> Result<Value, BackupFailed> {
        let done = self.write_backup(until).await;
        if done.is_err() {
            self.tally.add(Metric::BackupsFailed, 1);
        }
        done
    }

    async fn write_backup(&self, until: DateTime<Utc>) -> Result<Value, BackupFailed> {
        let kept = self.backups_kept.ok_or(BackupFailed::NotMade)?;
        let now = self.clock.now();
        let about = BackupAbout {
            at: now,
            written_by: WRITTEN_BY.to_owned(),
            sealed_with: SealedWith::Installation,
            // The bucket is of one installation, whichever table it has.
            schedule_of: Some(self.objects.location().to_string()),
        };
        let mut read = 0;
        let entries = backup_entries(&self.jobs, now).map(|entry| {
            if self.clock.work_now() >= until - RESERVE {
                return Err(BackupFailed::TooLong(read));
            }
            read += 1;
            Ok(entry?)
        });
        let manifest = self.objects.write_backup(about, entries, |_| {}).await?;
        let [_, collections, jobs, retries, _] = CARRIED_KINDS.map(|kind| manifest.count(kind));
        let backup = backup_name(manifest.about.at);
        tracing::info!(backup, collections, jobs, retries, "backed up");
        let removed = match self.objects.remove_old_backups(&manifest, kept).await {
            Ok(RemovedBackups { backups, files }) => {
                tracing::info!(backups, files, "removed old backups");
                backups
            }
            // The backup is there: another try would write another one.
            Err(error) => {
                self.tally.add(Metric::BackupsFailed, 1);
                tracing::error!(
                    error_type = %ErrorType::BackupFailed,
                    error = chain(&error),
                    "cannot remove old backups; the next run does"
                );
                0
            }
        };
        Ok(json!({
            "backup": backup,
            "collections": collections,
            "jobs": jobs,
            "retries": retries,
            "unreadable": manifest.unreadable,
            "removed": removed,
        }))
    }
}
