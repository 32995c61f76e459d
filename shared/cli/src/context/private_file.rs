//! Files with secrets: readable only by their owner, and written atomically.
//!
//! A file is written under a temporary name, synced and renamed. A crash leaves the previous file, and
//! at most a temporary file beside it, which the next write replaces.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::failure::{Failure, Result};

/// More than any of these files contains.
const BYTES_MAX: u64 = 64 * 1024;

/// Reads a secret, without the space around it; `None` if the file does not exist.
///
/// A file that other users can access is refused, as they may have read the secret.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    let secret = text.trim();
    if secret.is_empty() {
        return Err(Failure::refused(format!("{} is empty", path.display())));
    }
    Ok(Some(Zeroizing::new(secret.to_owned())))
}

/// Reads the text of a private file; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<Zeroizing<String>>> {
    let failed = Failure::cannot::<io::Error>(format!("read {}", path.display()));
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mode = file.metadata().map_err(&failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        let path = path.display();
        let mode = mode & 0o7777;
        return Err(Failure::refused(format!(
            "{path} is accessible to other users (mode {mode:04o})"
        ))
        .hint(format!(
            "`chmod 600 {path}`, and replace the token if another user may have read it"
        )));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Creates or replaces a file, and its directory.
pub(crate) fn write(path: &Path, content: &str) -> Result<()> {
    let write = || -> io::Result<()> {
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let draft = path.with_extension("new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(Failure::cannot(format!("write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens/prod");
        write(&path, "secret\n").unwrap();
        write(&path, "second\n").unwrap();
        assert_eq!(read(&path).unwrap().as_deref().map(String::as_str), Some("second"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mode = fs::metadata(dir.path().join("tokens")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);

        for mode in [0o644, 0o604, 0o640, 0o620, 0o602, 0o610, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let failure = read(&path).unwrap_err();
            let says = format!("is accessible to other users (mode {mode:04o})");
            assert!(failure.message.ends_with(&says), "{failure}");
        }
        assert_eq!(read(&dir.path().join("none")).unwrap(), None);
    }
}
