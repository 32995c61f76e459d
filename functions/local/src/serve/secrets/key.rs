//! The key that seals the secrets of jobs: a file in the data directory, created at the first start.
//!
//! `key` is written before the database is made, so a crash leaves no database without its key. If there is a
//! database and no key, the start fails: a new key could not open any sealed secret.
//!
//! `key.check` contains a known text, sealed with the key for this database. It reveals a wrong key, or the
//! database of another directory, at the start, instead of when the first job needs a secret. It is written
//! when the database is there. If it is missing, a stored secret has to open with the key before it is written
//! again.
//!
//! `--forget-secrets` goes on with another key than the right one:
//!
//! | a crash after | leaves | repaired by |
//! |---|---|---|
//! | `key` is written, if it was missing | a key that does not fit `key.check`, or the secrets | a start with the flag; one without it is refused |
//! | some jobs are disabled | the same | the same: it disables the others |
//! | `key.check` is written | nothing | |

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use minutehand_domain::ids;
use minutehand_sealer_aes::{AesSealer, KEY_BYTES};
use minutehand_store_sql::sqlite::DATABASE;
use minutehand_store_sql::{Sealed, SqlStore};
use zeroize::Zeroizing;

use super::private_file;
use crate::data_dir::{CHECK_FILE, DataDir};

const KEY_FILE: &str = "key";
/// The known text in `key.check`.
const CHECK: &str = "minutehand";

/// What to do if no backup has the key.
const LOST: &str = "If it is lost for good, start once with --forget-secrets, which disables the jobs that need a \
                    secret";

/// Opens or creates the key of a data directory. [`check_key`] follows when the store is open.
pub(in crate::serve) fn open_sealer(dir: &DataDir, forget_secrets: bool) -> Result<AesSealer> {
    let path = dir.path().join(KEY_FILE);
    let key = match private_file::read(&path)? {
        Some(text) => read_key(&text).with_context(|| {
            format!(
                "{}. If it is lost for good, delete this file and start once with --forget-secrets, \
                 which disables the jobs that need a secret",
                no_key(&path)
            )
        })?,
        None if !dir.is_new() && !forget_secrets => bail!(
            "{} is missing, and without it the secrets in {} cannot be decrypted: restore it from \
             your backup, or choose another data directory. {LOST}",
            path.display(),
            dir.path().display()
        ),
        None => {
            let key = new_key()?;
            private_file::write(dir.path(), KEY_FILE, &format!("{}\n", *hex(key.as_slice())))?;
            key
        }
    };
    Ok(AesSealer::new(&key))
}

/// Creates a file with a new key, for secrets that leave the installation. A file that exists is never
/// overwritten.
///
/// # Errors
///
/// If the file exists or cannot be written.
pub(crate) fn create_key_file(path: &Path) -> Result<AesSealer> {
    let key = new_key()?;
    private_file::create(path, &format!("{}\n", *hex(key.as_slice())))?;
    Ok(AesSealer::new(&key))
}

/// Reads a file that [`create_key_file`] has made.
///
/// # Errors
///
/// If it does not exist, other users can read it, or it contains no key.
pub(crate) fn read_key_file(path: &Path) -> Result<AesSealer> {
    let text = private_file::read(path)?;
    let text = text.with_context(|| format!("{} does not exist", path.display()))?;
    Ok(AesSealer::new(&read_key(&text).with_context(|| no_key(path))?))
}

fn no_key(path: &Path) -> String {
    let (path, digits) = (path.display(), 2 * KEY_BYTES);
    format!(
        "{path} does not contain a key of {digits} hexadecimal digits: restore it from your backup"
    )
}

/// A sealer with a new key that is never written anywhere.
pub(in crate::serve) fn temporary_sealer() -> Result<AesSealer> {
    Ok(AesSealer::new(&new_key()?))
}

fn new_key() -> Result<Zeroizing<[u8; KEY_BYTES]>> {
    AesSealer::new_key().context("cannot create a key")
}

/// Which key a data directory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFound {
    /// The one that sealed the secrets.
    Right,
    /// Another one: what it does not open is to be forgotten.
    Other,
}

/// Checks that this is the key that was used in this directory before. With `forget_secrets`, another key
/// is no error.
pub(crate) async fn check_key(
    dir: &DataDir,
    sealer: &AesSealer,
    jobs: &SqlStore,
    forget_secrets: bool,
) -> Result<KeyFound> {
    let installation = jobs.database().installation();
    let text = private_file::read(&dir.path().join(CHECK_FILE))?;
    let is_right = match &text {
        Some(text) => {
            let known = ids::unhex(text.trim()).unwrap_or_default();
            sealer.open(&installation, &known).is_ok_and(|known| known == CHECK)
        }
        None => match jobs.any_sealed().await.context("cannot read the secret of a job")? {
            Some(Sealed { uid, secrets, .. }) => sealer.open(&uid, &secrets).is_ok(),
            None => true,
        },
    };
    if !is_right {
        if forget_secrets {
            return Ok(KeyFound::Other);
        }
        bail!(
            "{} is not the key that sealed the secrets in this directory, or {DATABASE} is of another directory: \
             restore both and {CHECK_FILE} from your backup. {LOST}",
            dir.path().join(KEY_FILE).display()
        );
    }
    if text.is_none() {
        remember_key(dir, sealer, &installation)?;
    }
    Ok(KeyFound::Right)
}

/// Writes the check of the key, which is the one of this directory from now on.
pub(in crate::serve) fn remember_key(
    dir: &DataDir,
    sealer: &AesSealer,
    installation: &str,
) -> Result<()> {
    let known = sealer.seal(installation, CHECK).context("cannot seal a text with the key")?;
    private_file::write(dir.path(), CHECK_FILE, &format!("{}\n", *hex(&known)))?;
    Ok(())
}

fn read_key(text: &str) -> Result<Zeroizing<[u8; KEY_BYTES]>> {
    let bytes = ids::unhex(text.trim()).map(Zeroizing::new).context("not hexadecimal")?;
    let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
        .map_err(|_| anyhow!("not {KEY_BYTES} bytes"))?;
    Ok(Zeroizing::new(key))
}

/// Writes bytes as hexadecimal digits. The result is wiped from memory when dropped.
fn hex(bytes: &[u8]) -> Zeroizing<String> {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    Zeroizing::new(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect())
}
