//! Files of callers that are read once a second: of tokens, and of client certificates.
//!
//! If a file has changed and is valid, what it says replaces all that it said before. If it is invalid,
//! that stays and the error is logged once.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::spawn_blocking;

/// How often a file is checked for changes.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Size limit of a file in bytes: more than ten thousand callers.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a file contains.
pub(in crate::serve) struct Kind<T> {
    /// What the log calls the file.
    pub(super) file: &'static str,
    /// What the log calls its entries.
    pub(super) entries: &'static str,
    pub(super) parse: fn(&str) -> Result<T>,
}

/// A file that is watched for changes.
pub(in crate::serve) struct WatchedFile<T> {
    kind: Kind<T>,
    path: PathBuf,
    /// The text, or the error, of the last read.
    last: Result<String, String>,
}

impl<T> WatchedFile<T> {
    /// Reads the file for the first time.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub(in crate::serve) fn open(path: PathBuf, kind: Kind<T>) -> Result<(Self, T)> {
        let text = read(&path).with_context(|| format!("cannot use the {}", kind.file))?;
        let content = (kind.parse)(&text).with_context(|| path.display().to_string())?;
        Ok((Self { kind, path, last: Ok(text) }, content))
    }

    /// Updates `content` whenever the file changes.
    pub(in crate::serve) async fn watch(mut self, content: Arc<RwLock<T>>) {
        let mut ticks = tokio::time::interval(POLL_EVERY);
        loop {
            ticks.tick().await;
            let path = self.path.clone();
            let Ok(found) = spawn_blocking(move || read(&path)).await else {
                continue;
            };
            let found = found.map_err(|error| format!("{error:#}"));
            if found != self.last {
                self.apply(&found, &content);
                self.last = found;
            }
        }
    }

    fn apply(&self, found: &Result<String, String>, content: &RwLock<T>) {
        let parsed = match found {
            Ok(text) => (self.kind.parse)(text).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        };
        let (path, Kind { file, entries, .. }) = (self.path.display(), &self.kind);
        match parsed {
            Ok(parsed) => {
                *content.write().unwrap_or_else(PoisonError::into_inner) = parsed;
                tracing::info!(%path, "{file} reloaded");
            }
            Err(error) => {
                tracing::error!(%path, error, "{file} is invalid; keeping the previous {entries}");
            }
        }
    }
}

/// Reads a file. One that is too large is refused: its end could have what matters.
fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let reading = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(reading)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).with_context(reading)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        bail!("{} has more than {FILE_BYTES_MAX} bytes", path.display());
    }
    Ok(text)
}
