//! The newest backup that a schedule has begun: finished, or paused, so that a later run goes on with it.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::{
    BackupProgress, backup_name, backup_time, progress_name, progress_number,
};

use crate::backups::backup_path;
use crate::error::ArchiveError;
use crate::objects::Objects;
use crate::old_backups::Standing;

/// How old a folder may be that is looked at: twice what a backup may take, so that each run for a day after
/// that finds what was not finished.
const AGE_MAX: TimeDelta = TimeDelta::days(2);

/// The newest backup that a schedule has begun.
#[derive(Debug)]
pub enum BegunBackup {
    /// It is finished. It began then.
    Finished(DateTime<Utc>),
    /// It goes on from there.
    Paused(BackupProgress),
    /// It cannot go on.
    Damaged(ArchiveError),
}

impl Objects {
    /// The newest backup of the last two days that the schedule of an installation has finished or paused.
    /// One that broke off before it had progress does not count, nor does one of the future.
    ///
    /// # Errors
    ///
    /// If the place does not answer.
    pub async fn newest_begun_backup(
        &self,
        installation: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<BegunBackup>, ArchiveError> {
        for name in self.backups().await?.iter().rev() {
            let at = backup_time(name).filter(|at| *at <= now && now - *at < AGE_MAX);
            let Some(at) = at else { continue };
            match self.standing(name, installation).await? {
                Standing::Ours => return Ok(Some(BegunBackup::Finished(at))),
                Standing::NotOurs => continue,
                Standing::Unfinished => {}
            }
            match self.progress(name).await {
                Ok(Some(progress))
                    if progress.manifest.about.schedule_of.as_deref() == Some(installation) =>
                {
                    return Ok(Some(BegunBackup::Paused(progress)));
                }
                Ok(_) => {}
                Err(error @ ArchiveError::BadBackup { .. }) => {
                    return Ok(Some(BegunBackup::Damaged(error)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The progress of a backup; `None` if the folder has none.
    async fn progress(&self, name: &str) -> Result<Option<BackupProgress>, ArchiveError> {
        let files = self.names_in(&backup_path(name, "")).await?;
        let Some(last) = files.iter().filter_map(|file| progress_number(file)).max() else {
            return Ok(None);
        };
        let file = progress_name(last);
        let Some(bytes) = self.get_at(&backup_path(name, &file)).await? else {
            return Ok(None);
        };
        let bad = |why: String| self.bad_backup(name, format!("{file}: {why}"));
        let progress = BackupProgress::read(&bytes).map_err(bad)?;
        if backup_name(progress.manifest.about.at) != name {
            return Err(bad("it is of another backup".to_owned()));
        }
        Ok(Some(progress))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU32;

    use minutehand_archive::{BackupAbout, BackupEntry, BackupLine, Manifest, SealedWith};
    use tempfile::TempDir;

    use super::*;
    use crate::backups::BackupWriter;
    use crate::location::Location;
    use crate::old_backups::RemovedBackups;

    fn opened(folder: &TempDir) -> Objects {
        let location = Location::Folder(folder.path().to_owned());
        Objects::open(&location, |_| None, || DateTime::UNIX_EPOCH).unwrap()
    }

    fn hour(n: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::hours(n)
    }

    fn about(at: i64, schedule_of: Option<&str>) -> BackupAbout {
        BackupAbout {
            at: hour(at) + TimeDelta::milliseconds(700),
            written_by: "t".to_owned(),
            sealed_with: SealedWith::Installation,
            schedule_of: schedule_of.map(str::to_owned),
        }
    }

    async fn add(writer: &mut BackupWriter<'_>, texts: &[&str]) {
        for text in texts {
            let line = BackupLine { kind: "jobs", text: (*text).to_owned(), has_secret: false };
            assert!(writer.add(BackupEntry::Line(line)).await.unwrap().is_none());
        }
    }

    async fn paused(objects: &Objects, at: i64, schedule_of: Option<&str>) -> Manifest {
        let mut writer = objects.begin_backup(about(at, schedule_of));
        add(&mut writer, &["a"]).await;
        writer.pause("1".to_owned()).await.unwrap()
    }

    /// The newest backup of the schedule `home`, in words.
    async fn newest(objects: &Objects, now: i64) -> String {
        match objects.newest_begun_backup("home", hour(now)).await.unwrap() {
            None => "none".to_owned(),
            Some(BegunBackup::Finished(at)) => format!("finished {}", at.timestamp() / 3_600),
            Some(BegunBackup::Paused(BackupProgress { manifest, position })) => {
                let jobs = manifest.count("jobs");
                format!("paused {} {position} {jobs}", manifest.about.at.timestamp() / 3_600)
            }
            Some(BegunBackup::Damaged(error)) => error.to_string(),
        }
    }

    async fn lines(objects: &Objects, manifest: &Manifest) -> Vec<String> {
        let mut lines = Vec::new();
        for file in &manifest.files {
            let name = backup_name(manifest.about.at);
            lines.extend(objects.backup_lines(&name, file).await.unwrap());
        }
        lines
    }

    fn path(folder: &TempDir, at: i64, file: &str) -> std::path::PathBuf {
        folder.path().join(backup_path(&backup_name(hour(at)), file))
    }

    #[tokio::test]
    async fn the_newest_of_the_schedule_counts_if_it_is_finished_or_has_progress() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        assert_eq!(newest(&objects, 99).await, "none");
        objects.begin_backup(about(10, Some("home"))).finish().await.unwrap();
        paused(&objects, 20, Some("home")).await;
        assert_eq!(newest(&objects, 19).await, "finished 10", "the other one is of the future");
        assert_eq!(newest(&objects, 20).await, "paused 20 1 1");
        // Of others, and one that broke off in its first part.
        paused(&objects, 30, Some("another")).await;
        objects.begin_backup(about(31, None)).finish().await.unwrap();
        paused(&objects, 32, Some("home")).await;
        fs::remove_file(path(&folder, 32, "progress-1.jsonl")).unwrap();
        assert_eq!(newest(&objects, 40).await, "paused 20 1 1");
        assert_eq!(newest(&objects, 67).await, "paused 20 1 1");
        assert_eq!(newest(&objects, 68).await, "none", "two days are over");
        objects.begin_backup(about(41, Some("home"))).finish().await.unwrap();
        assert_eq!(newest(&objects, 42).await, "finished 41");
    }

    #[tokio::test]
    async fn a_backup_goes_on_from_its_last_progress_and_what_a_crash_left_is_not_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        let first = paused(&objects, 0, Some("home")).await;
        // A part that crashed after its file, and one before its progress.
        for texts in [["b", "lost"], ["c", "lost"]] {
            let mut writer = objects.resume_backup(first.clone()).await.unwrap();
            add(&mut writer, &texts).await;
            assert!(writer.write_rest().await.unwrap().is_some());
        }
        let mut writer = objects.resume_backup(first).await.unwrap();
        add(&mut writer, &["b"]).await;
        writer.pause("2".to_owned()).await.unwrap();
        // Ten parts, so that the order is that of numbers.
        for position in 3..=10 {
            let Some(BegunBackup::Paused(progress)) =
                objects.newest_begun_backup("home", hour(1)).await.unwrap()
            else {
                panic!("it is paused");
            };
            let writer = objects.resume_backup(progress.manifest).await.unwrap();
            writer.pause(position.to_string()).await.unwrap();
        }
        assert_eq!(newest(&objects, 1).await, "paused 0 10 2");
        let BegunBackup::Paused(BackupProgress { manifest, .. }) =
            objects.newest_begun_backup("home", hour(1)).await.unwrap().unwrap()
        else {
            panic!("it is paused");
        };
        let mut writer = objects.resume_backup(manifest).await.unwrap();
        add(&mut writer, &["c"]).await;
        let manifest = writer.finish().await.unwrap();
        let names: Vec<_> = manifest.files.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["jobs.jsonl.gz", "jobs-4.jsonl.gz", "jobs-5.jsonl.gz"]);
        assert_eq!(lines(&objects, &manifest).await, ["a", "b", "c"]);
        assert_eq!(newest(&objects, 1).await, "finished 0");

        // All of it is removed: five files of lines, ten of progress, and the manifest.
        let next = objects.begin_backup(about(24, Some("home"))).finish().await.unwrap();
        let removed = objects.remove_old_backups(&next, NonZeroU32::MIN).await.unwrap();
        assert_eq!(removed, RemovedBackups { backups: 1, files: 16 });
        assert!(!path(&folder, 0, "").exists());
    }

    /// Both go on from the same progress: at each name, the second stops if it has other content.
    #[tokio::test]
    async fn of_two_that_go_on_at_the_same_time_one_stops_and_the_backup_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        let first = paused(&objects, 0, Some("home")).await;
        let mut writers = Vec::new();
        for texts in [["b", "c"], ["b", "changed"], ["b", "c"], ["b", "c"]] {
            let mut writer = objects.resume_backup(first.clone()).await.unwrap();
            add(&mut writer, &texts).await;
            writers.push(writer);
        }
        let [mut one, other, same, late] = <[_; 4]>::try_from(writers).unwrap();
        assert!(one.write_rest().await.unwrap().is_some());
        let error = other.finish().await.unwrap_err();
        assert!(matches!(error, ArchiveError::BackupExists { .. }), "{error}");
        same.pause("same".to_owned()).await.unwrap();
        let error = late.pause("late".to_owned()).await.unwrap_err();
        assert!(matches!(error, ArchiveError::BackupExists { .. }), "{error}");
        let manifest = one.finish().await.unwrap();
        assert_eq!(lines(&objects, &manifest).await, ["a", "b", "c"]);
        assert_eq!(newest(&objects, 1).await, "finished 0");
    }

    #[tokio::test]
    async fn damaged_progress_is_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        for at in [1, 2] {
            paused(&objects, at, Some("home")).await;
        }
        let file = path(&folder, 2, "progress-1.jsonl");
        for (content, why) in [
            (fs::read(path(&folder, 1, "progress-1.jsonl")).unwrap(), "it is of another backup"),
            (b"{}\n".to_vec(), "progress-1.jsonl: it has not two complete lines"),
        ] {
            fs::write(&file, content).unwrap();
            let said = newest(&objects, 3).await;
            assert!(said.contains(&backup_name(hour(2))) && said.contains(why), "{said}");
        }
    }

    #[tokio::test]
    async fn a_paused_backup_is_removed_when_it_may_not_go_on_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        paused(&objects, 0, Some("home")).await;
        for (age, is_left) in [(23, true), (25, false)] {
            let writer = objects.begin_backup(about(age, Some("home")));
            let manifest = writer.finish().await.unwrap();
            objects.remove_old_backups(&manifest, NonZeroU32::MAX).await.unwrap();
            assert_eq!(path(&folder, 0, "").exists(), is_left, "after {age} hours");
        }
    }
}
