//! The key that seals the secrets of jobs: a file in the data directory, created at the first start; or, on a
//! database of many processes, what each of them is given.
//!
//! A database keeps a check of the key, a number that is computed of it. The first process stores it, and one
//! with another key does not start.
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
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use minutehand_domain::ids;
use minutehand_ports::Sealer;
use minutehand_sealer_aes::{AesSealer, KEY_BYTES};
use minutehand_store_sql::postgres::PgDatabase;
use minutehand_store_sql::sqlite::DATABASE;
use minutehand_store_sql::{AnyDatabase, Sealed, SqlStore};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::private_file;
use crate::data_dir::{CHECK_FILE, DataDir};
use crate::serve::database::{GivenKey, KEY_VARIABLE, cannot_use};

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
        None if !dir.is_new && !forget_secrets => bail!(
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
pub(crate) fn create_key_file(path: &Path) -> Result<Arc<dyn Sealer>> {
    let key = new_key()?;
    private_file::create(path, &format!("{}\n", *hex(key.as_slice())))?;
    Ok(Arc::new(AesSealer::new(&key)))
}

/// Reads a file that [`create_key_file`] has made.
///
/// # Errors
///
/// If it does not exist, other users can read it, or it contains no key.
pub(crate) fn read_key_file(path: &Path) -> Result<Arc<dyn Sealer>> {
    let text = private_file::read(path)?;
    let text = text.with_context(|| format!("{} does not exist", path.display()))?;
    Ok(Arc::new(AesSealer::new(&read_key(&text).with_context(|| no_key(path))?)))
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

/// Which key a data directory or a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFound {
    /// The one that sealed the secrets.
    Right,
    /// Another one: what it does not open is to be forgotten.
    Other,
    /// The same on a database, where this becomes its check.
    OtherOfDatabase(i64),
}

/// The key that a process is given for a database.
pub(in crate::serve) struct SharedKey {
    key: Zeroizing<[u8; KEY_BYTES]>,
    /// How the user gave it.
    said: String,
}

impl SharedKey {
    /// Reads the key.
    pub(in crate::serve) fn read(given: &GivenKey) -> Result<Self> {
        let (said, text) = match given {
            GivenKey::Text(text) => (KEY_VARIABLE.to_owned(), text.clone()),
            GivenKey::File(path) => {
                let said = path.display().to_string();
                let text = private_file::read(path)?;
                (said.clone(), text.with_context(|| format!("{said} does not exist"))?)
            }
        };
        let key = read_key(&text).with_context(|| {
            format!(
                "{said} is not a key of {} hexadecimal digits: give the one of the other processes",
                2 * KEY_BYTES
            )
        })?;
        Ok(Self { key, said })
    }

    pub(in crate::serve) fn sealer(&self) -> AesSealer {
        AesSealer::new(&self.key)
    }

    /// Checks that this is the key of the other processes, or makes it theirs if it is the first. With
    /// `forget_secrets`, another key is not an error.
    pub(in crate::serve) async fn check(
        &self,
        database: &PgDatabase,
        forget_secrets: bool,
    ) -> Result<KeyFound> {
        let unusable = |error| cannot_use(&error);
        let check = self.check_of(&database.installation());
        let mut kept = database.key_check().await.map_err(unusable)?;
        if kept.is_none() && opens_any(&self.sealer(), &SqlStore::new(database.clone())).await? {
            database.add_key_check(check).await.map_err(unusable)?;
            // Another process may have stored its own at the same time.
            kept = database.key_check().await.map_err(unusable)?;
        }
        match kept {
            Some(kept) if kept == check => Ok(KeyFound::Right),
            _ if forget_secrets => Ok(KeyFound::OtherOfDatabase(check)),
            _ => bail!(
                "{} is not the key of the other processes on this database, and does not open its secrets: give \
                 the key that they have. {LOST}, and give the new key to all processes",
                self.said
            ),
        }
    }

    /// A number that tells keys apart, and from which no key can be computed.
    fn check_of(&self, installation: &str) -> i64 {
        let mut hash = Sha256::new();
        hash.update(CHECK);
        hash.update(installation);
        hash.update(self.key.as_slice());
        hash.finalize().iter().take(8).fold(0, |sum, byte| sum << 8 | i64::from(*byte))
    }
}

/// Whether the key opens a secret that is stored, if there is one.
async fn opens_any(sealer: &AesSealer, jobs: &SqlStore) -> Result<bool> {
    Ok(match jobs.any_sealed().await.context("cannot read the secret of a job")? {
        Some(Sealed { uid, secrets, .. }) => sealer.open(&uid, &secrets).is_ok(),
        None => true,
    })
}

/// Checks that this is the key that was used in this directory before. With `forget_secrets`, another key
/// is not an error.
pub(in crate::serve) async fn check_key(
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
        None => opens_any(sealer, jobs).await?,
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
        write_check(dir, sealer, &installation)?;
    }
    Ok(KeyFound::Right)
}

/// Stores the check of another key than before, which is the right one from now on.
pub(in crate::serve) async fn remember_key(
    found: KeyFound,
    dir: Option<&DataDir>,
    sealer: &AesSealer,
    database: &AnyDatabase,
) -> Result<()> {
    match (found, dir, database) {
        (KeyFound::OtherOfDatabase(check), _, AnyDatabase::Postgres(database)) => {
            Ok(database.replace_key_check(check).await?)
        }
        (KeyFound::Other, Some(dir), _) => write_check(dir, sealer, &database.installation()),
        _ => Ok(()),
    }
}

fn write_check(dir: &DataDir, sealer: &AesSealer, installation: &str) -> Result<()> {
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
