//! `minutehand backup`: copies a data directory, completely or not at all.
//!
//! If no server uses the directory, it is locked during the copy, and all files are copied as they are,
//! including the logs of store and queue.
//!
//! If a server uses it, the server goes on. The copy gets the store as it is at one moment, the key and
//! the other small files, and a new queue: what the queue must have held is computed from the copied
//! store, as `minutehand repair` does. So the copy lacks what only the server's queue knows: dead
//! letters, and runs that were asked for and not begun.
//!
//! The copy has the name `TARGET.partial` until everything is durable; after a crash, the next backup to
//! that target asks the user to remove it. To restore a backup, serve from the copy.

use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use minutehand_app::fire::RepairReport;
use minutehand_embedded::{DataDir, DataDirError, snapshot_store, sync_entries};

use crate::repair::{check_is_data, repair};

/// Files that belong to the running process and contain no data.
const LEFT_OUT: [&str; 2] = ["lock", "store.db-shm"];
/// How the names begin of what a running server changes.
const IN_USE: [&str; 3] = ["store.db", "queue.db", "identity"];

/// What a backup has copied.
#[derive(Debug)]
pub struct BackedUp {
    target: PathBuf,
    bytes: u64,
    /// What the new queue holds, if a server was running.
    queue: Option<RepairReport>,
}

impl fmt::Display for BackedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, bytes, queue } = self;
        writeln!(f, "copied {bytes} bytes to {}", target.display())?;
        let Some(RepairReport { occurrences, attempts, unreadable, .. }) = queue else {
            return Ok(());
        };
        writeln!(f, "The server went on, so the copy has a queue of its own, with")?;
        writeln!(f, "  {occurrences} occurrences that were due or soon due,")?;
        writeln!(f, "  {attempts} recent attempts, for retries and error actions.")?;
        if *unreadable > 0 {
            writeln!(f, "Left out: {unreadable} jobs that cannot be read: replace them with PUT.")?;
        }
        writeln!(f, "Not in the copy: dead letters, and runs that were asked for and not begun.")
    }
}

/// Copies a data directory to a new directory.
///
/// # Errors
///
/// If the data directory is not one, if the target exists, or if a file cannot be copied.
pub fn backup(data: &Path, target: &Path) -> Result<BackedUp> {
    check_is_data(data)?;
    let dir = match DataDir::open(data) {
        Ok(dir) => Some(dir),
        Err(DataDirError::InUse { .. }) => None,
        Err(other) => return Err(other.into()),
    };
    let from = fs::canonicalize(data)
        .with_context(|| format!("cannot find the directory {}", data.display()))?;
    let places = Places::choose(&from, target)?;
    create(&places.partial)
        .with_context(|| format!("cannot create {}", places.partial.display()))?;
    let (bytes, queue) = match &dir {
        Some(_) => (copy_files(&from, &places.partial, |name| !LEFT_OUT.contains(&name))?, None),
        None => copy_beside_server(&from, &places.partial)?,
    };
    places.finish().with_context(|| format!("cannot finish {}", places.target.display()))?;
    Ok(BackedUp { target: target.to_owned(), bytes, queue })
}

/// Where the copy is made.
struct Places {
    parent: PathBuf,
    target: PathBuf,
    /// The copy, until it is complete.
    partial: PathBuf,
}

impl Places {
    fn choose(from: &Path, target: &Path) -> Result<Self> {
        let name = target
            .file_name()
            .context("the target has no directory name: choose another target")?;
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let parent = fs::canonicalize(parent)
            .with_context(|| format!("cannot find the directory {}", parent.display()))?;
        if parent.starts_with(from) {
            bail!("{} is inside the data directory: choose another target", target.display());
        }
        let (target, mut partial) = (parent.join(name), name.to_owned());
        partial.push(".partial");
        let partial = parent.join(partial);
        for taken in [&target, &partial] {
            if taken.exists() {
                bail!("{} already exists: remove it, or choose another target", taken.display());
            }
        }
        Ok(Self { parent, target, partial })
    }

    fn finish(&self) -> io::Result<()> {
        sync_entries(&self.partial)?;
        fs::rename(&self.partial, &self.target)?;
        sync_entries(&self.parent)
    }
}

/// Copies the directory of a running server. The copy is a complete data directory then.
fn copy_beside_server(from: &Path, to: &Path) -> Result<(u64, Option<RepairReport>)> {
    let is_at_rest = |name: &str| {
        !LEFT_OUT.contains(&name) && !IN_USE.iter().any(|in_use| name.starts_with(in_use))
    };
    let bytes = copy_files(from, to, is_at_rest)? + snapshot_store(from, to)?;
    let repaired = repair(to).context("cannot make a queue for the copy")?;
    let lock = to.join("lock");
    fs::remove_file(&lock).with_context(|| format!("cannot remove {}", lock.display()))?;
    Ok((bytes, Some(repaired.map(|repaired| repaired.report).unwrap_or_default())))
}

fn create(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Copies the files whose names are wanted. Names that are not UTF-8 are not of Minutehand, and wanted.
fn copy_files(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<u64> {
    let mut bytes = 0;
    let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.with_context(|| format!("cannot list {}", from.display()))? {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_str().is_some_and(|name| !is_wanted(name)) || !path.is_file() {
            continue;
        }
        bytes += copy(&path, &to.join(name))
            .with_context(|| format!("cannot copy {}", path.display()))?;
    }
    Ok(bytes)
}

/// Copies a file with its permissions, and syncs it to disk.
fn copy(from: &Path, to: &PathBuf) -> io::Result<u64> {
    let bytes = fs::copy(from, to)?;
    File::open(to)?.sync_all()?;
    Ok(bytes)
}
