//! `minutehand backup`: copies a data directory, completely or not at all.
//!
//! The database is written anew as of one moment, with everything in it: dead letters and runs that were
//! asked for, too. A server that uses the directory goes on. The key and the other small files are copied as
//! they are.
//!
//! The copy has the name `TARGET.partial` until everything is durable; after a crash, the next backup to
//! that target asks the user to remove it. To restore a backup, serve from the copy.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use minutehand_store_sql::sqlite::{DATABASE, back_up};

use crate::data_dir::{DataDir, DataDirError, check_is_data, private_dir, sync_entries};

/// Files that belong to the process that uses the directory.
const LEFT_OUT: [&str; 2] = ["lock", "open"];

/// What a backup has copied.
#[derive(Debug)]
pub struct BackedUp {
    target: PathBuf,
    bytes: u64,
    /// Whether a server was running.
    is_beside_server: bool,
}

impl fmt::Display for BackedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, bytes, is_beside_server } = self;
        writeln!(f, "copied {bytes} bytes to {}", target.display())?;
        if *is_beside_server {
            writeln!(f, "The server went on: the copy is as of the moment when the backup began.")?;
        }
        Ok(())
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
    private_dir()
        .create(&places.partial)
        .with_context(|| format!("cannot create {}", places.partial.display()))?;
    let is_beside_server = dir.is_none();
    let database = back_up(&from, &places.partial, is_beside_server)
        .with_context(|| format!("cannot copy {}", from.join(DATABASE).display()))?;
    // A log and what else SQLite has beside the database is in the copy.
    let is_wanted = |name: &str| !LEFT_OUT.contains(&name) && !name.starts_with(DATABASE);
    let bytes = database + copy_files(&from, &places.partial, is_wanted)?;
    places.finish().with_context(|| format!("cannot finish {}", places.target.display()))?;
    Ok(BackedUp { target: target.to_owned(), bytes, is_beside_server })
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
