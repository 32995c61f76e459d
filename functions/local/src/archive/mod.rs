//! The archive of one installation: writes each day of history and journals before the store may delete
//! it, and writes a day again.
//!
//! A day is written when it is over, and once more when its first record is about to expire. The second
//! time makes the same objects, unless something of that day was recorded late, as after a clock that
//! was wrong. The store deletes nothing of a day before that.
//!
//! The file `archive.json` of the data directory remembers the archive and how far it is.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | open: create the archive's mark | a mark, which the next start takes |
//! | open: remember the archive | the archive, with nothing in it |
//! | write some of the objects | the same objects again, written by the next run |
//! | remember how far it is | nothing to do; before it, the same objects are written again |
//! | delete some bodies of failures | the others, which the next run deletes |
//! | write some files of the day's backup | a folder without a manifest, which is no backup; the next run writes another one |
//! | write its manifest | the backup, and old ones that a run of the next day deletes |

mod backups;
mod repair;
mod state;
mod write;

pub(crate) use backups::{DailyBackups, NewestBackup};
pub use repair::{Repaired, repair};

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use minutehand_archive_objects::{ArchiveError, ArchiveWriter, ArchivedBodies, Objects, Written};
use minutehand_domain::history_days::HistoryDays;
use minutehand_runtime::chain;
use minutehand_store_dynamodb::{DynamoStore, EndedWhen};

use state::State;
use write::write;

/// How long after its end a day counts as over. Until then an attempt of it may still be recorded.
const CLOSING: TimeDelta = TimeDelta::hours(1);
/// How long a start waits for an archive that does not answer.
const START_TIME_MAX: Duration = Duration::from_secs(10);

/// Writes the archive of a store.
#[derive(Debug)]
pub(crate) struct Archiver {
    objects: Objects,
    /// The data directory; `None` if everything is in memory.
    dir: Option<PathBuf>,
    /// The id of a new archive.
    new_id: String,
    /// For how long the store keeps history.
    history: HistoryDays,
    /// `None` until the archive has answered.
    state: Option<State>,
    /// `None` if no backups are made.
    backups: Option<DailyBackups>,
}

impl Archiver {
    /// Looks whether the archive is the one that it was, or makes it one. An archive that does not
    /// answer now is asked again by each run.
    ///
    /// # Errors
    ///
    /// If somebody has to change something before it can be used.
    pub(crate) async fn open(
        objects: Objects,
        dir: Option<&Path>,
        new_id: String,
        history: HistoryDays,
    ) -> Result<Self> {
        let dir = dir.map(Path::to_owned);
        let mut archiver = Self { objects, dir, new_id, history, state: None, backups: None };
        let location = archiver.objects.location().to_string();
        match tokio::time::timeout(START_TIME_MAX, archiver.check()).await {
            Ok(Ok(())) => {
                let id = archiver.state.as_ref().map(|state| state.id.as_str());
                tracing::info!(location, id, "archive");
            }
            Ok(Err(error)) if !is_passing(&error) => return Err(error),
            Ok(Err(error)) => {
                tracing::error!(location, error = chain(&*error), "the archive does not answer");
            }
            Err(_) => tracing::error!(location, "the archive does not answer in time"),
        }
        Ok(archiver)
    }

    /// The same, with a backup each day.
    pub(crate) fn with_backups(self, backups: Option<DailyBackups>) -> Self {
        Self { backups, ..self }
    }

    /// Writes the days that are over and those that begin to expire, as far as they are not written.
    ///
    /// # Errors
    ///
    /// If the archive or the store fails. What is not written stays in the store.
    pub(crate) async fn catch_up(&mut self, jobs: &DynamoStore, now: DateTime<Utc>) -> Result<()> {
        // The file system of a folder may be gone by now.
        self.check().await?;
        let State { written_until, checked_until, .. } =
            self.state.clone().context("the archive has not answered")?;
        let over = day_of(now, CLOSING);
        // The first day of which nothing expires yet.
        let expiring = day_of(now, self.history.span()).succ_opt().unwrap_or(NaiveDate::MAX);
        // A clock that was ahead has claimed days that were not over.
        let was_ahead = written_until.is_some_and(|until| until.pred_opt() > Some(over));
        let written_until = if was_ahead { checked_until } else { written_until };
        if written_until.is_none_or(|until| until < over) {
            let written = self.write_between(jobs, written_until, over).await?;
            self.remember(|state| state.written_until = Some(over))?;
            let (lines, objects) = (written.lines, written.objects.len());
            tracing::info!(until = %over, lines, objects, "archived");
        }
        if checked_until.is_none_or(|until| until < expiring) {
            // At the first time, everything was just written.
            if written_until.is_some() {
                self.write_between(jobs, checked_until, expiring).await?;
                tracing::debug!(until = %expiring, "checked what is archived");
            }
            self.remember(|state| state.checked_until = Some(expiring))?;
        }
        Ok(())
    }

    /// Writes the backup of the day, if backups are made and it is not there.
    ///
    /// # Errors
    ///
    /// If the archive or the store fails. Then a later run writes it.
    pub(crate) async fn back_up(&mut self, jobs: &DynamoStore, now: DateTime<Utc>) -> Result<()> {
        let Some(backups) = self.backups.clone() else {
            return Ok(());
        };
        backups.begin();
        // The file system of a folder may be gone by now.
        self.check().await?;
        backups.run(&self.objects, jobs, now).await
    }

    /// Deletes the bodies of failures of whose day the store has no history any more. Returns how many.
    ///
    /// # Errors
    ///
    /// If the archive fails. What is not deleted now is deleted by a later run.
    pub(crate) async fn remove_bodies(&self, now: DateTime<Utc>) -> Result<u64> {
        let day = day_of(now, self.history.span());
        Ok(ArchivedBodies::new(self.objects.clone()).remove_before(day).await?)
    }

    /// What ended before this instant is archived, and may be deleted when it has expired.
    pub(crate) fn archived_until(&self) -> DateTime<Utc> {
        let until = self.state.as_ref().and_then(|state| state.checked_until);
        until.map_or(DateTime::UNIX_EPOCH, midnight)
    }

    async fn write_between(
        &self,
        jobs: &DynamoStore,
        from: Option<NaiveDate>,
        until: NaiveDate,
    ) -> Result<Written> {
        let when = EndedWhen::Between { from: from.map(midnight), until: midnight(until) };
        let mut writer = ArchiveWriter::new(&self.objects);
        write(jobs, &mut writer, when, |_| true).await?;
        Ok(writer.finish().await?)
    }

    /// Compares the archive's mark with what the data directory remembers.
    async fn check(&mut self) -> Result<()> {
        let location = self.objects.location().clone();
        let mark = self.objects.mark().await?;
        if let Some(State { id, .. }) = &self.state {
            return match mark {
                Some(mark) if mark == *id => Ok(()),
                Some(_) => bail!("another archive is at {location} now: restart the server"),
                None => Err(ArchiveError::NoMark { location }.into()),
            };
        }
        let remembered = self.dir.as_deref().map(State::read).transpose()?.flatten();
        let remembered = remembered.filter(|state| state.location == location.to_string());
        let id = match (mark, &remembered) {
            (Some(id), _) => id,
            (None, Some(_)) => return Err(ArchiveError::NoMark { location }.into()),
            (None, None) => self.objects.create_mark(&self.new_id).await?,
        };
        let state = remembered.filter(|state| state.id == id);
        self.state = Some(state.unwrap_or_else(|| State::new(location.to_string(), id)));
        self.remember(|_| {})
    }

    fn remember(&mut self, change: impl FnOnce(&mut State)) -> Result<()> {
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        change(state);
        self.dir.as_deref().map_or(Ok(()), |dir| state.write(dir))
    }
}

fn is_passing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ArchiveError>().is_some_and(ArchiveError::is_passing)
}

/// The day of an instant before now.
fn day_of(now: DateTime<Utc>, before: TimeDelta) -> NaiveDate {
    now.checked_sub_signed(before).unwrap_or(DateTime::<Utc>::MIN_UTC).date_naive()
}

fn midnight(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests;
