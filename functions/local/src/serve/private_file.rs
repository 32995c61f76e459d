//! Small files with secrets: for their owner alone, and there whole or not at all.
//!
//! A file is written under another name, made durable, and renamed; then its directory is made
//! durable. So a crash leaves the file as it was before, and at most the other name beside it, which
//! the next try removes. One process has the data directory at a time, so nobody else writes there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zeroize::Zeroizing;

/// More than any of these files holds.
const BYTES_MAX: u64 = 64 * 1024;

/// Reads a file; `None` if there is none.
///
/// One that others may read is refused: whoever could read it may have done so.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
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

/// Writes a file that is not there yet, or is to be replaced.
pub(super) fn write(dir: &Path, name: &str, content: &str) -> Result<PathBuf> {
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

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
    if mode & 0o077 != 0 {
        let path = path.display();
        bail!(
            "{path} is open to others than its owner (mode {:04o}): `chmod 600 {path}`, and replace \
             it if somebody else may have read it",
            mode & 0o7777
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_path: &Path, _metadata: &fs::Metadata) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_entries(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_entries(_dir: &Path) -> io::Result<()> {
    Ok(())
}
