//! `minutehand backup`: a copy of a data directory, whole or not at all.
//!
//! The directory is locked, so nothing in it changes meanwhile; a server that uses it is in the way
//! and has to be stopped, or its file system asked for a snapshot instead. Every file is copied, the
//! store's log included, so that the store needs no opening. The copy has another name until all of
//! it is durable: a crash leaves `TARGET.partial`, which the user is told to remove.
//!
//! To restore is to serve from the copy.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use embedded::{DataDir, DataDirError};

/// Files that say who uses the directory, and nothing of what is in it.
const LEFT_OUT: [&str; 2] = ["lock", "store.db-shm"];

/// Copies a data directory that nobody uses to a place where nothing is; returns how many bytes
/// that were.
///
/// # Errors
///
/// If the directory is in use or none, if something is at the target, or if a file cannot be copied.
pub fn backup(data: &Path, target: &Path) -> Result<u64> {
    // Opening would create it.
    if !data.join("format").exists() {
        bail!("{} is no data directory: name one with --data", data.display());
    }
    let dir = DataDir::open(data).map_err(|error| match error {
        DataDirError::InUse { path, .. } => anyhow!(
            "the data directory {} is in use: stop the server first, or take a snapshot of the \
             file system instead",
            path.display()
        ),
        other => other.into(),
    })?;
    let name = target.file_name().context("the target needs a name")?;
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let parent = fs::canonicalize(parent)
        .with_context(|| format!("cannot find the directory {}", parent.display()))?;
    if parent.starts_with(dir.path()) {
        bail!("{} is inside the data directory: choose another place", target.display());
    }
    let (target, mut partial) = (parent.join(name), name.to_owned());
    partial.push(".partial");
    let partial = parent.join(partial);
    for taken in [&target, &partial] {
        if taken.exists() {
            bail!("{} is there already: remove it, or choose another place", taken.display());
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

/// Copies a file with its permissions, and waits until it is on the disk.
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

#[cfg(unix)]
fn sync_entries(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_entries(_dir: &Path) -> io::Result<()> {
    Ok(())
}
