//! Decides what the rule of each hour does for the daily backup.

use chrono::{DateTime, Timelike as _, Utc};
use minutehand_archive::{BackupProgress, backup_name};
use minutehand_archive_objects::{BACKUP_TIME_MAX, BegunBackup};

use crate::failed::BackupFailed;

/// The hour of a day, in UTC, from which on its backup begins: the days before are sorted by then.
const FIRST_HOUR: u32 = 3;

/// What is due.
#[derive(Debug)]
pub(crate) enum Due {
    /// The backup of the day is there, or its hour is still to come.
    Nothing,
    /// A backup begins.
    Begin,
    /// An unfinished backup goes on.
    GoOn(BackupProgress),
    /// An unfinished backup has failed, and another one begins.
    BeginAfter(BackupFailed),
}

/// What is due after the newest backup that the schedule has begun.
pub(crate) fn due(newest: Option<BegunBackup>, now: DateTime<Utc>) -> Due {
    match newest {
        Some(BegunBackup::Paused(progress)) => {
            let began_at = progress.manifest.about.at;
            if now - began_at < BACKUP_TIME_MAX {
                return Due::GoOn(progress);
            }
            let jobs = progress.manifest.count("jobs");
            Due::BeginAfter(BackupFailed::TooLong { backup: backup_name(began_at), jobs })
        }
        Some(BegunBackup::Damaged(error)) => Due::BeginAfter(error.into()),
        Some(BegunBackup::Finished(at)) if at.date_naive() == now.date_naive() => Due::Nothing,
        Some(BegunBackup::Finished(_)) | None if now.hour() < FIRST_HOUR => Due::Nothing,
        Some(BegunBackup::Finished(_)) | None => Due::Begin,
    }
}

#[cfg(test)]
mod tests {
    use minutehand_archive::{BackupAbout, BackupParts, SealedWith};
    use minutehand_archive_objects::{ArchiveError, Location};

    use super::*;

    fn at(day_and_time: &str) -> DateTime<Utc> {
        format!("2026-11-{day_and_time}:00Z").parse().unwrap()
    }

    #[test]
    fn each_hour_a_backup_goes_on_or_the_one_of_the_day_begins() {
        let finished = |began: &str| Some(BegunBackup::Finished(at(began)));
        let paused = |began: &str| {
            let about = BackupAbout {
                at: at(began),
                written_by: "t".to_owned(),
                sealed_with: SealedWith::Installation,
                schedule_of: None,
            };
            let manifest = BackupParts::new(about).into_manifest();
            Some(BegunBackup::Paused(BackupProgress { manifest, position: String::new() }))
        };
        let damaged = || {
            let location = Location::Folder("archive".into());
            let (backup, why) = ("b".to_owned(), "it is damaged".to_owned());
            Some(BegunBackup::Damaged(ArchiveError::BadBackup { backup, location, why }))
        };
        for (newest, now, expected) in [
            (None, "21T02:59", "nothing"),
            (None, "21T03:00", "begin"),
            (None, "21T23:30", "begin"),
            (finished("20T23:30"), "21T00:30", "nothing"),
            (finished("20T03:30"), "21T02:30", "nothing"),
            (finished("20T03:30"), "21T03:30", "begin"),
            (finished("19T03:30"), "21T17:30", "begin"),
            // Also one that an operator has asked for.
            (finished("21T00:10"), "21T03:30", "nothing"),
            (finished("21T03:30"), "21T04:30", "nothing"),
            (paused("21T03:30"), "21T04:30", "go on"),
            // The one of today begins when this one ends.
            (paused("20T03:30"), "21T02:30", "go on"),
            (paused("20T04:31"), "21T04:30", "go on"),
            (paused("20T04:30"), "21T04:30", "the time of a day was over"),
            (paused("20T01:00"), "21T01:30", "the time of a day was over"),
            (damaged(), "21T04:30", "it is damaged"),
        ] {
            let said = match due(newest, at(now)) {
                Due::Nothing => "nothing".to_owned(),
                Due::Begin => "begin".to_owned(),
                Due::GoOn(_) => "go on".to_owned(),
                Due::BeginAfter(failed) => failed.to_string(),
            };
            assert!(said.contains(expected), "{now}: {said}, not {expected}");
        }
    }
}
