//! The daily backup of an installation, in the place of its archive.
//!
//! What is there says whether one is due, so a restart writes no second one. A backup that breaks off has no
//! manifest, and the next run begins another one. See `archive_objects` for how old ones are deleted.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use minutehand_archive::{BackupAbout, SealedWith, backup_name, open_day};
use minutehand_archive_objects::{Objects, RemovedBackups};
use minutehand_carry::{CARRIED_KINDS, StoreOfMoves, backup_entries};
use minutehand_runtime::chain;

use crate::lock;
use crate::serve::written_by;

/// Writes the backups of an installation.
#[derive(Debug, Clone)]
pub(crate) struct DailyBackups {
    /// The identity of the data directory.
    pub(crate) installation: String,
    /// How many are kept.
    pub(crate) kept: NonZeroU32,
    /// What `GET /metrics` tells of them.
    pub(crate) newest: NewestBackup,
}

/// When the newest backup began, in seconds since 1970: 0 if there is none, or none is known; `None` if no backups
/// are made.
pub(crate) type NewestBackup = Arc<Mutex<Option<i64>>>;

impl DailyBackups {
    /// Writes the backup of the day, unless it is there, and then deletes old ones.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or the place does not accept a file. Then there is no backup more.
    pub(super) async fn run(
        &self,
        objects: &Objects,
        store: &dyn StoreOfMoves,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let newest = objects.newest_scheduled_backup(&self.installation, now).await?;
        *lock(&self.newest) = Some(newest.map_or(0, |at| at.timestamp()));
        // A day begins when its archive is written: both are done by one run.
        if newest.is_some_and(|at| open_day(at) >= open_day(now)) {
            return Ok(());
        }
        let about = BackupAbout {
            at: now,
            written_by: written_by(),
            sealed_with: SealedWith::Installation,
            schedule_of: Some(self.installation.clone()),
        };
        let entries = backup_entries(store, now);
        let entries = entries.map_err(|error| {
            anyhow::Error::from(error).context("cannot read the store for a backup")
        });
        let manifest = objects.write_backup(about, entries, |_| {}).await?;
        *lock(&self.newest) = Some(manifest.about.at.timestamp());
        let [_, collections, job_count, ..] = CARRIED_KINDS.map(|kind| manifest.count(kind));
        let backup = backup_name(manifest.about.at);
        tracing::info!(backup, collections, jobs = job_count, "backed up");
        // The backup is there. What is left of old ones, the run of the next day deletes.
        match objects.remove_old_backups(&manifest, self.kept).await {
            Ok(RemovedBackups { files: 0, .. }) => {}
            Ok(RemovedBackups { backups, files }) => {
                tracing::info!(backups, files, "removed old backups");
            }
            Err(error) => tracing::error!(error = chain(&error), "cannot remove old backups"),
        }
        Ok(())
    }
}
