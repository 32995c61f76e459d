//! Imports an installation.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_archive::{MANIFEST, Manifest, SealedWith, backup_name, sha256};
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{
    CARRIED_KINDS, StoreOfMoves, bring, has_collections, moved_collection, moved_job, moved_retry,
    read_line, sealed,
};
use minutehand_ports::Sealer;
use minutehand_ports::store::{Brought, Carried, CollectionRecord, CollectionStanding};
use minutehand_runtime::system_now;

use super::place::{Opened, Place};
use super::secrets::Resealing;
use super::{bar, listed, note};
use crate::serve::read_key_file;
use crate::wait_for;

/// The most things that are brought at the same time.
const CONCURRENT_MAX: usize = 16;

/// What to say if a table has to take secrets, and its key is not known.
const NO_KEY: &str = "the export has secrets: name the KMS key of the table with --key, the output KeyArn of \
                      the stack; it needs kms:Decrypt and kms:GenerateDataKey";

/// What to import, and where to.
#[derive(Debug, Clone, Copy)]
pub struct ImportOptions<'a> {
    /// The place of the export.
    pub from: &'a Location,
    /// The backup, by the name of its folder; `None` for the newest.
    pub backup: Option<&'a str>,
    /// The installation.
    pub into: &'a Place,
    /// The KMS key of a table.
    pub key: Option<&'a str>,
    /// The file with the key with which the secrets are sealed in the export.
    pub unseal_with: Option<&'a Path>,
    /// Whether there may be other collections.
    pub merge: bool,
}

/// What was imported.
#[derive(Debug, PartialEq, Eq)]
pub struct Imported {
    backup: String,
    into: String,
    /// The collections, and whether they were on in the export.
    collections: Vec<(String, bool)>,
    jobs: u64,
    retries: u64,
    /// Whether an import goes on that was broken off.
    is_resumed: bool,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backup, into, collections, jobs, retries, is_resumed } = self;
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

/// A backup that is to be imported.
pub(super) struct Backup {
    name: String,
    manifest: Manifest,
    /// Tells it from all others.
    id: String,
}

/// The collections of a backup, by their ids, as they are to be brought.
pub(super) type Members = HashMap<String, CollectionRecord>;

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
    let ImportOptions { from, backup, into, key, unseal_with, merge } = *options;
    let objects = Objects::open(from, &environment, system_now)?;
    wait_for(async {
        let backup = Backup::choose(&objects, backup).await?;
        let file_key = unseal_with.map(read_key_file).transpose()?;
        let file_key = file_key.map(|sealer| Arc::new(sealer) as Arc<dyn Sealer>);
        if backup.manifest.about.sealed_with == SealedWith::KeyFile && file_key.is_none() {
            bail!(
                "the secrets of backup/{} are sealed with the key of a file: name it with \
                 --unseal-with",
                backup.name
            );
        }
        // Before the target is opened, which may create it.
        let members = backup.check(&objects, system_now()).await?;
        let opened = Opened::open(into, key, &environment).await?;
        if backup.manifest.secrets > 0 && opened.sealer.is_none() {
            bail!("{NO_KEY}");
        }
        let resealing = resealing(file_key, opened.sealer.clone());
        let import = Import {
            objects: &objects,
            backup: &backup,
            store: &*opened.store,
            resealing: &resealing,
            now: system_now(),
        };
        let done = import.run(members, merge).await;
        opened.close().await?;
        let imported = done?;
        Ok(Imported { into: into.to_string(), ..imported })
    })
}

/// How the secrets get under the key of the target.
fn resealing(file_key: Option<Arc<dyn Sealer>>, target: Option<Arc<dyn Sealer>>) -> Resealing {
    match file_key {
        Some(file_key) => Resealing {
            from: Some(file_key),
            to: target,
            wrong_key: "the key in the file of --unseal-with is not the one of this export",
            no_key: NO_KEY,
        },
        None => Resealing {
            from: target,
            to: None,
            wrong_key: "the secrets of this export are sealed with another key than the target's: \
                        export with --seal-to FILE, and import with --unseal-with FILE",
            no_key: NO_KEY,
        },
    }
}

impl Backup {
    /// The backup of this name, or the newest one.
    pub(super) async fn choose(objects: &Objects, name: Option<&str>) -> Result<Self> {
        let location = objects.location();
        let mut names = objects.backups().await?;
        let is_named = name.is_some();
        if let Some(wanted) = name {
            if !names.iter().any(|name| name == wanted) {
                bail!(
                    "there is no backup {wanted} in {location}; there are:{}",
                    listed(names.iter())
                );
            }
            names.retain(|name| name == wanted);
        }
        for name in names.iter().rev() {
            if let Some((manifest, bytes)) = objects.manifest(name).await? {
                if backup_name(manifest.about.at) != *name {
                    let why = format!("{MANIFEST} is of another backup");
                    return Err(objects.bad_backup(name, why).into());
                }
                let is_of_schedule = manifest.about.schedule_of.is_some();
                if is_named || !is_of_schedule || !manifest.files.is_empty() {
                    return Ok(Self { name: name.clone(), manifest, id: sha256(&bytes) });
                }
                // As after a start with a new data directory in the place of a lost one.
                note(&format!("backup/{name} is of an empty installation, and it is skipped"));
                continue;
            }
            note(&format!(
                "backup/{name} has no {MANIFEST}: its export did not end, and it is skipped"
            ));
        }
        bail!(
            "there is no complete backup in {location}: name the place that was given to `minutehand \
             installation export`"
        )
    }

    /// Checks all files and lines, as far as that is possible without the target. Returns the collections.
    pub(super) async fn check(&self, objects: &Objects, now: DateTime<Utc>) -> Result<Members> {
        for file in &self.manifest.files {
            if !CARRIED_KINDS.contains(&file.kind.as_str()) {
                let why = format!(
                    "{}: it has '{}', which this version does not know: use a newer one",
                    file.name, file.kind
                );
                return Err(objects.bad_backup(&self.name, why).into());
            }
        }
        let progress = bar("checking", self.lines());
        let (mut records, mut counts) = (Members::new(), HashMap::<String, u32>::new());
        let mut secrets = 0;
        for kind in CARRIED_KINDS {
            let mut lines = std::pin::pin!(self.carried(objects, kind));
            // Bounded by the manifest.
            while let Some(mut carried) = lines.try_next().await? {
                progress.step();
                secrets += u64::from(sealed(&mut carried).is_some());
                match carried {
                    Carried::CloudService(_) | Carried::Retry(_) => {}
                    Carried::Collection(record) => {
                        records.insert(record.collection.uid.clone(), *record);
                    }
                    Carried::Job { collection_uid, job } => {
                        let name = job.name.to_string();
                        let bad = |why: String| objects.bad_backup(&self.name, why);
                        if !records.contains_key(&collection_uid) {
                            let why = format!("job '{name}' is in no collection of the backup");
                            return Err(bad(why).into());
                        }
                        moved_job(*job, now).map_err(|why| {
                            bad(format!("the schedule of job '{name}' cannot be read: {why}"))
                        })?;
                        let count = counts.entry(collection_uid).or_default();
                        *count = count.saturating_add(1);
                    }
                }
            }
        }
        if secrets != self.manifest.secrets {
            let stated = self.manifest.secrets;
            let why = format!("{secrets} lines have secrets, and {MANIFEST} says {stated}");
            return Err(objects.bad_backup(&self.name, why).into());
        }
        let members = records.into_iter().map(|(uid, record)| {
            let count = counts.get(&uid).copied().unwrap_or(0);
            (uid, CollectionRecord { job_count: count, ..record })
        });
        Ok(members.collect())
    }

    /// What the backup has of a kind.
    fn carried<'a>(
        &'a self,
        objects: &'a Objects,
        kind: &'static str,
    ) -> impl futures_util::Stream<Item = Result<Carried>> + 'a {
        let files = self.manifest.files.iter().filter(move |file| file.kind == kind);
        let lines = stream::iter(files).then(move |file| async move {
            let lines = objects.backup_lines(&self.name, file).await?;
            let numbered = (1_usize..).zip(lines);
            let carried = numbered.map(move |(number, line)| {
                read_line(kind, &line).map_err(|error| {
                    let why = format!("{}, line {number}", file.name);
                    anyhow::Error::from(error).context(objects.bad_backup(&self.name, why))
                })
            });
            Ok::<_, anyhow::Error>(stream::iter(carried))
        });
        lines.try_flatten()
    }

    fn lines(&self) -> u64 {
        self.manifest.files.iter().map(|file| file.lines).sum()
    }
}

/// An import.
pub(super) struct Import<'a> {
    pub(super) objects: &'a Objects,
    pub(super) backup: &'a Backup,
    pub(super) store: &'a dyn StoreOfMoves,
    pub(super) resealing: &'a Resealing,
    pub(super) now: DateTime<Utc>,
}

impl Import<'_> {
    pub(super) async fn run(&self, members: Members, merge: bool) -> Result<Imported> {
        let under_way = self.store.import_under_way().await.context("cannot read the target")?;
        let is_resumed = under_way.as_ref() == Some(&self.backup.id);
        if !is_resumed && !merge {
            self.check_empty(under_way.is_some()).await?;
        }
        self.check_standing(&members, is_resumed).await?;
        self.check_secrets().await?;
        let begun = self.store.begin_import(&self.backup.id, merge).await;
        if !begun.context("cannot write to the target")? {
            bail!("another import into the target has begun just now");
        }
        let progress = bar("importing", self.backup.lines());
        for kind in CARRIED_KINDS {
            let carried = self.backup.carried(self.objects, kind);
            let (members, progress) = (&members, &progress);
            let bring = move |carried| async move {
                self.bring(carried, members).await?;
                progress.step();
                Ok(())
            };
            carried.try_for_each_concurrent(CONCURRENT_MAX, bring).await?;
            note(&format!("imported {kind}: {}", self.backup.manifest.count(kind)));
        }
        self.store.end_import(&self.backup.id).await.context("cannot write to the target")?;
        let mut collections: Vec<_> = members
            .values()
            .map(|it| (path_of(it), it.collection.definition.state.is_on()))
            .collect();
        collections.sort_unstable();
        let [_, _, jobs, retries] = CARRIED_KINDS.map(|kind| self.backup.manifest.count(kind));
        let (backup, into) = (self.backup.name.clone(), String::new());
        Ok(Imported { backup, into, collections, jobs, retries, is_resumed })
    }

    /// Checks that the target has no collections.
    async fn check_empty(&self, is_other_under_way: bool) -> Result<()> {
        if is_other_under_way {
            bail!(
                "the import of another backup into the target was begun and has not ended: import that \
                 one again, or add this one with --merge"
            );
        }
        if has_collections(self.store).await.context("cannot read the target")? {
            bail!(
                "the target has collections already: import into an empty installation, or add to it \
                 with --merge"
            );
        }
        Ok(())
    }

    /// Checks that the target has none of the collections, unless this import brought them.
    async fn check_standing(&self, members: &Members, is_resumed: bool) -> Result<()> {
        let (mut taken, mut removed) = (Vec::new(), Vec::new());
        for record in members.values() {
            let standing = self.store.standing(record).await.context("cannot read the target")?;
            match standing {
                CollectionStanding::Free => {}
                CollectionStanding::Same if is_resumed => {}
                CollectionStanding::Same => taken.push(path_of(record)),
                CollectionStanding::Taken(path) => taken.push(path),
                CollectionStanding::BeingRemoved => removed.push(path_of(record)),
            }
        }
        taken.sort_unstable();
        if !taken.is_empty() {
            bail!(
                "the target has these collections already, and nothing was changed:{}",
                listed(taken.iter())
            );
        }
        if !removed.is_empty() {
            bail!(
                "these collections were deleted in the target, and their jobs are still being removed: \
                 try again in some minutes, with the server running:{}",
                listed(removed.iter())
            );
        }
        Ok(())
    }

    /// Checks that all secrets open.
    async fn check_secrets(&self) -> Result<()> {
        if self.backup.manifest.secrets == 0 {
            return Ok(());
        }
        for kind in CARRIED_KINDS {
            let carried = self.backup.carried(self.objects, kind);
            let check = |mut carried: Carried| async move {
                let checked = self.resealing.check(&mut carried).await;
                checked.with_context(|| name_of(&carried))
            };
            carried.try_for_each(check).await?;
        }
        Ok(())
    }

    async fn bring(&self, mut carried: Carried, members: &Members) -> Result<()> {
        self.resealing.reseal(&mut carried).await?;
        let name = name_of(&carried);
        let moved = match carried {
            Carried::CloudService(service) => Carried::CloudService(service),
            Carried::Collection(record) => {
                let jobs = members.get(&record.collection.uid).map_or(0, |it| it.job_count);
                Carried::Collection(Box::new(moved_collection(*record, jobs, self.now)))
            }
            Carried::Job { collection_uid, job } => {
                let job = moved_job(*job, self.now).map_err(|why| anyhow!("{name}: {why}"))?;
                Carried::Job { collection_uid, job: Box::new(job) }
            }
            Carried::Retry(retry) => Carried::Retry(moved_retry(retry)),
        };
        let brought = bring(self.store, &moved).await.with_context(|| {
            format!("cannot write {name} to the target; the same import goes on from here")
        })?;
        match (brought, &moved) {
            // A resource group that has labels already keeps them.
            (Brought::Kept | Brought::Already, _) | (_, Carried::CloudService(_)) => Ok(()),
            (Brought::Taken, _) => bail!(
                "{name} was created in the target meanwhile: delete or rename it, and repeat the \
                 import, which goes on from here"
            ),
        }
    }
}

fn path_of(record: &CollectionRecord) -> String {
    record.place.collection_path(&record.collection.name).to_string()
}

/// Something as messages name it.
pub(super) fn name_of(carried: &Carried) -> String {
    match carried {
        Carried::CloudService(service) => format!("cloud service '{}'", service.place.group),
        Carried::Collection(record) => format!("collection '{}'", path_of(record)),
        Carried::Job { job, .. } => format!("job '{}'", job.name),
        Carried::Retry(retry) => format!("a retry of job '{}'", retry.job.key),
    }
}
