//! Small files with secrets: readable only by their owner, and written atomically.
//!
//! A file is written under a temporary name, synced, and renamed; then its directory is synced. A crash
//! therefore leaves the previous file, and at most a temporary file beside it, which the next write
//! removes. Only one process uses the data directory at a time, so there is no other writer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zeroize::Zeroizing;

use crate::data_dir::sync_entries;

/// More than any of these files contains.
const BYTES_MAX: u64 = 64 * 1024;

/// Reads a file; `None` if it does not exist.
///
/// A file that other users can access is an error, as they may have read the secret.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
    let reading = || format!("cannot read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(reading),
    };
    check_mode(path, &file.metadata().with_context(reading)?)?;
    let mut text = Zeroizing::new(String::new());
    file.take(BYTES_MAX).read_to_string(&mut text).with_context(reading)?;
    Ok(Some(text))
}

/// Creates or replaces a file, and returns its path.
pub(crate) fn write(dir: &Path, name: &str, content: &str) -> Result<PathBuf> {
    let path = dir.join(name);
    let draft = dir.join(format!("{name}.new"));
    let write = || -> io::Result<()> {
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().open(&draft)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        sync_entries(dir)
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Creates a file, durably. One that exists is an error.
pub(crate) fn create(path: &Path, content: &str) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = private().open(path)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        sync_entries(dir.unwrap_or(Path::new(".")))
    };
    match write() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} exists, and is never overwritten: name another file", path.display())
        }
        written => written.with_context(|| format!("cannot write {}", path.display())),
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

fn check_mode(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        let path = path.display();
        bail!(
            "{path} is accessible to other users (mode {:04o}): run `chmod 600 {path}`, and replace \
             the secret if another user may have read it",
            mode & 0o7777
        );
    }
    Ok(())
}
