//! Imports an installation.

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{Backup, Import, ImportHow, Imported as Brought, Resealing, listed};
use minutehand_runtime::system_now;
use minutehand_store_sql::SqlStore;

use super::Shown;
use super::place::Place;
use crate::serve::{Home, read_key_file};
use crate::wait_for;

/// What to import, and where to.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The place of the export.
    #[arg(help = "Folder or s3://bucket/prefix that was given to the export",
          value_parser = Location::parse)]
    place: Location,
    /// Backup to import, like 2026-11-23T141000Z [default: the newest]
    #[arg(long, value_name = "TIME")]
    backup: Option<String>,
    #[command(flatten)]
    into: Place,
    /// File with the key of --seal-to
    #[arg(long, value_name = "FILE")]
    unseal_with: Option<PathBuf>,
    /// Add to an installation that has other collections
    #[arg(long)]
    merge: bool,
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    backup: String,
    into: String,
    brought: Brought,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backup, into, brought } = self;
        let Brought { collections, jobs, retries, is_resumed, .. } = brought;
        let what = if *is_resumed { "ended the import of" } else { "imported" };
        writeln!(f, "{what} backup/{backup} into {into}")?;
        writeln!(f, "  {} collections, {jobs} jobs, {retries} retries", collections.len())?;
        let names = |wanted: bool| {
            let chosen = collections.iter().filter(|(_, was_on)| *was_on == wanted);
            chosen.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        for (was_on, when) in [(true, "on"), (false, "off")] {
            let names = names(was_on);
            if !names.is_empty() {
                let list = listed(names.iter());
                writeln!(f, "Off here, and {when} when they were exported:{list}")?;
            }
        }
        write!(
            f,
            "\nNothing fires yet. To begin:\n\
             \x20 1. make sure that these collections are off at the source, for good\n\
             \x20 2. minutehand collection enable SUBSCRIPTION/GROUP/NAME, for each\n\
             What is due before that is left out: `minutehand job why` says that the collection was off.\n"
        )
    }
}

/// Imports a backup into an installation.
///
/// # Errors
///
/// If the backup is damaged, does not fit the installation, or cannot be read; then nothing has changed.
/// If the installation fails; then the same import goes on.
pub fn import(args: &ImportArgs, environment: impl Fn(&str) -> Option<String>) -> Result<Imported> {
    let ImportArgs { place, backup, into, unseal_with, merge } = args;
    let (storage, into) = into.storage(&environment)?;
    let objects = Objects::open(place, &environment, system_now)?;
    wait_for(async {
        let watcher = Shown::default();
        let backup = Backup::choose(&objects, backup.as_deref(), &watcher).await?;
        let file_key = unseal_with.as_deref().map(read_key_file).transpose()?;
        backup.check_key(file_key.is_some())?;
        // Before the target is opened, which may create it.
        let members = backup.check(&objects, system_now(), &watcher).await?;
        // A directory that does not exist is created.
        let home = Home::open(&storage, false).await?;
        let import = Import {
            objects: &objects,
            backup: &backup,
            store: &SqlStore::new(home.database.clone()),
            resealing: &Resealing::of_import(file_key, home.sealer.clone()),
            watcher: &watcher,
            now: system_now(),
        };
        let brought = import.run(members, ImportHow { merge: *merge, from: 0 }).await;
        home.close().await;
        let backup = backup.name().to_owned();
        Ok(Imported { backup, into, brought: brought? })
    })
}
