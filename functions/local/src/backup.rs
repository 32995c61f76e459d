//! `minutehand backup`: copies a data directory, completely or not at all.
//!
//! The directory is locked during the copy, so a server that uses it has to be stopped first; the
//! alternative is a snapshot of its file system. All files are copied, including the store's log, so
//! the store is never opened. The copy has the name `TARGET.partial` until everything is durable; after
//! a crash, the next backup to that target asks the user to remove it.
//!
//! To restore a backup, serve from the copy.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use embedded::{DataDir, DataDirError, sync_entries};

/// Files that belong to the running process and contain no data.
const LEFT_OUT: [&str; 2] = ["lock", "store.db-shm"];

/// Copies a data directory that is not in use to a new directory. Returns the number of bytes.
///
/// # Errors
///
/// If the data directory is in use or not one, if the target exists, or if a file cannot be copied.
pub fn backup(data: &Path, target: &Path) -> Result<u64> {
    // Checked first, because opening would create the directory.
    if !data.join("format").exists() {
        bail!("{} is not a data directory: give one with --data", data.display());
    }
    let dir = DataDir::open(data).map_err(|error| match error {
        DataDirError::InUse { path, .. } => anyhow!(
            "the data directory {} is in use: stop the server first, or take a snapshot of the \
             file system instead",
            path.display()
        ),
        other => other.into(),
    })?;
    let name =
        target.file_name().context("the target has no directory name: choose another target")?;
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let parent = fs::canonicalize(parent)
        .with_context(|| format!("cannot find the directory {}", parent.display()))?;
    if parent.starts_with(dir.path()) {
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
    create(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let bytes = copy_files(dir.path(), &partial)?;
    finish(&partial, &target, &parent)
        .with_context(|| format!("cannot finish {}", target.display()))?;
    Ok(bytes)
}

fn create(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn copy_files(from: &Path, to: &Path) -> Result<u64> {
    let mut bytes = 0;
    let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.with_context(|| format!("cannot list {}", from.display()))? {
        let (path, name) = (entry.path(), entry.file_name());
        if LEFT_OUT.iter().any(|left_out| name == *left_out) || !path.is_file() {
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

fn finish(partial: &Path, target: &Path, parent: &Path) -> io::Result<()> {
    sync_entries(partial)?;
    fs::rename(partial, target)?;
    sync_entries(parent)
}
