//! Who may call: a token of ours, one that is given, those of a file, or everybody.
//!
//! A file of tokens is looked at once a second, and taken whole when it is good. One that is not
//! leaves those who may call as they were, and is an error in the log, once.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use embedded::DataDir;
use ports::IdSource;
use rest::Access;
use runtime::RandomIds;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use super::key::unhex;
use super::private_file;
use super::tasks::Stop;

const TOKEN_FILE: &str = "token";
/// How often a file of tokens is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most bytes of a file of tokens: ten thousand of them.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A token, and what to tell the user of it.
pub(super) struct Generated {
    pub(super) access: Access,
    pub(super) note: String,
}

/// The access of a token.
pub(super) fn access_of(token: &str) -> Access {
    Access::Tokens(vec![Sha256::digest(token).into()])
}

/// The token of a data directory, made at the first start; without one, a token for this run.
pub(super) fn generated(dir: Option<&DataDir>) -> Result<Generated> {
    let path = dir.map(|dir| dir.path().join(TOKEN_FILE));
    let kept = path.as_deref().map(private_file::read).transpose()?.flatten();
    if let (Some(text), Some(path)) = (kept, &path) {
        let token = text.trim();
        if token.is_empty() {
            bail!("{} holds no token: remove it, and another will be made", path.display());
        }
        let note = format!("the token is in {}", path.display());
        return Ok(Generated { access: access_of(token), note });
    }
    let token = Zeroizing::new(RandomIds.new_id());
    let access = access_of(&token);
    let note = match dir {
        Some(dir) => {
            let line = Zeroizing::new(format!("{}\n", *token));
            let path = private_file::write(dir.path(), TOKEN_FILE, &line)?;
            format!("token: {} (kept in {}, and not shown again)", *token, path.display())
        }
        None => format!("token: {} (for this run)", *token),
    };
    Ok(Generated { access, note })
}

/// A file of tokens, and what was last seen in it.
pub(super) struct TokenFile {
    path: PathBuf,
    seen: Result<String, String>,
}

impl TokenFile {
    /// Reads a file for the first time.
    ///
    /// # Errors
    ///
    /// If it is not good: nobody could call.
    pub(super) fn open(path: PathBuf) -> Result<(Self, Access)> {
        let text = read(&path)?;
        let access = parse(&text).with_context(|| format!("in {}", path.display()))?;
        Ok((Self { path, seen: Ok(text) }, access))
    }

    /// Keeps `access` as the file says, until asked to stop.
    pub(super) async fn watch(mut self, access: Arc<RwLock<Access>>, stop: Stop) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = stop.requested() => return,
            }
            let path = self.path.clone();
            let Ok(found) = spawn_blocking(move || read(&path)).await else {
                continue;
            };
            let found = found.map_err(|error| format!("{error:#}"));
            if found != self.seen {
                self.take(&found, &access);
                self.seen = found;
            }
        }
    }

    fn take(&self, found: &Result<String, String>, access: &RwLock<Access>) {
        let parsed = match found {
            Ok(text) => parse(text).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        };
        let path = self.path.display();
        match parsed {
            Ok(tokens) => {
                *access.write().unwrap_or_else(PoisonError::into_inner) = tokens;
                tracing::info!(%path, "took the tokens of the changed file");
            }
            Err(error) => {
                tracing::error!(%path, error, "the file of tokens is not good: the old ones stay");
            }
        }
    }
}

fn read(path: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// The hashes of a file: one a line, with comments.
fn parse(text: &str) -> Result<Access> {
    let mut hashes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let digits = line.split('#').next().unwrap_or_default().trim();
        if digits.is_empty() {
            continue;
        }
        let hash = unhex(digits).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            anyhow!("line {number} is not a SHA-256, which is 64 hexadecimal digits")
        })?;
        hashes.push(hash);
    }
    if hashes.is_empty() {
        bail!("there is no token: add the SHA-256 of one");
    }
    Ok(Access::Tokens(hashes))
}
