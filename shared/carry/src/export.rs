//! Exports an installation.

use std::cell::{Cell, RefCell};

use futures_util::TryStreamExt as _;
use minutehand_archive::{BackupAbout, BackupEntry, Manifest};
use minutehand_archive_objects::Objects;
use minutehand_ports::store::{Carried, Found};

use crate::failed::MoveFailed;
use crate::line::to_line;
use crate::names::{name_of, path_of};
use crate::resealing::Resealing;
use crate::store::StoreOfMoves;
use crate::walk::carried;
use crate::watcher::Watcher;

/// An export.
pub struct Export<'a> {
    /// The installation.
    pub store: &'a dyn StoreOfMoves,
    /// The place of the export.
    pub objects: &'a Objects,
    /// How its secrets are sealed there.
    pub resealing: &'a Resealing,
    /// Who follows it.
    pub watcher: &'a dyn Watcher,
}

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    /// What the backup has.
    pub manifest: Manifest,
    /// The collections that are on.
    pub on: Vec<String>,
    /// What cannot be read, and where it is stored.
    pub unreadable: Vec<String>,
}

impl Export<'_> {
    /// Writes an installation as a backup.
    ///
    /// # Errors
    ///
    /// If the installation cannot be read, a secret cannot be opened, or the place does not accept a file.
    /// Then there is no backup more.
    pub async fn run(&self, about: BackupAbout) -> Result<Exported, MoveFailed> {
        let Self { store, objects, resealing, watcher } = *self;
        watcher.begin("exporting", 0);
        let (on, unreadable) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let (on_list, unreadable_list, read) = (&on, &unreadable, &Cell::new(0_u64));
        let found =
            carried(store, about.at).map_err(MoveFailed::store("cannot read the installation"));
        let entries = found.and_then(move |found| async move {
            if watcher.is_over() {
                return Err(MoveFailed::TooLong(read.get()));
            }
            read.set(read.get().saturating_add(1));
            let mut carried = match found {
                Found::Carried(carried) => carried,
                Found::Unreadable(key) => {
                    unreadable_list.borrow_mut().push(key);
                    return Ok(BackupEntry::Unreadable);
                }
            };
            if let Carried::Collection(record) = &carried {
                watcher.grow(u64::from(record.job_count).saturating_add(1));
                if record.collection.definition.state.is_on() {
                    on_list.borrow_mut().push(path_of(record));
                }
            }
            resealing.reseal(&mut carried).await?;
            watcher.step();
            Ok(match to_line(&mut carried) {
                Ok(line) => BackupEntry::Line(line),
                Err(error) => {
                    unreadable_list.borrow_mut().push(format!("{}: {error}", name_of(&carried)));
                    BackupEntry::Unreadable
                }
            })
        });
        let manifest = objects
            .write_backup(about, entries, |file| {
                watcher.note(&format!("wrote {}: {} lines", file.name, file.lines));
            })
            .await?;
        Ok(Exported { manifest, on: on.into_inner(), unreadable: unreadable.into_inner() })
    }
}
