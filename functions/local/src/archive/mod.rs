//! The archive of one installation: writes each day of history and journals before the store may delete
//! it, and writes a day again.
//!
//! [`ArchivedDays::due`] says which days a run writes. The second time that a day is written
//! makes the same objects, unless something of that day was recorded late, as after a clock that
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
//! | write some files of the day's backup | a folder without a manifest, which is not a backup; the next run writes another one |
//! | write its manifest | the backup, and old ones that a run of the next day deletes |

mod backups;
mod health;
mod repair;
mod state;
mod write;

pub(crate) use backups::{DailyBackups, NewestBackup};
pub(crate) use health::ArchiveHealth;
pub use repair::{Repaired, repair};

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use minutehand_archive::{ArchivedDays, DaySpan, day_before};
use minutehand_archive_objects::{
    ArchiveError, ArchiveWriter, ArchivedBodies, Location, Objects, Written,
};
use minutehand_carry::StoreOfMoves;
use minutehand_domain::history_days::HistoryDays;
use minutehand_runtime::chain;
use minutehand_store_sql::{EndedWhen, SqlStore};

use crate::lock;
use state::State;
use write::write;

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
    /// `None` until a new archive has answered.
    state: Option<State>,
    pub(crate) health: ArchiveHealth,
    /// `None` if no backups are made.
    pub(crate) backups: Option<DailyBackups>,
}

impl Archiver {
    /// Looks whether the archive is the one that it was, or makes it one. An archive that was used before
    /// may fail in any way: each run asks it again, so that it never keeps jobs from firing.
    ///
    /// # Errors
    ///
    /// If it is another archive, or a new one that somebody has to correct before it can be used.
    pub(crate) async fn open(
        objects: Objects,
        dir: Option<&Path>,
        new_id: String,
        history: HistoryDays,
    ) -> Result<Self> {
        let state = dir.map(|dir| State::read_of(dir, objects.location())).transpose()?.flatten();
        let (dir, is_new) = (dir.map(Path::to_owned), state.is_none());
        let health = ArchiveHealth::default();
        let mut archiver = Self { objects, dir, new_id, history, state, health, backups: None };
        let location = archiver.objects.location().to_string();
        let error = match tokio::time::timeout(START_TIME_MAX, archiver.check()).await {
            Ok(Ok(())) => {
                let id = archiver.state.as_ref().map(|state| state.id.as_str());
                tracing::info!(location, id, "archive");
                return Ok(archiver);
            }
            Ok(Err(error)) if stops_start(&error, is_new) => return Err(error),
            Ok(Err(error)) => error,
            Err(_) => anyhow!("the archive {location} does not answer in time"),
        };
        archiver.health.note(Some(&error));
        tracing::error!(
            location,
            error = chain(&*error),
            "the archive cannot be used: jobs fire, and history is kept until it is archived"
        );
        Ok(archiver)
    }

    /// Writes the days that are over and those that begin to expire, as far as they are not written.
    ///
    /// # Errors
    ///
    /// If the archive or the store fails. What is not written stays in the store.
    pub(crate) async fn catch_up(&mut self, jobs: &SqlStore, now: DateTime<Utc>) -> Result<()> {
        let caught_up = self.write_days(jobs, now).await;
        self.health.note(caught_up.as_ref().err());
        caught_up
    }

    async fn write_days(&mut self, jobs: &SqlStore, now: DateTime<Utc>) -> Result<()> {
        // The file system of a folder may be gone by now.
        self.check().await?;
        let state = self.state.as_ref().context("the archive has not answered")?;
        let due = state.days.due(now, self.history.span());
        if let Some(days) = due.over {
            let written = self.write_between(jobs, days).await?;
            self.remember(|archived| archived.written_until = Some(days.until))?;
            let (lines, objects) = (written.lines, written.objects.len());
            tracing::info!(until = %days.until, lines, objects, "archived");
        }
        if let Some(days) = due.again {
            self.write_between(jobs, days).await?;
            tracing::debug!(until = %days.until, "checked what is archived");
        }
        if let Some(until) = due.checked_until {
            self.remember(|archived| archived.checked_until = Some(until))?;
        }
        Ok(())
    }

    /// Writes the backup of the day, if backups are made and it is not there.
    ///
    /// # Errors
    ///
    /// If the archive or the store fails. Then a later run writes it.
    pub(crate) async fn back_up(
        &mut self,
        store: &dyn StoreOfMoves,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let Some(backups) = self.backups.clone() else {
            return Ok(());
        };
        // Backups are made, before anything is known of them.
        lock(&backups.newest).get_or_insert(0);
        // The file system of a folder may be gone by now.
        self.check().await?;
        backups.run(&self.objects, store, now).await
    }

    /// Deletes the bodies of failures of whose day the store has no history any more. Returns how many.
    ///
    /// # Errors
    ///
    /// If the archive fails. What is not deleted now is deleted by a later run.
    pub(crate) async fn remove_bodies(&self, now: DateTime<Utc>) -> Result<u64> {
        let day = day_before(now, self.history.span());
        Ok(ArchivedBodies::new(self.objects.clone()).remove_before(day).await?)
    }

    /// What ended before this instant is archived, and may be deleted when it has expired.
    pub(crate) fn archived_until(&self) -> DateTime<Utc> {
        let until = self.state.as_ref().and_then(|state| state.days.checked_until);
        until.map_or(DateTime::UNIX_EPOCH, midnight)
    }

    async fn write_between(&mut self, jobs: &SqlStore, days: DaySpan) -> Result<Written> {
        let DaySpan { from, until } = days;
        let when = EndedWhen::Between { from: from.map(midnight), until: midnight(until) };
        let mut writer = ArchiveWriter::new(&self.objects);
        write(jobs, &mut writer, when, |_| true).await?;
        let written = writer.finish().await?;
        // A proxy may have accepted everything in the place of the service.
        self.check().await?;
        Ok(written)
    }

    /// Compares the archive's mark with what the data directory remembers.
    async fn check(&mut self) -> Result<()> {
        let location = self.objects.location().clone();
        let mark = self.objects.mark().await?;
        if let Some(State { id, .. }) = &self.state {
            return match mark {
                Some(mark) if mark == *id => Ok(()),
                Some(_) => Err(ArchiveError::Other { location }.into()),
                None => Err(ArchiveError::NoMark { location }.into()),
            };
        }
        let id = match mark {
            Some(id) => id,
            None => self.objects.create_mark(&self.new_id).await?,
        };
        self.state =
            Some(State { location: location.to_string(), id, days: ArchivedDays::default() });
        self.remember(|_| {})
    }

    fn remember(&mut self, change: impl FnOnce(&mut ArchivedDays)) -> Result<()> {
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        change(&mut state.days);
        self.dir.as_deref().map_or(Ok(()), |dir| state.write(dir))
    }
}

/// Whether a data directory has used this archive before.
pub(crate) fn is_known(dir: &Path, location: &Location) -> bool {
    State::read_of(dir, location).is_ok_and(|state| state.is_some())
}

/// Whether a server with this error of its archive does not start.
fn stops_start(error: &anyhow::Error, is_new: bool) -> bool {
    match error.downcast_ref::<ArchiveError>() {
        // Another installation's archive, or a data directory that cannot be written.
        Some(ArchiveError::Other { .. }) | None => true,
        Some(error) => is_new && !error.is_passing(),
    }
}

fn midnight(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests;
