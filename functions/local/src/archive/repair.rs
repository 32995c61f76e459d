//! `minutehand archive repair`: writes a day of the archive again, from the store.
//!
//! Objects that can be read stay as they are. What the store has of the day and they have not is
//! written, and so is what can be read of damaged objects, which are deleted then. A crash before the
//! deletion leaves lines twice, and the next repair deletes.
//!
//! While a server runs, the store is read from a copy in the data directory, `archive-repair.tmp`,
//! which the next repair removes if a crash leaves it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::NaiveDate;
use minutehand_archive::{DamagedObject, DayMerge, Stream, day_folder};
use minutehand_archive_objects::{ArchiveError, ArchiveWriter, Location, Objects, Written};
use minutehand_runtime::system_now;
use minutehand_store_sql::sqlite::{Database, Durability, Threads, back_up};
use minutehand_store_sql::{EndedWhen, SqlStore};

use super::state::State;
use super::write::write;
use crate::data_dir::{DataDir, DataDirError, check_is_data};
use crate::wait_for;

/// The copy of the store of a running server.
const COPY: &str = "archive-repair.tmp";

/// What a repair of a day did.
#[derive(Debug, PartialEq, Eq)]
pub struct Repaired {
    intact: u64,
    damaged: Vec<String>,
    /// Objects that were left although a line of them cannot be read, with the reason.
    left: Vec<String>,
    lines: u64,
    objects: usize,
    unreadable: u64,
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { intact, damaged, left, lines, objects, unreadable } = self;
        writeln!(f, "objects that can be read: {intact}")?;
        for object in damaged {
            writeln!(f, "replaced: {object}")?;
        }
        for object in left {
            writeln!(f, "left as it is: {object}")?;
        }
        if *unreadable > 0 {
            writeln!(f, "left out: {unreadable} items of the store that cannot be read")?;
        }
        writeln!(f, "written again: {lines} lines in {objects} objects")
    }
}

/// Writes a day of the archive again. The archive is the one that the data directory remembers, unless
/// another one is given.
///
/// # Errors
///
/// If the data directory is not one, or the archive or the store fails.
pub fn repair(
    data: &Path,
    location: Option<Location>,
    day: NaiveDate,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Repaired> {
    check_is_data(data)?;
    let location = match (location, State::read(data)?) {
        (Some(location), _) => location,
        (None, Some(state)) => Location::parse(&state.location).map_err(anyhow::Error::msg)?,
        (None, None) => {
            bail!("{} has used no archive yet: name one with --archive", data.display())
        }
    };
    let objects = Objects::open(&location, environment, system_now)?;
    wait_for(async {
        if objects.mark().await?.is_none() {
            return Err(ArchiveError::NoMark { location }.into());
        }
        let source = Source::open(data)?;
        let repaired = run(&SqlStore::new(source.database.clone()), &objects, day).await;
        source.close().await;
        repaired
    })
}

pub(super) async fn run(jobs: &SqlStore, objects: &Objects, day: NaiveDate) -> Result<Repaired> {
    let mut merge = DayMerge::default();
    for stream in Stream::ALL {
        for name in objects.names(stream, day).await? {
            let contents = objects.read(stream, day, &name).await?;
            merge.add(stream, name, contents);
        }
    }
    let mut writer = ArchiveWriter::new(objects);
    let when = EndedWhen::OfDay(day);
    let unreadable = write(jobs, &mut writer, when, |line| merge.is_new(line)).await?;
    for line in merge.rescued() {
        writer.add(&line).await?;
    }
    let Written { lines, objects: names } = writer.finish().await?;
    let DayMerge { intact, left, damaged, .. } = merge;
    for DamagedObject { stream, name, .. } in &damaged {
        // With all its lines, the new object has the name of the damaged one and has replaced it.
        if !names.contains(&format!("{}/{name}", day_folder(*stream, day))) {
            objects.delete(*stream, day, name).await?;
        }
    }
    let damaged = damaged.iter().map(|it| it.damage.to_string()).collect();
    Ok(Repaired { intact, damaged, left, lines, objects: names.len(), unreadable })
}

/// A store to read.
struct Source {
    database: Database,
    threads: Threads,
    /// The data directory; `None` if a server has it.
    _dir: Option<DataDir>,
    /// The copy that is read, if a server runs.
    copy: Option<PathBuf>,
}

impl Source {
    fn open(data: &Path) -> Result<Self> {
        let dir = match DataDir::open(data) {
            Ok(dir) => dir,
            Err(DataDirError::InUse { .. }) => return Self::open_copy(data),
            Err(other) => return Err(other.into()),
        };
        let (database, threads) = open(dir.path())?;
        Ok(Self { database, threads, _dir: Some(dir), copy: None })
    }

    fn open_copy(data: &Path) -> Result<Self> {
        let copy = data.join(COPY);
        remove(&copy)?;
        fs::create_dir(&copy).with_context(|| format!("cannot create {}", copy.display()))?;
        let made = back_up(data, &copy, true).context("cannot copy the store");
        match made.and_then(|_| open(&copy)) {
            Ok((database, threads)) => Ok(Self { database, threads, _dir: None, copy: Some(copy) }),
            Err(error) => {
                remove(&copy)?;
                Err(error)
            }
        }
    }

    async fn close(self) {
        self.database.close();
        self.threads.ended().await;
        if let Some(Err(error)) = self.copy.as_deref().map(remove) {
            tracing::warn!(error = %error, "the copy of the store stays; the next repair removes it");
        }
    }
}

fn open(dir: &Path) -> Result<(Database, Threads)> {
    Database::open(dir, Durability::Normal).context("cannot read the store")
}

fn remove(copy: &Path) -> Result<()> {
    match fs::remove_dir_all(copy) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", copy.display()))
        }
        _ => Ok(()),
    }
}
