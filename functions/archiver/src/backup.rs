//! The daily backup: all that an export carries, as an export writes it, in the bucket of the archive.
//!
//! Secrets stay as they are sealed, so no key is needed. The manifest says that the schedule made the backup.
//! When it is written, old backups of the schedule are deleted.
//!
//! A backup is written in parts, so that it may be of any size. When the time of an invocation is nearly over,
//! it writes the lines that it has gathered, and its position in the table. A rule invokes the function each
//! hour: it continues an unfinished backup, or begins the daily one. It never overwrites a file.
//!
//! | what happens | what comes of it |
//! |---|---|
//! | the time of the invocation is nearly over | progress, and the next hour goes on from there |
//! | the table or the bucket does not answer | an error; Lambda tries again, and then the next hour: from the last progress, or a new backup without one |
//! | a backup is not finished after a day | an error in the log, and trouble; a new one begins |
//! | progress cannot be read | the same |
//! | old backups cannot be deleted | an error in the log, and trouble; the new one is there, and the next run deletes them |
//! | Lambda hands over the event twice | both write; the second to write other content under a name stops, or each has a backup of its own |
//!
//! | step | a crash after it leaves | repaired by |
//! |---|---|---|
//! | write some files of a part | files that no progress names | the next part, which goes on from the last progress with new names; they are deleted with the backup |
//! | write them in the first part | a folder without progress | the next hour begins another backup; a run that is a day later deletes the folder |
//! | write the progress | a paused backup | the next hour |
//! | write the last files | the same as after some files | the next hour, which writes them again |
//! | write the manifest | the backup, with its progress beside it | the run of the next day, which deletes old backups |

use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::{BackupAbout, BackupProgress, Manifest, SealedWith, backup_name};
use minutehand_archive_objects::{ArchiveError, BACKUP_TIME_MAX, BackupWriter, RemovedBackups};
use minutehand_carry::{BackupPosition, CARRIED_KINDS, backup_page};
use minutehand_runtime::chain;
use minutehand_runtime_aws::{ErrorType, Metric};
use serde_json::{Value, json};

use crate::Function;
use crate::due::{Due, due};
use crate::event::BackupRequest;
use crate::failed::BackupFailed;

/// What the manifest says of its writer.
pub(crate) const WRITTEN_BY: &str = concat!("minutehand ", env!("CARGO_PKG_VERSION"));
/// What a part of a backup leaves of its time: to write the last files, and to delete old ones.
const RESERVE: TimeDelta = TimeDelta::minutes(2);

impl Function {
    /// Writes a backup, or a part of one, and deletes old ones when it is finished.
    pub(crate) async fn back_up(
        &self,
        request: BackupRequest,
        until: DateTime<Utc>,
    ) -> Result<Value, BackupFailed> {
        let done = match request {
            BackupRequest::Now => self.begin_backup(until).await,
            BackupRequest::IfDue => self.back_up_if_due(until).await,
        };
        if done.is_err() {
            self.tally.add(Metric::BackupsFailed, 1);
        }
        done
    }

    async fn back_up_if_due(&self, until: DateTime<Utc>) -> Result<Value, BackupFailed> {
        let (place, now) = (self.objects.location().to_string(), self.clock.now());
        let newest = self.objects.newest_begun_backup(&place, now).await?;
        let done = match due(newest, now) {
            Due::Nothing => return Ok(json!({"backup": null, "done": true})),
            Due::Begin => self.begin_backup(until).await,
            Due::GoOn(progress) => self.go_on(progress, until).await,
            Due::BeginAfter(failed) => {
                self.give_up(&failed);
                self.begin_backup(until).await
            }
        };
        match done {
            // What it has written, the other run has written too, or does not name.
            Err(BackupFailed::Archive(error @ ArchiveError::BackupExists { .. })) => {
                tracing::warn!(error = chain(&error), "another run goes on with the backup");
                Ok(json!({"backup": null, "done": false}))
            }
            done => done,
        }
    }

    async fn begin_backup(&self, until: DateTime<Utc>) -> Result<Value, BackupFailed> {
        let about = BackupAbout {
            at: self.clock.now(),
            written_by: WRITTEN_BY.to_owned(),
            sealed_with: SealedWith::Installation,
            // The bucket is of one installation, whichever table it has.
            schedule_of: Some(self.objects.location().to_string()),
        };
        let at = about.at;
        self.write_part(self.objects.begin_backup(about), at, BackupPosition::default(), until)
            .await
    }

    async fn go_on(
        &self,
        BackupProgress { manifest, position }: BackupProgress,
        until: DateTime<Utc>,
    ) -> Result<Value, BackupFailed> {
        let at = manifest.about.at;
        let position = match BackupPosition::read(&position) {
            Ok(position) => position,
            Err(why) => {
                self.give_up(&self.objects.bad_backup(&backup_name(at), why).into());
                return self.begin_backup(until).await;
            }
        };
        // A later backup may delete it after that.
        let until = until.min(at + BACKUP_TIME_MAX);
        self.write_part(self.objects.resume_backup(manifest).await?, at, position, until).await
    }

    /// Writes what there is from a position on, until the time is over. It writes a page at least.
    async fn write_part(
        &self,
        mut writer: BackupWriter<'_>,
        at: DateTime<Utc>,
        mut position: BackupPosition,
        until: DateTime<Utc>,
    ) -> Result<Value, BackupFailed> {
        let kept = self.backups_kept.ok_or(BackupFailed::NotMade)?;
        while let Some((entries, next)) = backup_page(&self.jobs, at, position).await? {
            for entry in entries {
                writer.add(entry).await?;
            }
            if self.clock.work_now() >= until - RESERVE {
                let manifest = writer.pause(next.to_text()).await?;
                return Ok(said(&manifest, None));
            }
            position = next;
        }
        let manifest = writer.finish().await?;
        let removed = self.remove_old_backups(&manifest, kept).await;
        Ok(said(&manifest, Some(removed)))
    }

    /// Deletes old backups. Returns how many.
    async fn remove_old_backups(&self, manifest: &Manifest, kept: NonZeroU32) -> usize {
        match self.objects.remove_old_backups(manifest, kept).await {
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
        }
    }

    /// Tells of an unfinished backup that does not go on.
    fn give_up(&self, failed: &BackupFailed) {
        self.tally.add(Metric::BackupsFailed, 1);
        tracing::error!(
            error_type = %ErrorType::BackupFailed,
            error = chain(failed),
            "an unfinished backup does not go on; another one begins"
        );
    }
}

/// What is written, in the log and as an answer. `removed` is how many old ones are deleted, if it is done.
fn said(manifest: &Manifest, removed: Option<usize>) -> Value {
    let [_, collections, jobs, retries, _] = CARRIED_KINDS.map(|kind| manifest.count(kind));
    let (backup, done) = (backup_name(manifest.about.at), removed.is_some());
    tracing::info!(backup, done, collections, jobs, retries, "backed up");
    json!({
        "backup": backup,
        "done": done,
        "collections": collections,
        "jobs": jobs,
        "retries": retries,
        "unreadable": manifest.unreadable,
        "removed": removed.unwrap_or_default(),
    })
}
