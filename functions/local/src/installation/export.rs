//! Exports an installation.

use std::cell::RefCell;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use minutehand_archive::{BackupAbout, BackupEntry, Manifest, SealedWith, backup_name};
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{CARRIED_KINDS, carried, to_line};
use minutehand_ports::Sealer;
use minutehand_ports::store::{Carried, Found};
use minutehand_runtime::system_now;

use super::import::name_of;
use super::place::{Opened, Place};
use super::secrets::Resealing;
use super::{bar, listed, note};
use crate::repair::check_is_data;
use crate::serve::{create_key_file, written_by};
use crate::wait_for;

/// What to export, and where to.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'a> {
    /// The installation.
    pub from: &'a Place,
    /// The place of the export.
    pub to: &'a Location,
    /// The KMS key of a table.
    pub key: Option<&'a str>,
    /// The file for a new key, with which the secrets are sealed in the export.
    pub seal_to: Option<&'a Path>,
}

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    from: Place,
    to: Location,
    manifest: Manifest,
    /// The collections that were on.
    on: Vec<String>,
    unreadable: Vec<String>,
    is_sealed_to_file: bool,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, manifest, on, unreadable, is_sealed_to_file } = self;
        let [_, collections, jobs, retries] = CARRIED_KINDS.map(|kind| manifest.count(kind));
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
pub fn export(
    options: &ExportOptions<'_>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Exported> {
    let ExportOptions { from, to, key, seal_to } = *options;
    if let Place::Directory(path) = from {
        check_is_data(path)?;
    }
    let objects = Objects::open(to, &environment, system_now)?;
    wait_for(async {
        let opened = Opened::open(from, key, &environment).await?;
        let sealer = seal_to.map(create_key_file).transpose()?;
        let sealer = sealer.map(|sealer| Arc::new(sealer) as Arc<dyn Sealer>);
        let exported = write(&opened, &objects, sealer, system_now()).await;
        opened.close().await?;
        if let (Err(_), Some(file)) = (&exported, seal_to) {
            // Nothing is sealed with this key.
            fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        let (manifest, on, unreadable) = exported?;
        let (from, to, is_sealed_to_file) = (from.clone(), to.clone(), seal_to.is_some());
        Ok(Exported { from, to, manifest, on, unreadable, is_sealed_to_file })
    })
}

/// Writes the backup. Returns its manifest, the collections that are on, and the items that cannot be
/// read.
pub(super) async fn write(
    opened: &Opened,
    objects: &Objects,
    seal_to: Option<Arc<dyn Sealer>>,
    now: DateTime<Utc>,
) -> Result<(Manifest, Vec<String>, Vec<String>)> {
    let sealed_with =
        if seal_to.is_some() { SealedWith::KeyFile } else { SealedWith::Installation };
    let resealing = Resealing {
        from: opened.sealer.clone(),
        to: seal_to,
        wrong_key: "the key of the installation does not open its secrets: for a table, name with \
                    --key the key of its stack, the output KeyArn",
        no_key: "--seal-to has to open the secrets of the table: name its KMS key with --key, the \
                 output KeyArn of the stack; it needs kms:Decrypt",
    };
    let (on, unreadable) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let (progress, on_list, unreadable_list, resealing) =
        (bar("exporting", 0), &on, &unreadable, &resealing);
    let found = carried(&*opened.store, now)
        .map_err(|error| anyhow::Error::from(error).context("cannot read the installation"));
    let progress = &progress;
    let entries = found.and_then(move |found| async move {
        let mut carried = match found {
            Found::Carried(carried) => carried,
            Found::Unreadable(key) => {
                unreadable_list.borrow_mut().push(key);
                return Ok(BackupEntry::Unreadable);
            }
        };
        if let Carried::Collection(record) = &carried {
            progress.grow(u64::from(record.job_count).saturating_add(1));
            if record.collection.definition.state.is_on() {
                let path = record.place.collection_path(&record.collection.name);
                on_list.borrow_mut().push(path.to_string());
            }
        }
        resealing.reseal(&mut carried).await?;
        progress.step();
        Ok(match to_line(&mut carried) {
            Ok(line) => BackupEntry::Line(line),
            Err(error) => {
                unreadable_list.borrow_mut().push(format!("{}: {error}", name_of(&carried)));
                BackupEntry::Unreadable
            }
        })
    });
    let about = BackupAbout { at: now, written_by: written_by(), sealed_with, schedule_of: None };
    let written = objects.write_backup(about, entries, |file| {
        note(&format!("wrote {}: {} lines", file.name, file.lines));
    });
    let manifest = written.await?;
    Ok((manifest, on.into_inner(), unreadable.into_inner()))
}
