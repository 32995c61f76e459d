//! The backups that a schedule made: which one is the newest, and the deletion of old ones.
//!
//! A manifest names the installation whose schedule made the backup. Several installations may share a
//! place, so each deletes only its own. A backup that a user asked for names none, and nothing deletes it.
//!
//! Old backups are deleted when a new one has its manifest, and the new one is always kept. Of an old one
//! the manifest goes first:
//!
//! | step | a crash after it leaves | repaired by |
//! |---|---|---|
//! | write the new backup | one backup more than are to be kept | the next run, which deletes both old ones |
//! | delete the manifest of an old one | files that are not backup: no reader uses them | the next run, when they are more than a day old |
//! | delete some of its files | the same | the same |
//! | delete its folder, if there are folders | nothing | |
//!
//! A folder without a manifest that is a day old is from a backup that broke off, or from such a crash. A
//! younger one may be from a backup that is being written, or that is paused. What a folder has beside the
//! files of the manifest, such as progress, goes with it.
//!
//! Two runs may delete at the same time: what one has deleted is gone for the other, which is not an error.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::{MANIFEST, Manifest, backup_name, backup_time};

use crate::backups::backup_path;
use crate::error::ArchiveError;
use crate::objects::Objects;

/// How long a backup may take, with all its parts. A folder that is older and has no manifest is from one
/// that broke off.
pub const BACKUP_TIME_MAX: TimeDelta = TimeDelta::days(1);
/// The most files that one run deletes, or twice as many as the newest backup has, so that deletions do not
/// fall behind. The next run deletes more.
const FILES_MAX: usize = 1_000;

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedBackups {
    /// Backups that are none any more.
    pub backups: usize,
    /// Files, of these and of backups that broke off.
    pub files: usize,
}

/// What a folder below `backup/` holds.
pub(crate) enum Standing {
    /// A backup by the schedule of the installation.
    Ours,
    /// A folder without a manifest.
    Unfinished,
    /// A backup of a user or of another installation, or one that cannot be read.
    NotOurs,
}

impl Objects {
    /// When the newest backup by the schedule of an installation began; `None` without one. A backup of
    /// the future, from a clock that was wrong, does not count.
    ///
    /// # Errors
    ///
    /// If the place does not answer.
    pub async fn newest_scheduled_backup(
        &self,
        installation: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, ArchiveError> {
        for name in self.backups().await?.iter().rev() {
            let Some(at) = backup_time(name).filter(|at| *at <= now) else { continue };
            if matches!(self.standing(name, installation).await?, Standing::Ours) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Deletes old backups by the schedule that made this one, so that so many are left with it, and what
    /// backups that broke off have left.
    ///
    /// # Errors
    ///
    /// If the place does not answer. Some may be deleted by then.
    pub async fn remove_old_backups(
        &self,
        newest: &Manifest,
        kept: NonZeroU32,
    ) -> Result<RemovedBackups, ArchiveError> {
        let files_max = FILES_MAX.max(newest.files.len().saturating_mul(2));
        self.remove_some_old_backups(newest, kept, files_max).await
    }

    async fn remove_some_old_backups(
        &self,
        newest: &Manifest,
        kept: NonZeroU32,
        files_max: usize,
    ) -> Result<RemovedBackups, ArchiveError> {
        let mut removed = RemovedBackups::default();
        let Some(installation) = &newest.about.schedule_of else {
            return Ok(removed);
        };
        let (mut older, mut unfinished) = (VecDeque::new(), Vec::new());
        for name in self.backups().await? {
            // The name has no parts of a second.
            let is_newest = name == backup_name(newest.about.at);
            let at = backup_time(&name).filter(|at| !is_newest && *at < newest.about.at);
            let Some(at) = at else { continue };
            match self.standing(&name, installation).await? {
                Standing::Ours => older.push_back(name),
                Standing::Unfinished if newest.about.at - at > BACKUP_TIME_MAX => {
                    unfinished.push(name);
                }
                Standing::Unfinished | Standing::NotOurs => {}
            }
        }
        for name in unfinished {
            self.remove_files(&name, files_max, &mut removed).await?;
        }
        let kept_beside_newest = usize::try_from(kept.get() - 1).unwrap_or(usize::MAX);
        while older.len() > kept_beside_newest && removed.files < files_max {
            let Some(name) = older.pop_front() else { break };
            self.delete_at(&backup_path(&name, MANIFEST)).await?;
            removed.backups += 1;
            removed.files += 1;
            self.remove_files(&name, files_max, &mut removed).await?;
        }
        Ok(removed)
    }

    /// Deletes the files of a folder that is not a backup, as many as may be deleted yet.
    async fn remove_files(
        &self,
        name: &str,
        files_max: usize,
        removed: &mut RemovedBackups,
    ) -> Result<(), ArchiveError> {
        let folder = backup_path(name, "");
        let left = files_max.saturating_sub(removed.files);
        for file in self.names_in(&folder).await?.iter().take(left) {
            self.delete_at(&backup_path(name, file)).await?;
            removed.files += 1;
        }
        self.delete_folder(&folder).await
    }

    pub(crate) async fn standing(
        &self,
        name: &str,
        installation: &str,
    ) -> Result<Standing, ArchiveError> {
        match self.manifest(name).await {
            Ok(None) => Ok(Standing::Unfinished),
            Ok(Some((manifest, _)))
                if manifest.about.schedule_of.as_deref() == Some(installation) =>
            {
                Ok(Standing::Ours)
            }
            Ok(Some(_)) | Err(ArchiveError::BadBackup { .. }) => Ok(Standing::NotOurs),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures_util::stream;
    use minutehand_archive::{BackupAbout, BackupEntry, BackupLine, SealedWith};
    use tempfile::TempDir;

    use super::*;
    use crate::location::Location;

    const KINDS: [&str; 3] = ["collections", "jobs", "retries"];

    fn opened(folder: &TempDir) -> Objects {
        let location = Location::Folder(folder.path().to_owned());
        Objects::open(&location, |_| None, || DateTime::UNIX_EPOCH).unwrap()
    }

    fn hour(n: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::hours(n)
    }

    fn kept(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    /// Writes a backup of three files at this hour. It breaks off before its manifest if `is_broken`.
    async fn write(
        objects: &Objects,
        at: i64,
        schedule_of: Option<&str>,
        is_broken: bool,
    ) -> Option<Manifest> {
        let about = BackupAbout {
            at: hour(at) + TimeDelta::milliseconds(700),
            written_by: "t".to_owned(),
            sealed_with: SealedWith::Installation,
            schedule_of: schedule_of.map(str::to_owned),
        };
        let line = |kind| {
            let line = BackupLine { kind, text: format!("{kind} of {at}"), has_secret: false };
            Ok::<_, ArchiveError>(BackupEntry::Line(line))
        };
        let written = objects.write_backup(about, stream::iter(KINDS.map(line)), |_| {}).await;
        let manifest = written.unwrap();
        if is_broken {
            let name = backup_path(&backup_name(manifest.about.at), MANIFEST);
            objects.delete_at(&name).await.unwrap();
            return None;
        }
        Some(manifest)
    }

    async fn daily(objects: &Objects, at: i64) -> Manifest {
        write(objects, at, Some("home"), false).await.unwrap()
    }

    /// The hours of what can be imported. Each backup is complete.
    async fn complete(objects: &Objects) -> Vec<i64> {
        let mut hours = Vec::new();
        for name in objects.backups().await.unwrap() {
            if let Some((manifest, _)) = objects.manifest(&name).await.unwrap() {
                assert_eq!(manifest.files.len(), KINDS.len());
                for file in &manifest.files {
                    objects.backup_lines(&name, file).await.unwrap();
                }
                hours.push(manifest.about.at.timestamp() / 3_600);
            }
        }
        hours
    }

    fn folders(folder: &TempDir) -> usize {
        fs::read_dir(folder.path().join("backup")).unwrap().count()
    }

    #[tokio::test]
    async fn the_newest_of_the_schedule_stay_with_all_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        assert_eq!(objects.newest_scheduled_backup("home", hour(99)).await.unwrap(), None);
        for at in [0, 24, 48, 72] {
            daily(&objects, at).await;
        }
        write(&objects, 1, None, false).await;
        write(&objects, 2, Some("another"), false).await;
        write(&objects, 90, Some("another"), false).await;
        // One of the future, and one that is not readable.
        daily(&objects, 500).await;
        daily(&objects, 3).await;
        let damaged = folder.path().join(backup_path(&backup_name(hour(3)), MANIFEST));
        fs::write(&damaged, "{}").unwrap();

        let newest = objects.newest_scheduled_backup("home", hour(99)).await.unwrap();
        assert_eq!(newest, Some(hour(72)));
        let manifest = daily(&objects, 96).await;
        let removed = objects.remove_old_backups(&manifest, kept(3)).await.unwrap();
        assert_eq!(removed, RemovedBackups { backups: 2, files: 8 });
        assert!(damaged.exists());
        fs::remove_file(&damaged).unwrap();
        assert_eq!(complete(&objects).await, [1, 2, 48, 72, 90, 96, 500]);
        // Nothing is left to do.
        let manifest = objects.manifest(&backup_name(hour(96))).await.unwrap().unwrap().0;
        let removed = objects.remove_old_backups(&manifest, kept(3)).await.unwrap();
        assert_eq!(removed, RemovedBackups { backups: 0, files: 3 }, "what was made unreadable");
        let removed = objects.remove_old_backups(&manifest, kept(3)).await.unwrap();
        assert_eq!(removed, RemovedBackups::default());
        // A backup that a user asked for deletes nothing.
        let manifest = write(&objects, 97, None, false).await.unwrap();
        let removed = objects.remove_old_backups(&manifest, kept(1)).await.unwrap();
        assert_eq!(removed, RemovedBackups::default());
    }

    #[tokio::test]
    async fn what_broke_off_goes_after_a_day_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        write(&objects, 0, Some("home"), true).await;
        write(&objects, 1, None, true).await;
        // What a crash leaves of a file that is being written.
        let draft = backup_path(&backup_name(hour(1)), ".jobs-2.jsonl.gz.0a");
        fs::write(folder.path().join(draft), "half").unwrap();
        write(&objects, 24, Some("home"), true).await;
        let manifest = daily(&objects, 26).await;
        let removed = objects.remove_old_backups(&manifest, kept(1)).await.unwrap();
        assert_eq!(removed, RemovedBackups { backups: 0, files: 6 });
        assert_eq!((folders(&folder), complete(&objects).await), (2, vec![26]));
    }

    /// A run that may delete so many files does what a run does that crashes after them.
    #[tokio::test]
    async fn after_a_crash_at_any_step_each_backup_is_complete_and_the_next_run_ends_it() {
        for step in 0..=8 {
            let folder = tempfile::tempdir().unwrap();
            let objects = opened(&folder);
            for at in [0, 24, 48] {
                daily(&objects, at).await;
            }
            let manifest = daily(&objects, 72).await;
            let removed = objects.remove_some_old_backups(&manifest, kept(2), step).await.unwrap();
            assert_eq!(removed.files, step);
            let left = complete(&objects).await;
            let expected = [vec![0, 24, 48, 72], vec![24, 48, 72], vec![48, 72]];
            assert_eq!(left, expected[removed.backups], "step {step}");

            let manifest = daily(&objects, 96).await;
            objects.remove_old_backups(&manifest, kept(2)).await.unwrap();
            assert_eq!(complete(&objects).await, [72, 96], "step {step}");
            assert_eq!(folders(&folder), 2, "step {step}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn two_runs_of_a_day_leave_complete_backups() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        for at in 0..6 {
            daily(&objects, at).await;
        }
        let run = |at| {
            let objects = objects.clone();
            tokio::spawn(async move {
                let manifest = daily(&objects, at).await;
                objects.remove_old_backups(&manifest, kept(3)).await.unwrap();
            })
        };
        let (one, other) = (run(24), run(25));
        one.await.unwrap();
        other.await.unwrap();
        let left = complete(&objects).await;
        assert!(left.ends_with(&[24, 25]) && (3..=4).contains(&left.len()), "{left:?}");
        assert_eq!(folders(&folder), left.len());
    }
}
