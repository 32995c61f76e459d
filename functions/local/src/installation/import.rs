//! Imports an installation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{Backup, Import, ImportHow, Imported as Brought, Resealing, listed};
use minutehand_ports::Sealer;
use minutehand_runtime::system_now;

use super::Shown;
use super::opened::Opened;
use crate::serve::read_key_file;
use crate::wait_for;

/// What to import, and where to.
#[derive(Debug, Clone, Copy)]
pub struct ImportOptions<'a> {
    /// The place of the export.
    pub from: &'a Location,
    /// The backup, by the name of its folder; `None` for the newest.
    pub backup: Option<&'a str>,
    /// The data directory.
    pub into: &'a Path,
    /// The file with the key with which the secrets are sealed in the export.
    pub unseal_with: Option<&'a Path>,
    /// Whether there may be other collections.
    pub merge: bool,
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    backup: String,
    into: PathBuf,
    brought: Brought,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backup, into, brought } = self;
        let Brought { collections, jobs, retries, is_resumed, .. } = brought;
        let what = if *is_resumed { "ended the import of" } else { "imported" };
        writeln!(f, "{what} backup/{backup} into {}", into.display())?;
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
pub fn import(
    options: &ImportOptions<'_>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Imported> {
    let ImportOptions { from, backup, into, unseal_with, merge } = *options;
    let objects = Objects::open(from, &environment, system_now)?;
    wait_for(async {
        let watcher = Shown::default();
        let backup = Backup::choose(&objects, backup, &watcher).await?;
        let file_key = unseal_with.map(read_key_file).transpose()?;
        let file_key = file_key.map(|sealer| Arc::new(sealer) as Arc<dyn Sealer>);
        backup.check_key(file_key.is_some())?;
        // Before the target is opened, which may create it.
        let members = backup.check(&objects, system_now(), &watcher).await?;
        let opened = Opened::open(into).await?;
        let import = Import {
            objects: &objects,
            backup: &backup,
            store: &*opened.store,
            resealing: &Resealing::of_import(file_key, opened.sealer.clone()),
            watcher: &watcher,
            now: system_now(),
        };
        let brought = import.run(members, ImportHow { merge, from: 0 }).await;
        opened.close().await;
        let (backup, into) = (backup.name().to_owned(), into.to_owned());
        Ok(Imported { backup, into, brought: brought? })
    })
}
