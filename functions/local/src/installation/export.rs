//! Exports an installation.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use minutehand_archive::{BackupAbout, SealedWith, backup_name};
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{CARRIED_KINDS, Export, Exported as Written, Resealing, listed};
use minutehand_runtime::system_now;
use minutehand_store_sql::SqlStore;

use super::Shown;
use super::place::Place;
use crate::data_dir::check_is_data;
use crate::serve::{Home, Storage, create_key_file, written_by};
use crate::wait_for;

/// What to export, and where to.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The place of the export.
    #[arg(help = "Folder that exists, or s3://bucket/prefix; the backup is a folder in it",
          value_parser = Location::parse)]
    place: Location,
    #[command(flatten)]
    from: Place,
    /// File to create with a new key, which seals the secrets of the backup
    #[arg(long, value_name = "FILE")]
    seal_to: Option<PathBuf>,
}

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    from: String,
    to: Location,
    written: Written,
    is_sealed_to_file: bool,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, written, is_sealed_to_file } = self;
        let Written { manifest, on, unreadable } = written;
        let [_, collections, jobs, retries, _] = CARRIED_KINDS.map(|kind| manifest.count(kind));
        let name = backup_name(manifest.about.at);
        writeln!(f, "exported {from} to {to} as backup/{name}")?;
        writeln!(f, "  {collections} collections, {jobs} jobs, {retries} retries that wait")?;
        if manifest.secrets > 0 {
            let key = if *is_sealed_to_file { "the key in the file" } else { "the same key" };
            writeln!(f, "  {} with secrets, which open with {key} only", manifest.secrets)?;
        }
        if !unreadable.is_empty() {
            let n = unreadable.len();
            writeln!(
                f,
                "Left out, because they cannot be read, {n} items:{}",
                listed(unreadable.iter())
            )?;
        }
        writeln!(
            f,
            "Not exported: history and journals, dead letters, and runs that have not begun."
        )?;
        if !on.is_empty() {
            writeln!(f, "\nThese collections were on during the export:{}", listed(on.iter()))?;
            writeln!(
                f,
                "That is right for a backup. To move them, disable them first, and export again."
            )?;
        }
        write!(
            f,
            "\nTo move an installation so that nothing fires twice:\n\
             \x20 1. at the source: minutehand collection disable NAME, for each; wait for 2 minutes,\n\
             \x20    until what runs has ended\n\
             \x20 2. minutehand installation export {to} --data SOURCE\n\
             \x20 3. minutehand installation import {to} --data TARGET\n\
             \x20 4. at the target: minutehand collection enable NAME, for each\n\
             Never enable a collection again at the source.\n"
        )
    }
}

/// Exports an installation as a backup.
///
/// # Errors
///
/// If the installation cannot be read, a secret cannot be opened, or the place does not accept a file.
pub fn export(args: &ExportArgs, environment: impl Fn(&str) -> Option<String>) -> Result<Exported> {
    let ExportArgs { place, from, seal_to } = args;
    let (storage, from) = from.storage(&environment)?;
    if let Storage::Directory { path, .. } = &storage {
        check_is_data(path)?;
    }
    let objects = Objects::open(place, &environment, system_now)?;
    wait_for(async {
        let home = Home::open(&storage, false).await?;
        let file_key = seal_to.as_deref().map(create_key_file).transpose()?;
        let sealed_with =
            if file_key.is_some() { SealedWith::KeyFile } else { SealedWith::Installation };
        let (at, written_by) = (system_now(), written_by());
        let about = BackupAbout { at, written_by, sealed_with, schedule_of: None };
        let resealing = Resealing::of_export(home.sealer.clone(), file_key);
        let (store, watcher) = (&SqlStore::new(home.database.clone()), Shown::default());
        let export = Export { store, objects: &objects, resealing: &resealing, watcher: &watcher };
        let exported = export.run(about).await;
        home.close().await;
        if let (Err(_), Some(file)) = (&exported, seal_to) {
            // Nothing is sealed with this key.
            fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        let (to, is_sealed_to_file) = (place.clone(), seal_to.is_some());
        Ok(Exported { from, to, written: exported?, is_sealed_to_file })
    })
}
