//! Imports an installation.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_archive::{BackupFile, MANIFEST, Manifest, SealedWith, backup_name, sha256};
use minutehand_archive_objects::Objects;
use minutehand_ports::store::{Brought, Carried, CollectionRecord, CollectionStanding};

use crate::bring::{bring, has_collections};
use crate::failed::MoveFailed;
use crate::line::{CARRIED_KINDS, read_line, sealed};
use crate::moved::{moved_collection, moved_job, moved_retry};
use crate::names::{listed, name_of, path_of};
use crate::resealing::Resealing;
use crate::store::StoreOfMoves;
use crate::watcher::Watcher;

/// The most things that are brought at the same time.
const CONCURRENT_MAX: usize = 16;

/// What was imported.
#[derive(Debug, PartialEq, Eq)]
pub struct Imported {
    /// The collections, and whether they were on in the export.
    pub collections: Vec<(String, bool)>,
    /// How many jobs the backup has.
    pub jobs: u64,
    /// How many retries it has.
    pub retries: u64,
    /// Whether an import goes on that was broken off.
    pub is_resumed: bool,
    /// How many files are imported, if the time was over before all were.
    pub next: Option<usize>,
}

/// A backup that is to be imported.
pub struct Backup {
    name: String,
    manifest: Manifest,
    /// Tells it from all others.
    id: String,
}

/// The collections of a backup, by their ids, as they are to be brought.
pub type Members = HashMap<String, CollectionRecord>;

impl Backup {
    /// The backup of this name, or the newest one.
    ///
    /// # Errors
    ///
    /// If there is none, or its manifest is damaged.
    pub async fn choose(
        objects: &Objects,
        name: Option<&str>,
        watcher: &dyn Watcher,
    ) -> Result<Self, MoveFailed> {
        let location = objects.location();
        let mut names = objects.backups().await?;
        let is_named = name.is_some();
        if let Some(wanted) = name {
            if !names.iter().any(|name| name == wanted) {
                return Err(MoveFailed::refused(format!(
                    "there is no backup {wanted} in {location}; there are:{}",
                    listed(names.iter())
                )));
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
                watcher
                    .note(&format!("backup/{name} is of an empty installation, and it is skipped"));
                continue;
            }
            watcher.note(&format!(
                "backup/{name} has no {MANIFEST}: its export did not end, and it is skipped"
            ));
        }
        Err(MoveFailed::refused(format!(
            "there is no complete backup in {location}: name the place that was given to `minutehand \
             installation export`"
        )))
    }

    /// The name of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that there is a key of a file if its secrets are sealed with one.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn check_key(&self, is_given: bool) -> Result<(), MoveFailed> {
        if self.manifest.about.sealed_with == SealedWith::KeyFile && !is_given {
            return Err(MoveFailed::refused(format!(
                "the secrets of backup/{} are sealed with the key of a file: name it with --unseal-with",
                self.name
            )));
        }
        Ok(())
    }

    /// Checks all files and lines, as far as that is possible without the target. Returns the collections.
    ///
    /// # Errors
    ///
    /// If something is missing or damaged.
    pub async fn check(
        &self,
        objects: &Objects,
        now: DateTime<Utc>,
        watcher: &dyn Watcher,
    ) -> Result<Members, MoveFailed> {
        for file in &self.manifest.files {
            if !CARRIED_KINDS.contains(&file.kind.as_str()) {
                let why = format!(
                    "{}: it has '{}', which this version does not know: use a newer one",
                    file.name, file.kind
                );
                return Err(objects.bad_backup(&self.name, why).into());
            }
        }
        watcher.begin("checking", self.lines());
        let (mut records, mut counts) = (Members::new(), HashMap::<String, u32>::new());
        let mut secrets = 0;
        let mut lines = std::pin::pin!(self.carried(objects));
        // Bounded by the manifest.
        while let Some(mut carried) = lines.try_next().await? {
            watcher.step();
            secrets += u64::from(sealed(&mut carried).is_some());
            match carried {
                Carried::CloudService(_) | Carried::Retry(_) | Carried::PingKey { .. } => {}
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

    /// Its files, in the order in which they are brought.
    fn files(&self) -> impl Iterator<Item = &BackupFile> {
        let of_kind = |kind| self.manifest.files.iter().filter(move |file| file.kind == kind);
        CARRIED_KINDS.into_iter().flat_map(of_kind)
    }

    /// What it has, in the order in which it is brought.
    fn carried<'a>(
        &'a self,
        objects: &'a Objects,
    ) -> impl futures_util::Stream<Item = Result<Carried, MoveFailed>> + 'a {
        let lines = stream::iter(self.files()).then(move |file| self.read(objects, file));
        lines.map_ok(stream::iter).try_flatten()
    }

    /// What a file has.
    async fn read<'a>(
        &'a self,
        objects: &'a Objects,
        file: &'a BackupFile,
    ) -> Result<impl Iterator<Item = Result<Carried, MoveFailed>> + 'a, MoveFailed> {
        let lines = objects.backup_lines(&self.name, file).await?;
        Ok((1_usize..).zip(lines).map(move |(number, line)| {
            read_line(&file.kind, &line).map_err(|why| {
                let line = format!("{}, line {number}", file.name);
                let line = Box::new(objects.bad_backup(&self.name, line));
                MoveFailed::Line { line, why }
            })
        }))
    }

    fn lines(&self) -> u64 {
        self.manifest.files.iter().map(|file| file.lines).sum()
    }
}

/// An import.
pub struct Import<'a> {
    /// The place of the export.
    pub objects: &'a Objects,
    /// The backup.
    pub backup: &'a Backup,
    /// The target.
    pub store: &'a dyn StoreOfMoves,
    /// How the secrets are sealed there.
    pub resealing: &'a Resealing,
    /// Who follows it.
    pub watcher: &'a dyn Watcher,
    /// The time at which it begins.
    pub now: DateTime<Utc>,
}

/// What an import may do, and where it goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportHow {
    /// Whether the target may have other collections.
    pub merge: bool,
    /// How many files the same import has brought: the [`next`](Imported::next) of the last answer.
    pub from: usize,
}

impl Import<'_> {
    /// Brings a backup that was [checked](Backup::check) into the target.
    ///
    /// # Errors
    ///
    /// If the target has collections, or a secret does not open: then nothing has changed. If the target
    /// does not answer: then the same import goes on.
    pub async fn run(
        &self,
        members: Members,
        ImportHow { merge, from }: ImportHow,
    ) -> Result<Imported, MoveFailed> {
        let reading = || MoveFailed::store("cannot read the target");
        let writing = || MoveFailed::store("cannot write to the target");
        let under_way = self.store.import_under_way().await.map_err(reading())?;
        let is_resumed = under_way.as_ref() == Some(&self.backup.id);
        if !is_resumed && !merge {
            self.check_empty(under_way.is_some()).await?;
        }
        self.check_standing(&members, is_resumed).await?;
        self.check_secrets().await?;
        let begun = self.store.begin_import(&self.backup.id, merge).await;
        if !begun.map_err(writing())? {
            return Err(MoveFailed::refused("another import into the target has begun just now"));
        }
        // Of another import, all files are still to be brought.
        let from = if is_resumed { from } else { 0 };
        let next = self.bring_files(&members, from).await?;
        if next.is_none() {
            self.store.end_import(&self.backup.id).await.map_err(writing())?;
        }
        let is_on = |it: &CollectionRecord| it.collection.definition.state.is_on();
        let mut collections: Vec<_> = members.values().map(|it| (path_of(it), is_on(it))).collect();
        collections.sort_unstable();
        let [_, _, jobs, retries, _] = CARRIED_KINDS.map(|kind| self.backup.manifest.count(kind));
        Ok(Imported { collections, jobs, retries, is_resumed, next })
    }

    /// Brings the files behind the first ones, one at least. Returns how many are brought, if the time was
    /// over before all were.
    async fn bring_files(
        &self,
        members: &Members,
        from: usize,
    ) -> Result<Option<usize>, MoveFailed> {
        self.watcher.begin("importing", self.backup.lines());
        for (n, file) in self.backup.files().enumerate().skip(from) {
            if n > from && self.watcher.is_over() {
                return Ok(Some(n));
            }
            let carried = stream::iter(self.backup.read(self.objects, file).await?);
            let bring = |carried| async move {
                self.bring(carried, members).await?;
                self.watcher.step();
                Ok(())
            };
            carried.try_for_each_concurrent(CONCURRENT_MAX, bring).await?;
            self.watcher.note(&format!("imported {}: {} lines", file.name, file.lines));
        }
        Ok(None)
    }

    /// Checks that the target has no collections.
    async fn check_empty(&self, is_other_under_way: bool) -> Result<(), MoveFailed> {
        if is_other_under_way {
            return Err(MoveFailed::refused(
                "the import of another backup into the target was begun and has not ended: import that \
                 one again, or add this one with --merge",
            ));
        }
        let found = has_collections(self.store).await;
        if found.map_err(MoveFailed::store("cannot read the target"))? {
            return Err(MoveFailed::refused(
                "the target has collections already: import into an empty installation, or add to it \
                 with --merge",
            ));
        }
        Ok(())
    }

    /// Checks that the target has none of the collections, unless this import brought them.
    async fn check_standing(&self, members: &Members, is_resumed: bool) -> Result<(), MoveFailed> {
        let (mut taken, mut removed) = (Vec::new(), Vec::new());
        for record in members.values() {
            let standing = self.store.standing(record).await;
            match standing.map_err(MoveFailed::store("cannot read the target"))? {
                CollectionStanding::Free => {}
                CollectionStanding::Same if is_resumed => {}
                CollectionStanding::Same => taken.push(path_of(record)),
                CollectionStanding::Taken(path) => taken.push(path),
                CollectionStanding::BeingRemoved => removed.push(path_of(record)),
            }
        }
        taken.sort_unstable();
        if !taken.is_empty() {
            return Err(MoveFailed::refused(format!(
                "the target has these collections already, and nothing was changed:{}",
                listed(taken.iter())
            )));
        }
        if !removed.is_empty() {
            return Err(MoveFailed::refused(format!(
                "these collections were deleted in the target, and their jobs are still being removed: \
                 try again in some minutes, with the server running:{}",
                listed(removed.iter())
            )));
        }
        Ok(())
    }

    /// Checks that all secrets open.
    async fn check_secrets(&self) -> Result<(), MoveFailed> {
        if self.backup.manifest.secrets == 0 {
            return Ok(());
        }
        let carried = self.backup.carried(self.objects);
        let check = |mut carried: Carried| async move { self.resealing.check(&mut carried).await };
        carried.try_for_each(check).await
    }

    async fn bring(&self, mut carried: Carried, members: &Members) -> Result<(), MoveFailed> {
        self.resealing.reseal(&mut carried).await?;
        let name = name_of(&carried);
        let moved = match carried {
            Carried::CloudService(service) => Carried::CloudService(service),
            Carried::Collection(record) => {
                let jobs = members.get(&record.collection.uid).map_or(0, |it| it.job_count);
                Carried::Collection(Box::new(moved_collection(*record, jobs, self.now)))
            }
            Carried::Job { collection_uid, job } => {
                let moved = moved_job(*job, self.now);
                let job = moved.map_err(|why| MoveFailed::refused(format!("{name}: {why}")))?;
                Carried::Job { collection_uid, job: Box::new(job) }
            }
            Carried::Retry(retry) => Carried::Retry(moved_retry(retry)),
            // Those who ping go on with the same URL, below another name of the server perhaps.
            key @ Carried::PingKey { .. } => key,
        };
        let brought = bring(self.store, &moved).await.map_err(MoveFailed::store(format!(
            "cannot write {name} to the target; repeat the import: it continues here"
        )))?;
        match (brought, &moved) {
            // A resource group that has labels already keeps them.
            (Brought::Kept | Brought::Already, _) | (_, Carried::CloudService(_)) => Ok(()),
            (Brought::Taken, _) => Err(MoveFailed::refused(format!(
                "{name} was created in the target meanwhile: delete or rename it, and repeat the import, \
                 which continues from here"
            ))),
        }
    }
}
